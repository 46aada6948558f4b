"""Judges the index of who shares with whom by comparing every two names, after random changes."""
import random
import sys

from xstate_kernel.groups import Groups


class Print:
    def __init__(self, ids, copied, soft):
        self.ids, self.copied, self.soft = ids, copied, soft

    def places(self, other):
        ways = (self.ids, other.ids), (self.ids, other.copied), (self.copied, other.ids)
        return {"%s %s" % (x[i], y[i]) for x, y in ways for i in x if i in y}


def some(rng, most):
    return {i: rng.choice([1, 2, "x"]) for i in rng.sample(range(20), rng.randrange(most))}


rng = random.Random(int(sys.argv[1]))
groups, prints, told = Groups(), {}, {}
for turn in range(3000):
    name = rng.choice("abcdef")
    if rng.random() < 0.3:
        groups.drop(name)
        prints.pop(name, None)
    else:
        prints[name] = Print(some(rng, 5), some(rng, 3), dict.fromkeys(rng.sample(range(100, 105), rng.randrange(3))))
        groups.put(name, prints[name])
    asked = set(rng.sample("abcdef", 2))
    want = {}
    for a in prints:
        hard = {b for b in prints if b != a and prints[a].places(prints[b])}
        soft = hard | {b for b in prints if b != a and prints[a].soft.keys() & prints[b].soft.keys()}
        if groups.neighbours(a) != hard or groups.neighbours(a, soft=True) != soft:
            sys.exit("turn %d: neighbours of %s" % (turn, a))
        for b in hard:
            if a < b and asked & {a, b}:
                want[a, b] = repr(sorted(prints[a].places(prints[b])))
    have = groups.pairs(asked)
    if have.keys() != want.keys():
        sys.exit("turn %d: pairs %s, want %s" % (turn, have, want))
    for pair, digest in have.items():
        if told.setdefault(digest, want[pair]) != want[pair]:
            sys.exit("turn %d: one digest for two ways to share" % turn)
    if len(set(told.values())) != len(told):
        sys.exit("turn %d: two digests for one way to share" % turn)
