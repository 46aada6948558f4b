"""Names values by content.

The digest of a value is that of a canonical stream: no ids, no memo accidents (two equal strings are written the
same whether or not they are one object), sets sorted, arrays by their elements, functions by code (not by line),
classes by members, library objects by name and version. Mutable objects met twice are written as a reference to
their ordinal, so that sharing inside a value is part of it. The traversal also yields what the digest leaves out:
the identity of every mutable object reached (for co-variables), the classes and functions of the program reached,
and the global names that their code may load.

What cannot be named by content (generators, sockets, locks, drawings) is *opaque*: the engine then names it by
lineage, and assumes that whoever reads it changes it.
"""
from . import original as __builtins__
import abc
import ast
import builtins
import collections.abc  # by the name of which its functions are found
import copyreg
import dis
import enum
import functools
import gc
import marshal
import math
import pickle
import re
import sys
import types
import warnings
import weakref
from _abc import _get_dump as _abc_dump
from _contextvars import ContextVar as _Variable
from collections import OrderedDict, deque
from itertools import chain, compress, count
from operator import invert, not_

from .unsupported import Opaque
from . import adapters, atoms, attributes, blake2b, bytecode, code_owner, identity, instances, memory, sets
from .atoms import ATOMS

SKIP_MEMBERS = frozenset((
    "__dict__", "__weakref__", "__module__", "__firstlineno__", "__static_attributes__", "_abc_impl",
    "__annotations_cache__", "__annotate_func__", "__annotate__", "__abstractmethods__", "__subclasshook__", "__slotnames__"))
_WEAK = frozenset(("weakref", "_weakref", "_weakrefset"))
_IMMUTABLE_TYPES = {range, slice, type(Ellipsis), type(NotImplemented), types.BuiltinFunctionType, types.MethodType,
                    types.GenericAlias, types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
                    types.MemberDescriptorType, types.ClassMethodDescriptorType, types.MethodWrapperType}
if hasattr(types, "UnionType"):
    _IMMUTABLE_TYPES.add(types.UnionType)


_PARAMETERS = frozenset(("TypeVar", "TypeVarTuple", "ParamSpec", "TypeAliasType"))
_DEEP = 16  # levels
_BULK, _LARGE = 1 << 16, 1 << 24  # bytes that are hashed by themselves, where there are many: OpenSSL takes half the time, and four megabytes of memory
_OTHER, _CODES, _FIRST = 1, {list: 2, tuple: 3, dict: 4}, 5  # kinds in graph: atoms have 0, classes from _FIRST on


_FLOAT, _NUMBERS = frozenset((float,)), frozenset((float, int, bool))






class Fingerprint:
    """What is known of a value: see the module's docstring."""

    __slots__ = ("digest", "opaque", "ids", "copied", "soft", "deps", "imports", "size", "files", "partial", "weak", "lifetime_sensitive", "cites", "in_modules", "levels",
                 "libraries", "shuffled", "sets", "nan")

    def __init__(self):
        self.digest = None
        self.opaque = None   # the reason, when it is
        self.ids = {}        # id of a mutable object → place (ordinal, or "ordinal+offset")
        self.copied = {}     # the same for memory that is copied before it is written to: that of frames and indexes
        self.soft = {}       # id of a class or function of the program → itself
        self.deps = set()    # global names its code may load
        self.imports = set()  # modules its code may import
        self.size = 0        # bytes hashed, about
        self.cites = set()   # files of the code where exceptions in it were raised
        self.files = set()   # workspace modules it depends on
        self.libraries = set()  # packages of which it has a function, a class, or what keeps their state
        self.in_modules = {}       # workspace module that holds a part of it → what that is bound to there, in the one that others have it from
        self.partial = False  # more can be reached than ids tell
        self.weak = False    # it holds weak references: it changes when a target goes
        self.lifetime_sensitive = False  # it may notice that an object goes
        self.shuffled = False  # it holds a set whose order is another each time
        self.sets = False    # it holds another set
        self.nan = False     # it holds a NaN beside those in arrays
        self.levels = None   # of a large container of containers and immutable values: what they hold, see graph

    def reached(self):
        return self.ids.keys() | self.copied.keys()

    def differs(self, was):
        """Reports whether the value was changed since, or holds equal objects in place of those that it held."""
        return self.opaque or self.digest != was.digest or self.ids != was.ids and _of_objects(self.ids) != _of_objects(was.ids) or self.copied != was.copied or self.soft.keys() != was.soft.keys()


def _of_objects(ids):
    """Without the __dict__ of instances, which may be made at any time: see _Walk.dicts."""
    return {i: place for i, place in ids.items() if type(place) is not int or place >= 0 or i < 0}


def _dump(atom):
    return marshal.dumps(atom, 2)  # version 2: no references, no interning marks


