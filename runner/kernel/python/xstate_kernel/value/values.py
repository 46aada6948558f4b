"""Stores groups of names as bytes and restores them.

The kernel pickles a whole group at once, so that its names still share objects after a restore. It stores functions of
the program by value, as code objects; the interpreter is part of every key. It stores classes of the program by digest.
They must exist when the group is loaded, so the engine re-runs their definitions. Arrays that view the same memory are
stored as views of one array.

The memory of large arrays is stored apart from the pickle, in parts. The parts of a watched array are the chunks that
memory.py hashes, and the digest of a chunk names the part. So the kernel writes a part only once: a frame with a new
column adds little more than that column, and nothing else of it is hashed or copied. Memory that is not watched is
split at rows, and the engine hashes it.

A stored part is not verified when it is read. The engine compares the digests of what was loaded, and these cover the
elements of all arrays. No program can see what they do not cover: the rest of an array of which a view was stored.
"""

import bisect
import ctypes
import functools
import importlib
import io
import marshal
import os
import pickle
import sys
import types
import weakref

from xstate_kernel import original as __builtins__

from .. import adapters
from ..ground import atoms, code_owner, kept_names
from ..ground.unsupported import Unstorable
from . import attributes, code_digest, instances, sets, walk, walk_containers


class NeedClass(Exception):
    """A class of the program must be defined before the group can be loaded."""

    def __init__(self, name, digest):
        super().__init__(name)
        self.name, self.digest = name, digest


_SLOWLY = 4 << 20  # bytes up to which a pickler written in Python is used
_PART = 256 << 10  # bytes of a buffer that make it, or some of its rows, a part; about


