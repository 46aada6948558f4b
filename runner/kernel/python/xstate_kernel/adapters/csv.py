"""The module csv: its limit for fields and its registered dialects are hidden state."""

import sys

from xstate_kernel import original as __builtins__

from ..ground.hidden_variable import Variable
from .protocol import Adapter

_DIALECT = (
    "delimiter",
    "doublequote",
    "escapechar",
    "lineterminator",
    "quotechar",
    "quoting",
    "skipinitialspace",
    "strict",
)


def _get():
    csv = sys.modules["csv"]
    dialects = [(n, [getattr(csv.get_dialect(n), a) for a in _DIALECT]) for n in sorted(csv.list_dialects())]
    return csv.field_size_limit(), dialects


def _put(value):
    csv = sys.modules["csv"]
    csv.field_size_limit(value[0])
    for n in csv.list_dialects():
        csv.unregister_dialect(n)
    for n, attributes in value[1]:
        csv.register_dialect(n, **dict(zip(_DIALECT, attributes)))


class Csv(Adapter):
    packages = ("csv",)

    def variables(self):
        def loaded():
            return hasattr(sys.modules.get("csv"), "list_dialects")

        self.dialects = Variable("conf:csv", _get, _put, loaded, "csv")
        return (self.dialects,)

    def after_import(self):
        return {"csv": lambda hidden, module: hidden.begin(self.dialects)}


adapter = Csv()
