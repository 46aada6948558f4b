"""Writes functions, classes and modules to the canonical stream: by their code, or by name and version of their
owner."""

import abc
import gc
import sys
import types
from _abc import _get_dump as _abc_dump

from xstate_kernel import original as __builtins__

from ..ground import bytecode, code_owner
from ..ground.unsupported import Opaque
from . import code_digest
from .walk_state import WalkState

SKIP_MEMBERS = frozenset(
    (
        "__dict__",
        "__weakref__",
        "__module__",
        "__firstlineno__",
        "__static_attributes__",
        "_abc_impl",
        "__annotations_cache__",
        "__annotate_func__",
        "__annotate__",
        "__abstractmethods__",
        "__subclasshook__",
        "__slotnames__",
    )
)
_WEAK = frozenset(("weakref", "_weakref", "_weakrefset"))
_NAME = type.__dict__["__name__"].__get__


def _cached(cache):
    """Returns keys and results that a functools.lru_cache holds, the least recently used first. It shows them to the
    collector alone: of a bounded one in order, and then the dict with its keys, which an unbounded one has for both."""
    inside = gc.get_referents(cache)
    if len(inside) < 6 or inside[-1] is not vars(cache) or type(inside[-6]) is not dict:
        raise Opaque("a cache in use")
    held, mark, link = inside[-6], inside[-4], inside[-3]
    if cache.cache_parameters()["maxsize"] is None:
        pairs = list(held.items())
    else:
        row = 3 if inside[-7] is link else 2  # whether links show their class
        inside = inside[:-6][-row * len(held) :] if held else []
        pairs = list(zip(inside[::row], inside[1::row]))
    if sorted(map(id, held)) != sorted(id(key) for key, _ in pairs):
        raise Opaque("a cache in use")
    names = [tuple("=" if x is mark else x for x in key) if type(key) is tuple else key for key, _ in pairs]
    return [x for name, (_, result) in zip(names, pairs) for x in (name, result)]


class Code(WalkState):
    """The part of Walk that writes functions, classes and modules, and objects that represent calls of them."""

    def code(self, c):
        self.put(b"c")
        self.put(code_digest.digest(c))

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
        elif kind == code_owner.WORKSPACE and not own_globals(f):
            self.foreign(f, kind)
        else:
            self.stack.append(self.globals_of(f))
        self.put(code_digest.digest(f.__code__))
        extra = {k: v for k, v in f.__dict__.items() if k != "__wrapped__"} if f.__dict__ else None
        wrapped = f.__dict__.get("__wrapped__") if f.__dict__ else None
        defaults, kw = f.__defaults__, f.__kwdefaults__
        module = f.__module__ if f.__module__ not in ("__main__", self.owner.namespace.get("__name__")) else None
        parameters = getattr(f, "__type_params__", None)
        if parameters:
            self.stack.append(parameters)
        if extra is not None:
            self.temporary(extra)
        for x in (
            extra,
            wrapped,
            f.__closure__,
            kw,
            defaults,
            _annotations(f),
            f.__doc__,
            f.__name__,
            f.__qualname__,
            module,
        ):
            self.stack.append(x)

    def globals_of(self, f):
        """Returns what the code of f loads from its globals, if these do not belong to a module: a dict for exec."""
        space = f.__globals__
        if not own_globals(f):
            return None
        self.fp.notes.setdefault(id(space), "g%d" % self.seen[id(f)])
        return self.temporary({n: space[n] for n in sorted(bytecode.code_facts(f.__code__)[0]) if n in space})

    def cell(self, c):
        if self.mark(c):
            return
        self.fp.places[id(c)] = str(self.seen[id(c)])
        try:
            self.put(b"C")
            self.stack.append(c.cell_contents)
        except ValueError:
            self.put(b"empty")

    def foreign(self, o, kind):
        """Writes an object of a module, by its name and by the version of its owner."""
        module = o.__module__
        self.fp.lifetime_sensitive |= module in _WEAK
        self.put(b"G")
        self.put(f"{module}:{getattr(o, '__qualname__', '')};".encode())
        self.origin_of(module, kind)

    def origin_of(self, module, kind):
        if kind == code_owner.WORKSPACE:
            self.fp.files.add(module)
            self.put(self.owner.workspace.digest(module).encode())
        elif module:
            self.fp.libraries.add(module.partition(".")[0])
            self.put(code_owner.version(module.partition(".")[0]).encode())

    def wrapper(self, o):
        """Writes a BuiltinFunction: the function of C in whose place it is."""
        if not self.mark(o):
            self.foreign(o, code_owner.kind_of(o.__module__))

    def builtin(self, o):
        owner = getattr(o, "__self__", None)
        self.put(f"B{o.__module__}:{o.__qualname__};".encode())
        if owner is not None and not isinstance(owner, types.ModuleType):
            self.stack.append(owner)

    def method(self, o):
        self.put(b"M")
        self.stack.append(o.__func__)
        self.stack.append(o.__self__)

    def lru(self, o):
        """Writes a functools.lru_cache. Its contents count, for results may depend on more than the arguments. But a
        library's cache in use is the library's."""
        uses = o.cache_info()[:2]
        if any(uses):
            if code_owner.kind_of(o.__wrapped__.__module__) == code_owner.LIBRARY:
                raise Opaque("a cache in use")
            self.put(b"u%d,%d;" % uses)
            self.stack.append(self.temporary(_cached(o)))
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
        self.put(f"K{self.owner.called(c)};{_NAME(c)};{c.__module__};".encode())
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
            self.stack.append(
                self.temporary(
                    sorted((k for k in registered if k is not None), key=lambda k: (k.__module__, k.__qualname__))
                )
            )
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
        self.put(f"m{name};".encode())
        self.origin_of(name, kind)
        if kind == code_owner.WORKSPACE and sys.modules.get(name) is not m:
            raise Opaque("a module that was replaced")
        if kind == code_owner.WORKSPACE:  # with the submodules that other code imported
            for sub in sorted(n for n in sys.modules if n.startswith(name + ".")):
                self.put(f"m{sub};".encode())
                self.origin_of(sub, kind)

    def match(self, o):
        self.put(b"X")
        self.stack.extend((o.re, o.string, o.pos, o.endpos, o.regs))

    def iterator(self, o):
        raise Opaque("an iterator over what may change meanwhile")

    def generator(self, o):
        self.fp.lifetime_sensitive = True  # its remaining code runs when it is freed
        raise Opaque(type(o).__name__)


def own_globals(f):
    """Reports whether the globals of a function are a separate dict that does not belong to a module."""
    return f.__globals__ is not getattr(sys.modules.get(f.__globals__.get("__name__")), "__dict__", None)


def _annotations(f):
    annotate = getattr(f, "__annotate__", None)  # 3.14: evaluating them may fail, their code says the same
    return annotate.__code__ if annotate is not None else f.__annotations__ or None


def _importable(o):
    module = sys.modules.get(getattr(o, "__module__", None) or "")
    if module is None:
        return False
    for part in o.__qualname__.split("."):
        module = getattr(module, part, None)
        if module is None:
            return False
    return module is o or getattr(module, "__func__", None) is o  # that of a class method
