"""Judges descriptions of values by what pandas and numpy themselves say, and by their bounds. Classes of the program
fail as soon as one of their methods is called."""

import collections
import dataclasses
import datetime
import decimal
import enum
import functools
import io
import itertools
import math
import sys
import time
import types

import numpy as np
import pandas as pd

from xstate_kernel.ground import frames
from xstate_kernel.look import description as look

MOST = {"rows": 50, "columns": 60, "items": 500, "text": 200, "whole": 10_000, "bins": 20, "common": 5}


def described(value, kind, **at):
    """Returns the part of a description that must be there. It can always be sent."""
    _, found = look.show(value, at, MOST)
    if not found or list(found) != [kind]:
        sys.exit("%s is described as %s, want %s" % (type(value), found and list(found), kind))
    frames.encoded(found)
    return found[kind]


def equal(what, got, want):
    if got != want:
        sys.exit("%s is %r, want %r" % (what, got, want))


def near(what, got, want, apart=1e-9):
    if not math.isclose(float(got), float(want), rel_tol=apart, abs_tol=1e-12):
        sys.exit("%s is %s, want %s" % (what, got, want))


def cells(found):
    return [row["cells"] for row in found["cells"]]


def columns(found):
    return {c["name"]: c for c in found["columns"]}


rng = np.random.default_rng(0)


def numbers():
    """The figures of columns are those of describe, and their histograms those of numpy."""
    frame = pd.DataFrame(
        {
            "f": rng.normal(size=1000),
            "gaps": np.where(rng.random(1000) < 0.1, np.nan, rng.random(1000)),
            "i": rng.integers(-50, 50, 1000),
            "u": rng.integers(0, 2**63, 1000).astype("uint64"),
            "f4": rng.random(1000).astype("float32"),
            "Int": pd.array([None, *range(999)], dtype="Int64"),
            "when": pd.date_range("2024-01-01", periods=1000, freq="h", tz="Europe/Rome"),
            "took": pd.to_timedelta(rng.integers(0, 1000, 1000), unit="s"),
        }
    )
    found = columns(described(frame, "table"))
    for name in frame:
        c, column = found[name], frame[name]
        judge = column.describe()
        equal(name + " type", c["type"], str(column.dtype))
        equal(name + " missing", c["missing"], len(column) - int(judge["count"]))
        for figure in ("min", "max", "mean"):
            if name in ("when", "took"):
                equal(name + " " + figure, c[figure], str(judge[figure]))
            else:
                near(name + " " + figure, c[figure], judge[figure], 1e-6 if name == "f4" else 1e-9)
        plain = column.dropna()
        plain = plain.astype("int64") if name in ("when", "took") else plain.to_numpy()
        counts, edges = np.histogram(plain, 20)
        equal(name + " counts", c["histogram"]["counts"], counts.tolist())
        if name not in ("when", "took"):
            near(name + " low", c["histogram"]["low"], edges[0])
            near(name + " high", c["histogram"]["high"], edges[-1])
        if name in ("i", "Int"):
            equal(name + " distinct", c["distinct"], column.nunique())


def texts():
    frame = pd.DataFrame({"t": ["a", "b", "a", None] * 25, "k": pd.Categorical(["x", "y", "x", None] * 25)})
    for name, c in columns(described(frame, "table")).items():
        if name:
            counts = frame[name].value_counts()
            equal(name, [(x["text"], x["count"]) for x in c["common"]], list(counts.items()))
            equal(name + " distinct", c["distinct"], len(counts))
            equal(name + " missing", c["missing"], 25)


