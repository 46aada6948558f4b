"""Judges the index of who shares with whom by comparing every two names, after random changes."""
import random
import sys

from xstate_kernel.groups import Groups


class Print:
    def __init__(self, ids, soft):
        self.ids, self.soft = ids, soft


rng = random.Random(int(sys.argv[1]))
groups, prints, told = Groups(), {}, {}
for turn in range(3000):
    name = rng.choice("abcdef")
    if rng.random() < 0.3:
        groups.drop(name)
        prints.pop(name, None)
    else:
        ids = {i: rng.choice([1, 2, "x"]) for i in rng.sample(range(20), rng.randrange(5))}
        prints[name] = Print(ids, dict.fromkeys(rng.sample(range(100, 105), rng.randrange(3))))
        groups.put(name, prints[name])
    asked = set(rng.sample("abcdef", 2))
    want = {}
    for a in prints:
        hard = {b for b in prints if b != a and prints[a].ids.keys() & prints[b].ids.keys()}
        soft = hard | {b for b in prints if b != a and prints[a].soft.keys() & prints[b].soft.keys()}
        if groups.neighbours(a) != hard or groups.neighbours(a, soft=True) != soft:
            sys.exit("turn %d: neighbours of %s" % (turn, a))
        for b in hard:
            if a < b and asked & {a, b}:
                x, y = prints[a].ids, prints[b].ids
                want[a, b] = repr(sorted({"%s %s" % (x[i], y[i]) for i in x if i in y}))
    have = groups.pairs(asked)
    if have.keys() != want.keys():
        sys.exit("turn %d: pairs %s, want %s" % (turn, have, want))
    for pair, digest in have.items():
        if told.setdefault(digest, want[pair]) != want[pair]:
            sys.exit("turn %d: one digest for two ways to share" % turn)
    if len(set(told.values())) != len(told):
        sys.exit("turn %d: two digests for one way to share" % turn)