class Fingerprinter:
    def __init__(self, namespace, workspace):
        self.namespace = namespace
        self.workspace = workspace
        self.classes = {}  # digest → class of the program
        self.twins = {}    # id of a class that was defined while another of its name was in use → itself, how many others
        self.dotted = set()  # dotted names of modules that the program imported
        self.shared = {}   # workspace module → id of a mutable object that it holds → place, see module_state.py
        self.arrays = memory.Arrays()
        self.reached = None  # while no code of the program runs: id of an opaque value → its fingerprint

    def of(self, value):
        """Fingerprints a value. Never raises: what cannot be named is marked opaque."""
        walk = _Walk(self)
        fp = walk.fp
        walk.levels = [] if type(value) in (list, dict) else None
        filters = warnings.filters
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                if value is sys.modules:
                    fp.files.update(name for name, _ in self.workspace.loaded())
                    raise Opaque("what is loaded")
                if value is sys.path or value is sys.argv or value is filters:
                    raise Opaque("a list of the interpreter")
                walk.run(value)
                walk.note_module_state()
                fp.digest = walk.h.hexdigest()
            except RecursionError:
                fp.opaque = "too deep"
            except MemoryError:
                fp.opaque = "too large"
            except Opaque as e:
                fp.opaque = str(e) or "opaque"
            except BaseException as e:  # the value's own code failed
                fp.opaque = "%s while hashing" % type(e).__name__
        if fp.opaque:
            _Reach(self, fp).run(value)
        elif code_owner.is_a(value, type) and code_owner.kind_of(value.__module__) == code_owner.PROGRAM:
            self.classes[fp.digest] = value
        elif walk.levels and not fp.soft:
            fp.levels = walk.levels
        return fp

    def called(self, c):
        """The qualified name of a class, and where others of that name are in use, which of them it is."""
        name, twin = type.__dict__["__qualname__"].__get__(c), self.twins.get(id(c))
        return name if twin is None else "%s#%d" % (name, twin[1])

    def unchanged(self, value, fp):
        """Reports that a value still is what fp says, where that can be told from its containers holding the same objects.
        That takes a small part of the time. False: it may be, or not."""
        if fp.levels is None or self.shared:  # of those who share a module's data more is told, see _Walk.note_module_state
            return False
        level = [value]
        for lengths, inner, below in fp.levels:
            now = _members(level)
            if now[0] != lengths or not identity.same(now[1], inner):
                return False
            level = below
        return True