class _Reducing:
    """The objects that the kernel pickles specially."""

    def __init__(self, out, fingerprinter):
        buffers = self.buffers = []
        super().__init__(
            out, protocol=5, buffer_callback=lambda b: _out_of_band(b, buffers)
        )  # no method: a cycle would outlive the node
        self.owned = {}  # id of a buffer → itself, if it is the memory of an array that owns it
        self._fingerprinter = fingerprinter
        self.needs = {}
        self._instances = 0
        self._plain = set()  # classes whose instances are only their attributes
        self.bases = {}  # id of the array at the root of views → how its memory is stored
        self.notes = {}  # what adapters note for their trailers, by library
        self._nans = {}

    def reducer_override(self, o):
        t = type(o)
        if t in self._plain and self._without_dict(t):
            return instances.reduce(o, t)
        reduce = _REDUCED_BY.get(t)
        if reduce is not None:
            return reduce(self, o)
        if issubclass(t, type):
            return self._class(o)
        if issubclass(t, types.ModuleType):
            return self._module(o)
        adapter = adapters.of_type(t)
        if adapter is not None:
            found = adapter.reduce(self, o, t)
            if found is not NotImplemented:
                return found
        if issubclass(t, BaseException) and (o.__traceback__, o.__cause__, o.__context__, o.__suppress_context__) != (
            None,
            None,
            None,
            False,
        ):
            raise Unstorable("an exception that was raised")
        name = walk.sentinel(o, t)
        if name is not None:
            return _named, (t.__module__, name)
        key = adapters.state_key(o)
        if key is not None:
            return adapters.state_object, (key,)
        return self._instance(o, t)

    def _instance(self, o, t):
        if instances.simple(t) and (instances.custom(t) or self._without_dict(t)):
            if instances.bare(t) and not instances.custom(t):
                self._plain.add(t)
            return instances.reduce(o, t)
        if code_owner.kind_of(t.__module__) == code_owner.PROGRAM and not instances.simple(t):
            rv = o.__reduce_ex__(5)
            if type(rv) is tuple and walk.left_out(o, t, rv):
                raise Unstorable("attributes that pickling leaves out")
            if type(rv) is tuple and instances.loaded_by_user(t, rv):
                raise Unstorable("an instance that the program's code would put together")
            return rv
        return NotImplemented

    def _without_dict(self, t):
        self._instances += 1
        return self._instances <= attributes.MANY and instances.bare(t)

    def _module(self, m):
        if code_owner.made_by_hand(m):
            raise Unstorable("a module that the program made")
        return _module, (m.__name__, self._submodules(m))

    def _submodules(self, module):
        """Returns the submodules that are attributes of a module because the program imported them."""
        start = module.__name__ + "."
        if code_owner.kind_of(module.__name__) == code_owner.LIBRARY:
            return sorted(n for n in self._fingerprinter.dotted if n.startswith(start) and n in sys.modules)
        return sorted(start + k for k, v in vars(module).items() if sys.modules.get(start + k, self) is v)

    def _function(self, f):
        mine = f.__globals__ is self._fingerprinter.namespace
        if not mine:
            return NotImplemented
        if getattr(f, "__type_params__", None):
            raise Unstorable("a function with type parameters")
        if (
            f.__kwdefaults__ is None
            and not f.__dict__
            and f.__defaults__ is None
            and f.__closure__ is None
            and not _annotations(f)
        ):
            return _function, (
                _marshalled(f.__code__),
                f.__name__,
                f.__qualname__,
                f.__doc__,
                0,
                code_digest.known(f.__code__),
                self._bound(f),
                f.__module__,
            )
        state = (f.__defaults__, f.__kwdefaults__, f.__dict__ or None, f.__closure__, _annotations(f))
        cells = len(f.__closure__ or ())
        return (
            _function,
            (
                _marshalled(f.__code__),
                f.__name__,
                f.__qualname__,
                f.__doc__,
                cells,
                code_digest.known(f.__code__),
                self._bound(f),
                f.__module__,
            ),
            state,
            None,
            None,
            _fill_function,
        )

    def _bound(self, f):
        """Returns the digest of a function that is bound to its own name. At a load, the kernel uses the function that
        is bound to this name, if its digest is equal."""
        if self._fingerprinter.namespace.get(f.__name__) is not f:
            return None
        return self._fingerprinter.of(f).digest

    def _class(self, c):
        if code_owner.kind_of(c.__module__) != code_owner.PROGRAM:
            return NotImplemented
        if c.__module__ != "__main__":
            raise Unstorable(f"class {c.__qualname__} of an unknown module")
        if "." in c.__qualname__:
            raise Unstorable(f"class {c.__qualname__} is not defined at top level")
        fp = self._fingerprinter.of(c)
        if fp.opaque:
            raise Unstorable(f"class {c.__qualname__}: {fp.opaque}")
        self._fingerprinter.classes[fp.digest] = c
        self.needs[c.__qualname__] = fp.digest
        return _class, (c.__qualname__, fp.digest)

    def _cell(self, c):
        try:
            contents = (c.cell_contents,)
        except ValueError:
            contents = ()
        return types.CellType, (), contents, None, None, _fill_cell

    def stand_ins(self, items):
        """Returns the items with a placeholder for each NaN: pickling would create a new object for every reference."""
        return [self.nan(x) if type(x) is float and x != x else x for x in items]

    def nan(self, x):
        return self._nans.setdefault(id(x), _Nan(x))

    def _lru(self, cache):
        if any(cache.cache_info()[:2]):
            raise Unstorable("a cache in use")
        return NotImplemented

    def _memory(self, m):
        offset = walk_containers.offset_of(m)
        if offset is None:
            raise Unstorable("a memoryview that is not contiguous, or read-only")
        return _memory, (bytes(m) if m.readonly else m.obj, offset, m.nbytes, m.format, m.shape)


class _Pickler(_Reducing, pickle.Pickler):
    pass


class _SlowPickler(_Reducing, pickle._Pickler):
    """A pickler in Python, which observes every float. The C pickler does not report a NaN in a list."""

    dispatch = dict(pickle._Pickler.dispatch)

    def _float(self, x):
        if x == x:
            self.save_float(x)
        else:
            self.save(self.nan(x))

    dispatch[float] = _float


