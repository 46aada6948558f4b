"""Imports a library into a new interpreter as the program imported it first.

A new interpreter does not execute the program's imports: a library arrives with the first value or node that needs it.
The state that its import reads and sets belongs to the node that imported it first, and is state of the program
already. So three rules hold for the import of a library that the program has imported before:

- It finds in the environment what its first import found, see FirstImports.told.
- Afterwards the environment is what it was: the state of the program has what the import sets.
- The running node counts neither as a reader of what the import looks at, nor as a writer of what it sets.

The second rule also holds for every library that a request of the engine imports."""

import os
import sys
import warnings

from xstate_kernel import original as __builtins__

from .. import adapters
from ..ground import code_owner
from ..observe import libraries


class FirstImports:
    """A finder of modules. It must come first in sys.meta_path."""

    def __init__(self, files):
        self._files = files
        self._known = self._dotted = frozenset()  # libraries and submodules that the program imported before the node
        self._views = {}  # node that imported libraries first → variable → its value in the course of its imports
        self._node_of = {}  # library → that node
        self._running = []  # the nodes of the imports that are going on; None for others
        self._finding = set()
        self.restored = set()  # libraries that nodes imported by these rules
        sys.meta_path.insert(0, self)

    def told(self, first):
        """Takes, for libraries whose first import itself changed variables, the node and the values before it.

        A library may look at a variable and then set it, for another library or for itself. The present value is the
        one that it set. Several imports of one node continue each other: each finds what the one before it has set."""
        for top, found in first.items():
            self._views.setdefault(found["node"], found["environ"])
            self._node_of[top] = found["node"]

    def begin(self, known, dotted):
        """Notes which libraries, and which submodules of libraries, the program has imported before a node."""
        self._known, self._dotted, self.restored = frozenset(known), frozenset(dotted), set()

    def find_spec(self, name, path=None, target=None):
        files, top = self._files, name.partition(".")[0]
        again = files.active and top in self._known and (name == top or name in self._dotted)
        restored = files.restoring and (not self._running or top in self._node_of)
        if name in self._finding or not (again or restored):
            return None
        self._finding.add(name)
        try:
            finders = (f for f in sys.meta_path if f is not self and hasattr(f, "find_spec"))
            spec = next(filter(None, (f.find_spec(name, path, target) for f in finders)), None)
        finally:
            self._finding.discard(name)
        if spec is not None and spec.loader is not None and code_owner.is_library_path(spec.origin or ""):
            spec.loader = _Loader(spec.loader, self._as_first, self._node_of.get(top))
        return spec

    def _as_first(self, execute, module, node):
        files, environ = self._files, dict(os.environ._data)
        view = {} if node in self._running else self._views.get(node, {})
        active, restoring, filters = files.active, files.restoring, list(warnings.filters)
        self._running.append(node)
        files.active = files.restoring = False
        _set(view)
        files.restoring = True
        try:
            execute(module)
        finally:
            files.restoring = False
            self._running.pop()
            view.update((name, os.environ.get(name)) for name in list(view))
            if node is None or node not in self._running:
                restore(environ)
            if active:
                adapters.warnings.adapter.library_imported(filters)
                self.restored |= libraries.taken_as_first(self._known)
            files.active, files.restoring = active, restoring


class _Loader:
    """A loader that leaves the execution of a module to a function."""

    def __init__(self, loader, execute, node):
        self._loader, self._execute, self._node = loader, execute, node

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._execute(self._loader.exec_module, module, self._node)


def _set(values):
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def restore(before):
    """Makes the environment what it was, given the variables as os.environ holds them."""
    now, text = os.environ._data, os.environ.decodevalue
    changed = [k for k in now.keys() | before if now.get(k) != before.get(k)]
    _set({text(k): text(before[k]) if k in before else None for k in changed})
