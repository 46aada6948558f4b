"""What a node reads: names, files, environment, directory listings.

Names on CPython 3.12 and later: INSTRUCTION events of sys.monitoring, set on the program's own code objects and
disabled after their first hit, so that a loop pays once. Before 3.12: the names that the text of the node uses,
closed over the functions and classes reachable from the values bound to them; a superset of what is read.

Files and directories: audit events, and wrappers round os.stat and its kin, which raise none. A failed lookup is a
read too: of a file that is absent.
"""
from . import original as __builtins__
import _datetime
import _random
import builtins
import contextvars
import gc
import importlib.util
import os
import random
import re
import stat
import sys
import threading
import time
import types
from json import dumps

from . import adapters, bytecode, code_owner, descriptors, libraries, scan, sets

_KINDS = {  # what an instruction does to a name of the namespace; bind and look: or of a scope of its own
    "LOAD_GLOBAL": "load", "DELETE_GLOBAL": "load", "LOAD_NAME": "look", "LOAD_FROM_DICT_OR_GLOBALS": "look", "DELETE_NAME": "look",
    "STORE_GLOBAL": "store", "STORE_NAME": "bind", "IMPORT_NAME": "import"}
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
        """A name is read by other means than the program's own code: an attribute of its module, a text given to a library."""
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
        """Reports whether a class body, or code made at run time, binds a name in a scope of its own, or finds there what it bound."""
        if scope is self.namespace or kind == "look" and name not in scope:
            return False
        return not all(k in scope for k in self.namespace)  # a copy of the namespace: so it is given out during a comprehension at top level

    def begin(self, uses, deps_of, bound):
        self.reads, self.imports, self.stored = set(), set(), set()
        self.everything = False
        self._start = bound  # name → id: not the values, for it may matter that they go
        self._mon.restart_events()

    def end(self):
        self._start = {}
        return self.reads, self.imports




class Main(types.ModuleType):
    """The program's module, which tells who looks at its attributes: pickle finds classes in it by name."""

    def __getattribute__(self, name):
        names = _names
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
        if _names is not None:
            _names.everything = True
        return types.ModuleType.__dir__(self)

    def __setattr__(self, name, value):
        types.ModuleType.__setattr__(self, name, value)
        if _names is not None:
            _names.store(name)

    def __delattr__(self, name):
        if _names is not None:
            _names.note(name)
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
_names = None  # told by Main, while a node runs


def watch_main(names):
    """Makes Main tell names of what it sees; None: nobody."""
    global _names
    _names = names


def hash(o, /):
    """Stands for the builtin in nodes whose code names it, but for what __hash__ calls: a hash that is an address is another in each process."""
    if _files.active and sets.addressed((o,)):
        _files.marks.add("process")
    return _hash(o)


_hash = __builtins__["hash"]
_files = None


def watch_hash(on):
    """Puts hash in place of the builtin, or takes it out."""
    if builtins.hash is (_hash if on else hash):  # and not something of the program's
        builtins.hash = hash if on else _hash


def names(namespace, exact=True):
    if exact and hasattr(sys, "monitoring"):
        return MonitoredNames(namespace)
    return StaticNames(namespace)


SQL = re.compile(r"""(?:^|;)\s*(?:(attach)\b(?:\s+database\b)?|vacuum\b.*?\binto\b)\s*(?:'([^']+)')?""", re.IGNORECASE)  # that names a database


