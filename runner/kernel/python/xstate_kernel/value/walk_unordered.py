"""Writes sets whose elements hash by address, and so have another order in each run, to the canonical stream.

The walk defers such a set until it has written everything else that it reaches. Most elements then have an ordinal, and
the set is the sorted list of these. If one element is left, it needs no order. Only where several are left, they must
be ordered by what they are.

Equal digests mean equal values, whatever the order: each element is written once, by the one walk, so the stream shows
its content and what it shares. The order only has to be the same for equal values. It is that of a *colour* (the
refinement of Weisfeiler and Leman):

  - The *unit* of an element is what the walk reaches from it without entering such a set or what it wrote already.
    The first colour of an element is the digest of its unit.
  - In each round a colour takes in those of the elements of the unit's sets, of the units that hold the element in a
    set, and of the units that share an object with it.

No part of a colour depends on an order of iteration. Equal colours mostly mean that elements can be exchanged. If they
share in part, the walk writes one, and compares what the others are now that this one has ordinals. Elements that
remain equal are written in any order. In odd values (regular graphs) two orders may yield two digests: the value then
counts as changed although it is not, never the reverse.

An element is visited twice: once for its unit, and once for the stream. Units may overlap, and a refinement may take
many rounds. Both are limited; above a limit the value is opaque.
"""

import marshal
import re
from array import array
from collections import Counter
from itertools import groupby

from xstate_kernel import original as __builtins__

from .. import blake2b
from ..ground.unsupported import Opaque
from .walk_code import Code

_OBJECTS, _OVERLAP = 4_000_000, 20  # objects in all units; above, how many units hold an object on average, at most
_COLOURS = 500_000  # computed for a value, at most
_ALIKE = 200  # elements of one colour that share in part, at most
_PLACE = re.compile(r"([a-z]*)(\d+)(.*)", re.S).fullmatch


class _Unit:
    __slots__ = ("colour", "entangled", "holders", "item", "places", "sets", "shared")

    def __init__(self, item, colour, places, sets):
        self.item, self.colour = item, colour
        self.places = places  # the ids of the objects in it, by ordinals in it
        self.sets = sets  # the elements of its deferred sets that the walk has not met
        self.holders = []  # (unit that has a set with the element, or None for the value itself; which of its sets)
        self.shared = ()  # (place, id) of objects that are in other units as well
        self.entangled = False  # a unit that only this one holds shares with others


