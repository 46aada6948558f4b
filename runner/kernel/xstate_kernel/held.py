"""What the modules of the workspace hold: state of the program, like the values of its names."""
from . import original as __builtins__
import marshal
import sys
import types

from . import blake2b, fingerprint, origin

_MACHINERY = frozenset((
    "__name__", "__doc__", "__package__", "__loader__", "__spec__", "__path__", "__file__", "__cached__", "__builtins__", "__warningregistry__",
    "__annotations__", "__annotate__", "__conditional_annotations__"))


class Held:
    """Knows what each module held when it was last looked at: after its load, and after every node that can come to it."""

    def __init__(self, printer, workspace):
        self._printer, self._workspace = printer, workspace
        self._known = {}  # name → (module, digest, identities of what it binds)

    def look(self, name):
        """Looks at a loaded module. Reports whether it holds something else than before: equal things bound anew count, for
        who took the old ones by name shares them no more."""
        module = sys.modules[name]
        was = self._known.get(name)
        names = _names(name, module)
        bound = [(k, id(v)) for k, v in names if type(v) not in fingerprint.ATOMS]
        self._known[name] = now = module, self._digest(name, names), bound
        return was is not None and was[0] is module and was != now

    def digest(self, name):
        if name not in self._known:
            self.look(name)
        return self._known[name][1]

    def forget(self, names):
        for name in names:
            self._known.pop(name, None)
            self._printer.shared.pop(name, None)

    def _digest(self, name, names):
        """Names data by content, and by type where it has no name; code of the module by where it stands in its text."""
        shared, self._printer.shared = self._printer.shared, {}
        lines, places = [], {}
        for k, v in names:
            if type(v) in fingerprint.ATOMS:
                lines.append((k, v))
                continue
            made = None
            if origin.is_a(v, types.ModuleType):
                lines.append((k, v.__name__))
                continue
            if origin.is_a(v, (types.FunctionType, type)):
                if v.__module__ != name and origin.kind_of(v.__module__) != origin.PROGRAM:
                    lines.append((k, v.__module__, v.__qualname__))
                    continue
                if v.__module__ == name and type(v) is types.FunctionType:
                    lines.append((k, v.__qualname__, v.__code__.co_firstlineno))
                    defaults = v.__defaults__ or ()
                    if not (v.__closure__ or v.__kwdefaults__ or v.__dict__) and fingerprint.ATOMS.issuperset(map(type, defaults)):
                        lines.append(defaults)
                        continue
                    v = made = [v.__closure__, defaults, v.__kwdefaults__, v.__dict__ or None]
                elif v.__module__ == name:
                    lines.append((k, v.__qualname__))
                    v = made = [x for x in vars(v).items() if x[0] not in fingerprint.SKIP_MEMBERS]
            fp = self._printer.of(v)
            lines.append((k, type(v).__name__ if fp.opaque else fp.digest))
            if fp.opaque:  # what it reaches may be anybody's: all loggers, all that a thread holds
                inner = v.values() if type(v) is dict else v if type(v) in (list, tuple) else ()
                found = dict.fromkeys(map(id, fingerprint.mutable([v, *inner])))
            else:
                found = {i: "%s %s" % (k, place) for i, place in fp.ids.items()}
            found.pop(id(made), None)
            lines += sorted((str(places[i]), str(found[i])) for i in found.keys() & places.keys())
            places = {**found, **places}
        self._printer.shared = shared
        shared[name] = places
        return blake2b(marshal.dumps(lines, 2), digest_size=16).hexdigest()


def _names(name, module):
    """What a module binds: but no submodule, which is there because somebody imported it."""
    return [(k, v) for k, v in sorted(vars(module).items()) if k not in _MACHINERY and sys.modules.get("%s.%s" % (name, k), _names) is not v]
