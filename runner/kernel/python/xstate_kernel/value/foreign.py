"""Loads values of a foreign store: pickles that may be malicious.

A pickle is a program: it may import any module and call anything with anything. Here it may name only what a table
lists, and call only what the table calls safe with any arguments, or a function of this module that checks them first.
So a pickle of numbers, texts, containers, dates and arrays is loaded. Any other is refused before it does anything.

No object of pandas or Arrow is loaded: their constructors call what they are given, and an index believes what its
attributes say of its elements. Such values are computed again.

The Unpickler in C takes no such rules: it sets the state of any object by any __setstate__, and numpy.dtype then takes
references for numbers, which reads and writes memory at chosen addresses. Its counterpart in Python is slower, but each
of its instructions is a method. The memory of large arrays is not part of the pickle and costs the same.

This cannot prevent a fault in the code of a library that reads its own format. Therefore questions load foreign values
in a bounded interpreter.
"""

import importlib.util
import math
import os
import pickle
import sys
from collections import Counter, OrderedDict, defaultdict, deque

from xstate_kernel import TYPE_CHECKING
from xstate_kernel import original as __builtins__

from .. import adapters
from ..ground import code_owner
from . import sets

if TYPE_CHECKING:
    from typing import Any

_InPython: "Any" = pickle._Unpickler
Refused = pickle.UnpicklingError
_PASSED = object()  # in the table: a class that is an argument, and is not called

_SCALARS = (int, float, complex, bool, str, bytes, type(None))
_CONTAINERS = (list, tuple, dict, set, frozenset)


def _plain(make, *kinds):
    """Returns a function that calls make with arguments of these types, by default scalars and containers. An iterator
    or a range could make it fill the memory."""
    kinds = kinds or _SCALARS + _CONTAINERS

    def call(*args):
        for a in args:
            if type(a) not in kinds:
                raise Refused(f"{make.__name__} of a {type(a).__name__}")
        return make(*args)

    return call


_FACTORIES = (None, list, dict, set, int, float, str, tuple, bytes, bool, frozenset)


def _default(*args):
    """Makes a defaultdict. Its factory is called when the program looks up a key."""
    if len(args) != 1 or not any(args[0] is factory for factory in _FACTORIES):
        raise Refused("a defaultdict of an unknown factory")
    return defaultdict(args[0])


def _lay(o, mask, finger, places, items):
    """Restores the table of a set if it is one that this set can have: sets.lay writes what it is given."""
    if type(o) not in (set, frozenset) or type(items) is not list or type(places) is not bytes:
        raise Refused("the table of a set")
    if type(mask) is not int or type(finger) is not int:
        raise Refused("the table of a set")
    had, seen = sets.listed(o), set()
    for x in items:
        if not any(x is y or (type(x) is type(y) and type(x) in _SCALARS and x == y) for y in _near(o, x, had)):
            raise Refused("the table of a set with other elements")
        seen.add(id(x))
    taken = places.count(1)
    if (
        (mask, places) != (0, b"")  # an interpreter with another layout of sets
        and not (
            7 <= mask < 1 << 40
            and mask & (mask + 1) == 0
            and len(places) == mask + 1
            and 0 <= finger <= mask
            and taken == len(items) == len(seen) == len(had)
            and taken + places.count(2) < mask + 1
            and taken + places.count(2) + places.count(0) == mask + 1
        )
    ):
        raise Refused("the table of a set")
    sets.lay(o, mask, finger, places, items)


def _near(o, x, had):
    """Returns what an element of a set may be: a look-up finds scalars without a walk over all."""
    return (x,) if type(x) in _SCALARS and x in o else had


def _nan(module):
    if module not in (None, "math", "numpy"):
        raise Refused(f"the NaN of {module!r}")
    return float("nan") if module is None else importlib.import_module(module).nan


# NumPy


def _numpy():
    return sys.modules["numpy"]


def _dtype(*args):
    if len(args) != 3 or type(args[0]) is not str or args[0][:1] not in "bBiufcmMOSUV" or args[1:] != (False, True):
        raise Refused("a type of NumPy")
    return _numpy().dtype(*args)


def _set_dtype(d, state):
    """Sets the byte order of a type, and the unit of a time. Whatever else a state says, the type said before."""
    if d.names is not None or d.subdtype is not None or type(state) is not tuple or len(state) not in (8, 9):
        raise Refused("a type of NumPy")
    order = state[1]
    if order not in ("<", ">", "|", "="):
        raise Refused("a type of NumPy")
    want = d if order in "|=" else d.newbyteorder(order)
    if d.kind in "mM":
        unit = state[8][1] if len(state) == 9 and type(state[8]) is tuple and len(state[8]) == 2 else None
        if type(unit) is not tuple or len(unit) != 4 or type(unit[0]) is not bytes or unit[2:] != (1, 1):
            raise Refused("a time of NumPy")
        name = unit[0].decode()
        if name not in ("generic", "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"):
            raise Refused("a time of NumPy")
        if name != "generic":
            count = "" if unit[1] == 1 else str(int(unit[1]))
            want = _numpy().dtype(f"{order if order in '<>' else ''}{d.kind}8[{count}{name}]")
    if want.__reduce__()[2] != state:
        raise Refused("a type of NumPy")
    d.__setstate__(state)