class _Walk:
    """One traversal. An explicit stack, so that depth costs memory and not the interpreter's stack."""

    def __init__(self, owner, outer=None):
        self.owner = owner
        self.fp = Fingerprint()
        self.h = blake2b(digest_size=20)
        self.keep = [] if outer is None else outer.keep  # temporaries, kept alive so that their ids stay theirs
        self.temps = set() if outer is None else outer.temps  # ids of containers made on the way: no part of the value
        self.seen = {}   # id → ordinal
        self.memory = {}  # id of an array that owns memory → ordinal, address first met
        self.stack = []
        self.codes = {}  # class → its code, see graph
        self.levels = None  # to be noted for unchanged; None: not, or no longer
        self.tuples = {}  # id → digest, see immutable
        self.dicts = {}   # id of the __dict__ of an instance → its place, the same whether it was made yet or not: that of the instance, inverted

    def put(self, data):
        self.h.update(data)
        self.fp.size += len(data)

    def atoms(self, items, kinds):
        """Writes a list of atoms, of which the types are given."""
        for part, found in atoms.parts(items, kinds):
            for data in atoms.written(part, found):
                if len(data) < _BULK or self.fp.size < _LARGE:
                    self.put(data)
                else:
                    from hashlib import sha256
                    self.h.update(sha256(data).digest())
                    self.fp.size += len(data)
            if found == atoms.TEXTS:
                self.fp.size += 4 * len(part)  # about as pickled
            self.floats(part, found)

    def floats(self, items, kinds):
        """Writes which objects the NaN among the items are: they are found in containers by identity alone. That of a module
        goes by its name, others are shared like what can change."""
        if float not in kinds:
            return
        try:
            some = sum(items) if kinds <= _NUMBERS else sum([x for x in items if type(x) is float])
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
                    self.seen[id(x)] = len(self.seen)
                    self.own(x)
            self.put(_dump([self.seen[id(x)] if id(x) in own else adapters.nan_name(x) for x in found]))

    def mark(self, o):
        """Gives o the next ordinal; reports whether it was met before (then a reference is written)."""
        i = id(o)
        n = self.seen.get(i)
        if n is not None:
            self.put(b"@%d;" % n)
            return True
        self.seen[i] = len(self.seen)
        return False

    def own(self, o):
        if self.levels:
            self.levels = None  # what changes, and is no container of graph
        if id(o) not in self.temps:
            self.fp.ids[id(o)] = self.seen.get(id(o), 0)

    def run(self, root):
        stack = self.stack
        stack.append(root)
        while stack:
            o = stack.pop()
            t = type(o)
            if t in ATOMS:
                self.put(_dump(o))
                if t is float and o != o:
                    self.floats([o], _FLOAT)
                continue
            method = _DISPATCH.get(t)
            if method is not None:
                method(self, o)
            elif issubclass(t, type):  # and not isinstance, which believes what __class__ says
                self.klass(o)
            elif issubclass(t, types.ModuleType):
                self.module(o)
            else:
                self.other(o, t)
        self.fp.ids.update(self.dicts)

    def note_module_state(self):
        """Names the places at which the value is what a workspace module holds: an equal list of its own is another value."""
        found = {}
        for module, places in self.owner.shared.items():
            for i in places.keys() & self.fp.ids.keys():
                found.setdefault(i, []).append(module)
        lines = []
        for i, modules in found.items():
            module = self.owner.workspace.holder(modules)
            for m in modules:
                self.fp.in_modules.setdefault(m, set())
            self.fp.in_modules[module].add((self.owner.shared[module][i] or "").partition(" ")[0])
            self.fp.files.add(module)
            if self.owner.shared[module][i] is None:
                raise Opaque("a part of what module %s holds" % module)
            lines.append("H%s=%s:%s;" % (self.fp.ids[i], module, self.owner.shared[module][i]))
        self.put("".join(sorted(lines)).encode())

    # containers

    def seq(self, o, tag, mutable):
        if mutable:
            if self.mark(o):
                return
            self.own(o)
        kinds = list(map(type, o))
        if atoms.among(kinds) <= ATOMS:
            self.put(b"%s%d:" % (tag, len(o)))
            self.atoms(list(o), kinds)
            return
        self.put(tag)
        self.graph(o)

    def list(self, o):
        self.seq(o, b"l", True)

    def tuple(self, o):
        self.seq(o, b"t", False)

    def dict(self, o):
        if self.mark(o):
            return
        self.own(o)
        kinds = [*map(type, o.values()), *map(type, o)]
        if atoms.among(kinds) <= ATOMS:
            self.put(b"d%d:" % len(o))
            self.atoms([*o.values(), *o], kinds)
            return
        self.put(b"d")
        self.graph(o)

    def graph(self, root):
        """Writes a container and all containers and plain instances that can be reached from it, level by level, most of
        it at the speed of C. What it meets of other kinds is left to be written after it. Of a level are written: the
        lengths of its members, the kinds of all that they hold, the atoms among these, and which are met again."""
        others, level, depth = [], [root], 0
        if self.levels:
            self.levels = None  # there is more than one to follow
        while level:
            depth += 1
            if depth == _DEEP:  # a few tuples can be nested in one another in more ways than could ever be written
                self.levels = None
                others.extend(_Deep(o) for o in level if type(o) is tuple)
                level = [o for o in level if type(o) is not tuple]
                continue
            lengths, inner = _members(level, self.attributes)
            self.put(b"*" + marshal.dumps(lengths, 2))
            if self.levels is not None:
                self.levels.append([lengths, inner, None])
            kinds = list(map(type, inner))
            found = atoms.among(kinds)
            if found <= ATOMS:
                self.atoms(inner, kinds)
                break
            codes = {k: 0 if k in ATOMS else _CODES.get(k) or self.plain(k, others) for k in sorted(found, key=kinds.index)}
            marks = list(map(codes.__getitem__, kinds))
            self.put(marshal.dumps(marks, 2) if max(codes.values()) > 255 else bytes(marks))
            if 0 in codes.values():
                plain = list(compress(inner, map(not_, marks)))
                self.atoms(plain, list(map(type, plain)))
            if self.levels and not all(c == 0 or _OTHER < c < _FIRST or c == _OTHER and _constant(k) for k, c in codes.items()):
                self.levels = None
            if _OTHER in codes.values():
                others.extend(o for o, m in zip(inner, marks) if m == _OTHER)
            level = self.fresh(inner if min(codes.values()) > _OTHER else [o for o, m in zip(inner, marks) if m > _OTHER], tuple in found)
            if self.levels:
                self.levels[-1][2] = level
        self.stack.extend(reversed(others))

    def deep(self, d):
        found = self.immutable(d.value)
        self.put(b"p%s" % (found or b""))
        if found is None:
            self.graph(d.value)

    def immutable(self, root):
        """Returns the digest of a tuple of atoms and such tuples, looking at each object once; None for others."""
        known, todo = self.tuples, [root]
        while todo:
            o = todo[-1]
            inner = [x for x in o if type(x) is tuple and id(x) not in known]
            if id(o) not in known and inner:
                todo += inner
                continue
            todo.pop()
            if id(o) not in known:
                parts = [known[id(x)] if type(x) is tuple else _dump(x) if type(x) in ATOMS else None for x in o]
                known[id(o)] = None if None in parts else blake2b(_dump(parts), digest_size=20).digest()
        return known[id(root)]

    def fresh(self, found, tuples=False):
        """Gives each mutable object its ordinal; writes which were met before, and returns the others and all tuples, if there are any."""
        ids = [id(o) for o in found if type(o) is not tuple] if tuples else list(map(id, found))
        places = dict(zip(ids, count(len(self.seen))))
        if len(places) < len(ids) or not self.seen.keys().isdisjoint(places):
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
        self.seen.update(places)
        self.fp.ids.update(places if self.temps.isdisjoint(places) else {i: n for i, n in places.items() if i not in self.temps})
        return found

    def attributes(self, group):
        """How many attributes plain instances of a class have, their values and their names."""
        if any(map(weakref.getweakrefcount, group)):
            for o in group:
                self.watched(o)
        t, few = type(group[0]), len(group) <= attributes.MANY
        found = attributes.many(group, t) if few else None
        places = list(map(invert, map(self.seen.__getitem__, map(id, group))))
        self.fp.ids.update(zip(map(invert, map(id, group)), places))
        if found is not None:
            self.seen.update(zip(map(invert, map(id, group)), count(len(self.seen))))
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
        """Returns the code of a class of the program whose instances are their attributes and no more, or _OTHER."""
        code = self.codes.get(kind)
        if code is None:
            code = _OTHER
            if code_owner.kind_of(kind.__module__) == code_owner.PROGRAM and instances.bare(kind):
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
            self.unordered(items, tag)
            return
        self.fp.sets = True
        self.put(tag + marshal.dumps(sets.table(o), 2))
        kinds = list(map(type, items))
        if atoms.among(kinds) <= ATOMS:
            self.atoms(items, kinds)
            return
        self.keep.append(items)
        self.graph(items)

    def unordered(self, items, tag):
        """Elements of which the order is another each time."""
        parts = []
        for item in items:
            sub = _Walk(self.owner, self)
            sub.run(item)
            parts.append(sub.h.digest())
            self.absorb(sub.fp)
        parts.sort()
        self.put(b"%su%d;" % (tag, len(parts)))
        self.put(marshal.dumps(parts, 2))

    def absorb(self, fp):
        for i, place in fp.ids.items():
            self.fp.ids.setdefault(i, "s%s" % place)
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
        self.fp.cites |= fp.cites
        self.fp.size += fp.size

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
            self.fp.ids[id(m.obj)] = "%d+%d" % (self.seen[id(m)], offset)
        self.put(("V%s%r;" % (m.format, m.shape)).encode())
        self.put(m.cast("B"))

    def ctypes(self, o):
        """Notes with whom a ctypes object shares its memory: what it is a field of, or was made over."""
        import ctypes
        root = o
        while root._b_base_ is not None:
            root = root._b_base_
        if root is not o:
            self.fp.ids[id(root)] = "%d+%d" % (len(self.seen), ctypes.addressof(o) - ctypes.addressof(root))
        for m in (root._objects or {}).values():
            offset = ctypes.addressof(o) - ctypes.addressof(ctypes.c_char.from_buffer(m.obj))
            self.fp.ids[id(m.obj)] = "%d+%d" % (len(self.seen), offset)

    def view(self, o):
        self.put(type(o).__name__.encode())
        for owner in gc.get_referents(o):
            self.fp.ids.setdefault(id(owner), "v")
        self.stack.append(self.temporary(dict(o.mapping)))

    def proxy(self, o):
        self.put(b"x")
        if o is getattr(sys.modules.get("dataclasses"), "_EMPTY_METADATA", None):
            return  # of all fields that have none
        for owner in gc.get_referents(o):
            self.fp.ids.setdefault(id(owner), "v")
        self.stack.append(self.temporary(dict(o)))

    def temporary(self, o):
        self.keep.append(o)
        self.temps.add(id(o))
        return o

    # code

    def code(self, c):
        self.put(b"c")
        self.put(_code_digest(c))

    def function(self, f):
        if self.mark(f):
            return
        kind = code_owner.kind_of(f.__module__) if f.__globals__ is not self.owner.namespace else code_owner.PROGRAM
        if kind != code_owner.PROGRAM and _importable(f):
            self.foreign(f, kind)
            return
        self.fp.soft[id(f)] = f
        self.put(b"F")
        if f.__globals__ is self.owner.namespace:
            names, imports = bytecode.code_facts(f.__code__)
            self.fp.deps |= names
            self.fp.imports |= imports
        elif kind == code_owner.WORKSPACE and not _own_globals(f):
            self.foreign(f, kind)
        else:
            self.stack.append(self.own_globals(f))
        self.put(_code_digest(f.__code__))
        extra = {k: v for k, v in f.__dict__.items() if k != "__wrapped__"} if f.__dict__ else None
        wrapped = f.__dict__.get("__wrapped__") if f.__dict__ else None
        defaults, kw = f.__defaults__, f.__kwdefaults__
        module = f.__module__ if f.__module__ not in ("__main__", self.owner.namespace.get("__name__")) else None
        parameters = getattr(f, "__type_params__", None)
        if parameters:
            self.stack.append(parameters)
        if extra is not None:
            self.temporary(extra)
        for x in (extra, wrapped, f.__closure__, kw, defaults, _annotations(f), f.__doc__, f.__name__, f.__qualname__, module):
            self.stack.append(x)

    def own_globals(self, f):
        """What the code of f loads from its globals, where these are no module's: the dict given to exec."""
        space = f.__globals__
        if not _own_globals(f):
            return None
        self.fp.ids.setdefault(id(space), "g%d" % self.seen[id(f)])
        return self.temporary({n: space[n] for n in sorted(bytecode.code_facts(f.__code__)[0]) if n in space})

    def cell(self, c):
        if self.mark(c):
            return
        self.fp.ids[id(c)] = str(self.seen[id(c)])
        try:
            self.put(b"C")
            self.stack.append(c.cell_contents)
        except ValueError:
            self.put(b"empty")

    def foreign(self, o, kind):
        """An object of a module: by name and by the version of what it comes from."""
        module = o.__module__
        self.fp.lifetime_sensitive |= module in _WEAK
        self.put(b"G")
        self.put(("%s:%s;" % (module, getattr(o, "__qualname__", ""))).encode())
        self.origin_of(module, kind)

    def origin_of(self, module, kind):
        if kind == code_owner.WORKSPACE:
            self.fp.files.add(module)
            self.put(self.owner.workspace.digest(module).encode())
        elif module:
            self.fp.libraries.add(module.partition(".")[0])
            self.put(code_owner.version(module.partition(".")[0]).encode())

    def builtin(self, o):
        owner = getattr(o, "__self__", None)
        self.put(("B%s:%s;" % (o.__module__, o.__qualname__)).encode())
        if owner is not None and not isinstance(owner, types.ModuleType):
            self.stack.append(owner)

    def method(self, o):
        self.put(b"M")
        self.stack.append(o.__func__)
        self.stack.append(o.__self__)

    def lru(self, o):
        """functools.lru_cache: what an empty one is; one in use holds results that rest on more than its arguments."""
        if any(o.cache_info()[:2]):
            raise Opaque("a cache in use")
        self.put(b"U")
        self.stack.extend((o.__wrapped__, self.temporary(dict(o.cache_parameters()))))

    def cached(self, o):
        self.put(b"Q")
        self.stack.extend((o.func, o.attrname))

    def prop(self, o):
        self.put(b"P")
        self.stack.extend((o.fdel, o.fset, o.fget, o.__doc__))

    def wrapped(self, o):
        self.put(type(o).__name__.encode())
        self.stack.append(o.__func__)

    def klass(self, c):
        if self.mark(c):
            return
        kind = code_owner.kind_of(c.__module__)
        if kind != code_owner.PROGRAM:
            self.foreign(c, kind)
            return
        self.fp.soft[id(c)] = c
        self.fp.lifetime_sensitive |= "__del__" in vars(c)
        self.put(("K%s;%s;%s;" % (self.owner.called(c), _NAME(c), c.__module__)).encode())
        members = [(k, v) for k, v in vars(c).items() if k not in SKIP_MEMBERS]
        self.put(b"%d;" % len(members))
        for k, v in reversed(members):
            t = type(v)
            if t in (types.MemberDescriptorType, types.GetSetDescriptorType) or t.__module__ == "_ctypes":
                v = "slot"
            self.stack.append(v)
            self.stack.append(k)
        if isinstance(c, abc.ABCMeta):
            registered = [r() for r in _abc_dump(c)[0]]
            self.stack.append(self.temporary(sorted((k for k in registered if k is not None), key=lambda k: (k.__module__, k.__qualname__))))
        bases = c.__bases__
        self.keep.append(bases)
        self.stack.append(bases)
        self.stack.append(type(c))

    def module(self, m):
        name = m.__name__
        if code_owner.made_by_hand(m):
            raise Opaque("a module that the program made")
        self.fp.lifetime_sensitive |= name in _WEAK
        kind = code_owner.kind_of(name) if name in sys.modules else code_owner.module_class(m)
        self.put(("m%s;" % name).encode())
        self.origin_of(name, kind)
        if kind == code_owner.WORKSPACE and sys.modules.get(name) is not m:
            raise Opaque("a module that was replaced")
        if kind == code_owner.WORKSPACE:  # with those of its submodules that somebody imported
            for sub in sorted(n for n in sys.modules if n.startswith(name + ".")):
                self.put(("m%s;" % sub).encode())
                self.origin_of(sub, kind)

    def match(self, o):
        self.put(b"X")
        self.stack.extend((o.re, o.string, o.pos, o.endpos, o.regs))

    def iterator(self, o):
        raise Opaque("an iterator over what may change meanwhile")

    def generator(self, o):
        self.fp.lifetime_sensitive = True  # what it has still to do when it goes
        raise Opaque(type(o).__name__)

    # everything else: as pickle would take it apart

    def other(self, o, t):
        module = t.__module__ if type(t.__module__) is str else ""  # of a function of Cython's it may be a descriptor
        top = module.partition(".")[0]
        adapter = adapters.of_package(top)
        key = adapter and adapter.state_key(o)
        if key:
            self.fp.libraries.add(top)
            self.put(b"h%s;" % key.encode())
            return
        if issubclass(t, weakref.ref):
            self.weak(o)
            return
        if t is weakref.WeakSet:
            self.weak_set(o)
            return
        if "_ctypes" in sys.modules and issubclass(t, sys.modules["_ctypes"].Structure.__base__):
            self.ctypes(o)
        if adapter is not None:
            if adapter.opaque:
                raise Opaque("%s.%s" % (t.__module__, t.__qualname__))
            if adapter.fingerprint(self, o, t):
                return
        name = sentinel(o, t)
        if name is not None:
            self.put(("N%s.%s;" % (module, name)).encode())
            self.origin_of(module, code_owner.LIBRARY)
            return
        # Which of equal constants it is does not count, as with numbers.
        constant, named = t in _IMMUTABLE_TYPES or adapter is not None and adapter.constant(t), issubclass(t, enum.Enum)
        if not constant and self.mark(o):
            return
        if named:
            more = {k: v for k, v in vars(o).items() if not (k.startswith("_") and k.endswith("_"))}
            if more:  # which the program gave to a member
                self.own(o)
                self.stack.append(self.temporary(more))
        if not constant and not named:
            self.own(o)
            if weakref.getweakrefcount(o):
                self.watched(o)
            memory = adapters.views_memory(t)
            if memory is not None:
                memory.note_memory(self, o)
        if instances.simple(t):
            self.put(b"T")
            *parts, own = instances.parts(o, t)
            if issubclass(t, (set, frozenset)):
                self.set(o, b"S", False)
                parts[0] = None
            self.temps.update(map(id, (parts[0], parts[2], parts[1] if not own else None)))
            if instances.bare(t) and not constant and not named:
                self.fp.ids[~id(o)] = ~self.seen[id(o)]
                if own:
                    self.dicts[id(parts[1])] = ~self.seen[id(o)]
            self.keep.append(parts)
            self.stack.extend((*reversed(parts), t))
            return
        parts = adapter and adapter.parts(o, t)
        if parts:
            self.put(b"c")
            self.stack.extend(parts)
            return
        if issubclass(t, BaseException):
            self.raised(o)
        reduce = copyreg.dispatch_table.get(t)
        rv = reduce(o) if reduce is not None else o.__reduce_ex__(4)
        self.put(b"O")
        if isinstance(rv, str):
            module = _module_of(o, rv)
            self.put(("%s:%s:%s;" % (t.__name__, module, rv)).encode())
            if code_owner.kind_of(module) != code_owner.PROGRAM:
                self.origin_of(module, code_owner.kind_of(module))
            if code_owner.kind_of(module) == code_owner.PROGRAM or t.__module__ == "typing" and t.__name__ in _PARAMETERS:  # say that they are of typing
                self.named(o, t)
            return
        more = left_out(o, t, rv)
        if more:
            self.stack.append(self.temporary(more))
        self.keep.append(rv)
        self.temps.update(_fresh(rv))
        rest = list(rv[1:]) + [None] * (6 - len(rv))
        unsaid = adapter and adapter.ignored_attribute
        if unsaid and type(rest[1]) is dict and unsaid in rest[1]:
            rest[1] = self.temporary({k: v for k, v in rest[1].items() if k != unsaid}) or None
        items = [it if it is None else self.temporary(list(it)) for it in rest[2:4]]
        self.stack.extend(reversed([rv[0], rest[0], rest[1]] + items))

    def named(self, o, t):
        """What pickling names by a name of the program, which says nothing of its content: type variables and aliases, functions of NumPy.
        What they are made of; where that is a function, they keep what it came to, once somebody asked."""
        parts = tuple(self.temporary(dict(x)) if type(x) is dict else x for x in gc.get_referents(o) if x is not t)
        functions = tuple(x for x in parts if type(x) is types.FunctionType)
        variance = tuple(getattr(o, k, None) for k in ("__covariant__", "__contravariant__", "__infer_variance__")) if t.__module__ == "typing" else None
        self.stack.append(self.temporary((functions or parts, variance)))

    def watched(self, o):
        if any(type(r.__callback__) is weakref.finalize for r in weakref.getweakrefs(o)):
            self.fp.lifetime_sensitive = True
            raise Opaque("an object with a finalizer")

    def weak(self, r):
        """A weak reference: whether its target is there, and what it is."""
        if self.mark(r):
            return
        self.own(r)
        self.fp.weak = self.fp.lifetime_sensitive = True
        target = r()
        self.put(b"W%d;" % (target is not None))
        self.keep.append(target)
        self.stack.extend((r.__callback__, getattr(r, "key", None), target))

    def weak_set(self, o):
        if not self.mark(o):
            self.own(o)
            self.set(set(o.data), b"w", False)

    def raised(self, e):
        """What an exception has beside what pickling shows: where it came from and where it was raised."""
        places, tb = [], e.__traceback__
        while tb is not None:
            code = tb.tb_frame.f_code
            places.append((code.co_filename, code.co_name, tb.tb_lineno))
            self.fp.cites.add(code.co_filename)
            tb = tb.tb_next
        self.stack.extend((tuple(places), e.__suppress_context__, e.__context__, e.__cause__))







    def apart(self, o, ids):
        """Writes a part of a frame or an index; what it reaches goes to ids."""
        sub = _Walk(self.owner, self)
        sub.run(o)
        for i, place in sub.fp.ids.items():
            ids.setdefault(i, "p%s" % place)
        sub.fp.ids = {}
        self.put(sub.h.digest())
        self.absorb(sub.fp)




