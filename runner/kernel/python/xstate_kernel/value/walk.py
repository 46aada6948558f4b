"""Writes a value as a canonical stream, whose digest identifies it, and records what the digest leaves out.

See fingerprint.py for the contents of the stream.
"""

import collections.abc  # noqa: F401, a function of it is found by this name
import copyreg
import enum
import functools
import gc
import marshal
import pickle
import re
import sys
import types
import weakref
from collections import OrderedDict, deque

from xstate_kernel import original as __builtins__

from .. import adapters
from ..ground import code_owner, native
from ..ground.atoms import ATOMS
from ..ground.builtin_function import BuiltinFunction
from ..ground.unsupported import Opaque
from . import instances, sets
from .walk_containers import Containers, Deep

IMMUTABLE_TYPES = {
    range,
    slice,
    type(Ellipsis),
    type(NotImplemented),
    types.BuiltinFunctionType,
    BuiltinFunction,
    types.MethodType,
    types.GenericAlias,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.ClassMethodDescriptorType,
    types.MethodWrapperType,
}
if hasattr(types, "UnionType"):
    IMMUTABLE_TYPES.add(types.UnionType)
_PARAMETERS = frozenset(("TypeVar", "TypeVarTuple", "ParamSpec", "TypeAliasType"))
_FLOAT = frozenset((float,))


def _dump(atom):
    return marshal.dumps(atom, 2)  # version 2: no references, no interning marks


