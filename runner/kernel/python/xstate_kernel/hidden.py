"""Hidden state: what outlives a node without being in the namespace.

Each variable has a key, a way to read it as plain data, a way to set it, and a pristine value that stands for "as in a
fresh interpreter" (its digest is absent). Some report exactly when a node read them, by an instrumented accessor. For
the others every node counts as a reader, which is sound and matters only when a program changes them. The variables of
libraries are those of the adapters; the rest is in interpreter_state.py.
"""

from . import original as __builtins__
import _abc
import abc
import pickle
import sys
import weakref

from . import adapters, code_owner, interpreter_state


class Hidden:
    """All variables of hidden state."""

    def __init__(self, seed, names):
        self.seed = seed
        self.names = names  # observer of names, which libraries may look up
        self.collector = interpreter_state.Collector()
        self.variables = [v for a in adapters.ALL for v in a.variables()]
        self.variables += interpreter_state.variables(self.collector)
        self.by_key = {v.key: v for v in self.variables}
        adapters.random.adapter.watch(seed)
        self._imports = Importing(self)
        sys.meta_path.insert(0, self._imports)
        for name in ("logging", "logging.config"):
            if name in sys.modules:
                self._imports.loaded(name)

    def snapshot(self):
        """Returns key → (digest, value, own digest); a pristine value has "" for the first."""
        found = {}
        for v in self.variables:
            if not v.loaded():
                continue
            try:
                value = v.get()
                digest = v.digest(value)
            except Exception:
                continue
            if not v.known:
                v.known, v.pristine = True, (digest, value)
            found[v.key] = ("" if digest == v.pristine[0] else digest, value, digest)
        return found

    def begin(self, v):
        """Takes the value that a variable has as pristine: its package was just loaded."""
        value = v.get()
        v.known, v.pristine = True, (v.digest(value), value)
        v.start = v.pristine[0]

    def restore(self, key, blob):
        """Sets a variable to the pickled value, or to the pristine one when blob is None."""
        v = self.by_key[key]
        if not v.loaded():
            if blob is None:
                return
            __import__(v.module)
        if not v.known:
            self.snapshot()
        v.put(v.pristine[1] if blob is None else pickle.loads(blob))


class Importing:
    """A finder that sees the packages of adapters being imported, so that their hidden state has a known beginning."""

    def __init__(self, hidden):
        self._hidden = hidden
        self._busy = set()
        self._then = {name: f for a in adapters.ALL for name, f in a.after_import().items()}

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
        """A module was just loaded."""
        self._then[name](self._hidden, sys.modules[name])


class _After:
    """A loader that calls a function when it has executed a module."""

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
    """Makes abstract classes forget what they answered about classes of the program, which may have been others
    then."""
    # An abstract class that remembers one refers to it weakly, with a callback of this name.
    if any(getattr(r.__callback__, "__name__", None) == "_destroy" for c in classes for r in weakref.getweakrefs(c)):
        todo, seen = [object], set()
        for c in todo:
            if id(c) not in seen:
                seen.add(id(c))
                todo += type.__subclasses__(c)
                if code_owner.is_a(c, abc.ABCMeta):
                    _abc._reset_caches(c)


kept_by = adapters.state_object  # the name under which stored groups find it