def _members(level, attributes=None):
    """Returns how many members the containers of a level have, and the members, kind by kind. attributes gives those of
    instances."""
    lengths, inner = [], []
    kinds = list(map(type, level))
    found = sorted(atoms.among(kinds), key=kinds.index)
    for kind in found:
        group = level if len(found) == 1 else [o for o in level if type(o) is kind]
        if kind is list or kind is tuple:
            inner.append(chain.from_iterable(group))
            lengths.append(list(map(len, group)))
            continue
        sizes, *parts = _of_dicts(group) if kind is dict else attributes(group)
        inner += parts
        lengths.append(sizes)
    return lengths, list(chain.from_iterable(inner))


def _of_dicts(group):
    return list(map(len, group)), chain.from_iterable(map(dict.values, group)), chain.from_iterable(group)


_CONSTANTS = frozenset(("datetime.date", "datetime.datetime", "datetime.timedelta", "datetime.time", "decimal.Decimal", "fractions.Fraction"))


def _constant(kind):
    """Reports whether instances of a class never change, as long as they reach no others that do."""
    return "%s.%s" % (kind.__module__, kind.__qualname__) in _CONSTANTS


def _fresh(made):
    """Yields the ids of containers and arrays that only the reduction made refers to, through such containers and tuples."""
    todo = [made]
    while todo:
        holder = todo.pop()
        for p in holder.values() if type(holder) is dict else holder:
            if sys.getrefcount(p) > _FRESH:
                continue
            if type(p) in _CONTAINERS:
                if type(p) is not tuple:
                    yield id(p)
                if type(p) is not bytearray:
                    todo.append(p)
            elif type(p).__name__ == "ndarray" and p.base is None:
                yield id(p)