def _data(dtype):
    """Checks a type whose elements are not references."""
    if type(dtype).__module__.partition(".")[0] != "numpy" or not isinstance(dtype, _numpy().dtype) or dtype.hasobject:
        raise Refused("memory as objects")
    return dtype


def _reconstruct(kind, shape, code):
    if kind is not _numpy().ndarray or shape != (0,):
        raise Refused("an array of another class")
    return _numpy().ndarray((0,), "b")


def _set_array(a, state):
    if type(state) is not tuple or len(state) != 5 or not isinstance(state[2], _numpy().dtype):
        raise Refused("an array")
    shape, dtype, elements = state[1], state[2], state[4]
    if type(shape) is not tuple or any(type(n) is not int or n < 0 for n in shape):
        raise Refused("an array")
    if dtype.hasobject:  # NumPy does not count the elements, and reads on in memory
        if type(elements) is not list or dtype != _numpy().dtype(object) or len(elements) != math.prod(shape):
            raise Refused("an array of objects")
    elif type(elements) is not bytes or len(elements) != math.prod(shape) * dtype.itemsize:
        raise Refused("an array")
    a.__setstate__(state)


def _frombuffer(buffer, dtype, shape, order, axis_order=None):
    if axis_order is not None:
        raise Refused("an array")
    return _numpy().frombuffer(buffer, _data(dtype)).reshape(shape, order=order)


def _scalar(dtype, data):
    if type(data) is not bytes:
        raise Refused("a number of NumPy")
    return _numpy().frombuffer(data, _data(dtype), 1)[0]


def _filled(writeable, dtype, shape, order, memory):
    return adapters.numpy.filled(writeable, _data(dtype), shape, order, memory)


def _view(base, dtype, shape, offset, strides, writeable):
    if type(base) is not _numpy().ndarray:
        raise Refused("a view")
    _data(base.dtype)
    return adapters.numpy.view(base, _data(dtype), shape, offset, strides, writeable)


def _share(groups):
    """Replaces the function that restores the references that frames share. A value without frames has none."""
    if groups != []:
        raise Refused("references of frames")


def _each(names, how=None):
    return dict.fromkeys(names.split(), how)


# module → name → how: None, a class that may be called with anything; _PASSED, it is only an argument; else the
# function that the pickle gets in its place, which checks its arguments
_KNOWN = {
    "builtins": {
        **_each("list dict set int float str tuple bytes bool frozenset object", _PASSED),
        "complex": _plain(complex),
        "range": _plain(range, int),
        "slice": _plain(slice, int, type(None)),
        "bytearray": _plain(bytearray, bytes),
        "Ellipsis": _PASSED,
        "NotImplemented": _PASSED,
    },
    "collections": {
        "OrderedDict": _plain(OrderedDict),
        "Counter": _plain(Counter),
        "deque": _plain(deque),
        "defaultdict": _default,
    },
    "datetime": _each("date datetime time timedelta timezone"),
    "decimal": {"Decimal": None},
    "fractions": {"Fraction": None},
    "uuid": {"UUID": None},
    "pathlib": _each("PosixPath PurePosixPath WindowsPath PureWindowsPath Path PurePath"),
    "pathlib._local": _each("PosixPath PurePosixPath WindowsPath PureWindowsPath Path PurePath"),
    "numpy": {"ndarray": _PASSED, "dtype": _dtype},
    "xstate_kernel.sets": {"lay": _lay},
    "xstate_kernel.values": {"_nan": _nan},
    "xstate_kernel.adapters.numpy": {"filled": _filled, "view": _view},
    "xstate_kernel.adapters.pandas": {"share_references": _share},
}
for _core in ("numpy.core", "numpy._core"):
    _KNOWN[_core + ".multiarray"] = {"_reconstruct": _reconstruct, "scalar": _scalar}
    _KNOWN[_core + ".numeric"] = {"_frombuffer": _frombuffer}


