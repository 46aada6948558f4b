"""Judges sets that get the table of another by what both do from then on: the same operations list and pop the same."""

import random
import sys

from xstate_kernel.value import sets


def element(rng):
    return rng.choice(
        [
            rng.randrange(40),
            rng.randrange(10**6),
            "s%d" % rng.randrange(300),
            (rng.randrange(5), "t"),
            rng.random(),
            None,
        ]
    )


def change(s, rng):
    how = rng.randrange(10)
    if how < 5:
        s.add(element(rng))
    elif how < 8:
        s.discard(rng.choice(sorted(s, key=repr)) if s and how < 7 else element(rng))
    elif how == 8 and s:
        return s.pop()
    else:
        s.update([element(rng) for _ in range(rng.randrange(30))])


rng = random.Random(int(sys.argv[1]))
for turn in range(300):
    s = set()
    for _ in range(rng.randrange(200)):
        change(s, rng)
    items = sets.listed(s)
    mixed = rng.sample(items, len(items))
    other = set(mixed)
    sets.lay(other, *sets.table(s), items)
    if list(other) != list(s) or other != s or sets.table(other) != sets.table(s):
        sys.exit("turn %d: %r is not %r" % (turn, other, s))
    one, two = random.Random(turn), random.Random(turn)
    for step in range(100):
        if change(s, one) != change(other, two) or list(s) != list(other):
            sys.exit("turn %d, step %d: %r is not %r" % (turn, step, other, s))
    frozen = frozenset(rng.sample(items, len(items)))
    sets.lay(frozen, *sets.table(frozenset(items)), sets.listed(frozenset(items)))
    if list(frozen) != list(frozenset(items)) or hash(frozen) != hash(frozenset(items)):
        sys.exit("turn %d: %r is not %r" % (turn, frozen, items))

exact, sets._readable = sets._readable, False  # as in an interpreter with other sets
if not exact:
    sys.exit("sets lie otherwise in this interpreter")
sets.lay({1, 2}, *sets.table({1, 2}), [1, 2])
try:
    sets.lay({1, 2}, *sets.table({1, 2}), [2, 1])
except ValueError:
    print("300 sets")
else:
    sys.exit("another order is taken for the same")
