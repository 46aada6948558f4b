"""What a node reads: names.

On CPython 3.12 and later: INSTRUCTION events of sys.monitoring, set on the program's own code objects and disabled
after their first hit, so that a loop pays once. Before 3.12: the names that the text of the node uses, closed over the
functions and classes reachable from the values bound to them; a superset of what is read.

Files are observed by observe_files.py, functions of os without audit events by observe_calls.py, clocks and randomness
by observe_clocks.py."""

from . import original as __builtins__
import builtins
import contextvars
import importlib.util
import sys
import types

from . import adapters, bytecode, code_owner, sets

_KINDS = {  # what an instruction does to a name of the namespace; bind and look: or of a scope of its own
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
        self.everything = False  # the namespace was handed out as a whole
        self.spaces = set()  # files of modules whose code names an attribute of _SPACES
        self._deps_of = None

    def add_node(self, code):
        """The code of a node itself: the engine tells what its text uses."""

    def add(self, code):
        """Code that is run while a node is observed (exec, eval) reads what its text uses."""
        if self._deps_of is not None:
            names, imports = bytecode.code_facts(code)
            self.imports |= imports
            self.stored |= bytecode.stores(code, True)
            self.stars.update(module for _, module in bytecode.star_imports(code))
            self._close(names)

    def add_module(self, code):
        """Begins to observe the code of a module of the workspace: it may look at the namespace of who calls it."""
        self.spaces.discard(code.co_filename)
        if any(not _SPACES.isdisjoint(c.co_names) for c in bytecode.nested(code)):
            self.spaces.add(code.co_filename)

    def begin(self, uses, deps_of, bound):
        self.reads, self.imports, self.stored, self.stars = set(), set(), set(), set()
        self.everything = False
        self._deps_of = deps_of
        self._close(uses)

    def note(self, name):
        """A name is read by other means than the program's own code: an attribute of its module, a text given to a
        library."""
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
        self._start = {}
        self.reads, self.imports, self.stored = set(), set(), set()
        self.everything = False  # the namespace was handed out as a whole
        mon = self._mon = sys.monitoring
        mon.use_tool_id(self.TOOL, "xstate")
        mon.register_callback(self.TOOL, mon.events.INSTRUCTION, self._hit)

    def add_node(self, code):
        """Begins to observe the code of a node: its plain names are those of the namespace."""
        self._add(code, {**_KINDS, "STORE_NAME": "store", "LOAD_NAME": "load", "DELETE_NAME": "load"})

    def add(self, code):
        """Begins to observe a code object and those nested in it."""
        self._add(code, _KINDS)

    def _add(self, code, kinds):
        if id(code) in self._plans:
            return
        plan = {offset: (kinds[op], name) for offset, op, _, name in bytecode.instructions(code) if op in kinds}
        plan.update((offset, ("star", module)) for offset, module in bytecode.star_imports(code))
        self._plans[id(code)] = (plan, code)
        self._mon.set_local_events(self.TOOL, code, self._mon.events.INSTRUCTION)
        for k in code.co_consts:
            if isinstance(k, types.CodeType):
                self.add(k)

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
                if frame.f_globals is not self.namespace:  # code run for a namespace of its own
                    if kind in ("load", "look"):
                        self.note(name)  # it may yet be run for this one, and is not seen again
                    return self._mon.DISABLE
                if kind in ("bind", "look") and self._own(name, frame.f_locals, kind):
                    return None  # the next time it may be the namespace's
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
        """A name is read, by the program's own code or by other means (see StaticNames)."""
        if name not in self.stored and id(self.namespace.get(name, self)) == self._start.get(name, id(self)):
            self.reads.add(name)  # as it was when the node began: an input

    def store(self, name):
        self.stored.add(name)

    def _own(self, name, scope, kind):
        """Reports whether a class body, or code made at run time, binds a name in a scope of its own, or finds there
        what it bound."""
        if scope is self.namespace or kind == "look" and name not in scope:
            return False
        return not all(
            k in scope for k in self.namespace
        )  # a copy of the namespace: so it is given out during a comprehension at top level

    def begin(self, uses, deps_of, bound):
        self.reads, self.imports, self.stored = set(), set(), set()
        self.everything = False
        self._start = bound  # name → id: not the values, for it may matter that they go
        self._mon.restart_events()

    def end(self):
        self._start = {}
        return self.reads, self.imports


class Main(types.ModuleType):
    """The program's module. It reports which of its attributes are read: pickle finds classes in it by name."""

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
    """dataclasses looks up what the text of an annotation begins with: whether it is a mark, as ClassVar is."""
    module, name = given["match"].groups()
    marks = [getattr(dataclasses.get("typing"), "ClassVar", None), dataclasses["InitVar"], dataclasses["KW_ONLY"]]
    if name in _MARKS or not module and any(names.namespace.get(name) is m for m in marks):
        names.note(module or name)


_MARKS = frozenset(("ClassVar", "InitVar", "KW_ONLY"))
Main.__name__ = Main.__qualname__ = "module"
Main.__module__ = "builtins"
watching = None  # the observer that Main reports to while a node runs


def watch_main(names):
    """Makes Main tell names of what it sees; None: nobody."""
    global watching
    watching = names


def hash(o, /):
    """Replaces the builtin in nodes whose code names it: a hash that is an address differs in each process."""
    if _files.active and sets.addressed((o,)):
        _files.marks.add("process")
    return _hash(o)


_hash = __builtins__["hash"]
_files = None


def watch_files(files):
    """Takes the observer that gets the mark of a node which asks for a hash that is an address."""
    global _files
    _files = files


def watch_hash(on):
    """Puts hash in place of the builtin, or takes it out."""
    if builtins.hash is (_hash if on else hash):  # and not something of the program's
        builtins.hash = hash if on else _hash


def names(namespace, exact=True):
    if exact and hasattr(sys, "monitoring"):
        return MonitoredNames(namespace)
    return StaticNames(namespace)


def watch_imports(names):
    """importlib.import_module raises no event for a module that is loaded already. What a library imports of libraries
    is its own: it does so once, wherever that is."""
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
    """A copy of the context holds what every variable of it has. Libraries make some for tasks."""
    original = contextvars.copy_context

    def copy_context():
        if not code_owner.is_library_path(sys._getframe(1).f_code.co_filename):
            names.everything = True
        return original()

    contextvars.copy_context = named(copy_context, original)
    copy_context.__module__ = "contextvars"


def named(wrapper, original):
    wrapper.__name__ = wrapper.__qualname__ = original.__name__
    wrapper.__module__ = (
        original.__module__ if original.__module__ != "posix" else "os"
    )  # where it is found by its name
    wrapper.__doc__ = original.__doc__
    return wrapper