def awkward():
    """Tables that libraries refuse halfway."""
    frame = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    equal("columns of one name", cells(described(frame, "table")), [["0", "1", "2"], ["1", "3", "4"]])
    index = pd.MultiIndex.from_tuples([("k", 1), ("l", 2)], names=["p", None])
    frame = pd.DataFrame(np.eye(2), columns=pd.MultiIndex.from_product([["x"], [1, 2]]), index=index)
    found = described(frame, "table")
    equal("levels", [c["name"] for c in found["columns"]], ["p", "", "x / 1", "x / 2"])
    equal("cells", cells(found)[1], ["l", "2", "0.0", "1.0"])
    for frame in (pd.DataFrame(), pd.DataFrame({"a": []}), pd.DataFrame(index=[1, 2])):
        found = described(frame, "table")
        equal("size", (found["rows"], found["width"]), frame.shape)
    frame = pd.DataFrame({"o": [[1], {}, None], "m": [1, "x", 2.5], "c": [1j, 2, math.nan], "b": [True, False, True]})
    found = columns(described(frame, "table"))
    equal("cells that cannot be hashed", found["o"]["missing"], 1)
    equal("mixed", found["m"]["distinct"], 3)
    equal("booleans", found["b"]["common"], [{"text": "True", "count": 2}, {"text": "False", "count": 1}])
    infinite = described(pd.Series([math.inf, -math.inf, math.nan, 1.0], name="s"), "table")["columns"][1]
    equal("infinite", (infinite["min"], infinite["max"], infinite["missing"]), ("-inf", "inf", 1))
    equal("of finite ones", sum(infinite["histogram"]["counts"]), 1)
    described(pd.Series([1e308, -1e308]), "table")  # their distance is infinite
    for values in (
        pd.period_range("2024-01", periods=3),
        pd.interval_range(0, 3),
        pd.arrays.SparseArray([0, 0, 1.5]),
        pd.to_datetime(["2024-01-01", None]),
        [decimal.Decimal("1.5"), None],
        [datetime.date(2024, 1, 1), None],
        [2**100, -1],
    ):
        described(pd.Series(values), "table")
    wide = described(pd.DataFrame(np.zeros((120, 150))), "table", row=100, column=140)
    equal("page", (wide["from"], wide["left"], len(wide["cells"]), len(wide["columns"])), (100, 140, 20, 11))
    long = described(pd.DataFrame({"x" * 1000: ["y" * 1000, "\ud800"]}, dtype=object), "table")
    equal("long texts", (len(long["columns"][1]["name"]), len(cells(long)[0][1])), (203, 203))
    equal("lone surrogate", cells(long)[1][1], "\\ud800")