_CONTAINERS = frozenset((list, dict, set, bytearray, tuple))
_FRESH = sys.maxsize


def _calibrate():
    """Finds the reference count that a fresh container shows in _fresh; it differs between interpreters."""
    for p in ([],):
        return sys.getrefcount(p)


_FRESH = _calibrate()


def offset_of(m):
    """Returns how far into its object the memory of a memoryview begins; None where that cannot be told."""
    if type(m.obj) is bytes and m.c_contiguous:
        return 0  # and does not matter
    import ctypes
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(m)) - ctypes.addressof(ctypes.c_char.from_buffer(m.obj))
    except (TypeError, ValueError):  # read-only, empty or not contiguous
        return None


def mutable(objects):
    """Returns those of the objects that may be changed in place."""
    return [o for o in objects if type(o) not in ATOMS and not isinstance(o, _NO_ALIAS)]


class _Deep:
    """A tuple that is deep inside a value."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value








def left_out(o, t, rv):
    """Returns the attributes of an instance of a class of the program's that what a library pickles of it has not, or has as something else:
    nothing has them of arrays, dates and numbers, and a class may leave out what it can compute again."""
    if code_owner.kind_of(t.__module__) == code_owner.LIBRARY or instances.simple(t) or not getattr(o, "__dict__", None):
        return {}
    state = rv[2] if len(rv) > 2 else None
    if type(state) is tuple and len(state) == 2 and (state[0] is None or type(state[0]) is dict):
        state = state[0]  # beside that of slots
    if type(state) is not dict or adapters.views_memory(t) is not None:
        return dict(vars(o))
    return {k: v for k, v in vars(o).items() if k not in adapters.COMPUTED_ATTRIBUTES and state.get(k, adapters) is not v}




_sentinels = {}  # class of a library → id of an instance that its module has a name for → name, instance


def sentinel(o, t):
    """Returns the name of an object that a library has to tell it from all others (dataclasses.MISSING): one of a class of its own, that many
    hold and none changes. None of anything else."""
    found = _sentinels.get(t)
    if found is None:
        found = _sentinels[t] = {}
        if t.__name__.startswith("_") and t.__base__ is object and instances.python(t) and code_owner.kind_of(t.__module__) == code_owner.LIBRARY:
            found.update((id(v), (k, v)) for k, v in getattr(sys.modules.get(t.__module__), "__dict__", {}).items() if type(v) is t)
    if id(o) not in found or not ATOMS.issuperset(map(type, getattr(o, "__dict__", {}).values())):
        return None
    return found[id(o)][0]






_DISPATCH = {
    list: _Walk.list, tuple: _Walk.tuple, dict: _Walk.dict, set: _Walk.set, frozenset: _Walk.frozenset,
    bytearray: _Walk.bytearray, memoryview: _Walk.memoryview, types.FunctionType: _Walk.function, types.CodeType: _Walk.code, types.CellType: _Walk.cell,
    types.BuiltinFunctionType: _Walk.builtin, types.MethodType: _Walk.method, property: _Walk.prop,
    staticmethod: _Walk.wrapped, classmethod: _Walk.wrapped, types.GeneratorType: _Walk.generator,
    types.CoroutineType: _Walk.generator, types.AsyncGeneratorType: _Walk.generator,
    type({}.keys()): _Walk.view, type({}.values()): _Walk.view, type({}.items()): _Walk.view,
    types.MappingProxyType: _Walk.proxy, _Deep: _Walk.deep, functools.cached_property: _Walk.cached,
    type(functools.lru_cache(len)): _Walk.lru, re.Match: _Walk.match,
    **{type(i(c)): _Walk.iterator for c in ({}, {}.values(), {}.items(), OrderedDict(), deque()) for i in (iter, reversed)},
    type(iter(set())): _Walk.iterator, **adapters.handlers(),
}


# Ends of connections: what one sends another receives, so that all of them count as one group.
_CONNECTED = frozenset(("socket", "SSLSocket", "ssl", "Connection", "multiprocessing.connection"))
_NO_ALIAS = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType, types.CodeType, tuple)


class _Reach:
    """For opaque values: what can be reached by references, so that aliases and code are still known."""

    LIMIT = 100_000

    def __init__(self, owner, fp):
        self.owner, self.fp = owner, fp

    def run(self, root):
        fp, known = self.fp, self.owner.reached if self.owner.reached is not None else {}
        seen, level, keep = {id(root), id(None), id(self.owner.namespace), id(vars(builtins))}, [root], []  # frames have the builtins
        owned = adapters.shared_internals()
        while level and len(seen) < self.LIMIT:
            kinds = {}
            for o in level:
                kinds.setdefault(type(o), []).append(o)
            inner = []
            for kind, group in kinds.items():
                adapter = adapters.of_type(kind)
                if issubclass(kind, types.ModuleType):
                    group = [m for m in group if code_owner.made_by_hand(m)]
                    if not group:
                        continue
                elif (kind.__module__ == "pybind11_builtins" or isinstance(kind, enum.EnumMeta) and code_owner.kind_of(kind.__module__) == code_owner.LIBRARY
                        or adapter is not None and adapter.unchanging(kind)):
                    continue  # these never change
                if level[0] is root or issubclass(kind, types.ModuleType) or not issubclass(kind, _NO_ALIAS) and kind is not object and kind not in _IMMUTABLE_TYPES:
                    fp.ids.update(dict.fromkeys(map(id, group), "x"))
                if kind.__name__ in _CONNECTED and kind.__module__ in _CONNECTED:
                    fp.ids[id(_CONNECTED)] = "n"
                if kind is types.FunctionType:
                    for f in group:
                        if f.__globals__ is self.owner.namespace:
                            self.code(f.__code__)
                            fp.soft[id(f)] = f
                        elif code_owner.kind_of(f.__module__) == code_owner.WORKSPACE:
                            fp.files.add(f.__module__)
                        elif _own_globals(f):
                            inner.append(f.__globals__)
                        inner += (f.__closure__, f.__defaults__, f.__dict__ or None)
                elif issubclass(kind, type):
                    for c in group:
                        if code_owner.kind_of(c.__module__) == code_owner.WORKSPACE:
                            fp.files.add(c.__module__)
                        if code_owner.kind_of(c.__module__) == code_owner.PROGRAM:
                            fp.soft[id(c)] = c
                            inner += [*vars(c).values(), c.__bases__]
                else:
                    for o in group if kind in (types.GeneratorType, types.CoroutineType) else ():
                        frame = getattr(o, "gi_frame", None) or getattr(o, "cr_frame", None)
                        if frame is not None:
                            self.code(frame.f_code)
                    inner += gc.get_referents(*group)
                    inner.append(kind)
                    if adapter is not None:
                        inner += adapter.referents(fp, kind, group, owned)
                    if issubclass(kind, weakref.ref):
                        fp.weak = fp.lifetime_sensitive = True
                        inner += [r() for r in group]
                    if kind is _Variable:
                        inner += [o.get(None) for o in group]  # what it has in this context
            inner = [o for o in inner if type(o) not in ATOMS]
            keep.append(inner)
            found = dict(zip(map(id, inner), inner))
            for i in known.keys() & found.keys():
                self.absorb(known[i])
                seen |= known[i].ids.keys()
            level = [o for i, o in found.items() if i not in seen and i not in owned]
            seen.update(map(id, level))
        fp.partial = bool(level) or _hides(type(root))
        if not fp.partial and not issubclass(type(root), _NO_ALIAS):
            known[id(root)] = fp

    def absorb(self, other):
        """Takes what was reached from an object before for what is reached through it: figures hold all of their axes, and
        axes their figure."""
        fp = self.fp
        fp.ids = {**dict.fromkeys(other.ids, "x"), **fp.ids}
        fp.soft.update(other.soft)
        fp.deps |= other.deps
        fp.imports |= other.imports
        fp.libraries |= other.libraries
        fp.weak |= other.weak
        fp.lifetime_sensitive |= other.lifetime_sensitive

    def code(self, code):
        names, imports = bytecode.code_facts(code)
        self.fp.deps |= names
        self.fp.imports |= imports






_NAME = type.__dict__["__name__"].__get__
_modules = {}  # id of an object that does not tell its module → itself and the module that pickle finds it in


def _module_of(o, name):
    found = getattr(o, "__module__", None)
    if type(found) is str:
        return found
    if id(o) not in _modules:
        _modules[id(o)] = o, pickle.whichmodule(o, name)
    return _modules[id(o)][1]


def _own_globals(f):
    """Reports whether the globals of a function are a dict of their own and no module's."""
    return f.__globals__ is not getattr(sys.modules.get(f.__globals__.get("__name__")), "__dict__", None)