class Walk(Containers):
    """One traversal. An explicit stack, so that depth costs memory and not the interpreter's stack."""

    def run(self, root):
        self.stack.append(root)
        self.drain()
        while self.pending:
            self.settle()
        self.fp.places.update(self.dicts)
        self.fold()
        self.place_by_colours()

    def drain(self):
        """Writes what is on the stack, and all that it reaches but elements of deferred sets."""
        stack = self.stack
        while stack:
            if self.below is not None and len(stack) <= self.below:
                self.below = None
            if type(stack[-1]) is set and native.sets and sets.readable():
                written, new = native.sets(self.put, self.bulk, self.grow, self.seen, self.temps or None, stack)
                if new:
                    self.fp.sets, self.levels = True, None
                if written > new:
                    self.again()
                if written:
                    continue
            o = stack.pop()
            t = type(o)
            if t in ATOMS:
                self.put(_dump(o))
                if t is float and o != o:
                    self.floats([o], [float], _FLOAT)
                continue
            method = _DISPATCH.get(t)
            if method is not None:
                method(self, o)
            elif issubclass(t, type):  # and not isinstance, which trusts __class__
                if self.below is None:
                    self.classes, self.below = True, len(stack)
                self.klass(o)
            elif issubclass(t, types.ModuleType):
                self.module(o)
            else:
                self.other(o, t)

    def note_module_state(self):
        """Writes the places where the value contains an object of a workspace module. An equal list that belongs only
        to the value is a different value."""
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
                raise Opaque(f"a part of what module {module} holds")
            lines.append(f"H{self.fp.ids[i]}={module}:{self.owner.shared[module][i]};")
        self.put("".join(sorted(lines)).encode())

    def other(self, o, t):
        module = t.__module__ if type(t.__module__) is str else ""  # in a Cython function it may be a descriptor
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
            if adapter.opaque and not adapter.plain(o, t):
                raise Opaque(f"{t.__module__}.{t.__qualname__}")
            if adapter.fingerprint(self, o, t):
                return
        name = sentinel(o, t)
        if name is not None:
            self.put(f"N{module}.{name};".encode())
            self.origin_of(module, code_owner.LIBRARY)
            return
        self.instance(o, t, adapter)

    def instance(self, o, t, adapter):
        """Writes an object by its parts."""
        # Which of equal constants it is does not count, as with numbers.
        constant = t in IMMUTABLE_TYPES or (adapter is not None and adapter.constant(t))
        named = issubclass(t, enum.Enum)
        if not constant and self.mark(o):
            return
        if named:
            more = {k: v for k, v in vars(o).items() if not (k.startswith("_") and k.endswith("_"))}
            if more:  # which the program gave to a member
                self.own(o)
                self.stack.append(self.temporary(more))
        elif not constant:
            self.own(o)
            if weakref.getweakrefcount(o):
                self.watched(o)
            memory = adapters.views_memory(t)
            if memory is not None:
                memory.note_memory(self, o)
        if instances.simple(t):
            self.simple(o, t, not constant and not named)
            return
        parts = adapter and adapter.parts(o, t)
        if parts:
            self.put(b"c")
            self.stack.extend(parts)
            return
        if issubclass(t, BaseException):
            self.raised(o)
        self.reduced(o, t, adapter)

    def simple(self, o, t, placed):
        """Writes an instance of a class of the user's, see instances.simple. placed: it has its own place."""
        self.put(b"T")
        *parts, own = instances.parts(o, t)
        if issubclass(t, (set, frozenset)):
            self.set(o, b"S", False)
            parts[0] = None
        self.temps.update(map(id, (parts[0], parts[2], parts[1] if not own else None)))
        if instances.bare(t) and placed:
            self.fp.places[~id(o)] = ~self.seen[id(o)]
            if own:
                self.dicts[id(parts[1])] = ~self.seen[id(o)]
        self.keep.append(parts)
        self.stack.extend((*reversed(parts), t))

    def reduced(self, o, t, adapter):
        """Writes an object by what pickling makes of it."""
        scratch = _scratch(o, adapter.scratch_attributes) if adapter else {}
        reduce = copyreg.dispatch_table.get(t)
        rv = reduce(o) if reduce is not None else o.__reduce_ex__(4)
        self.put(b"O")
        if isinstance(rv, str):
            module = _module_of(o, rv)
            self.put(f"{t.__name__}:{module}:{rv};".encode())
            if code_owner.kind_of(module) != code_owner.PROGRAM:
                self.origin_of(module, code_owner.kind_of(module))
            if code_owner.kind_of(module) == code_owner.PROGRAM or (
                t.__module__ == "typing" and t.__name__ in _PARAMETERS
            ):  # say that they are of typing
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
        if scratch and type(rest[1]) is dict:
            rest[1] = self.temporary({**rest[1], **scratch})
        items = [it if it is None else self.temporary(list(it)) for it in rest[2:4]]
        self.stack.extend(reversed([rv[0], rest[0], rest[1], *items]))

    def named(self, o, t):
        """Writes the parts of an object that pickling stores only as a name of the program.

        Examples are type variables, type aliases and functions of NumPy. If some parts are functions, it writes only
        these: the object caches their results after the first access."""
        parts = tuple(self.temporary(dict(x)) if type(x) is dict else x for x in gc.get_referents(o) if x is not t)
        functions = tuple(x for x in parts if type(x) is types.FunctionType)
        variance = (
            tuple(getattr(o, k, None) for k in ("__covariant__", "__contravariant__", "__infer_variance__"))
            if t.__module__ == "typing"
            else None
        )
        self.stack.append(self.temporary((functions or parts, variance)))

    def scratch(self, s):
        """Writes an array whose elements do not count."""
        self.put(b"z")
        if not self.mark(s.array):
            self.own(s.array)
            adapters.views_memory(type(s.array)).note_memory(self, s.array)

    def weak(self, r):
        """Writes a weak reference: whether its target exists, and the target."""
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
        """Adds parts of an exception that pickling does not show: its causes, and the place that raised it."""
        places, tb = [], e.__traceback__
        while tb is not None:
            code = tb.tb_frame.f_code
            places.append((code.co_filename, code.co_name, tb.tb_lineno))
            self.fp.cites.add(code.co_filename)
            tb = tb.tb_next
        self.stack.extend((tuple(places), e.__suppress_context__, e.__context__, e.__cause__))

    def apart(self, o, ids):
        """Writes a part of a frame or an index, and adds the objects that it reaches to ids."""
        sub = type(self)(self.owner, self)
        sub.run(o)
        for i, place in sub.fp.ids.items():
            ids.setdefault(i, f"p{place}")
        sub.fp.places, sub.fp.ordinals = {}, None
        self.put(sub.h.digest())
        self.absorb(sub.fp)


def _fresh(made):
    """Yields the ids of containers and arrays that only the reduction made refers to, through such containers and
    tuples."""
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
            while type(p).__name__ == "ndarray" and sys.getrefcount(p) <= _FRESH:
                yield id(p)
                p = p.base


_CONTAINERS = frozenset((list, dict, set, bytearray, tuple))
_FRESH = sys.maxsize


class _Scratch:
    __slots__ = ("array",)

    def __init__(self, array):
        self.array = array


