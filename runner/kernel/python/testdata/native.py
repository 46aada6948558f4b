"""Judges the walk in C by that in Python: of random values, both tell the same."""

import datetime
import decimal
import random
import sys

from xstate_kernel.ground import native, ordinals
from xstate_kernel.value import fingerprint, walk_state
from xstate_kernel.world import workspace_modules

if native.level is None:
    sys.exit("there is no walk in C")
C = {k: getattr(native, k) for k in ("atoms", "flat", "level", "sets")}
rng = random.Random(int(sys.argv[1]))


class Plain:
    pass


class Pair(tuple):
    pass


class Slots:
    __slots__ = ("a",)


Plain.__module__ = Pair.__module__ = Slots.__module__ = "__main__"
printer = fingerprint.Fingerprinter({"__name__": "__main__"}, workspace_modules.Workspace())


def use(c):
    for name, f in C.items():
        setattr(native, name, f if c else None)
    walk_state.Ordinals = native.Ordinals if c else ordinals._Ordinals


TEXTS = ("", "a", "text", "é", "中文", "\0", "a\0b", "\ud800", "😀", "x" * 300)
INTEGERS = (0, 1, -1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 2**63, -(2**63), 2**200, -(2**90))
FLOATS = (0.0, -0.0, 1.5, float("inf"), 1e300, float("nan"))


def atom():
    kind = rng.random()
    if kind < 0.4:
        return rng.choice(TEXTS) + str(rng.randrange(100))
    if kind < 0.7:
        return rng.choice(INTEGERS) + rng.randrange(3)
    if kind < 0.85:
        return rng.choice(FLOATS if rng.random() < 0.05 else FLOATS[:5])
    return rng.choice((None, True, False, b"", b"bytes", 1j, complex(-0.0, 2)))


def key():
    return rng.choice((rng.choice(TEXTS), rng.randrange(1000), (rng.randrange(9), "t"), None, 2.5))


def odd(made):
    kind = rng.randrange(10)
    if kind == 0:
        o = Plain()
        for name in rng.sample("abcd", rng.randrange(4)):
            setattr(o, name, value(2, made))
        return o
    if kind == 1:
        o = Slots()
        o.a = value(2, made)
        return o
    if kind == 2:
        return Pair([value(1, made), value(1, made)])
    if kind == 3:
        o = set(rng.sample(TEXTS + INTEGERS, rng.randrange(12)))
        for _ in range(rng.randrange(3)):
            o.discard(rng.choice(TEXTS))
        made.append(o)
        return o
    return (
        datetime.date(2020, 1, rng.randrange(1, 28)),
        decimal.Decimal(rng.randrange(9)),
        {rng.randrange(20) for _ in range(rng.randrange(9))},
        frozenset((1, "a")),
        bytearray(b"abc"),
        range(3),
    )[kind - 4]


def value(depth, made):
    kind = rng.random()
    if made and kind < 0.05:
        return rng.choice(made)
    if kind < 0.1 and strange:
        return odd(made)
    if depth == 0 or kind < 0.3:
        return atom()
    few = rng.randrange(6) if rng.random() < 0.95 else rng.randrange(90)
    if kind < 0.55:
        o = []
        made.append(o)
        o.extend(value(depth - 1, made) for _ in range(few))
        return o
    if kind < 0.75:
        return tuple(value(depth - 1, made) for _ in range(few))
    o = {}
    made.append(o)
    for _ in range(few):
        o[key()] = value(depth - 1, made)
    return o


def told(v):
    fp = printer.of(v)
    if printer.compare(v, fp) is False:  # None: only another walk tells, which C says less often
        sys.exit("%r counts as changed" % (v,))
    # An instance has a __dict__ or not, as Python or C looks at it: that of one is no object of its own.
    ids = {i: place for i, place in fp.ids.items() if type(place) is not int or place >= 0 or i < 0}
    return (fp.digest, fp.opaque, fp.size, fp.nan, fp.sets, sorted(fp.soft), sorted(ids.items(), key=str))


many = {
    "records": [{"id": i, "name": f"n{i}", "x": i / 7} for i in range(3000)],
    "numbers": [i / 3 for i in range(200_000)],
    "texts": [f"é{i}" for i in range(70_000)],
    "mixed": [(i, str(i), [i % 3, None], {"k": b"x" * (i % 50)}) for i in range(40_000)],
    "large": [["x" * 1000 + str(i)] for i in range(40_000)],
    "large again": ["y" * 100_000 + str(i) for i in range(300)],
}
many["instances"] = []
for i in range(20_000):
    o = Plain()
    o.a, o.b = i, str(i)
    if i % 7 == 0:
        o.c = [i]
    if i % 11 == 0:
        del o.a
    many["instances"].append(o)
vars(many["instances"][100])  # its level is one of Python's
many["sets"] = [{i, str(i), i * i} for i in range(20_000)]
many["large set"] = {f"t{i}" for i in range(300_000)}
many["shared"] = {"a": many["records"], "b": many["records"][::2]}
deep = []
for _ in range(40):
    deep = [deep, (deep,), {"d": deep}]
many["deep"] = deep
itself = [1]
itself.append(itself)
many["itself"] = itself
strange = True
for name, v in many.items():
    use(True)
    c = told(v)
    use(False)
    if c != told(v):
        sys.exit("%s: %s, want %s" % (name, c[:6], told(v)[:6]))
for turn in range(600):
    strange = turn % 2 == 0
    made = []
    v = value(rng.randrange(5), made)
    use(True)
    c = told(v)
    fp = printer.of(v)
    use(False)
    if c != told(v):
        sys.exit("turn %d: %r: %s, want %s" % (turn, v, c, told(v)))
    # A change in place is seen, whichever walk looks.
    if made and not strange:
        was = printer.of(v)
        o = rng.choice(made)
        if type(o) is set:
            continue
        if type(o) is list:
            o.append(object())
            o[-1] = atom()
        else:
            o[rng.random()] = atom()
        new = printer.of(v)
        for known in (fp, was):
            if printer.compare(v, known) is True and new.digest != was.digest:
                sys.exit("turn %d: %r counts as unchanged" % (turn, v))
            if printer.compare(v, known) is False and new.digest == was.digest:
                sys.exit("turn %d: %r counts as changed" % (turn, v))
print("equal")
