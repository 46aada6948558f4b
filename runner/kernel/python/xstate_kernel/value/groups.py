"""Which names of the namespace share mutable objects: the co-variables."""

import abc
import types
from _abc import _get_dump as _abc_dump
from array import array
from collections import deque
from itertools import chain, repeat

from xstate_kernel import original as __builtins__

from .. import blake2b
from ..ground.atoms import ATOMS
from .walk_code import SKIP_MEMBERS

_NOBODY = frozenset()
_MANY = 100  # classes and functions that a value reaches, of which the names are reported


class Groups:
    """Fingerprints of the bound names, and an index from object to the names that reach it.

    A name may reach a million objects, and the kernel needs the aliases of names after every node. So the index has one
    set for all objects that the same names reach. Loops run in C. The index caches each answer until one of its names
    changes.
    """

    def __init__(self, called=lambda c: c.__qualname__):
        self._class = called
        self.prints = {}  # name → Fingerprint
        self.noted = {}  # those of the prints that are opaque, lifetime_sensitive, weak or partial: few
        self.leveled = {}  # those that have levels: of large containers
        self.dotted = set()  # names with a dot: variables of unfolded functions, see bytecode.variables
        self._replaced = {}  # name → its print before, or None: of the names that changed since earlier()
        self._owners = {}  # id of a mutable object, class or function → frozenset of the names that reach it
        self._lookers = {}  # the same for what a name reaches but copies before it writes to it
        self._near = {}  # name → names that share a mutable object with it, names that share any
        self._places = {}  # (a, b) → digest of the places that they share, "" if they do not
        self._ordinals = {}  # name → those of its print, which are in no index
        self._bodies = {}  # id of a class or function → what it holds, see _body
        self.changed = set()  # ids of classes and functions whose contents changed
        self.checked = set()  # those of which altered knows, since code of the program ran

    def put(self, name, fp):
        was = self.prints.get(name)
        self._replaced.setdefault(name, was)
        if fp.opaque or fp.lifetime_sensitive or fp.weak or fp.partial:
            self.noted[name] = fp
        else:
            self.noted.pop(name, None)
        if fp.levels is not None:
            self.leveled[name] = fp
        else:
            self.leveled.pop(name, None)
        if (
            was is not None
            and all(a.keys() == b.keys() for (_, a), (_, b) in zip(self._indexes(was), self._indexes(fp)))
            and _same(was.ordinals, fp.ordinals)
        ):
            self.prints[name] = fp
            if fp.ordinals is not None:
                self._ordinals[name] = fp.ordinals
            if fp.places != was.places or fp.copied != was.copied:
                self._forget(name)  # the places are others
            return
        self._drop(name)
        self.prints[name] = fp
        if "." in name:
            self.dotted.add(name)
        for i, o in fp.soft.items():
            if i not in self._owners:
                self._bodies[i] = _body(o)
        for owners, ids in self._indexes(fp):
            if ids:
                _move(owners, ids, lambda who: who | {name})
        if fp.ordinals is not None:
            self._ordinals[name] = fp.ordinals
        self._forget(name)

    def drop(self, name):
        self._replaced.setdefault(name, self.prints.get(name))
        self.noted.pop(name, None)
        self.leveled.pop(name, None)
        self.dotted.discard(name)
        self._drop(name)

    def earlier(self):
        """Returns the present prints, as they stay while others are put and dropped, until the next call.

        A copy would cost each node as much as the program has names."""
        self._replaced = {}
        return Earlier(self.prints, self._replaced)

    def _drop(self, name):
        fp = self.prints.get(name)
        if fp is None:
            return
        self._forget(name)
        del self.prints[name]
        self._ordinals.pop(name, None)
        for owners, ids in self._indexes(fp):
            if ids:
                _move(owners, ids, lambda who: who - {name})
        for i in fp.soft:
            if i not in self._owners:
                del self._bodies[i]

    def code(self, fp):
        """The qualified names of the program's classes and functions that a value reaches."""
        return sorted({self._called(o) for o in fp.soft.values()}) if len(fp.soft) <= _MANY else ["*"]

    def reached(self, o):
        """Reports whether a name reaches a class or function."""
        return id(o) in self._owners

    def _called(self, o):
        return o.__qualname__ if isinstance(o, types.FunctionType) else self._class(o)

    def altered(self, fp):
        """Returns the names of the classes and functions of fp that changed since the last call, in which no code of
        the program has run since."""
        found = set()
        for i, o in fp.soft.items():
            if i in self.checked:
                continue
            self.checked.add(i)
            body = _body(o)
            if self._bodies.get(i) != body:
                self._bodies[i] = body
                self.changed.add(i)
                found.add(self._called(o))
        return found

    def _indexes(self, fp):
        return (self._owners, fp.places), (self._owners, fp.soft), (self._lookers, fp.copied)

    def _forget(self, name):
        """Drops all cached answers that contain name."""
        for other in (self._near.pop(name, None) or self._find(name))[1]:
            self._near.pop(other, None)
            self._places.pop((name, other) if name < other else (other, name), None)

    def _find(self, name):
        fp, owners, lookers = self.prints[name], self._owners, self._lookers
        hard = _NOBODY.union(
            *set(map(owners.__getitem__, fp.places)),
            *(lookers[i] for i in fp.places.keys() & lookers.keys()),
            *(owners[i] for i in fp.copied.keys() & owners.keys()),
            self._with_ordinals(name, fp),
        ) - {name}
        return hard, _NOBODY.union(hard, *set(map(owners.__getitem__, fp.soft))) - {name}

    def _with_ordinals(self, name, fp):
        """Names that share a mutable object with name, where one of the two has ordinals."""
        found = set()
        for other, ordinals in self._ordinals.items():
            if other == name:
                continue
            if (
                (fp.ordinals is not None and ordinals.meets(fp.ordinals))
                or ordinals.among(fp.places)
                or ordinals.among(fp.copied)
            ):
                found.add(other)
        if fp.ordinals is not None:
            for index in (self._owners, self._lookers):
                found.update(*map(index.__getitem__, fp.ordinals.among(index)))
        return found

    def neighbours(self, name, soft=False):
        """Names that reach a mutable object (or, with soft, a class or function) that name reaches."""
        if name not in self.prints:
            return set()
        near = self._near.get(name)
        if near is None:
            near = self._near[name] = self._find(name)
        return near[soft]

    def pairs(self, names):
        """Returns {(a, b): digest of the places that they share} for all pairs with a member in names; a < b."""
        found = {}
        for name in names:
            for other in self.neighbours(name):
                pair = (name, other) if name < other else (other, name)
                if pair not in found:
                    place = self._places.get(pair)
                    if place is None:
                        place = self._places[pair] = self._place(*pair)
                    if place:
                        found[pair] = place
        return found

    def _place(self, a, b):
        x, y = self.prints[a], self.prints[b]
        found = set()
        for p, q in _ways(x, y):
            both = _both(p, q)
            found.update(zip(map(p.__getitem__, both), map(q.__getitem__, both)))
        pairs = x.ordinals.pairs(y.ordinals) if x.ordinals is not None and y.ordinals is not None else b""
        if not (found or pairs):
            return ""
        numbers = [pair for pair in found if type(pair[0]) is type(pair[1]) is int]
        if numbers:
            pairs = array("q", pairs)
            pairs = array("q", chain(*sorted({*numbers, *zip(pairs[::2], pairs[1::2])}))).tobytes()
        lines = sorted({f"{a} {b}" for a, b in found.difference(numbers)})
        return blake2b(b"%d\n%s%s" % (len(pairs), pairs, "\n".join(lines).encode()), digest_size=10).hexdigest()


