"""Modules as state: which workspace modules are loaded, their contents, and the program's changes in other modules.

Loading a workspace module executes it once. A load is *quiet* if it reads only its own source and has no effect: it may
happen at any time. Any other load, and any change to the contents of a module, is state, like the value of a variable.
The engine has a key for this state. It unloads modules that differ from those at a position in the program, and re-runs
the nodes that loaded or changed them.

The kernel cannot undo some changes in a live interpreter. These are attributes that the program assigns to modules and
classes of libraries, changes to containers in such attributes (see library_containers.py), and entries of sys.modules.
The engine counts every later node as a reader of these changes. To return to a state before them, it starts a new
interpreter.
"""

import abc
import importlib
import importlib.machinery
import importlib.util
import operator
import os
import sys
import types

from xstate_kernel import original as __builtins__

from .. import adapters
from ..ground import builtin_function, bytecode, code_owner, identity
from ..observe import files as observe_files
from ..observe import names as observe_names
from . import held_instances, library_containers, module_state, process

_STORES = frozenset(("STORE_ATTR", "DELETE_ATTR"))
_SETTERS = frozenset(
    (
        "setattr",
        "delattr",
        "__setattr__",
        "__delattr__",
        "patch",
        "stopall",
        "monkeypatch",
        "reload",
        "install_opener",
        "__dict__",
        "vars",
        *adapters.CLASS_EXTENDERS,
    )
)
_MODULES = frozenset(("modules", "stopall"))  # attributes of sys, and of the patches of unittest.mock
_HOOKS = frozenset(("__import__", "__build_class__"))  # builtins that statements call
_HEAP = 1 << 9  # type flag: made by a class statement
_GONE = object()
_NONE = frozenset()
_asks = {}


def _of_code(code):
    """Reports six facts about a code object and the code nested in it.

    The attributes that its statements assign; and whether it can assign to any attribute, names sys.modules, lists
    subclasses, computes hashes, names databases in SQL."""
    found = _asks.get(code)
    if found is None:
        names = set(code.co_names)
        inner = [_of_code(k) for k in code.co_consts if code_owner.is_a(k, types.CodeType)]
        own = (
            frozenset(name for _, op, _, name in bytecode.instructions(code) if op in _STORES),
            not _SETTERS.isdisjoint(names),
            not _MODULES.isdisjoint(names),
            "__subclasses__" in names,
            "hash" in names and code.co_name != "__hash__",
            any(type(k) is str and observe_files.SQL.search(k) for k in code.co_consts),
        )
        found = _asks[code] = _joined([own, *inner])
    return found


def _joined(facts):
    """Joins what _of_code reports."""
    assigned, *others = zip((_NONE, False, False, False, False, False), *facts)
    return (_NONE.union(*assigned), *map(any, others))


