"""Observes which names a node reads.

On CPython 3.12 and later, the kernel uses INSTRUCTION events of sys.monitoring. It sets them on the program's own code
objects and disables each after its first hit, so a loop pays only once. Before 3.12, it takes the names that the text
of the node uses. It adds the names used by functions and classes that are reachable from the values of these names. The
result is a superset of the names that the node reads.

files.py observes files, os_functions.py the functions of os without audit events, and clocks.py clocks and
randomness."""

import builtins
import contextvars
import importlib.util
import sys
import types

from xstate_kernel import original as __builtins__

from .. import adapters
from ..ground import bytecode, code_owner
from ..ground.builtin_function import named
from ..value import sets
from . import pure_readers

_KINDS = {  # what an instruction does to a name of the namespace; bind and look may use an inner scope instead
    "LOAD_GLOBAL": "load",
    "DELETE_GLOBAL": "load",
    "LOAD_NAME": "look",
    "LOAD_FROM_DICT_OR_GLOBALS": "look",
    "DELETE_NAME": "look",
    "STORE_GLOBAL": "store",
    "STORE_NAME": "bind",
    "IMPORT_NAME": "import",
}
_SPACES = frozenset(("f_globals", "f_locals", "__globals__"))  # attributes that are whole namespaces


class StaticNames:
    """Before 3.12: see the module's docstring."""

    exact = False

    def __init__(self, namespace):
        self.namespace = namespace
        self.reads, self.imports, self.stored, self.stars = set(), set(), set(), set()
        self.everything = False  # other code got the whole namespace
        self.spaces = set()  # files of modules whose code names an attribute of _SPACES
        self._deps_of = None

    def add_node(self, code):
        """Ignores the code of the node itself: the engine sends the names that its text uses."""

    def add(self, code):
        """Counts the names used by code that a node runs with exec or eval as read."""
        if self._deps_of is not None:
            names, imports = bytecode.code_facts(code)
            self.imports |= imports
            self.stored |= bytecode.stores(code, True)
            self.stars.update(module for _, module in bytecode.star_imports(code))
            self._close(names)

    def add_module(self, code):
        """Begins to observe the code of a workspace module, because it may read the namespace of its caller."""
        self.spaces.discard(code.co_filename)
        if any(not _SPACES.isdisjoint(c.co_names) for c in bytecode.nested(code)):
            self.spaces.add(code.co_filename)

    def begin(self, uses, deps_of, start):
        self.reads, self.imports, self.stored, self.stars = set(), set(), set(), set()
        self.everything = False
        self._deps_of = deps_of
        self._close(uses)

    def note(self, name):
        """Records a read that the program's own code does not make. Examples are an attribute of the program's module
        and a name in a text that a library evaluates."""
        if self._deps_of is not None:
            self._close([name])

    def store(self, name):
        self.stored.add(name)

    def _close(self, names):
        deps_of = self._deps_of
        todo = list(names)
        while todo:
            name = todo.pop()
            if name in self.reads:
                continue
            self.reads.add(name)
            if name in self.namespace:
                deps, imports = deps_of(name)
                todo.extend(deps)
                self.imports |= imports

    def end(self):
        self._deps_of = None
        return self.reads, self.imports


class MonitoredNames:
    """From 3.12 on: see the module's docstring."""

    exact = True
    TOOL = 4

    def __init__(self, namespace):
        self.namespace = namespace
        self._plans = {}  # code object → {offset: (kind, name)}
        self.later = False  # code of the program named what makes code run that nothing calls, see pure_readers.py
        self._start = None  # the namespace when the node began; None: no node runs
        self.reads, self.imports, self.stored = set(), set(), set()
        self.everything = False  # other code got the whole namespace
        mon = self._mon = sys.monitoring
        mon.use_tool_id(self.TOOL, "xstate")
        mon.register_callback(self.TOOL, mon.events.INSTRUCTION, self._hit)

    def add_node(self, code):
        """Begins to observe the code of a node, whose plain names belong to the namespace."""
        self._add(code, {**_KINDS, "STORE_NAME": "store", "LOAD_NAME": "load", "DELETE_NAME": "load"})

    def add(self, code):
        """Begins to observe a code object and those nested in it."""
        self._add(code, _KINDS)

    def _add(self, code, kinds):
        if id(code) in self._plans:
            return
        self.later = self.later or pure_readers.later(code)
        plan = {offset: (kinds[op], name) for offset, op, _, name in bytecode.instructions(code) if op in kinds}
        plan.update((offset, ("star", module)) for offset, module in bytecode.star_imports(code))
        self._plans[id(code)] = (plan, code)
        self._mon.set_local_events(self.TOOL, code, self._mon.events.INSTRUCTION)
        for k in code.co_consts:
            if isinstance(k, types.CodeType):
                self.add(k)

    def observed(self, code):
        """Reports whether the loads of a code object raise events."""
        return id(code) in self._plans

    def add_module(self, code):
        """See StaticNames."""
        for c in bytecode.nested(code):
            plan = {offset: ("space", name) for offset, _, _, name in bytecode.instructions(c) if name in _SPACES}
            if plan:
                self._plans[id(c)] = (plan, c)
                self._mon.set_local_events(self.TOOL, c, self._mon.events.INSTRUCTION)

    def _hit(self, code, offset):
        entry = self._plans.get(id(code))
        if entry is not None:
            what = entry[0].get(offset)
            if what is not None:
                kind, name = what
                if kind == "space":
                    self.everything = True
                    return self._mon.DISABLE
                frame = sys._getframe(1)
                if frame.f_globals is not self.namespace:  # the code runs with another namespace
                    if kind in ("load", "look"):
                        self.note(name)  # it may run with this namespace later, and its event is disabled by then
                    return self._mon.DISABLE
                if kind in ("bind", "look") and self._own(name, frame.f_locals, kind):
                    return None  # the next execution may use the namespace
                if kind == "import":
                    self.imports.add(name)
                elif kind == "star":
                    self.stored |= bytecode.star_names(name)
                elif kind in ("store", "bind"):
                    self.stored.add(name)
                else:
                    self.note(name)
        return self._mon.DISABLE

    def note(self, name):
        """Records that the program's own code, or a library (see StaticNames), reads a name."""
        if name not in self.stored and (self._start.same(name) if self._start else name not in self.namespace):
            self.reads.add(name)  # the value is the same as at the node's begin, so it is an input

    def store(self, name):
        self.stored.add(name)

    def _own(self, name, scope, kind):
        """Reports whether a class body, or code made at run time, binds or finds a name in its own scope."""
        if scope is self.namespace or (kind == "look" and name not in scope):
            return False
        return not all(
            k in scope for k in self.namespace
        )  # else scope is a copy of the namespace, which CPython returns during a comprehension at top level

    def begin(self, uses, deps_of, start):
        self.reads, self.imports, self.stored = set(), set(), set()
        self.everything = False
        self._start = start
        self._mon.restart_events()

    def end(self):
        self._start = None
        return self.reads, self.imports


