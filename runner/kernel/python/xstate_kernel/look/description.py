"""Descriptions of values, for people who look at one: package state/inspect of the engine says what they hold.

A description is made without code of the program: what a class of the program defines is not called. What libraries
define is. The text of a whole value is its repr, as the program has it; that of a part is made here. Work is bounded:
figures of a whole column are vectorised, and what needs a value at a time is of a sample. A value that cannot be
described is left to its text."""

import warnings

from xstate_kernel import original as __builtins__

from . import arrays, images, nested, tables, texts

_SHORT = 2000  # characters of a text that takes the place of another


def show(value, at, most):
    """Returns the text of a value, or of the part that a path leads to, and its description, or None."""
    path, text = at.get("path") or (), ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if not path:
                text = _text(value)
            value = nested.follow(value, path)
            return text or texts.whole(value), _description(value, at, most)
        except Exception:  # of a library, or there is nothing at the end of the path
            return text, None


def _text(value):
    try:
        return repr(value)
    except Exception:  # of the program, or an integer of more digits than CPython writes
        return texts.brief(value, _SHORT)


def _description(value, at, most):
    for field, describe in (
        ("image", images.image),
        ("table", tables.table),
        ("array", arrays.array),
        ("tree", nested.tree),
    ):
        try:
            found = describe(value, at, most)
        except Exception:  # as in show: what follows is simpler
            found = None
        if found is not None:
            return {field: found}
    return None
