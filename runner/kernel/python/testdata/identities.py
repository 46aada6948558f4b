"""Judges that the objects a fingerprint names belong to the value: asked again, with memory given to others in between,
it names the same ones. One that was made on the way and is gone leaves its address to any other object, which then
seems to be shared."""

import collections
import datetime
import decimal
import functools
import re
import sys
import types

from xstate_kernel.value import fingerprint


class Copying:
    def __init__(self):
        self.items, self.more = [[1], [2]], {"k": [3]}

    def __getstate__(self):
        return {
            "items": [list(x) for x in self.items],
            "more": {k: (list(v),) for k, v in self.more.items()},
            "real": self.more,
        }

    def __setstate__(self, state):
        pass


class Reducing(dict):
    def __reduce__(self):
        return Reducing, (), {"a": [[4], [5]]}, iter([[6]]), iter([("k", [7])])


class Slots:
    __slots__ = "a", "b"

    def __init__(self):
        self.a = [1, [2]]


def reached(fp):
    return fp.ids.keys() | fp.copied.keys()


def counting(x, seen=[]):
    seen.append(x)
    return lambda y: seen + [x, y]


values = [
    Copying(),
    Reducing(a=[1]),
    Slots(),
    [Slots(), Copying()],
    {"k": {"l": [1]}},
    {(1, (2, frozenset([3])))},
    counting,
    counting([1]),
    collections.deque([[1]], 4),
    collections.Counter("abc"),
    collections.defaultdict(list, a=[1]),
    collections.OrderedDict(a=[1]),
    collections.ChainMap({"a": [1]}, {}),
    functools.partial(counting, [1]),
    types.SimpleNamespace(a=[1]),
    types.MappingProxyType({"a": [1]}),
    re.compile("a"),
    decimal.Decimal("1.5"),
    datetime.datetime(2020, 1, 2),
    iter([[1]]),
    iter({"a": 1}),
    reversed([1, 2]),
    enumerate([[1]]),
    zip([[1]], [[2]]),
    map(len, [[1]]),
    range(3),
    slice(1, 2),
    memoryview(bytearray(b"ab")),
    ValueError([1]),
    [1, 2].append,
    type(Slots.a),
]
try:
    import numpy as np
    import pandas as pd
except ImportError:
    pass
else:
    frame = pd.DataFrame({"a": [1, 2, 2], "b": ["x", None, "z"], "c": [1.5, 2, 3]})
    values += [
        np.arange(9).reshape(3, 3)[1:],
        np.array([[1], None], dtype=object),
        np.ma.masked_array([1, 2], [0, 1]),
        np.random.default_rng(1),
        np.rec.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
        np.poly1d([1, 2]),
        frame,
        frame["a"],
        frame[["a"]],
        frame.columns,
        frame.T,
        frame.set_index(["a", "b"]),
        frame.set_index(["a", "b"]).index,
        frame["b"].astype("category"),
        frame["a"].astype("Int64"),
        pd.Index([[1], "a"], dtype=object),
        pd.date_range("2020", periods=3),
        pd.interval_range(0, 3),
        pd.Series(pd.period_range("2020", periods=3)),
        pd.arrays.SparseArray([0, 1]),
        frame.groupby("a"),
        frame.rolling(2),
        pd.Timestamp("2020"),
        pd.api.types.CategoricalDtype(["a", "b"]),
        pd.Series(["a", None], dtype="string"),
        pd.concat([frame["b"], frame["b"]]),
        frame["b"].groupby(frame["b"]),
        frame.set_index("b").index,
    ]
try:
    import pyarrow as pa
except ImportError:
    pass
else:
    texts = pa.array(["a", None, "b"])
    values += [
        texts,
        texts[1:],
        texts[0],
        texts.type,
        texts.buffers()[2],
        texts.dictionary_encode(),
        pa.chunked_array([["a"], ["b"]]),
        pa.array(range(9))[2:],
        pa.array([[1], None, [2, 3]]),
        pa.array([{"a": 1, "b": "x"}, None]),
        pa.table({"a": texts, "b": [[1], None, []]}),
        pa.schema([pa.field("a", pa.int64(), metadata={"k": "v"})]),
        pa.py_buffer(bytearray(9)),
        pd.Series([1, None], dtype="int64[pyarrow]"),
    ]

fingers = fingerprint.Fingerprinter({}, types.SimpleNamespace(loaded=lambda: [], holder=lambda names: None))
for value in values:
    fingers.of(value)  # whatever it caches
    first = fingers.of(value)
    others = [[[i], {i: i}, (i, [i])] for i in range(300)]
    again = fingers.of(value)
    if first.digest != again.digest or first.opaque != again.opaque:
        sys.exit("%r: another digest" % (value,))
    if reached(first) != reached(again) or first.soft.keys() != again.soft.keys():
        sys.exit(
            "%r: other objects, at %s"
            % (
                value,
                [
                    p
                    for fp in (first, again)
                    for i, p in {**fp.ids, **fp.copied}.items()
                    if i not in reached(first) & reached(again)
                ],
            )
        )
print("%d values" % len(values))
