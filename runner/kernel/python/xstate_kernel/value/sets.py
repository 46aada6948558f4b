"""Reads and restores the hash tables of sets.

The places of the elements in the table determine the order of iteration, and where the set puts the next element. These
places depend on everything that the program ever added and removed. So the table is part of the content of a set, and a
set that the kernel restores gets the same table.

The module reads and writes the layout of CPython 3.10 to 3.14 (Objects/setobject.c). In an interpreter with another
layout, the kernel records only the order of a set. The engine recomputes a set that cannot be restored in its order."""

import ctypes
import gc
import marshal
import struct
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from itertools import compress

from xstate_kernel import original as __builtins__

from ..ground import kept_names
from . import instances

_HEAD = struct.Struct("nnnPnn")  # fill, used, mask, table, hash, finger; then comes a table of 8 places
_AT = object.__basicsize__
_ENTRY = 16  # bytes: a key and its hash
_TAKEN, _LEFT = 1, 2  # what is in a place; _LEFT: its element was removed
_HEAP = 1 << 9  # type flag; a static type of the interpreter or an extension has the same address within each page
_ATOMS = frozenset((int, str, bytes, bool, type(None), float, complex))
_STEADY = _ATOMS - {float, complex}
_BY_ADDRESS = (types.MethodType, types.BuiltinFunctionType, weakref.ref)
_CONTAINERS = frozenset((list, tuple, dict, set, frozenset, deque, OrderedDict, defaultdict))

_api = ctypes.PyDLL(None)
_api.PyMem_Malloc.restype, _api.PyMem_Malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
for _f in (_api.PyMem_Free, _api.Py_IncRef, _api.Py_DecRef):
    _f.restype, _f.argtypes = None, [ctypes.c_void_p]


def table(o):
    """Returns the mask of a set's table, the place where pop starts its search, and what is in each place."""
    if not _readable:
        return 0, 0, b""
    fill, used, mask, at, _, finger = _head(o)
    entries = _entries(at, mask)
    if fill == used:
        places = bytes(map(bool, entries[::2]))
    else:
        places = bytes(_LEFT if h == -1 else key != 0 for key, h in zip(entries[::2], entries[1::2]))
    return mask, finger, places


def empty(o):
    """Gives an empty set the table of a new one.

    Many sets hold addresses for a while (reprlib.recursive_repr, weakref), and end with a different table each time."""
    if table(o) != _NEW:
        set.clear(o)


def _address(o):
    h = id(o)  # id returns the address rotated by four bits, see the package
    return (h << 4 | h >> 60 & 15) & (1 << 64) - 1


def listed(o):
    """Returns the elements in the order of iteration."""
    return list((set if issubclass(type(o), set) else frozenset).__iter__(o))


def _head(o):
    return _HEAD.unpack(ctypes.string_at(_address(o) + _AT, _HEAD.size))


def _entries(at, mask):
    return memoryview(ctypes.string_at(at, (mask + 1) * _ENTRY)).cast("n")


def _left():
    """Returns the key that CPython writes into the places of removed elements."""
    s = {0}
    s.discard(0)
    return _entries(_head(s)[3], 7)[0]


def lay(o, mask, finger, places, items):
    """Restores the table that a set had when it listed the items in this order."""
    if not _readable:
        if len(o) != len(items) or not all(a is b or (type(a) in _ATOMS and a == b) for a, b in zip(listed(o), items)):
            raise ValueError("the set comes back in another order")
        return
    _, used, now, at, hashed, _ = _head(o)
    if used != len(items):
        raise ValueError("not the elements that the set had")
    if table(o) == (mask, finger, places) and all(
        a is b or (type(a) in _ATOMS and a == b) for a, b in zip(listed(o), items)
    ):
        return
    was = _entries(at, now)
    hashes = dict(zip(was[::2], was[1::2]))  # by key; items that are not among the keys are atoms
    entries = memoryview(bytearray((mask + 1) * _ENTRY)).cast("n")
    for i, x in zip(_where(places, _TAKEN), items):
        key = _address(x)
        entries[i], entries[i + 1] = key, hashes[key] if key in hashes else hash(x)
    for i in _where(places, _LEFT):
        entries[i], entries[i + 1] = _left_key, -1
    inline = _address(o) + _AT + _HEAD.size
    new = inline if mask < 8 else _api.PyMem_Malloc(len(entries) * 8)
    if not new:
        raise MemoryError
    for x in items:
        _api.Py_IncRef(_address(x))
    ctypes.memmove(new, bytes(entries), len(entries) * 8)
    head = _HEAD.pack(used + places.count(_LEFT), used, mask, new, hashed, finger)
    ctypes.memmove(_address(o) + _AT, head, len(head))
    if at != inline:
        _api.PyMem_Free(at)
    for key in compress(was[::2], [key != 0 and h != -1 for key, h in zip(was[::2], was[1::2])]):
        _api.Py_DecRef(key)


def _where(places, what):
    return compress(range(0, 2 * len(places), 2), map(what.__eq__, places))


def _as_expected():
    """Reports whether a small set has the memory layout that this module expects.

    It follows a pointer only after checking that it points into the set itself."""
    s = {5, 6, 14}
    s.discard(6)
    fill, used, mask, at, _, _ = _head(s)
    if (fill, used, mask, at) != (3, 2, 7, _address(s) + _AT + _HEAD.size):
        return False
    entries = _entries(at, mask)
    return [k for k, h in zip(entries[::2], entries[1::2]) if k and h != -1] == [_address(x) for x in s]


_readable = _as_expected()
_left_key = _left() if _readable else 0
_NEW = table(set())


def readable():
    """Reports whether the memory of sets is laid out as this module expects."""
    return _readable


def addressed(items):
    """Reports whether the hash of any item depends on an address. Their order in a set differs each time."""
    kinds = set(map(type, items))
    return not kinds <= _STEADY and any(_addressed(o, type(o)) for o in items)


def _addressed(o, t):
    if t in _STEADY:
        return False
    if t is complex or t.__module__ == "decimal" or issubclass(t, float):
        return bool(o != o)
    if t.__hash__ is tuple.__hash__ or t.__hash__ is frozenset.__hash__:
        return addressed(list(tuple.__iter__(o)) if issubclass(t, tuple) else listed(o))
    if issubclass(t, type):
        return t.__hash__ is object.__hash__ and bool(o.__flags__ & _HEAP)
    return t.__hash__ is object.__hash__ or issubclass(t, _BY_ADDRESS)


def within(values):
    """Returns the sets that are reachable from the values through containers and instances of the user's classes."""
    found, seen, level = [], set(), values
    while level:
        entered = {t for t in set(map(type, level)) if _entered(t)}
        new = {id(o): o for o in level if type(o) in entered and id(o) not in seen}
        seen.update(new)
        level = list(new.values())
        found += [o for o in level if issubclass(type(o), (set, frozenset)) and not addressed(listed(o))]
        level = gc.get_referents(*level)
    return found


def _entered(t):
    return t not in _ATOMS and (t in _CONTAINERS or instances.simple(t))


def constants(code):
    """Describes the sets among the constants of code and its nested code. Equal code may have sets with different
    tables."""
    found = ()
    for k in code.co_consts:
        if type(k) is types.CodeType:
            found += constants(k)
        elif type(k) is frozenset:
            found += (table(k), tuple(k))
    return found


def survives(code):
    """Reports whether the sets among the constants are the same after marshalling."""
    found = constants(code)
    return not found or found == constants(marshal.loads(marshal.dumps(code)))


kept_names.keep("sets", __name__, lay)