def _scratch(o, names):
    """Returns substitutes for the arrays in these attributes to which nothing refers but their object."""
    found, space = {}, getattr(o, "__dict__", None) or {}
    for name in names & space.keys():
        for a in (space[name],):
            if type(a).__name__ == "ndarray" and sys.getrefcount(a) <= _FRESH + 1 and a.base is None:
                found[name] = _Scratch(a)
    return found


def _calibrate():
    """Finds the reference count that a fresh container shows in _fresh; it differs between interpreters."""
    for p in ([],):
        return sys.getrefcount(p)


_FRESH = _calibrate()


def mutable(objects):
    """Returns those of the objects that may be changed in place."""
    return [o for o in objects if type(o) not in ATOMS and not isinstance(o, NO_ALIAS)]


def left_out(o, t, rv):
    """Returns the attributes of an instance of a class of the program that a library's pickling leaves out or changes.

    Arrays, dates and numbers pickle none of these attributes, and a class may leave out what it can recompute.
    """
    if code_owner.kind_of(t.__module__) == code_owner.LIBRARY:
        return adapters.left_out(o)
    if instances.simple(t) or not getattr(o, "__dict__", None):
        return {}
    state = rv[2] if len(rv) > 2 else None
    if type(state) is tuple and len(state) == 2 and (state[0] is None or type(state[0]) is dict):
        state = state[0]  # beside that of slots
    if type(state) is not dict or adapters.views_memory(t) is not None:
        return dict(vars(o))
    return {
        k: v for k, v in vars(o).items() if k not in adapters.COMPUTED_ATTRIBUTES and state.get(k, adapters) is not v
    }


_sentinels = {}  # class of a library → id of an instance that its module has a name for → name, instance


def sentinel(o, t):
    """Returns the name of a sentinel of a library, such as dataclasses.MISSING, or None for other objects.

    A sentinel has its own class. Many objects refer to it, and none changes it.
    """
    found = _sentinels.get(t)
    if found is None:
        found = _sentinels[t] = {}
        if (
            t.__name__.startswith("_")
            and t.__base__ is object
            and instances.python(t)
            and code_owner.kind_of(t.__module__) == code_owner.LIBRARY
        ):
            found.update(
                (id(v), (k, v))
                for k, v in getattr(sys.modules.get(t.__module__), "__dict__", {}).items()
                if type(v) is t
            )
    if id(o) not in found or not ATOMS.issuperset(map(type, getattr(o, "__dict__", {}).values())):
        return None
    return found[id(o)][0]


_DISPATCH = {
    list: Walk.list,
    tuple: Walk.tuple,
    dict: Walk.dict,
    set: Walk.set,
    frozenset: Walk.frozenset,
    bytearray: Walk.bytearray,
    memoryview: Walk.memoryview,
    types.FunctionType: Walk.function,
    types.CodeType: Walk.code,
    types.CellType: Walk.cell,
    types.BuiltinFunctionType: Walk.builtin,
    BuiltinFunction: Walk.wrapper,
    types.MethodType: Walk.method,
    property: Walk.prop,
    staticmethod: Walk.wrapped,
    classmethod: Walk.wrapped,
    types.GeneratorType: Walk.generator,
    types.CoroutineType: Walk.generator,
    types.AsyncGeneratorType: Walk.generator,
    type({}.keys()): Walk.view,
    type({}.values()): Walk.view,
    type({}.items()): Walk.view,
    types.MappingProxyType: Walk.proxy,
    Deep: Walk.deep,
    _Scratch: Walk.scratch,
    functools.cached_property: Walk.cached,
    type(functools.lru_cache(len)): Walk.lru,
    re.Match: Walk.match,
    **{
        type(i(c)): Walk.iterator
        for c in ({}, {}.values(), {}.items(), OrderedDict(), deque())
        for i in (iter, reversed)
    },
    type(iter(set())): Walk.iterator,
    **adapters.handlers(),
}
NO_ALIAS = (
    *(types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType, BuiltinFunction, types.CodeType, tuple),
)
_modules = {}  # id of an object that does not name its module → itself and the module that pickle finds it in


def _module_of(o, name):
    found = getattr(o, "__module__", None)
    if type(found) is str:
        return found
    if id(o) not in _modules:
        _modules[id(o)] = o, pickle.whichmodule(o, name)
    return _modules[id(o)][1]
