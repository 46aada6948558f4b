"""Descriptions of nested data: containers, and objects by the attributes that they hold."""

import enum
import sys
from collections import deque
from itertools import islice

from xstate_kernel import original as __builtins__

from . import texts

_DEEP = 6  # levels of items


def tree(value, at, most):
    start = max(0, at.get("row", 0))
    root = _item(None, value, most["whole"])
    total, children = _children(value, start, most["rows"])
    if start and not children:
        start, (total, children) = 0, _children(value, 0, most["rows"])
    _fill(root, value, total, children, start, most)
    return {"from": start, "root": root}


def _fill(root, value, total, children, start, most):
    """Adds the items, level by level until there are enough: a broad level is seen before what lies below it."""
    left = most["items"] - 1
    waiting: deque = deque([(root, total, children, start, (value,))])
    while waiting:
        item, total, children, before, within = waiting.popleft()
        shown = children[: max(left, 0)]
        left -= len(shown)
        if total > len(shown) + before:
            item["more"] = total - len(shown) - before
        if shown:
            item["items"] = []
        for key, child in shown:
            one = _item(key, child, most["text"])
            item["items"].append(one)
            if any(child is outer for outer in within):
                one["text"] = "..."  # as Python writes a list that holds itself
                continue
            count, inner = _children(child, 0, most["rows"])
            if _described(child):
                one["opens"] = True
            if len(within) < _DEEP:
                waiting.append((one, count, inner, 0, (*within, child)))
            elif count:
                one["more"] = count


def _item(key, value, most):
    found: dict = {"type": texts.kind_of(value)}
    if key is not None:
        found["key"] = key
    kind = type(value)
    size = None
    if kind in (str, bytes, bytearray):
        size = len(value)
    elif texts.base(value):
        size = texts.length(value)
    if size is not None:
        found["size"] = size
    container = texts.base(value) is not None or (not texts.known(kind) and bool(texts.fields(value)))
    if kind is str and key is None:
        found["text"] = texts.cell(value, most)
    elif not container:
        found["text"] = texts.brief(value, most)
    elif key is not None:
        found["text"] = texts.brief(value, 60)
    return found


def _described(value):
    """Reports whether a part is described otherwise than as a tree: by its package alone, which costs nothing."""
    package, kind = texts.top(type(value)), texts.qualname(type(value))
    if package in ("numpy", "pandas", "polars", "pyarrow", "torch"):
        return bool(getattr(value, "shape", None)) or kind in ("ChunkedArray", "RecordBatch")
    if package == "PIL":
        return kind.endswith(("Image", "ImageFile"))
    return package == "matplotlib" and kind == "Figure"


def _children(value, start, most):
    """Returns how many children a value has, and some of them from a position on, with their keys."""
    kind = texts.base(value)
    if kind is dict:
        items = islice(dict.items(value), start, start + most)
        return dict.__len__(value), [(texts.brief(k, 80), x) for k, x in items]
    if kind is not None:
        names = _names(value) if kind is tuple else None
        items = islice(kind.__iter__(value), start, start + most)
        if kind in (set, frozenset):
            return kind.__len__(value), [("", x) for x in items]
        return kind.__len__(value), [(names[i] if names else f"[{i}]", x) for i, x in enumerate(items, start)]
    if texts.known(type(value)) or issubclass(type(value), (type, BaseException, enum.Enum)):
        return 0, []
    found = texts.fields(value)
    return len(found), [(f".{name}", x) for name, x in found[start : start + most]]


def _names(value):
    """Returns the names of the fields of a named tuple, each with a dot."""
    names = vars(type(value)).get("_fields")
    if type(names) is tuple and len(names) == tuple.__len__(value) and all(type(n) is str for n in names):
        return [f".{n}" for n in names]
    return None


def follow(value, path):
    """Returns the part that positions lead to. A step into an array of numpy is an index of its first dimension."""
    for step in path:
        numpy = sys.modules.get("numpy")
        if numpy is not None and issubclass(type(value), numpy.ndarray):
            value = numpy.ndarray.view(value, numpy.ndarray)[step]
            continue
        _, found = _children(value, step, 1)
        if not found:
            raise LookupError(step)
        value = found[0][1]
    return value
