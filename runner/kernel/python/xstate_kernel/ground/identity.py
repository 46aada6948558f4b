"""Reports whether two lists, or two dicts, hold the same objects: at the speed of memory, if a list's items lie as
CPython lays them."""

import builtins
import ctypes
import sys
from itertools import compress
from operator import is_, is_not

from xstate_kernel import original as __builtins__

from . import native

_FEW = 64
_WORD = ctypes.sizeof(ctypes.c_void_p)
_AT = list.__basicsize__ - 2 * _WORD  # offset of the pointer to the items; how many are allocated comes after it
_compare = None


def _begin():
    """Tries it on a list of which the answer is known."""
    global _compare
    objects = [object() for _ in range(_FEW)]
    if sys.implementation.name != "cpython" or builtins.id(objects) != id(objects) << 4:
        return
    try:
        compare = ctypes.CDLL(None).memcmp
    except (OSError, AttributeError):
        return
    compare.argtypes, compare.restype = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t), ctypes.c_int
    if list((ctypes.c_void_p * _FEW).from_address(_place(objects))) == [builtins.id(o) for o in objects]:
        _compare = compare


def _place(a):
    return ctypes.c_void_p.from_address((id(a) << 4) + _AT).value


def same(a, b):
    """Reports whether a and b have the same objects at the same places."""
    if len(a) != len(b):
        return False
    if _compare is None or len(a) < _FEW:
        return all(map(is_, a, b))
    return _compare(_place(a), _place(b), len(a) * _WORD) == 0


def differing(before, now):
    """Returns the keys of a dict whose values are other objects than before, or that are new: if the keys that were
    there are now the first ones, in the same order. Else returns None.

    The loop in C reads nothing but the two tables: each node asks, and with thousands of names it takes longer to reach
    all objects than to run the node."""
    if native.differing is not None:
        return native.differing(before, now)
    keys, was, values = list(now), list(before.values()), list(now.values())
    if not all(map(is_, before, keys)) or len(keys) < len(was):
        return None
    return [*compress(keys, map(is_not, was, values)), *keys[len(was) :]]


_begin()
