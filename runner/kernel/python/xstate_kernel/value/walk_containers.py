"""Writes containers to the canonical stream, level by level. Functions in C do most of the work."""

import gc
import marshal
import math
import sys
import weakref
from itertools import chain, compress, count, repeat
from operator import invert, is_, not_

from xstate_kernel import original as __builtins__

from .. import adapters, blake2b
from ..ground import atoms, code_owner, native
from ..ground.atoms import ATOMS
from ..ground.unsupported import Opaque
from . import attributes, instances, sets
from .walk_unordered import Unordered

_DEEP = 16  # levels
# From these sizes on, bytes are hashed by themselves: OpenSSL takes half the time, and four megabytes.
_BULK, _LARGE = 1 << 16, 1 << 24
_FLOAT, _NUMBERS = frozenset((float,)), frozenset((float, int, bool))
_KEPT = 1000  # atoms of a container that are held, to see that they are the same: fewer are written as quickly
_INSTANCE = 500  # bytes that pickle in the time that an instance takes
# Kinds in graph: atoms have 0, dates and times the next, classes from _FIRST on.
_TIMES = {kind: 1 + n for n, kind in enumerate(("date", "datetime", "time", "timedelta"))}
_OTHER, _CODES, _FIRST, _BYTES = 5, {list: 6, tuple: 7, dict: 8}, 9, 250
PLAIN = ATOMS | {list, tuple, dict}  # types that a fingerprint does not name
_CONSTANTS = frozenset(
    (
        "datetime.date",
        "datetime.datetime",
        "datetime.timedelta",
        "datetime.time",
        "decimal.Decimal",
        "fractions.Fraction",
    )
)


