"""The loaded modules from files of the workspace: their sources, their imports, and whether they are up to date."""

import ast
import importlib.machinery
import os
import sys
import types

from xstate_kernel import original as __builtins__

from .. import blake2b
from ..ground import bytecode, code_owner, identity


class Workspace:
    """The loaded modules from files of the user, and the sources that they were loaded from."""

    def __init__(self):
        self._missed = {}  # module name → names that it imports and that were not found
        self._seen = {}  # module name → (path, stat key, digest)
        self._entries, self._loaded = {}, []  # sys.modules at the last check, and the workspace modules among them
        self._first = frozenset(sys.modules)  # modules that the interpreter and the kernel loaded
        self._parsed = {}  # (digest of a source, package) → names of modules it imports
        self._functions = {}  # digest of a source → names that its top level mentions, its functions and methods
        self.renew()

    def renew(self):
        """Clears the cached facts that depend on the contents of modules."""
        self._closures, self._digests = {}, {}

    def entries(self):
        """Returns a copy of sys.modules: the same dict again, if it did not change since. Each node calls this several
        times."""
        if identity.differing(self._entries, sys.modules) != []:
            self._entries = dict(zip(list(sys.modules), list(sys.modules.values())))
            self._loaded = [
                (name, module)
                for name, module in self._entries.items()
                if isinstance(module, types.ModuleType)
                and name != "__main__"
                and not name.startswith("xstate_kernel")
                and code_owner.kind_of(name) == code_owner.WORKSPACE
            ]
            self._note()
        return self._entries

    def loaded(self):
        """Returns the name and the module object of each workspace module."""
        self.entries()
        return self._loaded

    def executed(self, name):
        """Records that the source of a module was executed. A repeated execution replaces the earlier record."""
        self._seen.pop(name, None)
        self.entries()
        self._note()

    @code_owner.unobserved
    def _note(self):
        """Records the source digests of newly loaded modules."""
        self.renew()
        for name, module in self._loaded:
            path = getattr(module, "__file__", None)
            if path and name not in self._seen and name in sys.modules:  # other code may just have removed it
                try:
                    path = os.path.realpath(path)
                    self._seen[name] = (path, _stat_key(path), code_owner.file_digest(path))
                except OSError:
                    self._seen[name] = (path, None, "gone")
                self._missed[name] = {n for n in self.imports(name) if n not in sys.modules and not _findable(n)}

    def closure(self, name):
        """Returns the names of the workspace modules that a module depends on: itself, its packages, its imports."""
        if name in self._closures:
            return self._closures[name]
        todo, seen = [name], set()
        while todo:
            n = todo.pop()
            if n in seen or n not in sys.modules or code_owner.kind_of(n) != code_owner.WORKSPACE:
                continue
            seen.add(n)
            if "." in n:
                todo.append(n.rpartition(".")[0])
            todo.extend(self.imports(n))
            for value in list(vars(sys.modules[n]).values()):
                if isinstance(value, types.ModuleType):
                    if not value.__name__.startswith(
                        n + "."
                    ):  # without its own import, a module has a submodule because other code imported it
                        todo.append(value.__name__)
                else:
                    owner = getattr(value, "__module__", None)
                    if isinstance(owner, str) and owner != n:
                        todo.append(owner)
        self._closures[name] = sorted(seen)
        return self._closures[name]

    def holder(self, names):
        """Returns the module from which other modules got an object that all of them bind, as far as imports show."""
        return min(names, key=lambda n: (len(self.closure(n)), n))

    def importers(self, names):
        """Returns the loaded workspace modules that are among names, are inside one, or import one directly or not."""
        gone, todo = set(), {n for n in names if n in sys.modules}
        while todo:
            gone |= todo
            todo = {
                n
                for n, _ in self.loaded()
                if n not in gone and (n.rpartition(".")[0] in gone or self.imports(n) & gone)
            }
        return gone

    def unload(self, names):
        """Unloads modules. Code that already refers to one keeps it."""
        for n in names:
            module = sys.modules.pop(n, None)
            parent, _, last = n.rpartition(".")
            if getattr(sys.modules.get(parent), last, self) is module:
                delattr(sys.modules[parent], last)
            self._seen.pop(n, None)
            code_owner.forget_kind(n)
        self.renew()

    def imported(self):
        """Returns the names of all modules that loaded workspace modules import, anywhere in their source."""
        return set().union(*(self.imports(n) for n, _ in self.loaded()))

    def imports(self, name):
        """Returns the names of the modules that the source of a module imports, anywhere in it."""
        path, _, digest = self._seen.get(name, (None, None, None))
        package = name if hasattr(sys.modules[name], "__path__") else name.rpartition(".")[0]
        if (digest, package) in self._parsed:
            return self._parsed[digest, package]
        try:
            with open(path, "rb") as f:
                found = imported(ast.parse(f.read()), package)
        except (OSError, SyntaxError, ValueError, TypeError):
            return set()
        self._parsed[digest, package] = found
        return found

    def codes(self, names, codes):
        """Returns the code of module functions that codes may call. names are the modules.

        Only the interpreter can call a function whose name no code mentions."""
        mentioned, rest = {n for c in codes for n in c.co_names}, []
        for name in names:
            loaded, functions = self._functions_of(name)
            mentioned |= loaded
            rest += functions
        found, more = [], True
        while more:
            more = [c for c in rest if c.co_name in mentioned or c.co_name.startswith(("__", "<"))]
            rest = [c for c in rest if c not in more]
            inner = [k for c in more for k in bytecode.nested(c)]
            found += inner
            mentioned.update(n for k in inner for n in k.co_names)
        return found

    def _functions_of(self, name):
        path, _, digest = self._seen.get(name, (None, None, None))
        found = self._functions.get(digest)
        if found is None:
            try:
                with open(path, "rb") as f:
                    bodies = [compile(f.read(), path, "exec", dont_inherit=True)]
            except (OSError, SyntaxError, ValueError, TypeError):
                return set(), []
            functions = []
            for body in bodies:
                for k in body.co_consts:
                    if isinstance(k, types.CodeType):
                        (functions if k.co_flags & bytecode.FUNCTION else bodies).append(k)
            found = self._functions[digest] = (
                {n for c in bodies for _, op, _, n in bytecode.instructions(c) if n and not op.startswith("STORE_")},
                functions,
            )
        return found

    def path(self, name):
        return self._seen[name][0] if name in self._seen else ""

    def text(self, name):
        """Returns the digest of the source that a module was loaded from."""
        return self._seen[name][2] if name in self._seen else ""

    def digest(self, name):
        if name not in self._digests:
            h = blake2b(digest_size=20)
            for n in self.closure(name):
                if n in self._seen:
                    h.update(f"{n} {self._seen[n][2]}\n".encode())
            self._digests[name] = h.hexdigest()[:16]
        return self._digests[name]

    def edited(self):
        """Returns the modules whose file changed since their load, and all modules that depend on these."""
        self._note()
        changed = set()
        for name, (path, stat, digest) in list(self._seen.items()):
            if name not in sys.modules:
                del self._seen[name]
                continue
            try:
                if _stat_key(path) == stat:
                    continue
                same = code_owner.file_digest(path) == digest
            except OSError:
                same = False
            if not same:
                changed.add(name)
        changed |= {n for n, _ in self.loaded() if self._elsewhere(n) or any(map(_findable, self._missed.get(n, ())))}
        if not changed:
            return []
        return [n for n, _ in self.loaded() if changed & set(self.closure(n))]

    def _elsewhere(self, name):
        """Reports whether an import would now find a loaded module in another place."""
        parent, _, _ = name.rpartition(".")
        module, path = sys.modules[name], getattr(sys.modules.get(parent), "__path__", None)
        if parent and path is None:
            return False
        try:
            spec = importlib.machinery.PathFinder.find_spec(name, path)
        except Exception:
            return False
        return (
            spec is None
            or spec.origin != getattr(module, "__file__", None)
            or (spec.origin is None and list(spec.submodule_search_locations) != list(module.__path__))
        )

    def shadowed(self):
        """Reports whether a workspace file now shadows a loaded library module. Code that refers to the module keeps
        it."""
        for folder in sys.path:
            if not os.path.isdir(folder) or code_owner.is_library_path(os.path.join(os.path.abspath(folder), "x")):
                continue
            try:
                entries = os.listdir(folder)
            except OSError:  # nothing is imported from there, either
                continue
            for entry in entries:
                name = entry[:-3] if entry.endswith(".py") else entry
                if (
                    name in sys.modules
                    and name not in self._first
                    and code_owner.kind_of(name) == code_owner.LIBRARY
                    and (name != entry or os.path.exists(os.path.join(folder, entry, "__init__.py")))
                ):
                    return True
        return False


def imported(tree, package):
    """Returns the names of the modules that a source in package imports, anywhere in it, and of their packages."""
    return imported_by(ast.walk(tree), package)


def imported_by(nodes, package):
    """Returns the same as imported, but only for the given syntax nodes."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found.update(a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                parts = parts[: len(parts) - node.level + 1]
                base = ".".join(parts + ([base] if base else []))
            found.add(base)
            found.update(f"{base}.{a.name}" for a in node.names)
    for n in list(found):
        while "." in n:
            n = n.rpartition(".")[0]
            found.add(n)
    return found


def _findable(name):
    """Reports whether the workspace has a file for a module that is not loaded."""
    parent, _, last = name.rpartition(".")
    folders = getattr(sys.modules.get(parent), "__path__", ()) if parent else sys.path
    stems = [os.path.join(p, last) for p in folders if code_owner.is_a(p, str)]
    return any(
        (os.path.exists(s + ".py") or os.path.exists(os.path.join(s, "__init__.py")))
        and not code_owner.is_library_path(s)
        for s in stems
    )


def _stat_key(path):
    st = os.stat(path)
    return (st.st_size, st.st_mtime_ns, st.st_ino)