class Main(types.ModuleType):
    """The program's module. It reports reads of its attributes: for example, pickle finds classes in it by name."""

    def __getattribute__(self, name):
        names = watching
        if names is not None:
            if name == "__dict__":
                frame = sys._getframe(1)
                caller = frame.f_globals.get("__name__") or ""
                names.everything = names.everything or caller.partition(".")[0] not in adapters.DEFINING_CODE
                if caller == "dataclasses" and frame.f_code.co_name == "_is_type":
                    _note_mark(names, frame.f_globals, frame.f_locals)
            elif not name.startswith("__"):
                names.note(name)
        return types.ModuleType.__getattribute__(self, name)

    def __dir__(self):
        if watching is not None:
            watching.everything = True
        return types.ModuleType.__dir__(self)

    def __setattr__(self, name, value):
        types.ModuleType.__setattr__(self, name, value)
        if watching is not None:
            watching.store(name)

    def __delattr__(self, name):
        if watching is not None:
            watching.note(name)
        types.ModuleType.__delattr__(self, name)


def _note_mark(names, dataclasses, given):
    """Records the name that dataclasses looks up for the text of an annotation.

    dataclasses checks whether the text begins with a marker such as ClassVar."""
    module, name = given["match"].groups()
    marks = [getattr(dataclasses.get("typing"), "ClassVar", None), dataclasses["InitVar"], dataclasses["KW_ONLY"]]
    if name in _MARKS or (not module and any(names.namespace.get(name) is m for m in marks)):
        names.note(module or name)


_MARKS = frozenset(("ClassVar", "InitVar", "KW_ONLY"))
Main.__name__ = Main.__qualname__ = "module"
Main.__module__ = "builtins"
watching = None  # the observer that Main reports to while a node runs


def watch_main(names):
    """Sets the observer to which Main reports reads and writes. None turns the reports off."""
    global watching
    watching = names


def hash(o, /):
    """Replaces the builtin in nodes whose code names it. A hash that depends on an address differs in each process."""
    if _files.active and sets.addressed((o,)):
        _files.marks.add("process")
    return _hash(o)


_hash = __builtins__["hash"]
_files = None


def watch_files(files):
    """Sets the observer that gets the mark of a node which computes a hash from an address."""
    global _files
    _files = files


def watch_hash(on):
    """Replaces the builtin by hash, or restores it."""
    if builtins.hash is (_hash if on else hash):  # and not an object of the program
        builtins.hash = hash if on else _hash


def names(namespace, exact=True):
    if exact and hasattr(sys, "monitoring"):
        return MonitoredNames(namespace)
    return StaticNames(namespace)


def watch_imports(names):
    """Wraps importlib.import_module, which raises no event for a loaded module.

    The wrapper ignores imports of libraries by libraries: a library makes these once, in whichever node comes first."""
    original = importlib.import_module

    def import_module(name, package=None):
        by_library = code_owner.is_library_path(sys._getframe(1).f_code.co_filename)
        try:
            return original(name, package)
        finally:
            if isinstance(name, str):
                full = name if not name.startswith(".") or not package else importlib.util.resolve_name(name, package)
                if (
                    not by_library
                    or full.partition(".")[0] not in sys.modules
                    or code_owner.kind_of(full.partition(".")[0]) != code_owner.LIBRARY
                ):
                    names.imports.add(full)

    importlib.import_module = named(import_module, original)


def watch_contexts(names):
    """Wraps contextvars.copy_context: a copy of the context contains the values of all its variables.

    The wrapper ignores copies that libraries make for tasks."""
    original = contextvars.copy_context

    def copy_context():
        if not code_owner.is_library_path(sys._getframe(1).f_code.co_filename):
            names.everything = True
        return original()

    contextvars.copy_context = named(copy_context, original)
    contextvars.copy_context.__module__ = "contextvars"
