"""Judges what is read of instances without their __dict__ by what the __dict__ holds once it is made: random
attributes, in random orders, some deleted, of classes of several kinds. Reading makes no __dict__, values are named
alike before it is made and after, share alike, and come back from a store without one."""

import random
import sys

from xstate_kernel.value import attributes, fingerprint, instances, values

draw = random.Random(int(sys.argv[1]))


class Plain:
    pass


class Derived(Plain):
    size = 3

    def method(self):
        return 1


class Described:
    @property
    def a(self):
        return 1

    def __getattr__(self, name):
        raise AttributeError(name)


class Dying:
    def __del__(self):
        pass


def instance(t):
    o, names = t(), [c for c in "bcdefghij"[: draw.randrange(10)]]
    draw.shuffle(names)
    for n in names:
        setattr(o, n, draw.choice([1, 2.5, "x", None, [n], {"k": n}, o]))
    for n in draw.sample(names, draw.randrange(len(names) + 1) if draw.random() < 0.3 else 0):
        delattr(o, n)
        if draw.random() < 0.5:
            setattr(o, n, "again")
    return o


def asked(o):
    """Whether o has a __dict__, as the collector and the fast way see it."""
    return attributes.many((o,), type(o)) is None


printer = fingerprint.Fingerprinter(vars(sys.modules["__main__"]), None)
lazy = (
    sys.implementation.name == "cpython"
    and (3, 11) <= sys.version_info[:2] <= (3, 13)
    and getattr(sys, "_is_gil_enabled", lambda: True)()
)
read = 0
for turn in range(300):
    t = draw.choice([Plain, Plain, Derived, Described, Dying, type("Local", (Plain,), {"__module__": "__main__"})])
    group = [instance(t) for _ in range(draw.randrange(1, 6))]
    assert instances.bare(t)
    found = [attributes.of(o, t) for o in group]
    many = attributes.many(group, t)
    assert any(own for _, own in found) == (many is None)
    had = sum(map(asked, group))  # the interpreter makes some when it has no room for names
    read += len(group) - had
    both = [group[0], group], {"k": group}
    before = [printer.of(v) for v in (*both, *group)]
    assert sum(map(asked, group)) == had
    group[draw.randrange(len(group))].__dict__  # a part of them has one
    some = [printer.of(v) for v in (*both, *group)]
    assert [fp.digest for fp in some] == [fp.digest for fp in before] and sum(map(asked, group)) <= had + 1
    want = [list(o.__dict__.items()) for o in group]
    assert [list(d.items()) for d, _ in found] == want, (found, want)
    if many is not None:
        lengths, held, names = many
        assert (lengths, held, names) == (
            [len(w) for w in want],
            [v for w in want for _, v in w],
            [k for w in want for k, _ in w],
        )
    assert all(map(asked, group))
    after = [printer.of(v) for v in (*both, *group)]
    for a, b in zip(before, after):
        assert a.digest == b.digest and a.opaque == b.opaque
        assert all(b.ids[i] == place for i, place in a.ids.items())
        assert set(b.ids.values()) == set(a.ids.values())  # what is new are the dicts, in the places of the instances
if lazy:
    assert read > 400

# one that was stored

for base in (Plain, Derived, Described):
    t = type("New", (base,), {"__module__": "__main__"})  # which knows no names yet: there is room for a few
    o = t()
    o.b, o.a_list = 1, [2]
    make, args, state, _, _, fill = instances.reduce(o, t)
    again = make(*args)
    fill(again, state)
    assert not lazy or not (asked(o) or asked(again))
    assert vars(again) == vars(o)

print("%d instances read without a __dict__" % read)