def large():
    """Ten million rows take no loop over the rows: what needs values one at a time is of a sample."""
    began = time.process_time()
    n = 10_000_000
    found = described(pd.DataFrame({"i": np.arange(n), "s": pd.Categorical(["a", "b"] * (n // 2))}), "table", row=n)
    equal("figures are of all", (columns(found)["i"]["max"], columns(found)["i"]["mean"]), (str(n - 1), "4999999.5"))
    equal("sample", columns(found)["i"]["sampled"], 1_000_000)
    equal("categories are of all", columns(found)["s"]["common"][0], {"text": "a", "count": n // 2})
    twice = np.zeros((2500, 100, 200), "int8")[:, :, ::2]  # 25 million that do not lie in one piece
    twice[-1, -1, -1] = 9
    found = described(twice, "array")
    equal("the largest of all", (found["max"], found["sampled"], float(found["mean"])), ("9", 1_000_000, 9 / 25e6))
    described([{"a": i} for i in range(200_000)], "table")
    described(list(range(1_000_000)), "tree", row=999_990)
    if time.process_time() - began > 30:
        sys.exit("it takes %.0f s" % (time.process_time() - began))


def arrays():
    values = rng.normal(size=(4, 70, 80))
    found = described(values, "array", row=60, column=70)
    near("mean", found["mean"], values.mean())
    equal("counts", found["histogram"]["counts"], np.histogram(values, 20)[0].tolist())
    equal("page", (found["slice"], found["from"], len(found["cells"]), len(cells(found)[0])), ([0], 60, 10, 10))
    equal("cell", cells(found)[0][0], str(values[0, 60, 70]))
    _, inner = look.show(values, {"path": [3], "row": 60}, MOST)
    equal("slice", cells(inner["array"])[0][0], str(values[3, 60, 0]))
    for apart in (np.asfortranarray(values), values[::-1, ::2, 3:], values.transpose(2, 0, 1), values.ravel()[::3]):
        found = described(apart, "array")
        near("mean", found["mean"], apart.mean())
        equal("ends", (found["min"], found["max"]), (str(apart.min()), str(apart.max())))
        equal("counts", found["histogram"]["counts"], np.histogram(apart, 20)[0].tolist())
    gaps = described(np.ma.array([1.0, 2.0, math.nan, 9.0], mask=[0, 0, 0, 1]), "array")
    equal("masked", (gaps["missing"], gaps["max"], cells(gaps)[3]), (2, "2.0", ["--"]))
    for value, kind in (
        (np.array(5.0), "array"),
        (np.array([]), "array"),
        (np.zeros((0, 3)), "array"),
        (np.zeros((2, 0, 3)), "array"),
        (np.array([True, False]), "array"),
        (np.array([1 + 2j, math.nan]), "array"),
        (np.array(["a", "\ud800"]), "array"),
        (np.array([[1], {}], dtype=object), "array"),
        (np.array(["2024-01-01", "NaT"], dtype="M8[D]"), "array"),
        (np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]), "table"),
        (np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]).view(np.recarray), "table"),
    ):
        described(value, kind)
    equal("no dimension", cells(described(np.array(5.0), "array")), [["5.0"]])
    equal("small floats", described(np.float16([60_000] * 100), "array")["mean"], "60000.0")


class Private:
    """All that the kernel might call ends the test."""

    __slots__ = ("__dict__", "x")

    def _called(self, *_):
        sys.exit("a method of the program is called")

    __repr__ = __str__ = __eq__ = __hash__ = __len__ = __iter__ = __getattr__ = __bool__ = __format__ = _called
    value = property(_called)


class Frame(pd.DataFrame):
    __getitem__ = __iter__ = head = Private._called
    shape = iloc = property(Private._called)


class Items(list):
    __iter__ = __len__ = __getitem__ = __bool__ = Private._called


class Zone(datetime.tzinfo):
    utcoffset = dst = tzname = __repr__ = Private._called


class Meta(type):
    def __getattribute__(cls, name):
        if name in ("__module__", "__qualname__", "__name__", "__dict__", "shape"):
            sys.exit("a metaclass of the program is asked")
        return type.__getattribute__(cls, name)


class Named(metaclass=Meta):
    __repr__ = Private._called


class Faked:
    """Says that it is from a library."""

    __module__ = "pandas.core"
    __repr__ = __str__ = Private._called
    shape = dtype = tzinfo = property(Private._called)


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Person:
    name: str
    friends: list


def program():
    """Of a class of the program only what its objects hold is shown."""
    one = Private()
    one.x, one.y = 3, [1, {"z": 2}]
    found = look._description(one, {}, MOST)["tree"]["root"]
    equal("fields", [(x["key"], x["text"]) for x in found["items"]], [(".x", "3"), (".y", "[1, {'z': 2}]")])
    series = pd.Series([None, None], dtype=object)
    series.array[0] = one
    look._description(pd.DataFrame({"a": series}), {}, MOST)
    look._description([one, {"k": one}, (one,)], {}, MOST)
    look._description({1: one, Color.RED: {one.x}}, {}, MOST)
    objects = np.empty(2, dtype=object)
    objects[0] = one
    record = np.zeros(1, dtype=[("a", object), ("b", int)])
    record["a"][0] = one
    holders = [
        *(functools.partial(print, one), types.SimpleNamespace(a=one), types.MappingProxyType({1: one})),
        *({1: one}.values(), {1: one}.items(), ValueError(one), itertools.repeat(one), iter([one])),
        *(objects, record[0], datetime.datetime(2024, 1, 1, tzinfo=Zone()), Named(), Named, Faked(), collections.Counter, slice(one)),
    ]
    for i in range(len(holders)):
        look.show(holders, {"path": [i]}, MOST)
    look._description(holders, {}, MOST)
    look._description([{"a": 1}] * 3000 + [{"a": one}] + [{"a": 1}] * 3000, {}, MOST)
    look._description(pd.DataFrame({"a": pd.Series(holders, dtype=object)}), {}, MOST)
    zoned = look.show([holders[10]], {"path": [0]}, MOST)[0]
    equal("a zone of the program", zoned, "2024-01-01 00:00:00 <Zone>")
    equal("frame", look._description(Frame({"a": [1]}), {}, MOST)["table"]["rows"], 1)
    equal("list", look._description(Items([1, 2]), {}, MOST)["tree"]["root"]["size"], 2)


def nested():
    loop = [1]
    loop.append(loop)
    equal("loop", described(loop, "tree")["root"]["items"][1]["text"], "...")
    value = {1: "a", "1": "b", (1, 2): {3}, None: Color.RED, "p": Person("ann", []), "n": 1 << 100_000, "s": "\ud800"}
    found = described(value, "tree")["root"]
    keys = ["1", "'1'", "(1, 2)", "None", "'p'", "'n'", "'s'"]
    equal("keys", [x["key"] for x in found["items"]], keys)
    equal("texts", [found["items"][i]["text"] for i in (0, 3, 4)], ["'a'", "Color.RED", "Person(name='ann', friends=[])"])
    deep = []
    for _ in range(10_000):
        deep = [deep]
    look._description(deep, {}, MOST)  # its repr ends in a RecursionError
    many = described({i: list(range(100)) for i in range(100)}, "tree")["root"]

    def count(item):
        return 1 + sum(map(count, item.get("items", ())))

    equal("items", (count(many), many["more"], many["items"][0]["more"] > 0), (500, 50, True))
    equal("page", described(list(range(200)), "tree", row=190)["root"]["items"][0]["key"], "[190]")
    point = collections.namedtuple("Point", "x y")(1, 2)
    equal("fields", [x["key"] for x in described(point, "tree")["root"]["items"]], [".x", ".y"])
    described(collections.deque([1, 2]), "tree")
    described(collections.defaultdict(list, a=[1]), "tree")
    text, inner = look.show({"a": [0, {"b": pd.Series([7])}]}, {"path": [0, 1, 0]}, MOST)
    equal("path", cells(inner["table"]), [["0", "7"]])
    equal("nothing is there", look.show([1], {"path": [5]}, MOST), ("", None))
    lines = described("a\nb" * 10_000, "tree")["root"]
    equal("text", (lines["size"], lines["text"][:4], len(lines["text"])), (30_000, "a\nba", 10_003))


def records():
    rows = [{"id": i, "name": "n%d" % (i % 3), "score": None if i % 2 else i * 0.5} for i in range(120)]
    found = described(rows, "table", row=100)
    judge = pd.DataFrame(rows)
    for name, c in columns(found).items():
        equal(name + " missing", c["missing"], int(judge[name].isna().sum()))
        if name != "name":
            near(name + " mean", c["mean"], judge[name].mean())
            plain = judge[name].dropna()
            equal(name + " counts", c["histogram"]["counts"], np.histogram(plain, 20)[0].tolist())
    equal("row", cells(found)[0], ["100", "n1", "50.0"])
    described([{"a": [1]}, {"a": [2]}], "tree")
    described([{"a": 1}, {"b": 2}], "tree")
    described([{"a": 2**2000}, {"a": math.inf}], "table")


def libraries():
    values = {"a": [1, 2, None], "f": [1.0, math.nan, None], "s": ["x", "x", None], "l": [[1], [2], None]}
    values["t"] = [datetime.datetime(2024, 1, 1), None, datetime.datetime(2024, 1, 2)]
    values["b"] = [True, False, None]
    made = {}
    try:
        import polars

        made["polars"] = polars.DataFrame(values)
        described(polars.Series("q", [1, 2]), "table")
        described(polars.DataFrame(), "table")
    except ImportError:
        pass
    try:
        import pyarrow

        made["pyarrow"] = pyarrow.table(values)
        described(pyarrow.chunked_array([[1, 2], [3]]), "table")
        described(pyarrow.table({}), "table")
    except ImportError:
        pass
    for name, value in made.items():
        found = columns(described(value, "table"))
        missing = {k: c["missing"] for k, c in found.items()}
        equal(name + " missing", missing, {"a": 1, "f": 2, "s": 1, "l": 1, "t": 1, "b": 1})
        equal(name, (found["a"]["mean"], found["a"]["max"], found["f"]["min"]), ("1.5", "2", "1.0"))
        equal(name + " common", found["s"]["common"], [{"text": "x", "count": 2}])
        equal(name + " times", found["t"]["max"], "2024-01-02 00:00:00")
    try:
        from PIL import Image

        png = io.BytesIO()
        Image.new("RGB", (3000, 20)).save(png, "PNG")
        found = described(Image.new("F", (3000, 20)), "image")
        equal("image", (found["media"], found["width"]), ("image/png", 3000))
        described(png.getvalue(), "image")
    except ImportError:
        pass
    return list(made)


numbers()
texts()
awkward()
arrays()
program()
nested()
records()
large()
print("pandas %s, numpy %s, %s" % (pd.__version__, np.__version__, ", ".join(libraries())))
