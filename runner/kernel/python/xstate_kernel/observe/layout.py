"""The layout of blocks that a node reads: their text, and numbers of lines."""

import linecache

from xstate_kernel import original as __builtins__

from .. import adapters
from ..ground import builtin_function, bytecode, code_owner

_NUMBERS = frozenset(
    (
        "f_lineno",
        "tb_lineno",
        "co_firstlineno",
        "co_lines",
        "co_positions",
        "co_linetable",
        "co_lnotab",
        "__firstlineno__",
    )
)


def watch(note):
    """Calls note with the name of each file whose lines are asked for: by inspect, traceback, warnings, a debugger."""
    for name in ("getlines", "checkcache", "lazycache"):
        setattr(linecache, name, _noting(getattr(linecache, name), note))


_left = 0  # entries in linecache when it was last cleared


def forget():
    """Has linecache forget all files but libraries': who asks for lines of one reads it, and as it is now."""
    global _left
    if len(linecache.cache) != _left:
        for name in [n for n in linecache.cache if not n.startswith("<") and not code_owner.is_library_path(n)]:
            linecache.cache.pop(name, None)
        _left = len(linecache.cache)


def _noting(function, note):
    def wrapper(filename=None, *args):
        if filename is not None:
            note(filename)
            return function(filename, *args)
        return function()

    return builtin_function.named(wrapper, function)


def numbered(codes, theirs):
    """Returns the files whose line numbers the code objects may ask for: their own, if one of them names such an
    attribute, or one of a module of the workspace that they come to, or if a handler of logging writes the line of who
    calls it."""
    if adapters.writes_line_numbers() or any(map(_asks, (*codes, *theirs))):
        return {c.co_filename for c in codes if c.co_filename.startswith("<")}
    return set()


def _asks(code):
    """Reports whether code names such an attribute. From 3.13 on the body of every class sets __firstlineno__."""
    return not _NUMBERS.isdisjoint(code.co_names) and any(
        op != "STORE_NAME" for _, op, _, name in bytecode.instructions(code) if name in _NUMBERS
    )
