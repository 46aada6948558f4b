"""Changes that the program makes to modules: attributes assigned from outside, globals of workspace modules.

They are hidden state that no other observation sees, and that a live interpreter cannot take back. The engine names
them by lineage, counts every later node as their reader, and gets back to before them in a new interpreter.
"""
from . import original as __builtins__
import sys
import types

from . import fingerprint, origin, process

_STORES = frozenset(("STORE_ATTR", "DELETE_ATTR"))
_SETTERS = frozenset(("setattr", "delattr", "patch", "monkeypatch", "reload", "__dict__", "vars"))
_stores = {}
_GONE = object()


def may_assign(code):
    """Reports whether a code object, or one nested in it, can assign to an attribute."""
    found = _stores.get(code)
    if found is None:
        import dis
        found = bool(_SETTERS & set(code.co_names)) or any(i.opname in _STORES for i in dis.get_instructions(code))
        found = found or any(may_assign(k) for k in code.co_consts if isinstance(k, types.CodeType))
        _stores[code] = found
    return found


class Modules:
    """The attributes of modules as they were when a node began."""

    def __init__(self, namespace, printer, workspace, groups):
        self._namespace, self._printer, self._workspace = namespace, printer, workspace
        self._before, self._data, self._after = {}, {}, {}
        self._originals = {}  # module and name → what was there before the program put something else there
        self._changed = set()  # modules of the workspace that are not as they were loaded
        self.process = process.Process(printer, groups)

    def begin(self, codes):
        self._before = {}
        if any(may_assign(c) for c in codes):
            names = {n for c in codes for inner in origin.nested(c) for n in inner.co_names}
            for value in list(self._namespace.values()):
                if origin.is_a(value, types.ModuleType) and vars(value) is not self._namespace:
                    self._take(value)
                    for name in names:
                        inner = vars(value).get(name)
                        if origin.is_a(inner, types.ModuleType):
                            self._take(inner)
        self._data = {name: self._digest(module) for name, module in self._workspace.loaded()}
        self.process.begin()

    def end(self):
        """Looks at what the modules hold now, before values are named that may share it."""
        self._after = {name: self._digest(module) for name, module in self._workspace.loaded()}

    def _take(self, module):
        self._before[module.__name__] = (module, dict(vars(module)))

    def _digest(self, module):
        bound = sorted((k, id(v)) for k, v in vars(module).items() if isinstance(v, (types.FunctionType, type)))
        members = [(k, self._printer.of(dict(vars(v)) if isinstance(v, type) else (v.__closure__, v.__defaults__)).digest)
                   for k, v in sorted(vars(module).items())
                   if isinstance(v, (types.FunctionType, type)) and v.__module__ == module.__name__]
        return fingerprint.data_digest(self._printer, module), bound, members

    def changed(self):
        """Returns the names of the modules whose attributes are others than when the node began."""
        found = set()
        for name, (module, before) in self._before.items():
            after = vars(module)
            for k in before.keys() | after.keys():
                value = after.get(k)
                if before.get(k) is not value and not origin.is_a(value, types.ModuleType) and not k.startswith("__"):
                    found.add(name)
                    self._put(name, k, before.get(k, _GONE), value)
        for name, digest in self._after.items():
            if self._data.get(name, digest) != digest:
                found.add(name)
                self._changed.add(name)
        return sorted(found)

    def _put(self, name, k, before, value):
        place = ("attribute", name, k)
        if self._originals.setdefault(place, before) is value:
            del self._originals[place]
            self.process.attributes.pop(place, None)
        else:
            self.process.attributes[place] = value

    def pristine(self):
        """Reports whether everything is as in a new interpreter."""
        return not self._originals and not self._changed and not self.process.planted()

