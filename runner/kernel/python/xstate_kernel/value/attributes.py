"""Reads attributes of instances without creating their __dict__.

CPython 3.11 to 3.13 create the __dict__ of an instance only on demand. Afterwards, each access to an attribute is
slower: by a third in 3.13, and by a factor of two in earlier versions.

Without a __dict__, an instance has an array of values, in the order of names that its class stores for all instances
(PEP 412), and the order in which its own attributes were set. The garbage collector reports the values. No interface
reports the rest. The kernel reads it from the memory of the interpreter, after a test of the layout."""

import gc
import struct
import sys
from itertools import repeat

from xstate_kernel import original as __builtins__

_MANAGED, _INLINE, _ABSTRACT = 1 << 4, 1 << 2, 1 << 20  # flags of types; inline: the values are in the instance (3.13)
_SPLIT = 2  # kind of a table of names that instances share
_WORD = struct.Struct("=Q")

MANY = 10_000  # above, the kernel uses the dicts: reading an attribute takes most of a microsecond per instance

_memory = None
_supported, _names = {}, {}  # by class: see lazy; names in its order, as far as they were needed
_shapes = {}  # class, order → see _shape
_structs = {}  # size → that of as many bytes


def of(o, t):
    """Returns the attributes of an instance as a dict, and whether this is the instance's own dict."""
    orders = lazy(t) and _orders([id(o) << 4], t)
    if orders:
        shape = _known_shape(orders[0], t)
        values = gc.get_referents(o)
        if shape is not None and len(values) == len(shape[0]) + 1:
            names, places = shape
            return dict(zip(names, values if places is None else [values[i] for i in places])), False
    return object.__getattribute__(o, "__dict__"), True


def many(group, t):
    """Returns how many attributes the instances of t have, all values and all names, or None if one has a dict."""
    orders = lazy(t) and _orders([id(o) << 4 for o in group], t)  # id is a hash here, see original
    if not orders:
        return None
    shapes = {order: _known_shape(order, t) for order in set(orders)}
    values = gc.get_referents(*group)  # those of the first, its class, those of the second, …
    if len(shapes) == 1:
        ((names, places),) = shapes.values()
        if places is None and len(values) == len(group) * (len(names) + 1):
            del values[len(names) :: len(names) + 1]
            return [len(names)] * len(group), values, names * len(group)
    if None in shapes.values():
        return None
    lengths, found, all_names, at = [], [], [], 0
    for order in orders:
        names, places = shapes[order]
        found += values[at : at + len(names)] if places is None else [values[at + i] for i in places]
        all_names += names
        lengths.append(len(names))
        at += len(names) + 1
    return (lengths, found, all_names) if at == len(values) else None


def lazy(t):
    """Reports whether instances of t may have no dict, and the kernel can read such instances."""
    if _memory is None:
        begin()
    found = _supported.get(t)
    if found is None:
        found = _supported[t] = _supports(t)
    return found


def _supports(t):  # making an instance must not run code of the user
    return (
        _orders is not None
        and bool(t.__flags__ & _MANAGED and not t.__flags__ & _ABSTRACT)
        and (_orders is not _orders_13 or bool(t.__flags__ & _INLINE))
        and not any("__del__" in vars(c) for c in t.__mro__)
    )


# Each of these returns, for instances at these addresses, which names of their class t they have, in the order in which
# they were set. It returns None if one has a dict.


def _orders_13(addresses, t):
    at = t.__basicsize__
    heads = list(map(struct.Struct("=Q%dx4B" % (16 + at)).unpack_from, repeat(_memory), [a - 24 for a in addresses]))
    kinds = set(heads)
    if any(held or not valid for held, _, _, _, valid in kinds):
        return None
    if len(kinds) == 1:
        room, size = heads[0][1:3]
        return _slices([a + at + 8 + 8 * room for a in addresses], size)
    return [
        _memory[a + at + 8 + 8 * room : a + at + 8 + 8 * room + size].tobytes()
        for a, (_, room, size, _, _) in zip(addresses, heads)
    ]


