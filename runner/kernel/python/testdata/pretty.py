"""Prints the texts of values as the kernel writes them in notebooks, and as IPython does where it is installed."""

import collections
import datetime
import enum
import functools
import json
import re
import sys
import types

sys.path.insert(0, sys.argv[1])
from xstate_kernel.show.pretty import pretty  # noqa: E402

try:
    from IPython.lib.pretty import pretty as judge
except ImportError:
    judge = None


class Plain:
    def method(self, a): ...

    @staticmethod
    def static(a): ...

    @classmethod
    def of(cls): ...


class Lines:
    def __repr__(self):
        return "Lines(\n a)"


class Own:
    def _repr_pretty_(self, p, cycle):
        with p.group(4, "Own(", ")"):
            p.pretty(["a" * 40, "b" * 20])
            p.text(",")
            p.breakable()
            p.text("c" * 20)


class OwnList(list):
    def __repr__(self):
        return "own list"


class SomeList(list): ...


class SomeSet(set): ...


class SomeTuple(tuple): ...


class Named(type):
    def __repr__(cls):
        return "Named"


class OfNamed(metaclass=Named): ...


class Colour(enum.Enum):
    RED = 1


class Failure(Exception): ...


class Reported(Exception):
    def __repr__(self):
        return "reported"


def f(x, y=1, *rest, z: int = 3, **more): ...


def outer():
    def inner(): ...

    return inner


Pair = collections.namedtuple("Pair", "a b")
endless = [1]
endless.append(endless)
loop = {}
loop["loop"] = loop
fits, too_wide = ["a" * 40, "b" * 31], ["a" * 40, "b" * 32]

VALUES = [
    # atoms and strings
    None, True, 3, 10**90, 1.5, 1e300, 2 + 1j, ..., "a\n'b'", "x" * 200, b"x" * 100, range(3), slice(1, 2),
    datetime.datetime(2020, 1, 1), Colour.RED, Colour,
    # containers
    [], (), {}, set(), frozenset(), (1,), [None] * 3, list(range(40)), tuple(range(40)), set(range(40)),
    frozenset(range(40)), {i: i for i in range(40)}, {3, "a", None}, {(1, 2), (0, 3)}, {"b": 1, "a": 2}, endless, loop,
    [0] * 1000, [0] * 1001, {i: 0 for i in range(1002)}, set(range(1001)), fits, too_wide, [fits, too_wide], [fits],
    (too_wide,), {"key": fits}, {"key": too_wide}, {"a": list(range(30)), "b": [{"x": "y" * 30, "z": "w" * 30}]},
    {"a": {"b": {"c": list(range(10)), "d": "x" * 60}}}, {("k" * 10, "l" * 10): ["v" * 30, "w" * 30]},
    [Lines(), Lines()], [[1, 2], Lines(), 3], {1: Lines(), 2: 3}, [[[Lines()]], 2], ["x" * 100, 1], [[], [[]], ((),)],
    # containers of other kinds
    Pair(1, [2]), Pair("z" * 50, "y" * 50), SomeList([1]), OwnList([1]), SomeSet({1}), SomeTuple((1, 2)),
    collections.OrderedDict(), collections.OrderedDict((i, "x" * 20) for i in range(5)),
    collections.defaultdict(list, {i: "x" * 20 for i in range(5)}), collections.Counter("abcabca"),
    collections.Counter(), collections.deque(range(30)), collections.deque([1], maxlen=2), collections.UserList([1]),
    types.SimpleNamespace(a=1, b="x" * 90, c=list(range(40))), types.MappingProxyType({1: 2}),
    # classes, functions and others
    int, type(None), Plain, OfNamed, Named, collections.OrderedDict, [int, Plain], list[int], f, outer(), outer,
    lambda: 0, len, [].append, str.upper, "a".upper, Plain.method, Plain.static, [f, f, f, f], print,
    ValueError("a", 1), ValueError("x" * 50, "y" * 50), Failure("a"), Reported(), re.compile("a\\d'"),
    re.compile(b"b", re.I | re.X), Own(), [Own(), Own()], sys, Plain(), [Plain()], {"a": Plain}, property(),
    super(SomeList, SomeList([1])), Plain().method, Plain.of, functools.partial(f, 1),
]  # fmt: skip

blank = functools.partial(re.compile("0x[0-9a-f]+").sub, "0x")
print(json.dumps([[blank(pretty(v)), judge and blank(judge(v))] for v in VALUES]))
