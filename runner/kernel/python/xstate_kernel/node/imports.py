"""Finds the code and the modules that a node may reach, and the dependencies of its imports."""

import importlib
import os
import sys
import types

from xstate_kernel import original as __builtins__

from ..ground import bytecode, code_owner
from ..observe import libraries
from ..world import first_imports


class NodeImports:
    """Finds the code objects that a node can reach, and the packages and workspace modules that it depends on."""

    def __init__(self, bindings, workspace, modules, files):
        self.first = first_imports.FirstImports(files)
        self._bindings, self.ns, self.groups = bindings, bindings.ns, bindings.groups
        self.workspace, self.modules, self.files = workspace, modules, files

    def attach(self, request, kernel):
        """Imports the submodules that earlier nodes imported of packages that the node uses: they are attributes of
        these.

        The engine may have imported only the packages into this interpreter.
        """
        self.first.begin(request.get("imported") or (), request.get("submodules") or ())
        todo = [
            n
            for n in request.get("submodules") or ()
            if n not in sys.modules
            and n.partition(".")[0] in sys.modules
            and code_owner.kind_of(n.partition(".")[0]) == code_owner.LIBRARY
            and not _has(n)
        ]
        if not todo:
            return
        used = (self.ns.get(name) for name in self._bindings.reach(request["uses"]))
        used = {
            m.__name__
            for m in used
            if code_owner.is_a(m, types.ModuleType) and code_owner.kind_of(m.__name__) == code_owner.LIBRARY
        }
        self.files.restoring = True
        for n in todo:
            if any(n.startswith(m + ".") for m in used):
                kernel.state = None  # the node did not cause what the import sets
                try:
                    importlib.import_module(n)
                except Exception:
                    pass  # it was a name in the package, or failed then, too
        self.files.restoring = False

    def modules_of(self, imports, reads):
        """Returns the workspace modules that the node can have reached: those it imports or read something of, and
        theirs."""
        loaded = [name for name, _ in self.workspace.loaded()]
        if not loaded:
            return set()
        found = self._bindings.rest_on(reads) | self.modules.process.modules()
        for n in imports:
            top = n.partition(".")[0]
            if top in sys.modules and code_owner.kind_of(top) == code_owner.WORKSPACE:
                found.update([m for m in loaded if m == n or m.startswith(n + ".") or n.startswith(m + ".")] or [top])
        if self.modules.reads_sys_modules or "__import__" in reads:  # raises no event for what is loaded already
            found.update(loaded)
        return {m for n in found for m in self.workspace.closure(n)}

    def imported(self, imports, reads, reached, made, before):
        """Returns what the node's imports depend on: packages with the files that witness their version, libraries that
        read something when they were imported, workspace modules and their files."""
        packages, held = (
            {},
            reached.union(self.modules.others, *map(self.workspace.closure, self._bindings.rest_on(made))),
        )  # from an import that no text shows
        todo = set(imports)
        for n in reads:
            value = self.ns.get(n)
            if code_owner.is_a(value, types.ModuleType) and code_owner.kind_of(value.__name__) == code_owner.LIBRARY:
                todo.add(value.__name__)
            elif n in self.groups.prints:
                todo |= self.groups.prints[n].libraries
        for m in held & sys.modules.keys():
            todo |= self.workspace.imports(m)
        for n in todo:
            top = n.partition(".")[0]
            if top in sys.modules and top != "__main__" and code_owner.kind_of(top) == code_owner.LIBRARY:
                witness = code_owner.witness(top)
                if witness or libraries.nested_in(top):
                    packages[top] = list(witness)
        for path in self.modules.sought(imports):
            if code_owner.is_library_path(path):
                self.files.reads.setdefault(path, "presence")
            else:
                self.files.seen(path)
        loads = libraries.newly_loaded()
        for top in {n.partition(".")[0] for n in imports}:
            for t in libraries.nested_in(top):
                loads[top], loads[t] = libraries.loaded(top), libraries.loaded(t)
                if t not in before:
                    self.files.look_again(libraries.looks_of(t))
        return {
            "libraries": packages,
            "loads": loads,
            "files": sorted(filter(None, map(self.workspace.path, held))),
            "held": sorted(held),
        }

    def failed(self):
        """Counts what can cure a failed import as read."""
        files, folders, extending = self.modules.lacked()
        for path in files:  # with their contents: the import of one may be what failed
            self.files.read(path)
            if path.endswith(".pyc") and path not in self.files.writes:
                self.files.reads[os.path.realpath(path)] = None  # which counts as no file of the program's otherwise
        self.files.listings.update(map(os.path.realpath, folders))
        self.files.reads.update(dict.fromkeys(map(os.path.realpath, extending)))

    def codes(self, request, code, tail):
        """Yields the code objects that the node runs or may run: its own and those of the functions it can reach."""
        for c in (code, tail):
            if c is not None:
                yield from (c,) if request.get("definition") else bytecode.nested(c)
        for name in self._bindings.reach(request["uses"]):
            for f in self.groups.prints[name].soft.values():
                if isinstance(f, types.FunctionType):
                    yield from bytecode.nested(f.__code__)

    def module_codes(self, codes, names):
        """Returns the code objects of workspace modules that code objects, which use names, may reach."""
        if not self.workspace.loaded():
            return []
        modules = self.modules_of(set().union(*(bytecode.code_facts(c)[1] for c in codes)), self._bindings.reach(names))
        return self.workspace.codes(modules, codes)


def _has(dotted):
    """Reports whether the last part of a dotted name is an attribute of its module. Does not call the module's
    __getattr__."""
    module, _, name = dotted.rpartition(".")
    return name in getattr(sys.modules.get(module), "__dict__", ())