class Modules:
    """Observes what a node does to modules."""

    def __init__(self, namespace, printer, workspace, groups, effects):
        self._namespace, self._workspace, self._effects, self._groups = namespace, workspace, effects, groups
        self.module_state = module_state.ModuleState(printer, workspace)
        self.process = process.Process(printer, groups)
        # library, class and attribute → the value before the program replaced it
        self._originals = {}
        self._edited = False  # the program changed sys.modules, or made a change that cannot be undone
        self.containers = library_containers.LibraryContainers()
        self._held = held_instances.HeldInstances()
        self._targets = {}  # workspace module → dotted names in it of the objects whose attributes its code assigns
        self._active = False
        self._start([])
        sys.meta_path.insert(0, self)
        importlib.util.find_spec = self._naming(importlib.util.find_spec)
        abc.ABCMeta.register = self._registering(abc.ABCMeta.register)

    def _start(self, codes):
        # See _of_code for the six facts.
        (
            self._assigned,
            self._assigns_any,
            self.reads_sys_modules,
            self.lists_subclasses,
            self.calls_hash,
            self.attaches_databases,
        ) = _joined(map(_of_code, codes))
        self._entries = self._workspace.entries()
        # id of a library module or class → itself, its name, its attributes, those that count; None: all
        self._before = {}
        self.tried = set()  # (name, folders) of modules that code of the program and the workspace looked for
        self.asked = set()  # the same of all code
        self.named = set()  # names of modules that a function looked up
        self._loud = set()  # names of modules whose load was not quiet
        self.others = set()  # modules that the node removed from sys.modules, and packages that got a new module
        self._final = set()  # changes that cannot be undone

    def begin(self, codes, theirs):
        """Begins to observe a node. codes is the code that it may run; theirs is the workspace's part of it."""
        self.module_state.altered = set()
        self._start(codes)
        for c in theirs:
            *_, lists, hashes, attaches = _of_code(c)
            self.lists_subclasses, self.calls_hash, self.attaches_databases = (
                self.lists_subclasses or lists,
                self.calls_hash or hashes,
                self.attaches_databases or attaches,
            )
        observe_names.watch_hash(self.calls_hash)
        for name in self._entries.keys() & adapters.PATCHERS:
            self._assigning(self._entries[name])
        if self._assigned or self._assigns_any:
            counts = None if self._assigns_any else self._assigned
            names = {n for c in codes for inner in bytecode.nested(c) for n in inner.co_names}
            for value in list(self._namespace.values()):
                self._take(value, counts)
                self._take(type(value), counts)
                if code_owner.is_a(value, types.ModuleType) and vars(value) is not self._namespace:
                    self._take_named(value, names, counts)
            for name in names & adapters.CLASS_EXTENDERS.keys():
                self._take(getattr(sys.modules.get("pandas"), adapters.CLASS_EXTENDERS[name], None))
        for name in self._targets.keys() & self._entries.keys():
            self._take_targets(name)
        spaces = {m.__file__: vars(m) for _, m in self._workspace.loaded() if hasattr(m, "__file__")} if theirs else {}
        spaces = [(self._namespace, codes), *((spaces.get(c.co_filename, {}), (c,)) for c in theirs)]
        self.containers.begin(spaces, self._groups.dotted)
        self.process.begin()
        self._active = True

    def _assigning(self, module):
        """Makes a module report the targets of its attribute assignments before it assigns."""
        for function in (setattr, delattr):

            def wrapper(o, name, *value, function=function):
                if self._active:
                    self._take(o)
                return function(o, name, *value)

            vars(module).setdefault(function.__name__, wrapper)

    def _naming(self, function):
        """Wraps a function that looks up a module by name: it finds a loaded module without any finder."""

        def wrapper(name, package=None):
            if self._active and code_owner.is_a(name, str) and (package or not name.startswith(".")):
                self.named.add(importlib.util.resolve_name(name, package))
            return function(name, package)

        return builtin_function.named(wrapper, function)

    def _registering(self, register):
        """Wraps the registration with an abstract base class. The base class of a library then refers to a class of
        the program."""

        def wrapper(cls, subclass):
            if (
                self._active
                and code_owner.kind_of(cls.__module__) != code_owner.PROGRAM
                and code_owner.kind_of(getattr(subclass, "__module__", "builtins")) == code_owner.PROGRAM
            ):
                self._final.add("abc")
            return register(cls, subclass)

        return builtin_function.named(wrapper, register)

    def _take(self, value, counts=None):
        """Takes the attributes of a module, a class or a held instance of a library. counts are the names of those that
        the program can assign; None: all. An assignment in the library's own code is not a change by the program."""
        if id(value) in self._before:
            known = self._before[id(value)]
            if counts is None and known[3] is not None:
                self._before[id(value)] = (*known[:3], None)
            return
        if code_owner.is_a(value, types.ModuleType):
            if code_owner.module_class(value) == code_owner.LIBRARY:
                self._before[id(value)] = (value, value.__name__, dict(vars(value)), counts)
        elif (
            code_owner.is_a(value, type)
            and value.__flags__ & _HEAP
            and code_owner.kind_of(value.__module__) == code_owner.LIBRARY
        ):
            title = f"{value.__module__}.{value.__qualname__}"
            self._before[id(value)] = (value, title, dict(vars(value)), counts)
        else:
            name = self._held.name_of(value)
            if name:
                self._before[id(value)] = (value, name, dict(vars(value)), counts)

    def _take_named(self, module, names, counts):
        """Takes what code can reach from a module by attributes with these names."""
        todo = [module]
        for m in todo:
            for name in names & vars(m).keys():
                value = vars(m)[name]
                if id(value) not in self._before:
                    self._take(value, counts)
                    if code_owner.is_a(value, types.ModuleType):
                        todo.append(value)

    def _take_targets(self, name):
        for first, *rest in self._targets[name]:
            value = vars(sys.modules[name]).get(first)
            for k in rest:
                value = vars(value).get(k) if code_owner.is_a(value, (types.ModuleType, type)) else None
            self._take(value)

    def end(self, reached):
        """Checks the modules that the node loaded or may have reached. Returns three sets of names: modules that
        changed, modules that it loaded quietly, and other modules that it loaded."""
        fresh, entries = set(), self._workspace.entries()
        self.others = set()
        if entries is not self._entries:
            fresh = {n for n, module in self._workspace.loaded() if self._entries.get(n) is not module}
            left = {
                n
                for n in self._entries
                if entries.get(n) is not self._entries[n] and code_owner.kind_of(n) == code_owner.WORKSPACE
            }
            self.others = left | {n.rpartition(".")[0] for n in fresh} - fresh
        if not (fresh or reached):
            return set(), set(), set()
        self._workspace.renew()
        changed = {n for n in sorted(fresh | reached) if self.module_state.look(n)}
        loud = fresh if changed else self._loud & fresh  # one load may have changed the effect of another
        return changed, fresh - loud, loud

    def stop(self):
        """Stops observing: the node has ended."""
        self._active = False

    def state(self, name):
        return f"{self.module_state.digest(name)} {self._workspace.text(name)}"

    def changed(self):
        """Returns what the node changed in libraries and in sys.modules."""
        found = set()
        for value, name, before, counts in self._before.values():
            after = vars(value)
            if (
                len(before) == len(after)
                and all(map(operator.is_, before.values(), after.values()))
                and list(before) == list(after)
            ):
                continue
            for k in before.keys() | after.keys() if counts is None else counts:
                old, new = before.get(k), after.get(k)
                if (
                    old is not new
                    and not code_owner.is_a(new, types.ModuleType)
                    and not _internal(k)
                    and not _watched(old, new)
                ):
                    found.add(name)
                    self._replaced(name, k, before.get(k, _GONE), after.get(k, _GONE))
        for title, k, before, after, container in self.containers.changed():
            found.add(title)
            place = ("content", title, k)
            if identity.same(self._originals.setdefault(place, before), after):
                del self._originals[place]
                self.process.attributes.pop(place, None)
            else:
                self.process.attributes[place] = container
        entries = self._workspace.entries()
        if entries is not self._entries:
            if any(
                entries.get(name) is not module and not name.startswith("__") for name, module in self._entries.items()
            ) or any(
                (self.reads_sys_modules and _put(entries[name])) or _hooked(entries[name])
                for name in entries.keys() - self._entries.keys()
            ):
                found.add("sys.modules")
        found |= self._final
        self._edited = self._edited or "sys.modules" in found or bool(self._final)
        return sorted(found)

    def _replaced(self, name, k, before, value):
        place = ("attribute", name, k)
        if self._originals.setdefault(place, before) is value:
            del self._originals[place]
            self.process.attributes.pop(place, None)
        else:
            self.process.attributes[place] = None if value is _GONE else value

    def pristine(self):
        """Reports whether everything is as in a new interpreter. The caller has looked at the process."""
        return not self._originals and not self._edited and not self.process.latest()

    # as the first finder of sys.meta_path

    def find_spec(self, name, path=None, target=None):
        folders = [p for p in (sys.path if path is None else path) if code_owner.is_a(p, str)]
        if self._active:
            self.asked.add((name, tuple(folders)))
        ours = [p for p in folders if _of_workspace(p)]
        if not ours or name in sys.builtin_module_names:
            return self._awaited(name, path)
        if self._active and not _by_library():
            self.tried.add((name, tuple(folders)))
        if importlib.machinery.PathFinder.find_spec(name, ours) is None:
            return self._awaited(name, path)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or not spec.has_location or code_owner.is_library_path(spec.origin):
            return None
        _drop_stale(spec)
        spec.loader = _Watched(spec.loader, self._executed)
        return spec

    def _awaited(self, name, path):
        """Finds a library that the kernel must inspect as soon as it is loaded."""
        if not (self._active and (name in adapters.PATCHERS or self.containers.awaits(name))):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or not spec.has_location:
            return None
        spec.loader = _Watched(spec.loader, self._loaded)
        return spec

    def _loaded(self, execute, module):
        execute(module)
        if module.__name__ in adapters.PATCHERS:
            self._assigning(module)
        self.containers.imported(module)

    def _executed(self, execute, module):
        before = self._effects() if self._active else None
        name, code = module.__name__, _code_of(module)
        if code is not None and self._active:
            self.containers.come([(vars(module), list(bytecode.nested(code)))])
        try:
            execute(module)
        finally:
            if before is not None and (self._effects() != before or self.containers.differ()):
                self._loud.add(name)
        self._workspace.executed(name)
        if code is not None and sys.modules.get(name) is module:
            self._look_for_targets(name, code)
        if sys.modules.get(name) is module and self._entries.get(name) is not module:  # and is not loaded again
            self.module_state.look(name)

    def _look_for_targets(self, name, code):
        """Records which attributes of libraries a module may assign. Its import may have done so, and its functions may
        do so later."""
        targets = bytecode.assigned_targets(code)
        self._targets.pop(name, None)
        if targets:
            self._targets[name] = targets
            before, self._before = self._before, {}
            self._take_targets(name)
            assigned, self._before = {title for _, title, *_ in self._before.values()}, before
            if assigned and self._active:
                self._final |= assigned
                self._loud.add(name)

    def sought(self, names):
        """Yields the files that would take precedence over what these imports, and the attempted ones, found."""
        names = {
            n[:i] for name in names for n in [name + "."] for i, c in enumerate(n) if c == "."
        }  # with their packages
        for name, folders in self.tried | {(n, None) for n in names if n not in sys.builtin_module_names}:
            if folders is None:
                parent = sys.modules.get(name.rpartition(".")[0])
                folders = [
                    p for p in (getattr(parent, "__path__", ()) if "." in name else sys.path) if code_owner.is_a(p, str)
                ]
            found = getattr(sys.modules.get(name), "__file__", None)
            for folder in folders:
                if not _of_workspace(folder):
                    if found and os.path.dirname(found).startswith(folder):
                        break
                    if "." not in name and name not in sys.modules and code_owner.is_site(folder):
                        yield from _places(folder, name)
                    continue
                stem = os.path.join(folder, name.rpartition(".")[2])
                for file in (os.path.join(stem, "__init__.py"), stem + ".py"):
                    if found and os.path.abspath(file) == os.path.abspath(found):
                        break
                    yield file
                else:
                    continue
                break

    def lacked(self):
        """Returns what can cure a failed import: files that the modules not found may be, folders of libraries that may
        list them, and files in these that extend the path. Whatever installs a library changes what such a folder
        lists, or such a file."""
        files, folders = set(), {p for p in sys.path if code_owner.is_a(p, str)}
        site = sys.modules.get("site")
        if getattr(site, "ENABLE_USER_SITE", None):
            folders.add(site.getusersitepackages())  # it is not on the path as long as it does not exist
        for name, places in self.asked:
            folders.update(places)
            if name not in sys.modules:
                files.update(file for p in places if _of_workspace(p) for file in _places(p, name.rpartition(".")[2]))
        folders = {p for p in folders if not _of_workspace(p)}
        return files, folders, {p for folder in folders for p in _path_files(folder)}