class Unordered(Code):
    """The part of Walk that writes sets of objects that hash by address."""

    def defer(self, items, tag):
        self.fp.kinds.add(None)
        self.put(b"%su%d,%d;" % (tag, len(items), self.deferred))
        self.pending.append((self.deferred, items))
        self.deferred += 1

    def settle(self):
        """Writes deferred sets: first those that need no order, then by colours, then those with equal ones."""
        pending, self.pending = self.pending, []
        hard = self._written(pending, lambda new: (new, []) if len(new) < 2 else ([], new))
        if _most(hard, pending):  # else what was written may have met many of their elements
            self.colour(hard)
            harder = self._written(hard, self._distinct)
            if _most(harder, hard):
                first = 1 + len(harder) // 8
                harder = self._written(harder[:first], self._chosen) + harder[first:]
            hard = harder
        self.pending += hard  # after those in what was written, which now are the nearest

    def _written(self, sets, order):
        """Writes the sets for which order returns the elements that the walk has not met, ordered, and those of them to
        write later. Returns what is left of the sets."""
        left = []
        for n, items in sets:
            known = [self.seen[i] for i in map(id, items) if i in self.seen]
            now, later = order([x for x in items if id(x) not in self.seen])
            if not now and later:
                left.append((n, items))
                continue
            self.put(b"#%d:" % n + marshal.dumps(sorted(known), 2))
            for x in now:
                self.stack.append(x)
                self.drain()
            if later:
                left.append((n, later))
        return left

    def _distinct(self, new):
        by_colour = sorted(new, key=self._colour)
        colours = [*map(self._colour, by_colour)]
        return (by_colour, []) if len(set(colours)) == len(colours) else ([], new)

    def _colour(self, x):
        return self.units[id(x)].colour

    def _chosen(self, new):
        """Chooses all elements, up to the first ones with one colour that cannot be exchanged, and one of these."""
        by_colour, now = sorted(new, key=self._colour), []
        for _, group in groupby(by_colour, self._colour):
            group = list(group)
            if len(group) > 1 and self.tied is None:
                self.tied = len(self.seen)
            if not self._alike(group):
                if len(group) > _ALIKE:
                    raise Opaque("a set of many equal objects that share in part")
                group.sort(key=self._relative)
                now.append(group[0])
                return now, group[1:] + by_colour[len(now) + len(group) - 1 :]
            now += group
        return now, []

    def _alike(self, group):
        """Reports whether elements of a colour can be exchanged: they share nothing, or all of them the same."""
        units = [self.units[id(x)] for x in group]
        ties = [frozenset(i for _, i in u.shared) | {id(y) for s in u.sets for y in s} for u in units]
        if len(group) == 1:
            return True
        if any(u.entangled for u in units):
            return False
        return ties.count(ties[0]) == len(ties) or not any(u.shared or self._held(u) for u in units)

    def _held(self, unit):
        """Reports whether another unit, too, holds an element of the unit's sets."""
        return any(len(self.units[id(y)].holders) > 1 for s in unit.sets for y in s if id(y) in self.units)

    def _relative(self, x):
        """The digest of a unit now that more objects have ordinals."""
        return self._unit(x, lambda y: self.units[id(y)].colour if id(y) in self.units else b"").colour

    def _unit(self, x, colour=None):
        """Walks the unit of an element, and forgets the ordinals that this gave."""
        first, sub = len(self.seen), type(self)(self.owner, self)
        sub.seen = self.seen
        sub.stack.append(x)
        sub.drain()
        sets = []
        for _, items in sub.pending:
            sub.put(marshal.dumps(sorted([self.seen[i] for i in map(id, items) if i in self.seen]), 2))
            sets.append([y for y in items if id(y) not in self.seen])
            if colour:
                sub.put(marshal.dumps(sorted(map(colour, sets[-1])), 2))
        places = array("q", self.seen.since(first))
        self.seen.truncate(first)
        return _Unit(x, sub.h.digest(), places, sets)

    def colour(self, sets):
        """Gives the elements of sets that the walk has not met their colours, and those of the sets in their units."""
        todo, new, counts, objects = [x for _, items in sets for x in items], [], Counter(), 0
        for x in todo:  # which grows
            if id(x) in self.units or id(x) in self.seen:
                continue
            unit = self.units[id(x)] = self._unit(x)
            new.append(unit)
            for s in unit.sets:
                todo += s
            objects += len(unit.places)
            counts.update(unit.places)
            if objects > _OBJECTS and objects > _OVERLAP * len(counts):
                raise Opaque("a set of objects that share too much")
        if new:
            self._connect(sets, new, counts)
            self._refine(new)

    def _connect(self, sets, new, counts):
        """Notes who holds and shares what. counts has in how many units an object is."""
        for u in new:
            for k, s in enumerate(u.sets):
                for y in s:
                    self.units[id(y)].holders.append((u, k))
        for n, items in sets:
            for y in items:
                if id(y) in self.units:
                    self.units[id(y)].holders.append((None, n))
        for u in new:
            u.shared = [(place, i) for place, i in enumerate(u.places) if counts[i] > 1]

    def _refine(self, units):
        order = self._below_first(units)
        if order is not None:  # two sweeps do what a round for each level would
            for u in order:
                u.colour = _digest((u.colour, [sorted(map(self._colour, s)) for s in u.sets]))
                u.entangled = any(
                    len(v.holders) == 1 and (v.shared or v.entangled or self._held(v))
                    for s in u.sets
                    for v in [self.units[id(y)] for y in s]
                )
            for u in reversed(order):
                u.colour = _digest((u.colour, _by_holders(u)))
        else:
            for u in units:
                u.entangled = True
        rounds, classes = 0, 0
        while True:
            found = len({u.colour for u in units})
            if found == classes or found == len(units):
                return
            classes, rounds = found, rounds + 1
            if rounds * len(units) > _COLOURS:
                raise Opaque("a set of objects that refer to each other in too many ways")
            around = {}
            for u in units:
                for place, i in u.shared:
                    around.setdefault(i, []).append((u.colour, place))
            around = {i: _digest(sorted(who)) for i, who in around.items()}
            then = [
                _digest(
                    (
                        u.colour,
                        [sorted(map(self._colour, s)) for s in u.sets],
                        _by_holders(u),
                        [(place, around[i]) for place, i in u.shared],
                    )
                )
                for u in units
            ]
            for u, colour in zip(units, then):
                u.colour = colour

    def _below_first(self, units):
        """Returns the units so that those in the sets of a unit come before it, or None if they hold each other."""
        order, state, todo = [], {}, list(units)
        while todo:
            u = todo[-1]
            if state.get(id(u)) is None:
                state[id(u)] = "entered"
                below = [self.units[id(y)] for s in u.sets for y in s]
                if any(state.get(id(v)) == "entered" for v in below):
                    return None
                todo += [v for v in below if id(v) not in state]
                continue
            todo.pop()
            if state[id(u)] == "entered":
                state[id(u)] = "left"
                order.append(u)
        return order

    def place_by_colours(self):
        """Gives objects in elements of one colour, whose order is any, places by the units that they are in."""
        if self.tied is None:
            return
        where = {}
        for u in self.units.values():
            for k, i in enumerate(u.places):
                if self.seen.get(i, 0) >= self.tied:
                    where.setdefault(self.seen[i], []).append((u.colour, k))
        where = {n: int.from_bytes(_digest(sorted(found))[:6], "big") for n, found in where.items()}
        self.fp.settle()
        for ids in (self.fp.places, self.fp.copied):
            for i, place in ids.items():
                if type(place) is int:
                    ids[i] = where.get(place, place) if place >= 0 else ~where.get(~place, ~place)
                    continue
                parts = _PLACE(place)
                if parts and int(parts[2]) in where:
                    ids[i] = "%s%d%s" % (parts[1], where[int(parts[2])], parts[3])


def _most(some, of):
    return 4 * len(some) >= 3 * len(of)


def _digest(parts):
    return blake2b(marshal.dumps(parts, 2), digest_size=16).digest()


def _by_holders(u):
    return sorted((b"" if v is None else v.colour, k) for v, k in u.holders)
