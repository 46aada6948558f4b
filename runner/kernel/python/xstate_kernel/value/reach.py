"""Finds what opaque values reach by references, so that the kernel still knows aliases and code in them."""

import builtins
import enum
import gc
import types
import weakref
from _contextvars import ContextVar as _Variable

from xstate_kernel import original as __builtins__

from .. import adapters
from ..ground import bytecode, code_owner
from ..ground.atoms import ATOMS
from . import handles
from .walk import IMMUTABLE_TYPES, NO_ALIAS
from .walk_code import own_globals

# Ends of connections: one end receives what another sends, so all of them count as one group.
_CONNECTED = frozenset(("socket", "SSLSocket", "ssl", "Connection", "multiprocessing.connection"))


class Reach:
    """The objects that opaque values reach by references, with the aliases and the code among them."""

    LIMIT = 100_000

    def __init__(self, owner, fp):
        self.owner, self.fp = owner, fp

    def run(self, root):
        fp, known = self.fp, self.owner.reached if self.owner.reached is not None else {}
        fp.settle()
        # frames have the builtins
        seen, level, keep = {id(root), id(None), id(self.owner.namespace), id(vars(builtins))}, [root], []
        owned = adapters.shared_internals()
        while level and len(seen) < self.LIMIT:
            kinds, inner = {}, []
            for o in level:
                kinds.setdefault(type(o), []).append(o)
            for kind, group in kinds.items():
                inner += self.met(kind, group, owned, level[0] is root)
            inner = [o for o in inner if type(o) not in ATOMS]
            keep.append(inner)
            found = dict(zip(map(id, inner), inner))
            for i in known.keys() & found.keys():
                self.absorb(known[i])
                seen |= known[i].places.keys()
            level = [o for i, o in found.items() if i not in seen and i not in owned]
            seen.update(map(id, level))
        for i in fp.soft.keys() & fp.places.keys():  # the value itself is a function or class
            del fp.places[i]
        fp.partial = bool(level) or _hides(type(root))
        if fp.partial:
            fp.handles.add(handles.ANY)
        if not fp.partial and not issubclass(type(root), NO_ALIAS):
            known[id(root)] = fp

    def met(self, kind, group, owned, outermost):
        """Notes objects of one type, and returns what they refer to."""
        adapter = adapters.of_type(kind)
        if issubclass(kind, types.ModuleType):
            group = [m for m in group if code_owner.made_by_hand(m)]
            if not group:
                return []
        elif _unchanging(kind, adapter):
            return []
        if (
            outermost
            or issubclass(kind, types.ModuleType)
            or (not issubclass(kind, NO_ALIAS) and kind is not object and kind not in IMMUTABLE_TYPES)
        ):
            self.fp.places.update(dict.fromkeys(map(id, group), "x"))
        handles.note(self.fp, kind, group)
        if kind.__name__ in _CONNECTED and kind.__module__ in _CONNECTED:
            self.fp.places[id(_CONNECTED)] = "n"
        if kind is types.FunctionType:
            return self.functions(group)
        if issubclass(kind, type):
            return self.classes(group)
        return self.others(kind, group, adapter, owned)

    def functions(self, group):
        inner = []
        for f in group:
            if f.__globals__ is self.owner.namespace:
                self.code(f.__code__)
                self.fp.soft[id(f)] = f
            elif code_owner.kind_of(f.__module__) == code_owner.WORKSPACE:
                self.fp.files.add(f.__module__)
            elif own_globals(f):
                inner.append(f.__globals__)
            inner += (f.__closure__, f.__defaults__, f.__dict__ or None)
        return inner

    def classes(self, group):
        inner = []
        for c in group:
            if code_owner.kind_of(c.__module__) == code_owner.WORKSPACE:
                self.fp.files.add(c.__module__)
            if code_owner.kind_of(c.__module__) == code_owner.PROGRAM:
                self.fp.soft[id(c)] = c
                inner += [*vars(c).values(), c.__bases__]
        return inner

    def others(self, kind, group, adapter, owned):
        fp = self.fp
        for o in group if kind in (types.GeneratorType, types.CoroutineType) else ():
            frame = getattr(o, "gi_frame", None) or getattr(o, "cr_frame", None)
            if frame is not None:
                self.code(frame.f_code)
        inner = [*gc.get_referents(*group), kind]
        if adapter is not None:
            inner += adapter.referents(fp, kind, group, owned)
        if issubclass(kind, weakref.ref):
            fp.weak = fp.lifetime_sensitive = True
            inner += [r() for r in group]
        if kind is _Variable:
            inner += [o.get(None) for o in group]  # its value in this context
        return inner

    def absorb(self, other):
        """Reuses the earlier result for an object that the walk reaches: a figure refers to all of its axes, and an
        axes to its figure."""
        fp = self.fp
        fp.places = {**dict.fromkeys(other.places, "x"), **fp.places}
        fp.soft.update(other.soft)
        fp.handles |= other.handles
        fp.deps |= other.deps
        fp.imports |= other.imports
        fp.libraries |= other.libraries
        fp.weak |= other.weak
        fp.lifetime_sensitive |= other.lifetime_sensitive

    def code(self, code):
        names, imports = bytecode.code_facts(code)
        self.fp.deps |= names
        self.fp.imports |= imports


def _unchanging(kind, adapter):
    """Reports whether objects of a type never change, and refer to nothing that changes."""
    return (
        kind.__module__ == "pybind11_builtins"
        or (isinstance(kind, enum.EnumMeta) and code_owner.kind_of(kind.__module__) == code_owner.LIBRARY)
        or (adapter is not None and adapter.unchanging(kind))
    )


def _hides(t):
    """Reports whether instances of a type may refer to objects that the collector does not report.

    This is true of native types of packages that do not take part in garbage collection. Some types of the standard
    library do not either, but they refer to no other objects (hashes).
    """
    if t.__flags__ & _COLLECTED or type(t.__module__) is not str:
        return False
    adapter = adapters.of_type(t)
    if adapter is not None and adapter.reports_referents(t):
        return False
    return bool(code_owner.witness(t.__module__.partition(".")[0])) or (
        t.__module__ == "builtins" and getattr(builtins, t.__name__, None) is not t
    )


_COLLECTED = 1 << 14  # type flag: the collector reports what its instances refer to