def _module(name):
    """Returns a module of the table. One of that name beside the program is code of the workspace."""
    if name in sys.modules:
        module = sys.modules[name]
    else:
        top = name.partition(".")[0]
        spec = sys.modules[top].__spec__ if top in sys.modules else importlib.util.find_spec(top)
        if spec is None or (
            spec.origin not in ("built-in", "frozen")
            and not code_owner.is_library_path(os.path.abspath(str(spec.origin)))
        ):
            raise Refused(f"{name} is no library")
        module = importlib.import_module(name)
    if code_owner.module_class(module) != code_owner.LIBRARY:
        raise Refused(f"{name} is no library")
    return module


class Unpickler(_InPython):
    """An unpickler that does what the table allows."""

    dispatch = {}

    def __init__(self, file, buffers=None):
        super().__init__(file, buffers=buffers)
        self._calls = {}  # what may be called, by id

    def find_class(self, module, name):
        names = _KNOWN.get(module)
        if names is None or name not in names:
            raise Refused(f"{module}.{name} is not loaded from a foreign store")
        found, how = getattr(_module(module), name), names[name]
        if how is not None and how is not _PASSED:
            found = how  # the pickle never holds the function itself: what it is passed to could call it
        if how is not _PASSED:
            self._calls[id(found)] = found
        return found

    def _call(self, function, args):
        if id(function) not in self._calls or type(args) is not tuple:
            raise Refused("a call of what may not be called")
        return function(*args)

    def _reduce(self):
        args = self.stack.pop()
        self.stack[-1] = self._call(self.stack[-1], args)

    def _new(self):
        args = self.stack.pop()
        self._make(args, {})

    def _new_named(self):
        named, args = self.stack.pop(), self.stack.pop()
        self._make(args, named)

    def _make(self, args, named):
        kind = self.stack[-1]
        if id(kind) not in self._calls or not issubclass(type(kind), type):
            raise Refused("an instance of a class that may not be made")
        if type(args) is not tuple or type(named) is not dict:
            raise Refused("an instance")
        self.stack[-1] = kind.__new__(kind, *args, **named)

    def _build(self):
        state = self.stack.pop()
        o = self.stack[-1]
        t = type(o)
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(o, numpy.dtype):
            _set_dtype(o, state)
        elif numpy is not None and t is numpy.ndarray:
            _set_array(o, state)
        elif t is getattr(sys.modules.get("uuid"), "UUID", None):
            if type(state) is not dict or set(state) != {"int"} or type(state["int"]) is not int:
                raise Refused("the state of a UUID")
            o.__setstate__(state)
        else:
            raise Refused(f"the state of a {t.__name__}")

    def _items(self, kinds):
        items = self.pop_mark()
        if type(self.stack[-1]) not in kinds:
            raise Refused(f"items of a {type(self.stack[-1]).__name__}")
        return self.stack[-1], items

    def _append(self):
        value = self.stack.pop()
        if type(self.stack[-1]) not in (list, deque):
            raise Refused("an item")
        self.stack[-1].append(value)

    def _appends(self):
        o, items = self._items((list, deque))
        o.extend(items)

    def _set_item(self):
        value, key = self.stack.pop(), self.stack.pop()
        if type(self.stack[-1]) not in _MAPPINGS:
            raise Refused("an item")
        self.stack[-1][key] = value

    def _set_items(self):
        o, items = self._items(_MAPPINGS)
        for i in range(0, len(items), 2):
            o[items[i]] = items[i + 1]

    def _add_items(self):
        o, items = self._items((set,))
        o.update(items)


_MAPPINGS = (dict, OrderedDict, Counter, defaultdict)


def _instructions():
    """Fills the table of instructions: those that only make plain objects, and those with rules."""
    plain = (
        "PROTO FRAME NONE NEWFALSE NEWTRUE INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING "
        "SHORT_BINSTRING BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8 NEXT_BUFFER READONLY_BUFFER UNICODE BINUNICODE "
        "SHORT_BINUNICODE BINUNICODE8 TUPLE EMPTY_TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_LIST EMPTY_DICT EMPTY_SET FROZENSET "
        "LIST DICT POP POP_MARK DUP GET BINGET LONG_BINGET PUT BINPUT LONG_BINPUT MEMOIZE MARK STOP GLOBAL STACK_GLOBAL"
    )
    ruled = {
        "REDUCE": Unpickler._reduce,
        "NEWOBJ": Unpickler._new,
        "NEWOBJ_EX": Unpickler._new_named,
        "BUILD": Unpickler._build,
        "APPEND": Unpickler._append,
        "APPENDS": Unpickler._appends,
        "SETITEM": Unpickler._set_item,
        "SETITEMS": Unpickler._set_items,
        "ADDITEMS": Unpickler._add_items,
    }
    table = _InPython.dispatch
    for name in plain.split():
        code = getattr(pickle, name)[0]
        Unpickler.dispatch[code] = table[code]
    for name, method in ruled.items():
        Unpickler.dispatch[getattr(pickle, name)[0]] = method


_instructions()