class Files:
    """What a node does to files; also the other audit events that leave the namespace."""

    numbers = True  # files that are opened by number are a state of their own
    duration = "clock"  # what who measures how long something takes is marked with

    def __init__(self, spool, store, folder, on_code, guard=None):
        self._guard = guard and guard_of(guard)
        self._home = threading.get_ident()
        self._spool = spool      # where copies of files go, before they are first written
        self._ignored = os.path.realpath(store) + os.sep
        self._folder = os.path.realpath(folder) + os.sep
        descriptors.folder = self._folder
        self.above = code_owner.folders_above(self._folder)  # libraries look there for the links on the way to their own files
        self._on_code = on_code  # called with each code object that is executed at run time
        self._thread = None
        self._count = 0
        self._known = set()      # every path that the program read or wrote
        self._wrote = set()      # and those that it wrote
        self._prepare(os.path.realpath(store))
        self.active = False
        self.restoring = False  # no node is under way, but libraries may be imported
        self.reset()
        global _files
        _files = self
        self._wrap_lookups()
        self._wrap_listings()
        self._wrap_clocks()
        self._wrap_chance()
        self._wrap_process()
        self._wrap_descriptors()
        if sys.version_info < (3, 11):
            import pathlib
            for name in ("stat", "getcwd", "listdir", "scandir"):  # it took its own references
                setattr(pathlib._NormalAccessor, name, staticmethod(getattr(os, name)))
        passed = self._passed = set()  # events that are of no interest, of which there are thousands

        def hook(event, args):
            if event not in passed:
                self._audit(event, args)

        sys.addaudithook(hook)

    def _prepare(self, store):
        self._scan = scan.Scan(self._folder.rstrip(os.sep), store, self._copy)
        self._journal = os.open(os.path.join(self._spool, "writing"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def reset(self):
        self.reads = {}      # absolute path → None, or "presence" where only that was asked
        self.writes = {}     # absolute path → what was there before, see _before; None: nothing
        self.caches = set()  # what a library keeps for itself outside the workspace, and makes once: when it is imported
        self.modes = set()   # paths whose permissions were asked
        self.chmods = {}     # path → its permissions, which the node set, before
        self.times = set()   # paths whose times were asked
        self.looks = set()   # paths of which all was asked, the times among it
        self.listings = set()
        self.environ = set()
        self.forked = False  # a copy of this process was made: what that reads is not seen
        self.put = {}        # variable → value that was put into the process's environment, perhaps not by os.environ
        self.marks = set()
        self.chance = []     # generators with a seed from the operating system, as yet, and the state they had then
        self.descriptors = {}  # numbers of files that were opened → whether it is the program that has them
        self.cwd_read = False
        self.moved = False   # to another directory, or to the same again
        self.folder_read = False  # the path of the workspace was told
        self.objects = False  # all that there are were listed
        self.names = set()   # of the program, that were asked for by an unpickler
        self.unpickled = set()  # modules that were

    def begin(self, open_files=()):
        """open_files: the files that are open. A node may write to them without opening them."""
        self.reset()
        descriptors.begin()
        self._scan.begin()
        for p in self._wrote.intersection(open_files):
            self._announce(p, None)
        self._thread = threading.get_ident()
        self.active = True

    def end(self):
        self.active = False
        if descriptors.end():
            self.marks.add("unobserved descriptor")
        if self.chance:
            self.marks.add("entropy")
        if any(self.descriptors.values()):
            self.marks.add("unobserved descriptor")
        if any(os.environ._data.get(k) != v for k, v in self.put.items()):
            self.marks.add("unobserved os.putenv")
        self.modes -= self.caches
        for path, before in self._scan.changes():
            if path in self.writes:
                continue
            if before is not None:
                self.reads[path] = None  # what it is now may rest on what it was
                if before["copy"] is None:
                    self.marks.add("file changed unseen")
                    continue
            self.writes[path] = before
        self._known.update(self.reads, self.writes)
        self._wrote.update(self.writes)

    def _path(self, path, dir_fd=None, follow=True):
        """Returns the absolute path without symbolic links if it is of interest, else None. The links on the way count as
        read; where the last part is one, it is the path itself unless follow."""
        if isinstance(path, int) or path is None:
            return None
        try:
            p = os.fsdecode(path)
        except TypeError:
            return None
        if isinstance(dir_fd, int) and dir_fd >= 0 and not os.path.isabs(p):
            p = os.path.join(os.readlink("/proc/self/fd/%d" % dir_fd), p)
        if not os.path.isabs(p):
            self.cwd_read = True
            p = os.path.join(self._getcwd(), p)
        p = os.path.normpath(p)
        if self._other(p):
            return None
        head, tail = (p, "") if follow else os.path.split(p)
        real = os.path.realpath(head)
        if real != head:
            self._links(head, 40)
            p = os.path.join(real, tail) if tail else real
            if self._other(p):
                return None
        return p

    def _other(self, p):
        """Reports whether a path is none of the program's."""
        return (p.startswith(("/proc/", "/dev/", "/sys/")) and not p.startswith("/dev/shm/") or p.startswith((self._ignored, self._spool))
                or "__pycache__" in p or p.endswith(".pyc") or self._library(p) and (".dist-info/" not in p or _library_imports()))

    def _links(self, p, depth):
        """Notes the symbolic links on the way to a path as read."""
        at = ""
        parts = p.split("/")[1:]
        for i, part in enumerate(parts):
            at += "/" + part
            if depth and os.path.islink(at):
                if at not in self.writes:
                    self.reads[at] = None
                self._links(os.path.normpath(os.path.join(os.path.dirname(at), os.readlink(at), *parts[i + 1:])), depth - 1)
                return

    _library_folders = {}

    def _library(self, p):
        folder = os.path.dirname(p)
        known = self._library_folders.get(folder)
        if known is None:
            known = self._library_folders[folder] = code_owner.is_library_path(os.path.join(folder, "x"))
        return known

    def read(self, path, dir_fd=None, follow=True):
        p = self._path(path, dir_fd, follow)
        if p is not None and p not in self.caches:
            libraries.looked("file", p)
            if p not in self.writes:
                self.reads[p] = None

    def seen(self, path, dir_fd=None, follow=False):
        """A file matters as far as whether it is there."""
        p = self._path(path, dir_fd, follow)
        if p is not None and p not in self.caches:
            libraries.looked("stat", p)
            if p not in self.writes:
                self.reads.setdefault(p, "presence")

    def packages_listed(self, path):
        """importlib.metadata lists a folder again only if that was changed since."""
        if not _library_imports():
            self.listings.add(os.path.realpath(path))

    def look_again(self, looks):
        """Counts what a library looked at when it was imported as read by the node: see libraries.looked."""
        for kind, name in looks:
            if kind == "env":
                self.environ.add(name)
            elif name in self.writes:
                pass
            elif kind == "file":
                self.reads[name] = None
            else:
                self.reads.setdefault(name, "presence")

    def look_aside(self, kind, path):
        """Notes what a library looks at that is imported while something is restored."""
        self.restoring = False
        try:
            p = self._path(path)
            if p is not None:
                libraries.looked(kind, p)
        finally:
            self.restoring = True

    def written(self, path, dir_fd=None, follow=True):
        p = self._path(path, dir_fd, follow)
        if p is None or p in self.writes or p in self.caches:
            return
        if not p.startswith(self._folder) and _library_imports():
            self.caches.add(p)
            self.reads.pop(p, None)
        else:
            folder = os.path.dirname(p)
            if folder.startswith(self._folder) and folder not in self.writes:
                self.reads.setdefault(folder, "presence")  # without it the write fails
            self.writes[p] = before = self._before(p)
            self._announce(p, before)

    def _announce(self, p, before):
        """Tells who comes after a crash that what is at a path from now on is the program's doing."""
        os.write(self._journal, dumps({"path": p, "before": before}).encode() + b"\n")

    def _before(self, p):
        """What is at a path that is about to be written."""
        try:
            st = os.lstat(p)
        except OSError:
            return None
        copy = "special"
        if stat.S_ISLNK(st.st_mode):
            copy = "symlink:" + os.readlink(p)
        elif stat.S_ISDIR(st.st_mode):
            copy = "directory"
        elif stat.S_ISREG(st.st_mode):
            copy = self._copy(p)
        return {"copy": copy, "mode": stat.S_IMODE(st.st_mode), "time": st.st_mtime_ns}

    def _copy(self, p):
        self._count += 1
        copy = os.path.join(self._spool, "before-%d-%d" % (os.getpid(), self._count))
        with open(p, "rb") as src, open(copy, "wb") as dst:
            while True:
                chunk = src.read(1 << 20)
                if not chunk:
                    return copy
                dst.write(chunk)

    def _audit(self, event, args):
        if event == "object.__getattr__":
            f, name = args
            if self.active and name == "__code__" and type(f) is types.FunctionType and _names is not None and f.__globals__ is _names.namespace:
                self._code_asked(f, sys._getframe(2))
            return
        seen = event in _EVENTS or event[:7] in _PREFIXES
        if not seen and event not in _GUARDED:
            self._passed.add(event)
            return
        if self._guard is not None and event in _GUARDED and (self.active or threading.get_ident() != self._home):
            self._refuse(event, args)
        if self.restoring and event == "open" and not isinstance(args[0], int) and not code_owner.looking:
            self.look_aside("file", args[0])
        if self.restoring and event == "exec":
            self._on_code(args[0])
        if not self.active or not seen:
            return
        self.active = False  # what this hook does is not the program's doing
        try:
            self._event(event, args)
        except Exception:
            self.marks.add("unobserved " + event)
        finally:
            self.active = True

    def _code_asked(self, f, frame):
        """A library that looks at the code of a function may look up for it what it names: to pickle it, to compile it."""
        name = frame.f_globals.get("__name__")
        if code_owner.kind_of(name) != code_owner.LIBRARY or name.partition(".")[0] in adapters.DEFINING_CODE and frame.f_code.co_name != "getclosurevars":
            return
        self.active = False
        for name in bytecode.code_facts(f.__code__)[0]:
            _names.note(name)
        self.active = True

    def _refuse(self, event, args):
        """Keeps what is guarded from an effect that cannot be taken back: it fails before it happens."""
        active, self.active = self.active, False
        try:
            what = _effect(event, args, self._guard)
        finally:
            self.active = active
        if what is not None and not (what.startswith("file") and _library_imports()):
            if ".pyc" not in what:  # which Python does without
                self.marks.add("refused " + what)
            raise PermissionError("xstate refused an effect outside the workspace: " + what)

    def _event(self, event, args):
        if event == "open":
            self._open(*args)
        elif event == "exec":
            code = args[0]
            if isinstance(code, types.CodeType):
                self._on_code(code)
        elif event == "pickle.find_class":
            if args[0] == "__main__":
                self.names.add(args[1].partition(".")[0])
            else:
                self.unpickled.add(args[0])
        elif event in ("os.listdir", "os.scandir"):
            p = self._path(args[0] if args[0] is not None else ".")
            if p is not None and sys._getframe(3).f_code.co_filename != "<frozen importlib._bootstrap_external>":  # above the hook
                self.listings.add(p)
        elif event in ("os.remove", "os.rmdir", "os.mkdir"):
            self.seen(args[0], args[-1])
            self.written(args[0], args[-1], False)
        elif event == "os.chdir":
            self.seen(args[0], follow=True)  # where there is none, it fails
            self.moved = True
        elif event in ("os.putenv", "os.unsetenv"):
            self.put[args[0]] = args[1] if len(args) > 1 else None
        elif event in ("os.truncate", "os.utime"):
            self.read(args[0])
            self.written(args[0])
        elif event == "os.chmod":
            p = self._path(args[0], args[2])
            if p is not None:
                self.seen(p)
                self.chmods.setdefault(p, stat.S_IMODE(os.stat(p).st_mode))
        elif event in ("tempfile.mkstemp", "tempfile.mkdtemp"):
            if not code_owner.importing():
                self.marks.add("entropy")  # the name
        elif event == "os.rename":
            self.read(args[0], args[2], False)
            self.seen(args[1], args[3])
            self.written(args[0], args[2], False)
            self.written(args[1], args[3], False)
            if not isinstance(args[0], int) and os.path.isdir(args[0]):
                self._moved(os.path.abspath(os.fsdecode(args[0])), os.path.abspath(os.fsdecode(args[1])))
        elif event == "os.symlink":
            self.seen(args[1], args[2])
            self.written(args[1], args[2], False)
        elif event == "os.link":
            self.read(args[0], args[2])
            self.seen(args[1], args[3])
            self.written(args[0], args[2])
            self.written(args[1], args[3], False)
        elif event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "pty.spawn"):
            if not _library_imports():
                self.marks.add("subprocess")
            self._scan.before()
            self.forked = self.forked or event in ("os.fork", "os.forkpty")
            self._command(args)
            if len(args) < 4 or args[3] is None:
                self.environ.add("+")
        elif event in ("sqlite3.connect",):
            name = os.fsdecode(args[0]) if isinstance(args[0], (str, bytes, os.PathLike)) else ""
            if name.startswith("file:"):
                name = name[5:].partition("?")[0]
            if name not in (":memory:", ""):
                self.read(name)
                for more in ("", "-journal", "-wal", "-shm"):
                    self.written(name + more)
        elif event in _ALL_OBJECTS:
            if not code_owner.is_library_path(sys._getframe(3).f_code.co_filename):  # above the hook
                self.marks.add("unobserved " + event)
                self.objects = True
                if _names is not None:
                    _names.everything = True
        elif event.startswith("socket.") and event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.bind"):
            self.marks.add("network")

    def _moved(self, old, new):
        """A directory is renamed: everything in it is gone from one place and new in the other."""
        for folder, folders, files in os.walk(old):
            self.listings.add(folder)
            for name in folders + files:
                path = os.path.join(folder, name)
                self.read(path, follow=False)
                self.written(path, follow=False)
                self.written(os.path.join(new, os.path.relpath(path, old)), follow=False)

    def _command(self, args):
        """Files of the workspace that a command names are taken to be read."""
        folder = args[2] if len(args) > 2 and isinstance(args[2], (str, bytes, os.PathLike)) else "."
        todo = list(args[:2])
        while todo:
            word = todo.pop()
            if isinstance(word, (list, tuple)):
                todo.extend(word)
            elif isinstance(word, (str, bytes, os.PathLike)):
                for part in os.fsdecode(word).split():
                    p = self._path(os.path.join(os.fsdecode(folder), part.strip("'\"")))
                    if p is not None and p.startswith(self._folder) and os.path.isfile(p):
                        self.read(p)

    def open_files(self, opaque):
        """The files of the program's that are open or mapped: who uses a handle or a map reads its file. opaque: why values
        in reach cannot be told by content."""
        if not opaque:
            return set()
        found = set()
        try:
            for fd in os.listdir("/proc/self/fd"):
                found.add(os.readlink("/proc/self/fd/" + fd))
        except OSError:  # no /proc, or the descriptor of the listing itself
            pass
        if any("mmap" in why or "memory map" in why for why in opaque):
            try:
                with open("/proc/self/maps") as f:
                    found.update(line[line.index("/"):].rstrip("\n") for line in f if "/" in line)
            except OSError:
                pass
        return found & self._known

    def attached(self, codes):
        """What is done to a database that SQL names raises no event: a node whose code has such SQL reads those that are attached, and the
        workspace is looked at, as after a child process. Where a name is made at run time the node is marked."""
        self.active = False
        self._scan.before()
        self.active = True
        for attach, name in {m for c in codes for k in c.co_consts if type(k) is str for m in SQL.findall(k)}:
            if attach and name:
                self.read(name[5:].partition("?")[0] if name.startswith("file:") else name)
            elif attach:
                self.marks.add("unobserved database")

    def count_as_read(self, paths):
        for p in paths:
            if p not in self.writes:
                self.reads[p] = None

    def times_asked(self, codes):
        """Code that names a time of a file asks for it, of whatever it looks at."""
        if (self.looks or self.listings) and any(_TIMES & set(c.co_names) for c in codes):
            self.times |= self.looks
            if self.listings and not self.looks:
                self.marks.add("clock")  # through the entries of a directory

    def _open(self, path, mode, flags):
        if isinstance(path, int):
            number, path = path, descriptors.use(path)
            if path is not None:
                self._stands(path, True)
                descriptors.lend(number)
                self.active = False  # in the hook
            return
        if not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND):
            self.read(path)
            return
        if flags & os.O_EXCL:
            self.seen(path)
            if os.path.lexists(path):
                return  # and so it fails
        elif not flags & os.O_TRUNC:
            self.read(path)
        self.written(path)

    def _wrap_lookups(self):
        """os.stat, os.lstat and os.access raise no audit event; an existence check is a read."""
        for name in ("stat", "lstat", "access"):
            setattr(os, name, _lookup(self, getattr(os, name), name != "lstat"))
        getcwd = os.getcwd

        def observed_getcwd():
            self.cwd_read = True
            self.folder_read = self.folder_read or not code_owner.importing()
            return getcwd()

        self._getcwd = getcwd

        os.getcwd = named(observed_getcwd, getcwd)
        os.environ.__class__ = _environ(self)
        os.environb.__class__ = os.environ.__class__
        urandom = os.urandom

        def observed_urandom(size):
            if self.active and not adapters.seeding() and not code_owner.importing() and not _drawn_unseen(sys._getframe(1)):
                self.marks.add("entropy")
            return urandom(size)

        os.urandom = random._urandom = named(observed_urandom, urandom)

    def _wrap_listings(self):
        """The store is not to be seen by a program that lists the folder it lies in."""
        folder, hidden = os.path.split(self._ignored.rstrip(os.sep))
        listdir, scandir = os.listdir, os.scandir

        def here(path):
            return not isinstance(path, int) and os.path.realpath(os.fsdecode(path)) == folder

        def observed_listdir(path=None):
            found = listdir(path)
            if hidden in found and here("." if path is None else path):
                found.remove(hidden)
            return found

        def observed_scandir(path=None):
            found = scandir(path)
            return _Entries(found, hidden) if here("." if path is None else path) else found

        os.listdir, os.scandir = named(observed_listdir, listdir), named(observed_scandir, scandir)

    def _wrap_clocks(self):
        """A clock is seen when it is read, by whatever name or value it was come to."""
        for name in ("time", "time_ns", "localtime", "gmtime", "strftime", "ctime"):
            setattr(time, name, _clock(self, getattr(time, name), {"strftime": 1}.get(name, 0)))
        for name in _DURATIONS:
            setattr(time, name, _stopwatch(self, getattr(time, name)))
        for cls, name in ((_datetime.date, "today"), (_datetime.datetime, "now"), (_datetime.datetime, "utcnow")):
            members, = gc.get_referents(vars(cls))  # for attributes of these classes cannot be set
            members[name] = _clock_of_class(self, members[name])

    def _wrap_chance(self):
        """random.Random takes a seed from the operating system where it is given none, as when it is copied: it may get another, or a
        state, before anything is drawn."""
        state = _random.Random.getstate

        def noting(original):
            def wrapper(generator, *args, **kwargs):
                if self.active and self.chance:
                    self.chance = [(g, s) for g, s in self.chance if g is not generator or state(g) != s]
                original(generator, *args, **kwargs)
                if self.active and original is seed and args[:1] in ((), (None,)) and kwargs.get("a") is None:
                    if not code_owner.importing() and not _drawn_unseen(sys._getframe(1)):
                        self.chance.append((generator, state(generator)))
            return named(wrapper, original)

        seed = random.Random.seed
        random.Random.seed, random.Random.setstate = noting(seed), noting(random.Random.setstate)
        for f in (random.Random.seed, random.Random.setstate):
            f.__qualname__ = "Random." + f.__name__

    def _wrap_process(self):
        """The number of the process, and of what it belongs to, tells libraries whether they are in a copy of it."""
        def noting(original):
            def wrapper(*args):
                if self.active and code_owner.kind_of(sys._getframe(1).f_globals.get("__name__")) != code_owner.LIBRARY:
                    self.marks.add("process")
                return original(*args)
            return named(wrapper, original)

        for name in ("getpid", "getppid", "getpgrp", "getsid", "times", "getloadavg"):
            setattr(os, name, noting(getattr(os, name)))

    def _wrap_descriptors(self):
        """A number that stands for an open file is not seen for what it is: what of the program's is on disk is a state of its own. Who
        leaves open something else, or uses one of another node's, is marked. What libraries open they put into objects."""
        def by_program(original):
            frame = sys._getframe(2)
            while frame.f_code.co_filename == __file__:  # dup is wrapped twice
                frame = frame.f_back
            if original.__name__ == "dup" and "dup" not in frame.f_code.co_names:
                return False  # native code asks for one, as that of NumPy does that reads and writes a file's elements
            return not code_owner.is_library_path(frame.f_code.co_filename)

        def opens(original):
            def wrapper(*args, **kwargs):
                found = original(*args, **kwargs)
                if self.active:
                    mine = by_program(original)
                    if mine and self.numbers and original is opens_file and len(args) > 1 and kwargs.get("dir_fd") is None and not isinstance(args[0], int):
                        self.active = False
                        found = descriptors.place(found, os.fsdecode(args[0]), args[1])
                        self.active = True
                        if descriptors.use(found):
                            return found
                    self.descriptors.update(dict.fromkeys(found if type(found) is tuple else (found,), mine))
                return found
            return named(wrapper, original)

        def uses(original):
            def wrapper(fd, *args, **kwargs):
                if self.active and isinstance(fd, int) and fd > 2:
                    path = descriptors.use(fd)
                    if path is not None:
                        self._stands(path, original in writes)
                        if original in ends:
                            descriptors.lend(fd)
                    elif fd not in self.descriptors and by_program(original):
                        self.marks.add("unobserved descriptor")
                    if original in ends:
                        self.descriptors.pop(fd, None)
                return original(fd, *args, **kwargs)
            return named(wrapper, original)

        opens_file, ends, writes = os.open, (os.close, os.fdopen), (os.write, os.writev, os.pwrite, os.pwritev, os.ftruncate)
        for name in ("open", "pipe", "dup", "memfd_create"):
            if hasattr(os, name):
                setattr(os, name, opens(getattr(os, name)))
        for name in ("close", "fdopen", "read", "readv", "write", "writev", "lseek", "pread", "preadv", "pwrite", "pwritev", "ftruncate", "fstat", "fsync", "dup", "dup2"):
            setattr(os, name, uses(getattr(os, name)))

    def _stands(self, path, written):
        """A file is used that another node may have opened."""
        self.active = False
        self.read(path)
        if written:
            self.written(path)
        self.active = True


