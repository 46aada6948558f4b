"""Hidden state: state that outlives a node and is not in the namespace.

Each variable has a key, a function that reads it as plain data, and a function that sets it. Its pristine value means
"as in a fresh interpreter"; the digest of that value is absent. Some variables have an instrumented accessor, which
reports exactly when a node reads them. For the others, the engine counts every node as a reader. That is sound, and
matters only if a program changes them. The adapters define the variables of libraries; interpreter_state.py defines the
others.
"""

import _abc
import abc
import pickle
import sys
import weakref

from xstate_kernel import original as __builtins__

from .. import adapters
from ..ground import code_owner, kept_names
from . import interpreter_state


class Hidden:
    """All variables of hidden state."""

    def __init__(self, seed, names):
        self.seed = seed
        self.names = names  # the observer of names: a library may look up names of the program
        self.collector = interpreter_state.Collector()
        self.variables = [v for a in adapters.ALL for v in a.variables()]
        self.variables += interpreter_state.variables(self.collector)
        self.by_key = {v.key: v for v in self.variables}
        self._waiting = {}  # key of a variable whose module is not loaded → (pickled value, digest)
        self._named = {}  # key → (digest of the value that was put, the name that it has for the engine)
        self.quietly = lambda action: action()  # calls a function whose effects do not belong to the running node
        adapters.random.adapter.watch(seed)
        self._imports = Importing(self)
        sys.meta_path.insert(0, self._imports)
        for name in ("logging", "logging.config"):
            if name in sys.modules:
                self._imports.loaded(name)

    def _generators(self):
        return [v for v in self.variables if v.key.startswith("rng:") and v.loaded()]

    def unused(self):
        """Reports whether the random generators are as they were seeded."""
        return all(v.known and v.digest(v.get()) == v.pristine[0] for v in self._generators())

    def reseed(self, seed):
        """Seeds the random generators, which are unused, with another seed."""
        self.seed = seed
        sys.modules["random"].seed(seed)
        for name, put in adapters.GENERATORS.items():
            if name in sys.modules:
                put(sys.modules[name], seed)
        for v in self._generators():
            self.begin(v)

    def snapshot(self):
        """Returns key → (digest, value, own digest); a pristine value has "" for the first."""
        found = {}
        for v in self.variables:
            if not v.loaded():
                if v.key in self._waiting:
                    name = self._waiting[v.key][1]
                    found[v.key] = name, None, name
                continue
            try:
                value = v.get()
                digest = v.digest(value)
            except Exception:
                continue
            if not v.known:
                v.known, v.pristine = True, (digest, value)
            put, name = self._named.get(v.key, (None, None))
            if digest == v.pristine[0]:
                name = ""
            elif digest != put:
                name = digest
            found[v.key] = name, value, digest
        return found

    def begin(self, v):
        """Records the present value of a variable as pristine: its package was just loaded."""
        value = v.get()
        v.known, v.pristine = True, (v.digest(value), value)
        v.start = v.pristine[0]

    def restore(self, key, blob, digest):
        """Sets a variable to the pickled value, or to the pristine one when blob is None.

        The value of a variable of an installed package waits until the package is loaded: many nodes do not need it."""
        v = self.by_key[key]
        self._waiting.pop(key, None)
        self._named.pop(key, None)
        if not v.loaded():
            if blob is None:
                return
            if v.module.partition(".")[0] not in sys.stdlib_module_names:
                self._waiting[key] = blob, digest
                return
            __import__(v.module)
        if not v.known:
            self.snapshot()
        v.put(v.pristine[1] if blob is None else pickle.loads(blob))

    def loaded(self, module):
        """Sets the variables that waited for a module, without counting the running node as their reader or writer."""
        for v in [self.by_key[key] for key in self._waiting]:
            if v.module == module and v.loaded():
                self.quietly(lambda v=v: self._set_waiting(v))

    def _set_waiting(self, v):
        flags = v.touched, v.set_by_node, v.fresh, v.unseeded
        if not v.known:
            self.begin(v)
        blob, digest = self._waiting.pop(v.key)
        v.put(pickle.loads(blob))
        v.start = v.digest(v.get())
        self._named[v.key] = v.start, digest
        v.touched, v.set_by_node, v.fresh, v.unseeded = flags
        v.arm()


class Importing:
    """A finder that observes imports of the adapters' packages, so that their hidden state has a known first value."""

    def __init__(self, hidden):
        self._hidden = hidden
        self._busy = set()
        self._then = {name: f for a in adapters.ALL for name, f in a.after_import().items()}
        for v in hidden.variables:
            if v.module:
                self._then.setdefault(v.module, lambda *_: None)

    def find_spec(self, name, path=None, target=None):
        if name not in self._then or name in self._busy:
            return None
        import importlib.util

        self._busy.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._busy.discard(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _After(spec.loader, lambda: self.loaded(name))
        return spec

    def loaded(self, name):
        """Calls the adapter's function for a module that was just loaded."""
        self._then[name](self._hidden, sys.modules[name])
        self._hidden.loaded(name)


class _After:
    """A loader that calls a function after it has executed a module."""

    def __init__(self, loader, then):
        self._loader, self._then = loader, then

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._then()


def forget_answers(classes):
    """Clears the caches of isinstance checks in abstract classes: the program's classes may have changed since."""
    # An abstract class that caches an answer about a class refers to it weakly, with a callback of this name.
    if any(getattr(r.__callback__, "__name__", None) == "_destroy" for c in classes for r in weakref.getweakrefs(c)):
        todo, seen = [object], set()
        for c in todo:
            if id(c) not in seen:
                seen.add(id(c))
                todo += type.__subclasses__(c)
                if code_owner.is_a(c, abc.ABCMeta):
                    _abc._reset_caches(c)


kept_by = adapters.state_object  # stored groups find the function by this name
kept_names.keep("hidden", __name__)