def _path_files(folder):
    """Yields the files of a folder of libraries that say where else modules are: those that extend the path, and the
    finders of packages that are installed in place. A zip file on the path is such a file itself."""
    if os.path.isfile(folder):
        yield folder
        return
    try:
        names = os.listdir(folder)
    except OSError:
        return
    yield from (os.path.join(folder, n) for n in names if n.endswith(".pth") or n.startswith("__editable__"))


def _places(folder, name):
    """Yields the paths in a folder at which a module can be found."""
    stem = os.path.join(folder, name)
    yield stem
    yield os.path.join(stem, "__init__.py")
    for suffix in importlib.machinery.all_suffixes():
        yield stem + suffix


class _Watched:
    """A loader that reports when a module executes."""

    def __init__(self, loader, executed):
        self._loader, self._executed = loader, executed

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._executed(self._loader.exec_module, module)


def _code_of(module):
    try:
        return module.__spec__.loader.get_code(module.__name__)
    except Exception:
        return None  # not Python


def _drop_stale(spec):
    """Removes a compiled file that may belong to an earlier text. Python compares size and second, and two edits
    can share both."""
    try:
        if os.stat(spec.cached).st_mtime_ns <= os.stat(spec.origin).st_ctime_ns:
            os.unlink(spec.cached)
    except (OSError, TypeError):
        pass