def watch_imports(names):
    """importlib.import_module raises no event for a module that is loaded already. What a library imports of libraries is
    its own: it does so once, wherever that is."""
    original = importlib.import_module

    def import_module(name, package=None):
        by_library = code_owner.is_library_path(sys._getframe(1).f_code.co_filename)
        try:
            return original(name, package)
        finally:
            if isinstance(name, str):
                full = name if not name.startswith(".") or not package else importlib.util.resolve_name(name, package)
                if not by_library or full.partition(".")[0] not in sys.modules or code_owner.kind_of(full.partition(".")[0]) != code_owner.LIBRARY:
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


def _lookup(files, original, follow):
    def lookup(path, *args, **kwargs):
        if files.restoring and not code_owner.looking and not isinstance(path, int):
            files.look_aside("stat", path)
        if files.active and not code_owner.looking and not isinstance(path, int) and not kwargs.get("dir_fd"):
            files.active = False
            try:
                if sys._getframe(1).f_globals.get("__name__") == "importlib.metadata":
                    files.packages_listed(path)
                p = files._path(path, None, follow and kwargs.get("follow_symlinks", True))
                how = None if p is None else _question(sys._getframe(1))
                if p is not None and (how == _WHEN or p not in files.above):
                    if how != _IS_THERE:
                        files.modes.add(p)
                        (files.times if how == _WHEN else files.looks).add(p)
                    if how != _WHEN:
                        libraries.looked("stat" if how == _IS_THERE else "file", p)
                    if p in files.writes or p in files.caches:
                        pass
                    elif how == _IS_THERE:
                        files.reads.setdefault(p, "presence")
                    elif how != _WHEN:
                        files.reads[p] = None
            finally:
                files.active = True
        return original(path, *args, **kwargs)

    return named(lookup, original)


