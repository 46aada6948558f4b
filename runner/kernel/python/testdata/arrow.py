"""Judges the digests of Arrow values: equal ones have one digest however they lie in memory, others have another, and
stored ones are loaded as they were. An array over memory that changes shares that memory, before and after."""

import io
import sys
import tempfile
import types
from decimal import Decimal

import pyarrow as pa

from xstate_kernel.value import fingerprint, values

fingers = fingerprint.Fingerprinter({}, types.SimpleNamespace(loaded=lambda: [], holder=lambda names: None))


def digest(value):
    fp = fingers.of(value)
    if fp.opaque:
        sys.exit("%r is opaque: %s" % (value, fp.opaque))
    return fp.digest


def equal(a, b):
    if digest(a) != digest(b):
        sys.exit("another digest: %r\n%r" % (a, b))


def differ(a, b):
    if digest(a) == digest(b):
        sys.exit("one digest: %r\n%r" % (a, b))


def share(a, b):
    x, y = fingers.of(a), fingers.of(b)
    if not y.among(x.ids.keys() | x.copied.keys()):
        sys.exit("not known to share memory: %r\n%r" % (a, b))


def stored(value):
    """Returns a value as it is loaded after it was stored."""
    out = io.BytesIO()
    _, parts = values.dump([value], [fingers.of(value)], fingers, out)
    with tempfile.TemporaryDirectory() as folder:
        paths = ["%s/%d" % (folder, i) for i in range(len(parts))]
        for path, (_, _, memory) in zip(paths, parts):
            with open(path, "wb") as f:
                f.write(memory)
        return values.load(out.getvalue(), paths, fingers, lambda code: code)[0][0]


arrays = [
    pa.array([1, None, 3]),
    pa.array([7] * 100_000 + [None]),
    pa.array(["a", None, "bb"]),
    pa.array(["a", None, "bb"], pa.large_string()),
    pa.array(["a", None, "a text of more than twelve bytes"], pa.string_view()),
    pa.array([b"abc", None, b"xyz"], pa.binary(3)),
    pa.array(["a", None, "a"]).dictionary_encode(),
    pa.array([True, None, False, True] * 5),
    pa.array([1.5, float("nan"), None]),
    pa.array([Decimal("1.5"), None]),
    pa.array([0, 2], pa.duration("s")),
    pa.array([None, None]),
    pa.array([], pa.string()),
    pa.array([[1], None, [2, 3], [4]]),
    pa.array([[1], None, [2]], pa.list_view(pa.int64())),
    pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int64(), 2)),
    pa.array([{"a": 1, "b": "x"}, None, {"a": 2, "b": None}]),
    pa.array([[("k", 1)], None, [("z", 2)]], pa.map_(pa.string(), pa.int64())),
    pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]),
    pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), pa.array(["a", "b"])),
]
for a in arrays:
    for value in (a, pa.chunked_array([a]), pa.table({"a": a}), pa.record_batch({"a": a}), a.type):
        equal(value, stored(value))
    if len(a) > 1:
        differ(a, a[1:])
        for part in (a[1:], a[: len(a) - 1]):
            equal(part, pa.concat_arrays([part]))
            equal(part, stored(part))
for i, a in enumerate(arrays):
    for b in arrays[:i]:
        differ(a, b)

differ(pa.array([["a"], ["b"]]), pa.array([["a", "b"], []]))
differ(pa.array(["ab", "c"]), pa.array(["a", "bc"]))
differ(pa.chunked_array([["a"], ["b"]]), pa.chunked_array([["a", "b"]]))
differ(pa.scalar("x"), pa.scalar("y"))
differ(pa.schema([("a", pa.int64())]), pa.schema([("a", pa.int64())], metadata={"k": "v"}))
unseen = [pa.Array.from_buffers(pa.int8(), 2, [pa.py_buffer(b"\1"), pa.py_buffer(b)]) for b in (b"\1\2", b"\1\3")]
equal(*unseen)  # the second element is null
if len(stored(arrays[1][:9]).buffers()[1]) > 1000:
    sys.exit("all of the array is stored with a small part of it")

memory = bytearray(16)
over = pa.Array.from_buffers(pa.int64(), 2, [None, pa.py_buffer(memory)])
share(memory, over)
memory, over = stored([memory, over])
memory[0] = 1
if over.to_pylist() != [1, 0]:
    sys.exit("the loaded array has other memory")
if fingers.of(pa.Array.from_buffers(pa.int64(), 1, [None, pa.py_buffer(b"12345678")])).ids:
    sys.exit("bytes are shared")

try:
    import numpy as np
    import pandas as pd
except ImportError:
    sys.exit()
n = np.zeros(9)
over = pa.array(n)
share(n, over[2:])
differ([n, over], [n.copy(), over])
differ([n, over[:2]], [n, over[2:4]])
differ([over[:2], n], [over[2:4], n])
for value in ([n, over[2:4]], [over[2:4], n], [over[2:4], over[3:4]]):
    equal(value, stored(value))
frame = pd.DataFrame({"n": [1, 2, 3], "t": ["x", None, "z"]})
table = pa.Table.from_pandas(frame)
share(frame, table)
frame, table = stored([frame, table])
share(frame, table)
for value in (frame, frame[1:], frame["t"], pd.concat([frame, frame]), pd.Series([1, None], dtype="int64[pyarrow]")):
    equal(value, stored(value))
print("%d kinds of arrays" % len(arrays))
