"""Files that are closed: "with open(...) as f" leaves one bound. They are known by their attributes."""

import io
import os

from xstate_kernel import original as __builtins__

from .protocol import Adapter

_ATTRIBUTES = {"name", "mode", "__IOBase_closed"}
_RAW = {io.TextIOWrapper: lambda f: f.buffer.raw, io.FileIO: lambda f: f}
_RAW.update(dict.fromkeys((io.BufferedReader, io.BufferedWriter, io.BufferedRandom), lambda f: f.raw))


def _facts(f, kind):
    """Returns mode, name and encoding of a closed file, or None for anything else."""
    if kind not in _RAW or not f.closed:
        return None
    try:
        raw = _RAW[kind](f)
        if type(raw) is not io.FileIO or type(raw.name) not in (str, bytes, int) or "x" in raw.mode:
            return None
        if (vars(f).keys() | vars(raw).keys()) - _ATTRIBUTES:
            return None  # the program gave it others
        text = kind is io.TextIOWrapper
        how = (f.mode, f.encoding, f.errors, f.line_buffering, f.write_through) if text else ()
        return (raw.mode, raw.name, *how)
    except (AttributeError, ValueError):  # it was detached
        return None


def _closed(kind, mode, name, *how):
    """Makes a closed file with such attributes."""
    f = open(os.devnull, mode, buffering=0 if kind == "FileIO" else -1)
    f = f if kind != "TextIOWrapper" else io.TextIOWrapper(f, *how[1:3], None, *how[3:])
    _RAW[type(f)](f).name = name
    if how:
        f.mode = how[0]
    f.close()
    return f


class Files(Adapter):
    packages = ("_io",)

    def parts(self, o, kind):
        facts = _facts(o, kind)
        return facts and [kind.__name__, *facts]

    def reduce(self, pickler, o, kind):
        facts = _facts(o, kind)
        return NotImplemented if facts is None else (_closed, (kind.__name__, *facts))


adapter = Files()