_IS_THERE, _WHEN, _ALL = range(3)
_PRESENCE = frozenset(("exists", "isfile", "isdir", "is_file", "is_dir", "lexists", "islink", "is_symlink"))


_TIMES = frozenset(("st_mtime", "st_mtime_ns", "st_atime", "st_atime_ns", "st_ctime", "st_ctime_ns", "st_birthtime"))


def _question(frame):
    """Tells what a lookup serves: a question like os.path.exists, which the content of the file does not matter to, one for
    its time, or any."""
    for _ in range(3):
        if frame is None:
            break
        code = frame.f_code
        if code.co_filename.startswith("<frozen ") or code_owner.is_library_path(code.co_filename):
            if code.co_name in _PRESENCE:
                return _IS_THERE
            if code.co_name in ("getmtime", "getatime", "getctime"):
                return _WHEN
        frame = frame.f_back
    return _ALL


_PROCESSES = frozenset(("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "pty.spawn"))
_SOCKETS = frozenset(("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.sendmsg", "socket.bind"))
_CHANGES = {  # event → where its arguments have paths that are changed, each with the descriptor that it is relative to
    "open": ((0, None),), "sqlite3.connect": ((0, None),), "os.remove": ((0, -1),), "os.rmdir": ((0, -1),), "os.mkdir": ((0, -1),), "os.truncate": ((0, None),),
    "os.utime": ((0, -1),), "os.chmod": ((0, 2),), "os.chown": ((0, 3),), "os.rename": ((0, 2), (1, 3)), "os.link": ((1, 3),), "os.symlink": ((1, 2),)}
_GUARDED = _PROCESSES | _SOCKETS | _CHANGES.keys() | {"os.kill", "os.killpg"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def guard_of(options):
    """Folders, the longest first, each with whether files in it may be changed. All others may not."""
    folders = [(os.path.realpath(f), True) for f in options["allow"]] + [(os.path.realpath(f), False) for f in options["deny"]]
    return sorted(folders, key=lambda f: -len(f[0]))


def _effect(event, args, guard):
    """What an audit event tells of that is not allowed, or None."""
    if event in _PROCESSES or event == "os.killpg" or event == "os.kill" and args[0] != os.getpid():
        return "subprocess"
    if event in ("os.kill", "os.killpg"):
        return None
    if event in _SOCKETS:
        return "network"
    if event == "open" and not (args[2] or 0) & _WRITES:
        return None
    for at, relative in _CHANGES[event]:
        path = args[at]
        if not isinstance(path, (str, bytes, os.PathLike)):
            continue
        p = os.fsdecode(path)
        if event == "sqlite3.connect":
            p = p[5:].partition("?")[0] if p.startswith("file:") else p
            if p in (":memory:", ""):
                continue
        fd = args[relative] if relative is not None else -1
        if isinstance(fd, int) and fd >= 0 and not os.path.isabs(p):
            p = os.path.join(os.readlink("/proc/self/fd/%d" % fd), p)
        folder, name = os.path.split(os.path.abspath(p))
        p = os.path.join(os.path.realpath(folder), name)
        if os.path.islink(p) and event in ("open", "os.truncate", "os.chmod", "os.utime"):
            p = os.path.realpath(p)
        if p.startswith("/dev/"):
            continue
        allowed = next((ok for f, ok in guard if p == f or p.startswith(f + os.sep)), False)
        if not allowed:
            return "file " + p
    return None


def _library_imports():
    """Reports whether what happens now is done by a library that is being imported."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name == "<frozen importlib._bootstrap>":
            return True
        if not name.startswith("<frozen ") and not code_owner.is_library_path(name):
            return False
        frame = frame.f_back
    return False


def named(wrapper, original):
    wrapper.__name__ = wrapper.__qualname__ = original.__name__
    wrapper.__module__ = original.__module__ if original.__module__ != "posix" else "os"  # where it is found by its name
    wrapper.__doc__ = original.__doc__
    return wrapper


class _Entries:
    """The entries of a directory, but for one."""

    def __init__(self, found, hidden):
        self._found, self._hidden = found, hidden

    def __iter__(self):
        return self

    def __next__(self):
        entry = next(self._found)
        return next(self._found) if entry.name == self._hidden else entry

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._found.close()

    def close(self):
        self._found.close()




_DURATIONS = ("perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time", "process_time_ns", "thread_time", "thread_time_ns",
              "clock_gettime", "clock_gettime_ns")


def _clock(files, original, given):
    """given: how many arguments come before the time, without which it is the present one."""

    def clock(*args):
        if files.active:
            now = len(args) <= given or args[given] is None
            if (now or given) and _shows_time(sys._getframe(1), now):
                files.marks.add("clock")
        return original(*args)

    return named(clock, original)


def _clock_of_class(files, original):
    def clock(cls, *args, **kwargs):
        if files.active and _shows_time(sys._getframe(1), True):
            files.marks.add("clock")
        return original.__get__(None, cls)(*args, **kwargs)

    clock.__name__, clock.__qualname__, clock.__module__, clock.__doc__ = original.__name__, original.__qualname__, "datetime", original.__doc__
    return classmethod(clock)


def _stopwatch(files, original):
    """What tells how long something takes: libraries ask it for themselves, but for timeit."""
    def clock(*args):
        if files.active:
            name = sys._getframe(1).f_globals.get("__name__")
            if name == "timeit" or code_owner.kind_of(name) != code_owner.LIBRARY:
                files.marks.add(files.duration)
        return original(*args)

    return named(clock, original)




def _drawn_unseen(frame):
    """Reports whether what is drawn shows nowhere: joblib and scikit-learn number what they do, and a generator that is copied, or comes out of a
    pickle, has a seed before it gets its state."""
    for _ in range(3):
        if frame is None:
            return False
        if frame.f_globals.get("__name__") in adapters.UNSEEN_DRAWS:
            return True
        frame = frame.f_back
    return False


def _shows_time(frame, now):
    """Libraries that wait or keep records take times that the program does not see, until a record is formatted."""
    if frame.f_code.co_name == "formatTime":
        return True
    return now and str(frame.f_globals.get("__name__")).partition(".")[0] not in adapters.KEEPING_TIME and not code_owner.importing()


def _environ(files):
    base = type(os.environ)

    class _Environ(base):
        def __getitem__(self, key):
            self._ask(key, "")
            return base.__getitem__(self, key)

        def __contains__(self, key):
            self._ask(key)
            active, files.active = files.active, False
            try:
                return base.__contains__(self, key)
            finally:
                files.active = active

        def __delitem__(self, key):
            self._ask(key)  # deleting what is not there fails
            base.__delitem__(self, key)

        def _ask(self, key, what="="):
            """Notes that the program asks for a variable, or whether it is there."""
            if isinstance(key, bytes):
                key = os.fsdecode(key)
            if isinstance(key, str):
                if files.active:
                    files.environ.add(what + key)
                if files.active or files.restoring:
                    libraries.looked("env", key)

        def __iter__(self):
            self._list()
            return base.__iter__(self)

        def __len__(self):
            self._list()
            return base.__len__(self)

        def __repr__(self):
            self._list()
            return base.__repr__(self)

        def _list(self):
            if files.active:
                files.environ.add("*")

    _Environ.__qualname__ = "_Environ"
    _Environ.__module__ = "os"
    return _Environ


_ALL_OBJECTS = frozenset(("gc.get_objects", "gc.get_referrers"))
_EVENTS = frozenset((
    "open", "exec", "os.chdir", "os.listdir", "os.scandir", "os.remove", "os.truncate", "os.rename", "os.link", "os.symlink", "os.mkdir",
    "os.rmdir", "os.chmod", "os.utime", "os.putenv", "os.unsetenv", "pickle.find_class", "tempfile.mkstemp", "tempfile.mkdtemp", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork",
    "os.forkpty", "pty.spawn", "sqlite3.connect")) | _ALL_OBJECTS
_PREFIXES = frozenset(("socket.",))
