"""The contents of workspace modules. These are state of the program, like the values of its names."""

import marshal
import sys
import types

from xstate_kernel import original as __builtins__

from .. import blake2b
from ..ground import atoms, code_owner
from ..value import walk, walk_code

_MACHINERY = frozenset(
    (
        "__name__",
        "__doc__",
        "__package__",
        "__loader__",
        "__spec__",
        "__path__",
        "__file__",
        "__cached__",
        "__builtins__",
        "__warningregistry__",
        "__annotations__",
        "__annotate__",
        "__conditional_annotations__",
    )
)


class ModuleState:
    """The contents of each module at the last check: after its load, and after every node that can reach it."""

    def __init__(self, printer, workspace):
        self._printer, self._workspace = printer, workspace
        self._known = {}  # name → _Content
        self.altered = set()  # "MODULE.NAME" of each value that changed or was replaced since the caller cleared this

    def look(self, name):
        """Checks a loaded module, and reports whether its contents differ from those at the last check.

        An equal but new object is a change: code that imported the old object by name no longer shares it.
        """
        module, was = sys.modules[name], self._known.get(name)
        if was is not None and was.module is not module:
            was = None
        now = was
        if was is None or not was.current():
            now = self._known[name] = _Content(name, module)
        before = was and (was.digest, was.parts, was.bound, self._printer.shared.get(name))
        now.digest, now.parts = self._digest(name, now)
        places = self._printer.shared[name]
        if was is None or before == (now.digest, now.parts, now.bound, places):
            return False
        different = {*before[1].items(), *before[2]} ^ {*now.parts.items(), *now.bound}
        self.altered.update(f"{name}.{k}" for k, _ in different)
        self.altered.update(
            f"{name}.{(place or '').partition(' ')[0]}" for _, place in (before[3] or {}).items() ^ places.items()
        )
        return True

    def digest(self, name):
        if name not in self._known:
            self.look(name)
        return self._known[name].digest

    def names(self, modules):
        """Returns the program's names that modules may use. The program can assign its own functions to a module."""
        return set().union(*(self._known[m].deps for m in modules if m in self._known))

    def forget(self, names):
        for name in names:
            self._known.pop(name, None)
            self._printer.shared.pop(name, None)

    def _digest(self, name, content):
        """Computes the digest of a module, and of each part that can change. Opaque data counts by its type."""
        shared, self._printer.shared = self._printer.shared, {}
        lines, places, parts = [], {}, {}
        content.deps = set()
        for k in content.living:
            v, made = vars(content.module)[k], None
            if code_owner.is_a(v, (types.FunctionType, type)) and v.__module__ == name:
                made = v = _members(v)
            fp = self._printer.of(v)
            parts[k] = type(v).__name__ if fp.opaque else fp.digest
            content.deps |= fp.deps
            lines.append((k, parts[k]))
            if fp.opaque:  # it may reach objects of other code: all loggers, or everything that a thread refers to
                inner = v.values() if type(v) is dict else v if type(v) in (list, tuple) else ()
                found = dict.fromkeys(map(id, walk.mutable([v, *inner])))
            else:
                found = {i: f"{k} {place}" for i, place in fp.ids.items()}
            found.pop(id(made), None)
            lines += sorted((str(places[i]), str(found[i])) for i in found.keys() & places.keys())
            places = {**found, **places}
        self._printer.shared = shared
        shared[name] = places
        return blake2b(content.lines + marshal.dumps(lines, 2), digest_size=16).hexdigest(), parts


class _Content:
    """The bindings of a module: parts that the kernel describes once, and parts that may change in place."""

    def __init__(self, name, module):
        space = vars(module)
        self.module, self.digest, self.parts, self.deps = module, None, {}, set()
        self.keys, self.ids = list(space), list(map(id, space.values()))
        self.plain = []  # functions without mutable state, and their defaults
        # Names of the rest. The kernel keeps no reference to the values: a finalizer may show when they are freed.
        self.living = []
        lines = []
        for k, v in sorted(space.items()):
            if k in _MACHINERY or sys.modules.get(f"{name}.{k}", space) is v:
                continue  # other code imported this submodule
            if type(v) in atoms.ATOMS:
                lines.append((k, v))
            elif code_owner.is_a(v, types.ModuleType):
                lines.append((k, v.__name__))
            elif not code_owner.is_a(v, (types.FunctionType, type)):
                self.living.append(k)
            elif v.__module__ == name:  # it is identified by its place in the text of the module
                lines.append(
                    (k, v.__qualname__, v.__code__.co_firstlineno if code_owner.is_a(v, types.FunctionType) else 0)
                )
                if _holds(v):
                    self.living.append(k)
                else:
                    lines.append(v.__defaults__)
                    self.plain.append((v, v.__defaults__))
            elif code_owner.kind_of(v.__module__) == code_owner.PROGRAM:
                self.living.append(k)
            else:
                lines.append((k, v.__module__, v.__qualname__))
        self.lines = marshal.dumps(lines, 2)
        living = set(self.living)
        self.fixed = [v for k, v in space.items() if k not in living]  # kept, so that no other object gets their ids
        self.bound = [
            (k, i)
            for k, i in zip(self.keys, self.ids)
            if type(space[k]) not in atoms.ATOMS
            and k not in _MACHINERY
            and not code_owner.is_a(space[k], types.ModuleType)
        ]

    def current(self):
        """Reports whether the bindings are the same objects, and the plain functions still have no mutable state."""
        space = vars(self.module)
        return (
            list(map(id, space.values())) == self.ids
            and list(space) == self.keys
            and not any(f.__dict__ or f.__defaults__ is not defaults for f, defaults in self.plain)
        )


def _holds(code):
    """Reports whether a function or class refers to something that can change in place."""
    return (
        not code_owner.is_a(code, types.FunctionType)
        or bool(code.__closure__ or code.__kwdefaults__ or code.__dict__)
        or not atoms.ATOMS.issuperset(map(type, code.__defaults__ or ()))
    )


def _members(code):
    if code_owner.is_a(code, types.FunctionType):
        return [code.__closure__, code.__defaults__, code.__kwdefaults__, code.__dict__ or None]
    return [x for x in vars(code).items() if x[0] not in walk_code.SKIP_MEMBERS]
