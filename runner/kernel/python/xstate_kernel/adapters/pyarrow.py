"""Arrow: digests of arrays and tables by elements.

The values never change, so it does not count which of two equal values it is. But an array may view memory that
changes, of NumPy or of a bytearray: then it shares this memory. pyarrow.Table.from_pandas copies no column of numbers.
"""

import builtins
import ctypes
import sys
import weakref
from pickle import PickleBuffer

from xstate_kernel import original as __builtins__

from ..ground import memory
from . import numpy
from .protocol import Adapter

_KEPT = 1 << 16  # bytes of a value whose digest is kept
_WORD = ctypes.sizeof(ctypes.c_void_p)
_WORDS = 16  # words of a buffer, among which is the object whose memory it views


class PyArrow(Adapter):
    packages = ("pyarrow",)

    def __init__(self):
        self._kinds = {}  # class → how to write its instances, or None
        self._known = {}  # id of a large value → weak reference to it, its digest, its size
        self._views = None  # made when first needed

    def constant(self, kind):
        return self._how(kind) not in (None, _memory)

    unchanging = constant

    def _how(self, kind):
        if kind not in self._kinds:
            lib = sys.modules.get("pyarrow.lib")
            of = ((getattr(lib, name, None), how) for name, how in _HOW.items())
            found = [how for base, how in of if base is not None and issubclass(kind, base)]
            self._kinds[kind] = found[0] if found else None
        return self._kinds[kind]

    def fingerprint(self, walk, o, kind):
        how = self._how(kind)
        if how is None:
            return False
        if how is _memory:
            if walk.mark(o):
                return True
            walk.own(o)
        walk.put(b"P")
        known = self._known.get(id(o))
        if known is not None and known[0]() is o:
            walk.fp.size += known[2]
            walk.put(known[1])
            return True
        h = _Hash()
        how(h, o)
        found = h.of.digest()
        viewed = [(b, at, x) for b, at in h.buffers for x in (self.viewed(b),) if x is not None]
        if h.size >= _KEPT and not viewed and how is not _memory:
            number = id(o)
            self._known[number] = weakref.ref(o, lambda _, i=number: self._known.pop(i, None)), found, h.size
        for b, at, x in viewed:
            walk.levels = None
            if type(x).__name__ == "ndarray":
                x = _flat(x)
                at += b.address - x.__array_interface__["data"][0]
                numpy.shares(walk, x[at:], len(walk.seen))
            else:
                walk.fp.notes.setdefault(id(x), len(walk.seen))
        walk.fp.size += h.size
        walk.put(found)
        return True

    def viewed(self, buffer):
        """Returns the object whose memory a buffer views, if that may change, or None."""
        while buffer.parent is not None:
            buffer = buffer.parent
        if self._views is None:
            self._views = _Views(sys.modules["pyarrow.lib"])
        found = self._views.of(buffer)
        while type(found) is memoryview:
            found = found.obj
        return None if type(found) is bytes else found

    # storing

    def reduce(self, pickler, o, kind):
        lib = sys.modules["pyarrow.lib"]
        if issubclass(kind, lib.Buffer):
            return self._reduce_buffer(pickler, o)
        if not issubclass(kind, lib.Array) or any(self.viewed(b) is not None for b in filter(None, o.buffers())):
            return NotImplemented
        try:
            if o.get_total_buffer_size() > 2 * o.nbytes + 4096:  # a small part of a large array
                return lib.concat_arrays([o]).__reduce_ex__(5)
        except lib.ArrowException:  # it is not known for some types
            pass
        return NotImplemented

    def _reduce_buffer(self, pickler, o):
        """Returns how to pickle a buffer: each memory once, and that of an object by the object."""
        viewed = self.viewed(o)
        if viewed is not None:
            start = sys.modules["pyarrow.lib"].py_buffer(_flat(viewed)).address
            return _part, (viewed, o.address - start, o.size)
        first = pickler.notes.setdefault("pyarrow", {}).setdefault((o.address, o.size), o)
        if first is not o:
            return _same, (first,)
        buffer = PickleBuffer(o)
        pickler.owned[id(buffer)] = buffer
        return _buffer, (o.size, buffer)