class Containers(Unordered):
    """The part of Walk that writes containers, buffers and views of them."""

    def atoms(self, items, kinds):
        """Writes a list of atoms with the given types."""
        if native.atoms and native.atoms(self.put, self.bulk, self.grow, items):
            return
        for part, part_kinds, found in atoms.parts(items, kinds):
            for data in atoms.written(part, found):
                self.bulk(data)
            if found == atoms.TEXTS:
                self.grow(4 * len(part))  # about as pickled
            self.floats(part, part_kinds, found)

    def bulk(self, data):
        """Writes atoms."""
        if len(data) < _BULK or self.fp.size < _LARGE:
            self.put(data)
        else:
            from hashlib import sha256

            self.h.update(sha256(data).digest())
            self.fp.size += len(data)

    def grow(self, size):
        self.fp.size += size

    def floats(self, items, kinds, found):
        """Writes the identities of the NaN objects among the items: a container finds a NaN only by identity.

        The NaN of a module is written by name. The walk treats others as shared, like mutable objects. kinds are the
        types of the items, found is the set of these."""
        if float not in found:
            return
        try:
            some = sum(items if found <= _NUMBERS else compress(items, map(is_, kinds, repeat(float))))
        except OverflowError:
            some = math.nan
        if some == some:
            return
        found = [x for x in items if type(x) is float and x != x]
        if found:
            self.fp.nan, self.levels = True, None
            own = {id(x): x for x in found if adapters.nan_name(x) is None}
            for x in own.values():
                if id(x) not in self.seen:
                    self.seen.add(id(x))
                    self.own(x)
            self.put(marshal.dumps([self.seen[id(x)] if id(x) in own else adapters.nan_name(x) for x in found], 2))

    def seq(self, o, tag, mutable):
        if mutable:
            if self.mark(o):
                return
            self.own(o)
        if self.flat(tag, o):
            return
        kinds = list(map(type, o))
        if atoms.among(kinds) <= ATOMS:
            self.put(b"%s%d:" % (tag, len(o)))
            self.atoms(list(o), kinds)
            return
        self.put(tag)
        self.graph(o)

    def flat(self, tag, o):
        """Writes a container, if it holds atoms alone and there is a walk in C. Returns whether it did."""
        if not native.flat:
            return False
        held = native.flat(self.put, self.bulk, self.grow, tag, o, self.levels == [] and len(o) >= _KEPT)
        if type(held) is not bool:
            self.levels.append((None, held, []))
        return held is not False

    def list(self, o):
        self.seq(o, b"l", True)

    def tuple(self, o):
        self.seq(o, b"t", False)

    def dict(self, o):
        if self.mark(o):
            return
        self.own(o)
        if self.flat(b"d", o):
            return
        kinds = [*map(type, o.values()), *map(type, o)]
        if atoms.among(kinds) <= ATOMS:
            self.put(b"d%d:" % len(o))
            self.atoms([*o.values(), *o], kinds)
            return
        self.put(b"d")
        self.graph(o)

    def graph(self, root):
        """Writes a container, and all containers and plain instances that are reachable from it, level by level.

        Functions in C do most of the work. The walk writes objects of other kinds later. For each level it writes the
        lengths of the members, the kinds of all their contents, the atoms among these, and repeated objects."""
        others, level, depth = [], [root], 0
        if self.levels:
            self.levels = None  # there is more than one to follow
        while level:
            depth += 1
            if depth == _DEEP:  # a few tuples can be nested in one another in more ways than could ever be written
                self.levels = None
                others.extend(Deep(o) for o in level if type(o) is tuple)
                level = [o for o in level if type(o) is not tuple]
                continue
            below = self.native_level(level, others) if native.level else None
            if below is not None:
                level = below
                continue
            lengths, inner = members(level, self.attributes)
            self.put(b"*" + marshal.dumps(lengths, 2))
            if self.levels is not None:
                self.levels.append([lengths, inner, None])
            kinds = list(map(type, inner))
            found = atoms.among(kinds)
            if found <= ATOMS:
                self.atoms(inner, kinds)
                break
            found = sorted(found, key=kinds.index)
            if self.below is None:
                self.fp.kinds.update(k for k in found if k not in PLAIN)
            times = {k: args for k in found if k.__module__ == "datetime" for args in (_times(k, inner),) if args}
            codes = {
                k: 0 if k in ATOMS else _TIMES[k.__name__] if k in times else _CODES.get(k) or self.plain(k, others)
                for k in found
            }
            marks = list(map(codes.__getitem__, kinds))
            self.put(marshal.dumps(marks, 2) if max(codes.values()) > 255 else bytes(marks))
            for _k, args in times.items():
                self.put(marshal.dumps(args, 2))
                self.origin_of("datetime", code_owner.LIBRARY)
            if 0 in codes.values():
                plain = list(compress(inner, map(not_, marks)))
                self.atoms(plain, list(map(type, plain)))
            if self.levels and not all(map(_steady, codes.values(), codes)):
                self.levels = None
            if _OTHER in codes.values():
                others.extend(o for o, m in zip(inner, marks) if m == _OTHER)
            level = self.fresh(
                inner if min(codes.values()) > _OTHER else [o for o, m in zip(inner, marks) if m > _OTHER],
                tuple in found,
            )
            if self.levels:
                self.levels[-1][2] = level
        self.stack.extend(reversed(others))

    def native_level(self, level, others):
        """Writes a level as graph does, and returns the next one. None: graph has to write it."""

        def codes_of(found):
            """Returns the codes of the types, or None: graph has to look at the objects."""
            if len(found) + len(self.codes) > _BYTES - _FIRST or any(k.__module__ == "datetime" for k in found):
                return None
            codes = [0 if k in ATOMS else _CODES.get(k) or self.plain(k, others) for k in found]
            if self.levels is not None and not all(map(_steady, codes, found)):
                self.levels = None
            return codes

        made = native.level(
            self.put,
            self.bulk,
            self.grow,
            self.seen,
            self.temps or None,
            others,
            codes_of,
            self.names_of,
            _INSTANCE,
            level,
            self.levels is not None,
        )
        if made is None:
            return None
        below, repeated, held = made
        if repeated:
            self.levels = None
            self.again()
        if self.levels is not None:
            self.levels.append((None, held, below))
        return below

    def names_of(self, kind, level, count):
        """Returns at least so many names of attributes of a class, or True for a class of tuples, or None: attributes
        has to see the instances. Before their number is known, it is -1."""
        if issubclass(kind, tuple):
            return True
        if count >= 0:
            found = attributes.names(kind, count)
            return None if found is None else list(found)
        group = level if type(level[-1]) is kind is type(level[0]) else [o for o in level if type(o) is kind]
        return [] if attributes.lazy(kind) and not any(map(weakref.getweakrefcount, group)) else None

    def deep(self, d):
        found = self.immutable(d.value)
        self.put(b"p%s" % (found or b""))
        if found is None:
            self.graph(d.value)

    def immutable(self, root):
        """Returns the digest of a tuple of atoms and such tuples, or None for others. It visits each object once."""
        known, todo = self.tuples, [root]
        while todo:
            o = todo[-1]
            inner = [x for x in o if type(x) is tuple and id(x) not in known]
            if id(o) not in known and inner:
                todo += inner
                continue
            todo.pop()
            if id(o) not in known:
                parts = [
                    known[id(x)] if type(x) is tuple else marshal.dumps(x, 2) if type(x) in ATOMS else None for x in o
                ]
                known[id(o)] = None if None in parts else blake2b(marshal.dumps(parts, 2), digest_size=20).digest()
        return known[id(root)]

    def fresh(self, found, tuples=False):
        """Gives each mutable object its ordinal, and writes which ones the walk met before. Returns the new ones, and
        all tuples, if there are any."""
        ids = [id(o) for o in found if type(o) is not tuple] if tuples else list(map(id, found))
        places = dict(zip(ids, count(len(self.seen))))
        if len(places) < len(ids) or not self.seen.isdisjoint(places):
            places, again, new = {}, [], []
            for o in found:
                n = None
                if type(o) is not tuple:
                    n = self.seen.get(id(o), places.get(id(o)))
                    if n is None:
                        places[id(o)] = len(self.seen) + len(places)
                if n is None:
                    new.append(o)
                again.append(n)
            self.put(b"@" + marshal.dumps(again, 2))
            found, self.levels = new, None
            self.again()
        self.seen.extend(places)
        self.fp.places.update(
            places if self.temps.isdisjoint(places) else {i: n for i, n in places.items() if i not in self.temps}
        )
        return found

    def attributes(self, group):
        """Returns how many attributes plain instances of a class have, their values and their names. Instances of a
        class derived from tuple have items instead."""
        if issubclass(type(group[0]), tuple):
            return list(map(tuple.__len__, group)), chain.from_iterable(map(tuple.__iter__, group))
        if any(map(weakref.getweakrefcount, group)):
            for o in group:
                self.watched(o)
        self.fp.size += _INSTANCE * len(group)
        t, few = type(group[0]), len(group) <= attributes.MANY
        found = attributes.many(group, t) if few else None
        places = list(map(invert, map(self.seen.__getitem__, map(id, group))))
        self.fp.places.update(zip(map(invert, map(id, group)), places))
        if found is not None:
            self.seen.extend(list(map(invert, map(id, group))))
            return found
        if few and attributes.lazy(t):
            found = [attributes.of(o, t) for o in group]
            self.keep.append(found)
            self.temps.update(id(d) for d, own in found if not own)
            dicts = [d for d, _ in found]
        else:
            dicts = [object.__getattribute__(o, "__dict__") for o in group]
        self.dicts.update((id(d), place) for d, place in zip(dicts, places) if id(d) not in self.temps)
        return _of_dicts(self.fresh(dicts))

    def plain(self, kind, others):
        """Returns the code of a class of the program whose instances consist only of attributes or only of items, or
        _OTHER. Notes the type."""
        if self.below is None:
            self.fp.kinds.add(kind)
        code = self.codes.get(kind)
        if code is None:
            code = _OTHER
            if code_owner.kind_of(kind.__module__) == code_owner.PROGRAM and (
                instances.bare(kind) or instances.record(kind)
            ):
                code = _FIRST + len(self.codes)
                others.append(kind)
            self.codes[kind] = code
        return code

    def set(self, o, tag=b"s", mutable=True):
        if mutable:
            if self.mark(o):
                return
            self.own(o)
        items = sets.listed(o)
        if not items and mutable:
            sets.empty(o)
        if sets.addressed(items):
            self.fp.shuffled |= len(items) > 1
            if mutable or tag != b"f" or not self.mark(o):  # a few frozensets nest in more ways than could be written
                self.defer(items, tag)
            return
        self.fp.sets = True
        self.put(tag + marshal.dumps(sets.table(o), 2))
        kinds = list(map(type, items))
        if atoms.among(kinds) <= ATOMS:
            self.atoms(items, kinds)
            return
        self.keep.append(items)
        self.graph(items)

    def absorb(self, fp):
        for i, place in fp.ids.items():
            self.fp.notes.setdefault(i, f"s{place}")
        self.fp.copied.update(fp.copied)
        self.fp.soft.update(fp.soft)
        self.fp.deps |= fp.deps
        self.fp.imports |= fp.imports
        self.fp.libraries |= fp.libraries
        self.fp.files |= fp.files
        self.fp.weak |= fp.weak
        self.fp.lifetime_sensitive |= fp.lifetime_sensitive
        self.fp.shuffled |= fp.shuffled
        self.fp.sets |= fp.sets
        self.fp.nan |= fp.nan
        self.fp.kinds |= fp.kinds
        self.fp.cites |= fp.cites
        self.fp.size += fp.size
        self.fp.handed += fp.handed

    def frozenset(self, o):
        self.set(o, b"f", False)

    def bytearray(self, o):
        if not self.mark(o):
            self.own(o)
            self.put(b"b%d:" % len(o))
            self.put(o)

    def memoryview(self, m):
        if self.mark(m):
            return
        self.own(m)
        offset = offset_of(m) if type(m.obj).__name__ != "_BytesIOBuffer" else None
        if offset is None:
            raise Opaque("a memoryview that is not contiguous, or read-only")
        if not m.readonly:
            self.fp.places[id(m.obj)] = "%d+%d" % (self.seen[id(m)], offset)
        self.put(f"V{m.format}{m.shape!r};".encode())
        self.put(m.cast("B"))

    def ctypes(self, o):
        """Records the objects that share memory with a ctypes object: its parent, or the buffer that it views."""
        import ctypes

        root = o
        while root._b_base_ is not None:
            root = root._b_base_
        if root is not o:
            self.fp.places[id(root)] = "%d+%d" % (len(self.seen), ctypes.addressof(o) - ctypes.addressof(root))
        for m in (root._objects or {}).values():
            offset = ctypes.addressof(o) - ctypes.addressof(ctypes.c_char.from_buffer(m.obj))
            self.fp.places[id(m.obj)] = "%d+%d" % (len(self.seen), offset)

    def view(self, o):
        self.put(type(o).__name__.encode())
        for owner in gc.get_referents(o):
            self.fp.notes.setdefault(id(owner), "v")
        self.stack.append(self.temporary(dict(o.mapping)))

    def proxy(self, o):
        self.put(b"x")
        if o is getattr(sys.modules.get("dataclasses"), "_EMPTY_METADATA", None):
            return  # the value of all fields that have none
        for owner in gc.get_referents(o):
            self.fp.notes.setdefault(id(owner), "v")
        self.stack.append(self.temporary(dict(o)))


