"""Judges the index of who shares with whom by comparing every two names, after random changes."""

import random
import sys

from xstate_kernel.ground import native
from xstate_kernel.value.groups import Groups


class Print:
    opaque = lifetime_sensitive = weak = partial = False
    levels = None

    def __init__(self, places, copied, soft):
        self.places, self.copied, self.soft, self.ordinals = places, copied, soft, None
        if native.Ordinals and rng.random() < 0.5:
            found = native.Ordinals()
            for i in rng.sample(range(20), rng.randrange(8)):
                found.add(i)
                if i not in places and rng.random() < 0.8:
                    found.share(i)
            if found.sharing():
                self.ordinals = found
        self.ids = {**(self.ordinals.places() if self.ordinals else {}), **places}

    def ways(self, other):
        ways = (self.ids, other.ids), (self.ids, other.copied), (self.copied, other.ids)
        return {"%s %s" % (x[i], y[i]) for x, y in ways for i in x if i in y}


def some(rng, most):
    return {i: rng.choice([1, 2, "x"]) for i in rng.sample(range(20), rng.randrange(most))}


def named(name):
    f = (lambda: 0) if rng.random() < 0.5 else type(name, (), {})
    f.__qualname__ = name
    return f


rng = random.Random(int(sys.argv[1]))
codes, changed = {i: named("code %d" % i) for i in range(100, 105)}, set()
groups, prints, told = Groups(), {}, {}
for turn in range(3000):
    name = rng.choice("abcdef")
    if rng.random() < 0.3:
        groups.drop(name)
        prints.pop(name, None)
    else:
        prints[name] = Print(
            some(rng, 5), some(rng, 3), {i: codes[i] for i in rng.sample(range(100, 105), rng.randrange(3))}
        )
        changed -= prints[name].soft.keys() - {i for p in prints.values() if p is not prints[name] for i in p.soft}
        groups.put(name, prints[name])
    if rng.random() < 0.3:
        i = rng.choice(list(codes))
        codes[i].said = rng.random()
        changed.add(i)
    if name in prints and rng.random() < 0.5:
        soft = prints[name].soft
        groups.checked.clear()  # code of the program ran
        if groups.altered(prints[name]) != {"code %d" % i for i in changed & soft.keys()}:
            sys.exit("%d: %s: what changed: %s of %s" % (turn, name, changed, list(soft)))
        changed -= soft.keys()
    asked = set(rng.sample("abcdef", 2))
    want = {}
    for a in prints:
        hard = {b for b in prints if b != a and prints[a].ways(prints[b])}
        soft = hard | {b for b in prints if b != a and prints[a].soft.keys() & prints[b].soft.keys()}
        if groups.neighbours(a) != hard or groups.neighbours(a, soft=True) != soft:
            sys.exit("turn %d: neighbours of %s" % (turn, a))
        for b in hard:
            if a < b and asked & {a, b}:
                want[a, b] = repr(sorted(prints[a].ways(prints[b])))
    have = groups.pairs(asked)
    if have.keys() != want.keys():
        sys.exit("turn %d: pairs %s, want %s" % (turn, have, want))
    for pair, digest in have.items():
        if told.setdefault(digest, want[pair]) != want[pair]:
            sys.exit("turn %d: one digest for two ways to share" % turn)
    if len(set(told.values())) != len(told):
        sys.exit("turn %d: two digests for one way to share" % turn)