def _by_library():
    """Reports whether code of a library causes the present import."""
    frame = sys._getframe(2)
    while frame is not None:
        path = frame.f_code.co_filename
        if not path.startswith("<frozen ") and os.sep + "importlib" + os.sep not in path:
            return not path.startswith("<") and code_owner.is_library_path(path)
        frame = frame.f_back
    return False


_folders = {}


def _of_workspace(folder):
    known = _folders.get(folder)
    if known is None:
        known = _folders[folder] = not code_owner.is_library_path(
            os.path.join(os.path.abspath(folder), "x")
        ) and not folder.endswith(".zip")
    return known


def _internal(name):
    return (name not in _HOOKS and name.startswith("__") and name.endswith("__")) or name.startswith("_abc_")


def _watched(old, new):
    """Reports whether the kernel replaced a library's function by its own, or put that one back."""
    if not (code_owner.is_a(old, types.FunctionType) and code_owner.is_a(new, types.FunctionType)):
        return False
    paths = [f.__code__.co_filename for f in (old, new)]
    return any(p.startswith(code_owner.FOLDER) for p in paths) and all(map(code_owner.is_library_path, paths))


def _put(entry):
    """Reports whether code assigned an entry of sys.modules directly."""
    return not code_owner.is_a(entry, types.ModuleType) or getattr(entry, "__spec__", None) is None


def _hooked(entry):
    """Reports whether a loader of the program or the workspace made a module."""
    return code_owner.made_by_user(getattr(getattr(entry, "__spec__", None), "loader", None))