def _orders_12(addresses, t):
    found = [word for (word,) in map(_WORD.unpack_from, repeat(_memory), [a - 24 for a in addresses])]
    return _prefixes([values + 1 for values in found]) if all(values & 1 for values in found) else None


def _orders_11(addresses, t):
    found = [word for (word,) in map(_WORD.unpack_from, repeat(_memory), [a - 32 for a in addresses])]
    return _prefixes(found) if all(found) else None


def _prefixes(values):
    sizes = list(map(_memory.__getitem__, [v - 2 for v in values]))
    size = sizes[0]
    if sizes.count(size) < len(sizes):
        return [_memory[v - 2 - n : v - 2].tobytes()[::-1] for v, n in zip(values, sizes)]
    found = _slices([v - 2 - size for v in values], size)
    turned = {order: order[::-1] for order in set(found)}
    return list(map(turned.__getitem__, found))


def _slices(addresses, size):
    found = _structs.get(size)
    if found is None:
        found = _structs[size] = struct.Struct("=%ds" % size)
    return [order for (order,) in map(found.unpack_from, repeat(_memory), addresses)]


def _known_shape(order, t):
    found = _shapes.get((t, order))
    if found is None:
        found = _shapes[t, order] = _shape(order, t)
    return found


def _shape(order, t):
    """Returns the names for an order, and the positions of their values; None means that the values are in order."""
    known = names(t, max(order, default=-1) + 1)
    if known is None:
        return None
    places = sorted(order)
    return [known[i] for i in order], None if list(order) == places else list(map(places.index, order))


def names(t, count):
    """Returns the first names of a class in its order, from the dict of a new instance; None if there are fewer."""
    found = _names.get(t, ())
    if len(found) < count:
        import ctypes

        trial = object.__new__(t).__dict__
        (keys,) = _WORD.unpack_from(_memory, (id(trial) << 4) + 32)
        if _memory[keys + 10] != _SPLIT:
            return None
        entries, size = keys + 32 + (1 << _memory[keys + 9]), _WORD.unpack_from(_memory, keys + 24)[0]
        found = _names[t] = [ctypes.py_object.from_address(entries + 16 * i).value for i in range(size)]
    return found if len(found) >= count else None


_orders = {(3, 11): _orders_11, (3, 12): _orders_12, (3, 13): _orders_13}.get(sys.version_info[:2])
if (
    sys.implementation.name != "cpython" or sys.abiflags or struct.calcsize("P") != 8
):  # debug and free-threaded ones have another layout
    _orders = None


def begin():
    """Tests the whole mechanism on instances with known attributes."""
    global _memory, _orders
    if _orders is None:
        return

    class Trial:
        pass

    def trial(names, drop=""):
        o = Trial()
        for n in names:
            setattr(o, n, [n])
        for n in drop:
            delattr(o, n)
        return o

    try:
        import ctypes

        _memory = memoryview((ctypes.c_ubyte * sys.maxsize).from_address(0)).cast("B")
        made = [
            trial("abc"),
            trial("cab"),
            trial("b"),
            trial(""),
            trial("abcd", "b"),
            trial("dcba", "da"),
            trial("abc"),
            trial("abc"),
        ]
        alone, same, mixed = [of(o, Trial) for o in made], many(made[-2:], Trial), many(made, Trial)
        want = [o.__dict__ for o in made]
        works = (
            [(list(d.items()), own) for d, own in alone] == [(list(d.items()), False) for d in want]
            and many(made[:1], Trial) is None
            and all(
                got == (list(map(len, ds)), [v for d in ds for v in d.values()], [k for d in ds for k in d])
                for got, ds in ((same, want[-2:]), (mixed, want))
            )
        )
    except Exception:
        works = False
    if not works:
        _orders = None
    _names.clear()
    _supported.clear()
    _shapes.clear()