def _hides(t):
    """Reports whether instances of a type may hold what nobody is told of: one of a package's native code, which takes no part in the
    collection of garbage, and says at most that it is built in. The standard library has some that hold nothing of others' (hashes)."""
    if t.__flags__ & _COLLECTED or type(t.__module__) is not str:
        return False
    adapter = adapters.of_type(t)
    if adapter is not None and adapter.reports_referents(t):
        return False
    return bool(code_owner.witness(t.__module__.partition(".")[0])) or t.__module__ == "builtins" and getattr(builtins, t.__name__, None) is not t


_COLLECTED = 1 << 14  # type flag: it tells what its instances refer to


def _annotations(f):
    annotate = getattr(f, "__annotate__", None)  # 3.14: evaluating them may fail, their code says the same
    return annotate.__code__ if annotate is not None else f.__annotations__ or None


_code_digests = {}


def flatten(code, source, flags):
    """Gives the code objects nested in code the digest they would have if all of the source stood on one line.

    Bytecode depends on layout: from 3.13 on two loads become one instruction only where they stand on one line.
    """
    if not any(isinstance(k, types.CodeType) for k in code.co_consts):
        return
    flatten_tree(code, compile(source, "", "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True), "exec", flags)


def flatten_tree(code, tree, mode, flags):
    """The same for code that was compiled from a tree, which is of no use then."""
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = 1
            node.col_offset = node.end_col_offset = 0
    _pair(code, compile(tree, "", mode, flags, dont_inherit=True))


def _pair(code, flat):
    inner = [k for k in code.co_consts if isinstance(k, types.CodeType)]
    flats = [k for k in flat.co_consts if isinstance(k, types.CodeType)]
    if [k.co_name for k in inner] != [k.co_name for k in flats]:
        return
    for a, b in zip(inner, flats):
        _pair(a, b)
        _code_digests[_key(a)] = _code_digest(b)


def known_digest(code, digest=None):
    """Returns the digest of a code object; sets it first when one is given (for code that was stored)."""
    if digest is not None:
        _code_digests.setdefault(_key(code), digest)
    return _code_digest(code)


def _key(code):
    return code, sets.constants(code)


def _code_digest(c):
    key = _key(c)
    d = _code_digests.get(key)
    if d is None:
        h = blake2b(digest_size=20)
        for part in (c.co_name, c.co_argcount, c.co_posonlyargcount, c.co_kwonlyargcount, c.co_flags, c.co_names,
                     c.co_varnames, c.co_freevars, c.co_cellvars):
            h.update(_dump(part))
        _instructions(h, c)
        for const in c.co_consts:
            _const(h, const)
        d = _code_digests[key] = h.digest()
    return d


_NO_EFFECT = frozenset(("NOP", "CACHE", "EXTENDED_ARG", "RESUME"))
_JUMPS = frozenset(dis.hasjrel) | frozenset(dis.hasjabs)


def _instructions(h, c):
    """Hashes what a code object does. Not its bytes: a line break inside an expression may add a NOP."""
    places, kept = {}, []
    for ins in dis.get_instructions(c):
        places[ins.offset] = len(kept)
        if ins.opname not in _NO_EFFECT:
            kept.append(ins)
    for ins in kept:
        arg = places.get(ins.argval, ins.argval) if ins.opcode in _JUMPS else ins.arg
        h.update(b"%d %d;" % (ins.opcode, -1 if arg is None else arg))
    if sys.version_info >= (3, 11):
        for e in dis._parse_exception_table(c):
            h.update(b"%d-%d>%d %d %d;" % (places.get(e.start, e.start), places.get(e.end, e.end), places.get(e.target, e.target), e.depth, e.lasti))


def _const(h, const):
    if isinstance(const, types.CodeType):
        h.update(b"c")
        h.update(_code_digest(const))
    elif isinstance(const, tuple):
        h.update(b"t%d;" % len(const))
        for x in const:
            _const(h, x)
    elif isinstance(const, frozenset):
        h.update(b"f" + _dump(sets.table(const)))
        for x in const:
            _const(h, x)
    elif type(const) in ATOMS:
        h.update(_dump(const))
    else:
        h.update(repr(const).encode())


def _importable(o):
    module = sys.modules.get(getattr(o, "__module__", None) or "")
    if module is None:
        return False
    for part in o.__qualname__.split("."):
        module = getattr(module, part, None)
        if module is None:
            return False
    return module is o or getattr(module, "__func__", None) is o  # that of a class method