def members(level, attributes_of=None):
    """Returns how many members the containers of a level have, and the members, kind by kind. attributes_of returns
    those of instances."""
    lengths, inner = [], []
    kinds = list(map(type, level))
    found = sorted(atoms.among(kinds), key=kinds.index)
    for kind in found:
        group = level if len(found) == 1 else [o for o in level if type(o) is kind]
        if kind is list or kind is tuple:
            inner.append(chain.from_iterable(group))
            lengths.append(list(map(len, group)))
            continue
        sizes, *parts = _of_dicts(group) if kind is dict else attributes_of(group)
        inner += parts
        lengths.append(sizes)
    return lengths, list(chain.from_iterable(inner))


def _of_dicts(group):
    return list(map(len, group)), chain.from_iterable(map(dict.values, group)), chain.from_iterable(group)


def _times(kind, objects):
    """Returns what makes the objects of one of the types of datetime, or None if they have time zones."""
    if kind is not getattr(sys.modules["datetime"], kind.__name__, None) or kind.__name__ not in _TIMES:
        return None
    args = [made[1] for made in map(kind.__reduce_ex__, [o for o in objects if type(o) is kind], repeat(4))]
    return args if ATOMS.issuperset(map(type, chain.from_iterable(args))) else None


def _steady(code, kind):
    """Reports whether what a level holds of a type is followed, or never changes."""
    return code < _FIRST and (code != _OTHER or _constant(kind))


def _constant(kind):
    """Reports whether instances of a class never change, as long as they reach no mutable objects."""
    return f"{kind.__module__}.{kind.__qualname__}" in _CONSTANTS


def offset_of(m):
    """Returns the offset of a memoryview's memory within its object, or None if the offset is unknown."""
    if type(m.obj) is bytes and m.c_contiguous:
        return 0  # the offset does not matter
    import ctypes

    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(m)) - ctypes.addressof(ctypes.c_char.from_buffer(m.obj))
    except (TypeError, ValueError):  # read-only, empty or not contiguous
        return None


class Deep:
    """A tuple that is deep inside a value."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value