class _Nan:
    """A NaN that must be the same object everywhere in the group."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def _nan(module):
    return float("nan") if module is None else importlib.import_module(module).nan


def _marshalled(code):
    if not sets.survives(code):
        raise Unstorable("code with a constant set that would come back in another order")
    return marshal.dumps(code)


class _Table:
    """The hash table of a set, which the kernel stores in addition to the elements."""

    __slots__ = ("set",)

    def __init__(self, o):
        self.set = o


_REDUCED_BY = {  # types whose instances need no further look
    types.FunctionType: _Reducing._function,
    types.CellType: _Reducing._cell,
    type(functools.lru_cache(len)): _Reducing._lru,
    memoryview: _Reducing._memory,
    weakref.ref: lambda pickler, r: (weakref.ref, (r(), r.__callback__)) if r() is not None else (_dead, ()),
    types.CodeType: lambda pickler, code: (marshal.loads, (_marshalled(code),)),
    _Nan: lambda pickler, x: (_nan, (adapters.nan_name(x.value),)),
    _Table: lambda pickler, o: (sets.lay, (o.set, *sets.table(o.set), sets.listed(o.set))),
}


def _out_of_band(b, buffers):
    """Collects a large buffer, which follows the pickle. Reports whether a buffer belongs into the pickle itself."""
    if b.raw().nbytes < _PART:
        return True
    buffers.append(b)
    return False


def _annotations(f):
    return None if sys.version_info >= (3, 14) else f.__annotations__ or None


def _fill_cell(cell, contents):
    if contents:
        cell.cell_contents = contents[0]


def _named(module, name):
    return getattr(importlib.import_module(module), name)


def _memory(whole, offset, size, format, shape):
    part = memoryview(whole).cast("B")[offset : offset + size]
    return part if format == "B" and len(shape) == 1 else part.cast(format, shape)


class _Nothing:
    pass


def _dead():
    """Returns a weak reference whose target was freed."""
    return weakref.ref(_Nothing())


_loading = None


def _function(code, name, qualname, doc, cells, digest, whole, module):
    bound = _loading.printer.namespace.get(name)
    if whole is not None and type(bound) is types.FunctionType and _loading.printer.of(bound).digest == whole:
        _loading.kept.append(bound)
        return bound
    code = marshal.loads(code)
    code_digest.known(code, digest)
    code = _loading.code(code)
    closure = tuple(types.CellType() for _ in range(cells)) if cells else None
    f = types.FunctionType(code, _loading.printer.namespace, name, None, closure)
    f.__qualname__, f.__doc__, f.__module__ = qualname, doc, module
    return f


def _fill_function(f, state):
    if any(f is k for k in _loading.kept):
        return
    f.__defaults__, f.__kwdefaults__ = state[0], state[1]
    if state[2]:
        f.__dict__.update(state[2])
    if state[4]:
        f.__annotations__ = state[4]
    for cell, stored in zip(f.__closure__ or (), state[3] or ()):
        try:
            cell.cell_contents = stored.cell_contents
        except ValueError:
            pass


def _module(name, submodules):
    for n in submodules:
        importlib.import_module(n)
    return importlib.import_module(name)


def _class(name, digest):
    c = _loading.printer.classes.get(digest)
    if c is None:
        raise NeedClass(name, digest)
    _loading.classes.append(c)
    return c


class _Loading:
    def __init__(self, printer, code):
        self.printer, self.code = printer, code
        self.kept = []  # functions that were there
        self.classes = []  # classes that were there


def dump(values, prints, fingerprinter, out):
    """Pickles a list of values into the file out. prints has their fingerprints.

    Returns the required classes, name → digest, and the parts that follow the pickle: digest and address, each None
    if it is not known, and memory. Raises Unstorable."""
    nan = any(fp.nan for fp in prints)
    flat = nan and len(values) == 1 and type(values[0]) is list and atoms.ATOMS.issuperset(map(type, values[0]))
    if nan and not flat and sum(fp.size for fp in prints) > _SLOWLY:
        raise Unstorable("a NaN in what is large")
    p = (_SlowPickler if nan and not flat else _Pickler)(out, fingerprinter)
    try:
        if flat:
            values = [p.stand_ins(values[0])]
        if any(fp.sets for fp in prints):
            values = values + [_Table(o) for o in sets.within(values)]
        values = values + adapters.trailers(p)
        p.dump(values)
        if not p.buffers:
            return p.needs, []
        table = pickle.dumps([(b.raw().nbytes, b.raw().readonly, id(b) in p.owned) for b in p.buffers])
        out.write(table + len(table).to_bytes(8, "little"))
        return p.needs, _parts(p.buffers, fingerprinter.arrays)
    except Unstorable:
        raise
    except RecursionError:
        raise Unstorable("too deep") from None
    except Exception as e:
        raise Unstorable(f"{type(e).__name__}: {e!s}") from None


def _parts(buffers, arrays):
    """Splits the memory of buffers into parts."""
    raws = [b.raw() for b in buffers]
    parts = []
    for b, raw, (address, known) in zip(buffers, raws, arrays.chunks(raws)):
        if not known:
            parts += [(None, None, part) for part in _rows(b, raw)]
            continue
        at = 0
        for size, digest in known:
            parts.append((digest, address + at, raw[at : at + size]))
            at += size
    return parts


def _rows(b, raw):
    """Splits the memory of a buffer at rows."""
    shaped = memoryview(b)
    size = raw.nbytes
    if shaped.ndim > 1 and shaped.c_contiguous:
        row = size // shaped.shape[0]
        size = row * max(1, -(-_PART // row))
    return [raw[i : i + size] for i in range(0, raw.nbytes, size)]


def load(pickled, parts, printer, code, foreign=False):
    """Returns the list of values, and the classes of the program that they refer to.

    After the values, the list has the objects that restored their state. pickled is bytes or a binary file, and parts
    are what follows: paths, and Live. code gets each new code object and returns the one to use. foreign says that
    the bytes came with an archive."""
    global _loading
    _loading = _Loading(printer, code)
    try:
        f = io.BytesIO(pickled) if isinstance(pickled, (bytes, bytearray)) else pickled
        unpickler = pickle.Unpickler
        if foreign:
            from .foreign import Unpickler as unpickler  # few sessions are foreign
        buffers = _buffers(f, _Parts(parts), unpickler) if parts else None
        return unpickler(f, buffers=buffers).load(), _loading.classes
    finally:
        _loading = None


def _buffers(f, parts, unpickler):
    """Returns the buffers of a stored group, each with its own memory. An array reads its memory itself."""
    f.seek(-8, io.SEEK_END)
    size = int.from_bytes(f.read(8), "little")
    f.seek(-8 - size, io.SEEK_END)
    table = unpickler(io.BytesIO(f.read(size))).load()
    f.seek(0)
    if sum(row[0] for row in table) != parts.size or min(row[0] for row in table) < 0:
        raise EOFError
    found, at = [], 0
    for size, readonly, *owned in table:
        if owned == [True] and not readonly:  # pickle makes a memoryview of what is read-only
            found.append(_Stored(parts, at, size))
        else:
            found.append(bytearray(size))
            parts.read_into(memoryview(found[-1]), at)
            if readonly:
                found[-1] = bytes(found[-1])
        at += size
    return found


class Live:
    """A part that is a chunk of an array that this process has, see memory.Arrays.live."""

    def __init__(self, digest, owner, address, size):
        self.digest, self.size = digest, size
        self._owner, self._address = owner, address

    def read_into(self, view, at):
        ctypes.memmove((ctypes.c_char * len(view)).from_buffer(view), self._address + at, len(view))


class _Parts:
    """Parts that are read as if they were one: paths of files, and Live."""

    def __init__(self, parts):
        self._parts = parts
        self._begins = [0]
        for part in parts:
            size = part.size if isinstance(part, Live) else os.stat(part).st_size
            self._begins.append(self._begins[-1] + size)
        self.size = self._begins[-1]

    def read_into(self, view, at):
        n = bisect.bisect_right(self._begins, at) - 1
        while view:
            if n >= len(self._parts):
                raise EOFError
            size = min(len(view), self._begins[n + 1] - at)
            if isinstance(self._parts[n], Live):
                self._parts[n].read_into(view[:size], at - self._begins[n])
            else:
                _read_into(view[:size], self._parts[n], at - self._begins[n])
            view, at, n = view[size:], at + size, n + 1

    def live(self, at, size):
        """Returns the digests of the parts of a region, if all of it is live; else None."""
        first, end = bisect.bisect_left(self._begins, at), bisect.bisect_left(self._begins, at + size)
        inside = self._parts[first:end]
        if self._begins[first] != at or self._begins[end] != at + size or not all(isinstance(p, Live) for p in inside):
            return None
        return [part.digest for part in inside]


def _read_into(view, path, at):
    """Fills memory from a place in a file on."""
    with open(path, "rb", buffering=0) as f:
        f.seek(at)
        while view:
            size = f.readinto(view)
            if not size:
                raise EOFError
            view = view[size:]


class _Stored:
    """The stored memory of an array."""

    def __init__(self, parts, at, size):
        self._parts, self._at, self._size = parts, at, size

    def read_into(self, view):
        self._parts.read_into(view, self._at)

    def filled(self, a):
        """Notes what is known of an array that has read its memory."""
        chunks = self._parts.live(self._at, self._size)
        if chunks is not None:
            _loading.printer.arrays.copied(a, chunks)


# Names by which groups in existing stores find the functions that restore them.
_owned, _view, _count = adapters.numpy.owned, adapters.numpy.view, adapters.pandas.share_references
kept_names.keep(
    "values", __name__, _fill_cell, _named, _memory, _dead, _function, _fill_function, _module, _class, _nan
)