class _Hash:
    """The hash of a value, with what was hashed."""

    def __init__(self):
        from hashlib import sha256  # OpenSSL uses the processor's instructions for it

        self.of = sha256()
        self.size = 0
        self.buffers = []  # with where in them the elements begin

    def put(self, data):
        view = memoryview(data)
        self.size += view.nbytes
        self.of.update(memory.of_bytes(view) if view.nbytes >= memory.LARGE else view)


def _type(h, t):
    lib = sys.modules["pyarrow.lib"]
    if isinstance(t, lib.BaseExtensionType):
        h.put(f"{type(t).__module__}.{type(t).__qualname__} ".encode())
    _schema(h, lib.schema([lib.field("", t)]))


def _field(h, f):
    _schema(h, sys.modules["pyarrow.lib"].schema([f]))


def _schema(h, s):
    h.put(s.serialize())


def _scalar(h, o):
    _array(h, sys.modules["pyarrow.lib"].repeat(o, 1))


def _table(h, o):
    _schema(h, o.schema)
    for c in o.columns:
        (_chunked if hasattr(c, "chunks") else _array)(h, c)


def _chunked(h, o):
    """Writes chunks: a program sees their ends, when it prints a column."""
    _type(h, o.type)
    h.put(b"%d;" % o.num_chunks)
    for c in o.chunks:
        _elements(h, c)


def _array(h, a):
    _type(h, a.type)
    _elements(h, a)


def _elements(h, a):
    """Writes the elements of an array, without what is in the memory of those that are null."""
    lib = sys.modules["pyarrow.lib"]
    t = a.type
    if isinstance(t, lib.BaseExtensionType):
        _elements(h, a.storage)
        return
    buffers, viewing = a.buffers(), t.id in (lib.Type_STRING_VIEW, lib.Type_BINARY_VIEW)
    width = t.bit_width // 8 if t.num_fields == 0 and t.num_buffers == 2 and not viewing else 0
    h.buffers += [(b, a.offset * width) for b in buffers if b is not None]
    h.put(b"%d %d;" % (len(a), a.null_count))
    if t.id == lib.Type_NA:
        return
    if viewing:
        a = a.cast(lib.large_string() if t.id == lib.Type_STRING_VIEW else lib.large_binary())
        t, buffers = a.type, a.buffers()
    if a.null_count and buffers[0] is not None:
        h.put(_bits(buffers[0], a.offset, len(a)))
        a = a.drop_null()
        buffers = a.buffers()
    if t.id == lib.Type_BOOL:
        h.put(_bits(buffers[1], a.offset, len(a)))
    elif t.id in (lib.Type_STRING, lib.Type_BINARY, lib.Type_LARGE_STRING, lib.Type_LARGE_BINARY):
        _texts(h, a, 8 if t.id in (lib.Type_LARGE_STRING, lib.Type_LARGE_BINARY) else 4)
    elif t.id == lib.Type_DICTIONARY:
        _elements(h, a.indices)
        _array(h, a.dictionary)
    elif t.id == lib.Type_STRUCT:
        for part in a.flatten():
            _elements(h, part)
    elif t.id in (lib.Type_LIST, lib.Type_LARGE_LIST):
        _elements(h, a.value_lengths())
        _elements(h, a.flatten())
    elif width:
        if buffers[1] is not None:
            h.put(memoryview(buffers[1])[a.offset * width : (a.offset + len(a)) * width])
    else:
        batch = lib.RecordBatch.from_arrays([lib.concat_arrays([a])], [""])
        h.put(batch.serialize())


