"""The module mimetypes: its tables are hidden state."""

import sys

from xstate_kernel import original as __builtins__

from ..ground.hidden_variable import Variable
from .protocol import Adapter


def _tables():
    m = sys.modules["mimetypes"]
    return (*m._db.types_map, *m._db.types_map_inv, m._db.encodings_map, m._db.suffix_map)


def _get():
    m = sys.modules["mimetypes"]
    if not m.inited:
        m.init()
    return [dict(d) for d in _tables()]


def _put(value):
    for d, saved in zip(_tables(), value):
        d.clear()
        d.update(saved)


class Mimetypes(Adapter):
    packages = ("mimetypes",)
    known_containers = ("mimetypes",)

    def variables(self):
        return (Variable("conf:mimetypes", _get, _put, lambda: "mimetypes" in sys.modules, "mimetypes"),)


adapter = Mimetypes()