class Earlier:
    """The prints at some time: the present ones, but for those that were replaced since."""

    def __init__(self, prints, replaced):
        self._prints, self._replaced = prints, replaced

    def get(self, name):
        return self._replaced[name] if name in self._replaced else self._prints.get(name)

    def __contains__(self, name):
        return self.get(name) is not None

    def __getitem__(self, name):
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found


def _move(owners, ids, change):
    """Changes who owns the ids: the loops are those of C."""
    now = list(map(owners.get, ids, repeat(_NOBODY)))
    then = {who: change(who) for who in set(now)}
    if len(then) == 1:
        (who,) = then.values()
        if who:
            owners.update(dict.fromkeys(ids, who))
        else:
            deque(map(owners.__delitem__, ids), 0)
        return
    owners.update(zip(ids, map(then.__getitem__, now)))
    if _NOBODY in then.values():
        for i in [i for i in ids if not owners[i]]:
            del owners[i]


def _body(o):
    """Returns what an assignment to a class or function changes of it: constants, kept so that no other gets their ids,
    and ids."""
    members = [(k, _Constant(v) if type(v) in ATOMS else id(v)) for k, v in vars(o).items() if k not in SKIP_MEMBERS]
    if isinstance(o, types.FunctionType):
        return members, id(o.__code__), id(o.__defaults__), id(o.__kwdefaults__)
    return members, o.__module__, tuple(map(id, o.__bases__)), len(_abc_dump(o)[0]) if isinstance(o, abc.ABCMeta) else 0


class _Constant:  # noqa: PLW1641 - it is not a key
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is _Constant and self.value is other.value


def _ways(x, y):
    """How two values may share, beside by the ordinals of both: but not what both copy before they write to it."""
    yield from ((x.places, y.places), (x.places, y.copied), (x.copied, y.places))
    if x.ordinals is not None:
        yield from ((x.ordinals, y.places), (x.ordinals, y.copied))
    if y.ordinals is not None:
        yield from ((x.places, y.ordinals), (x.copied, y.ordinals))


def _both(p, q):
    """Returns the ids that are in both of two places, of which one may be ordinals."""
    if type(p) is not dict:
        return p.among(q)
    return q.among(p) if type(q) is not dict else p.keys() & q.keys()


def _same(a, b):
    return a is b or (a is not None and b is not None and a.same(b))


def shared(x, y):
    """Returns the ids of the objects that the values of two fingerprints share."""
    if x is None or y is None:
        return set()
    found = {i for p, q in _ways(x, y) for i in _both(p, q)}
    if x.ordinals is not None and y.ordinals is not None:
        found |= x.ordinals.common(y.ordinals)
    return found