def _texts(h, a, width):
    """Writes where texts end, counted from the begin of the first, and the texts. width is that of such a number."""
    if len(a) == 0:
        return
    first, end = (_number(a.buffers()[1], i, width) for i in (a.offset, a.offset + len(a)))
    if first:
        a, end = sys.modules["pyarrow.lib"].concat_arrays([a]), end - first
    _, ends, data = a.buffers()
    h.put(memoryview(ends)[a.offset * width : (a.offset + len(a) + 1) * width])
    if end:
        h.put(memoryview(data)[:end])


def _number(buffer, i, width):
    return int.from_bytes(memoryview(buffer)[i * width : (i + 1) * width], sys.byteorder)


def _bits(buffer, offset, count):
    """Returns bits of a buffer as bytes that begin with the first of them."""
    found = memoryview(buffer)[offset // 8 : (offset + count + 7) // 8]
    if offset % 8 == 0 and count % 8 == 0:
        return found
    bits = int.from_bytes(found, "little") >> offset % 8 & (1 << count) - 1
    return bits.to_bytes((count + 7) // 8, "little")


def _memory(h, b):
    """Writes a buffer that the program has by itself: it may change it."""
    h.buffers.append((b, 0))
    h.put(b"%d;" % b.size)
    h.put(b)


# How to write the instances of classes.
_HOW = {
    "Array": _array,
    "ChunkedArray": _chunked,
    "Table": _table,
    "RecordBatch": _table,
    "Scalar": _scalar,
    "DataType": _type,
    "Field": _field,
    "Schema": _schema,
    "Buffer": _memory,
}


class _Views:
    """Finds the object whose memory a buffer views.

    pyarrow does not report the object, but a buffer holds it at a fixed place. This class finds the place in buffers
    that view known objects. If it finds none, all memory counts as unchanging."""

    def __init__(self, lib):
        self._at = self._places = None
        o = bytearray(64)
        samples = [(lib.py_buffer(o), o)]
        if "numpy" in sys.modules:
            a = sys.modules["numpy"].zeros(8)
            samples.append((lib.array(a).buffers()[1], a))
        for at in range(2, lib.Buffer.__basicsize__ // _WORD):
            places = {}  # address of the methods of a class of buffers → offset of the object
            for buffer, o in samples:
                inner = _word(builtins.id(buffer) + at * _WORD)
                if inner < 1 << 16 or inner % _WORD or _word(inner + 2 * _WORD) != buffer.address:
                    break
                words = [_word(inner + i * _WORD) for i in range(3, _WORDS)]
                if builtins.id(o) not in words:
                    break
                places[_word(inner)] = (3 + words.index(builtins.id(o))) * _WORD
            else:
                self._at, self._places = at * _WORD, places
                return

    def of(self, buffer):
        if self._at is None:
            return None
        inner = _word(builtins.id(buffer) + self._at)
        place = self._places.get(_word(inner))
        return None if place is None else ctypes.cast(_word(inner + place), ctypes.py_object).value


def _word(address):
    return ctypes.c_size_t.from_address(address).value


def _same(buffer):
    return buffer


def _flat(o):
    """Returns an array of NumPy as bytes in the same memory, and another object as it is."""
    if type(o).__name__ != "ndarray":
        return o
    return (o if o.flags.c_contiguous else o.T).reshape(-1).view("u1")


def _part(whole, at, size):
    """Loads a buffer that views the memory of an object."""
    import pyarrow

    return pyarrow.py_buffer(_flat(whole)).slice(at, size)


def _buffer(size, stored):
    """Loads a buffer that owns its memory. stored is bytes, or what reads itself into a buffer."""
    import pyarrow

    found = pyarrow.allocate_buffer(size)
    if hasattr(stored, "read_into"):
        stored.read_into(memoryview(found).cast("B"))
    else:
        memoryview(found).cast("B")[:] = memoryview(stored).cast("B")
    return found


adapter = PyArrow()
