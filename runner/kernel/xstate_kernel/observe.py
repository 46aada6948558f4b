"""What a node reads: names, files, environment, directory listings.

Names on CPython 3.12 and later: INSTRUCTION events of sys.monitoring, set on the program's own code objects and
disabled after their first hit, so that a loop pays once. Before 3.12: the names that the text of the node uses,
closed over the functions and classes reachable from the values bound to them; a superset of what is read.

Files and directories: audit events, and wrappers round os.stat and its kin, which raise none. A failed lookup is a
read too: of a file that is absent.
"""
import dis
import os
import pathlib
import random
import sys
import threading
import types

from . import origin

_OPTIMIZED = 0x1  # code flag, see inspect.CO_OPTIMIZED: of functions, not of modules and classes
_STORES = {"STORE_NAME", "STORE_GLOBAL"}
_LOADS = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS", "DELETE_NAME", "DELETE_GLOBAL"}


class StaticNames:
    """Before 3.12: see the module's docstring."""

    exact = False

    def __init__(self, namespace):
        self.namespace = namespace
        self.reads, self.imports, self.stored = set(), set(), set()
        self._deps_of = None

    def add(self, code):
        """Code that is run while a node is observed (exec, eval) reads what its text uses."""
        if self._deps_of is not None:
            names, imports = origin.code_facts(code)
            self.imports |= imports
            self.stored |= origin.stores(code, True)
            self._close(names)

    def begin(self, uses, deps_of):
        self.reads, self.imports, self.stored = set(), set(), set()
        self._deps_of = deps_of
        self._close(uses)

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
        mon = self._mon = sys.monitoring
        mon.use_tool_id(self.TOOL, "xstate")
        mon.register_callback(self.TOOL, mon.events.INSTRUCTION, self._hit)

    def add(self, code):
        """Begins to observe a code object and those nested in it."""
        todo = [code]
        while todo:
            c = todo.pop()
            if id(c) in self._plans:
                continue
            plan = {}
            for ins in dis.get_instructions(c):
                if ins.opname in _LOADS:
                    plan[ins.offset] = ("load", ins.argval)
                elif ins.opname in _STORES:
                    plan[ins.offset] = ("store", ins.argval)
                elif ins.opname == "IMPORT_NAME":
                    plan[ins.offset] = ("import", ins.argval)
            self._plans[id(c)] = (plan, c)
            self._mon.set_local_events(self.TOOL, c, self._mon.events.INSTRUCTION)
            todo.extend(k for k in c.co_consts if isinstance(k, types.CodeType))

    def _hit(self, code, offset):
        entry = self._plans.get(id(code))
        if entry is not None:
            what = entry[0].get(offset)
            if what is not None:
                if sys._getframe(1).f_globals is not self.namespace:
                    return self._mon.DISABLE  # compiled by a library, for a namespace of its own
                kind, name = what
                if kind == "import":
                    self.imports.add(name)
                elif kind == "store":
                    if code.co_flags & _OPTIMIZED or code.co_name == "<module>" or sys._getframe(1).f_locals is self.namespace:
                        self.stored.add(name)
                elif not code.co_flags & _OPTIMIZED and code.co_name != "<module>" and self._own(name, sys._getframe(1).f_locals):
                    pass
                elif self.namespace.get(name, self) is self._start.get(name, self):
                    self.reads.add(name)  # as it was when the node began: an input
        return self._mon.DISABLE

    # By the name of the code, for in 3.12 a comprehension at top level makes f_locals a copy of the namespace.

    def _own(self, name, scope):
        """Reports whether a class body reads what it bound itself."""
        return scope is not self.namespace and name in scope

    def begin(self, uses, deps_of):
        self.reads, self.imports, self.stored = set(), set(), set()
        self._start = dict(self.namespace)
        self._mon.restart_events()

    def end(self):
        self._start = {}
        return self.reads, self.imports


def names(namespace, exact=True):
    if exact and hasattr(sys, "monitoring"):
        return MonitoredNames(namespace)
    return StaticNames(namespace)


class Files:
    """What a node does to files; also the other audit events that leave the namespace."""

    def __init__(self, spool, store, on_code):
        self._spool = spool      # where copies of files go, before they are first written
        self._ignored = os.path.realpath(store) + os.sep
        self._on_code = on_code  # called with each code object that is executed at run time
        self._thread = None
        self._count = 0
        self.active = False
        self.reset()
        self._wrap_lookups()
        sys.addaudithook(self._audit)

    def reset(self):
        self.reads = {}      # absolute path → None
        self.writes = {}     # absolute path → (existed before, copy or None)
        self.listings = set()
        self.environ = set()
        self.marks = set()
        self.cwd_read = False
        self.untraced = False  # native code or a child process may have written files

    def begin(self):
        self.reset()
        self._thread = threading.get_ident()
        self.active = True

    def end(self):
        self.active = False

    def _path(self, path, dir_fd=None):
        """Returns the absolute path if it is of interest, else None."""
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
            p = os.path.join(os.getcwd(), p)
        p = os.path.normpath(p)
        if p.startswith(("/proc/", "/dev/", "/sys/")) and not p.startswith("/dev/shm/") or p.startswith(self._ignored) or p.startswith(self._spool):
            return None
        if "__pycache__" in p or p.endswith(".pyc") or self._library(p):
            return None
        return p

    _library_folders = {}

    def _library(self, p):
        folder = os.path.dirname(p)
        known = self._library_folders.get(folder)
        if known is None:
            known = self._library_folders[folder] = origin.is_library_path(os.path.join(folder, "x"))
        return known

    def read(self, path, dir_fd=None):
        p = self._path(path, dir_fd)
        if p is not None and p not in self.writes:
            self.reads[p] = None

    def written(self, path, dir_fd=None):
        p = self._path(path, dir_fd)
        if p is None or p in self.writes:
            return
        before = None
        if os.path.isfile(p):
            before = self._copy(p)
        elif os.path.isdir(p):
            before = "directory"
        self.writes[p] = before

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
        if not self.active or (event not in _EVENTS and event[:7] not in _PREFIXES):
            return
        self.active = False  # what this hook does is not the program's doing
        try:
            self._event(event, args)
        except Exception:
            self.marks.add("unobserved " + event)
        finally:
            self.active = True

    def _event(self, event, args):
        if event == "open":
            self._open(*args)
        elif event == "exec":
            code = args[0]
            if isinstance(code, types.CodeType):
                self._on_code(code)
        elif event in ("os.listdir", "os.scandir"):
            p = self._path(args[0] if args[0] is not None else ".")
            if p is not None:
                self.listings.add(p)
        elif event in ("os.remove", "os.rmdir", "os.mkdir"):
            self.read(args[0], args[-1])
            self.written(args[0], args[-1])
        elif event == "os.truncate":
            self.read(args[0])
            self.written(args[0])
        elif event in ("tempfile.mkstemp", "tempfile.mkdtemp"):
            if not importing():
                self.marks.add("entropy")  # the name
        elif event == "os.rename":
            for p in args[:2]:
                self.read(p)
                self.written(p)
            if not isinstance(args[0], int) and os.path.isdir(args[0]):
                self._moved(os.fsdecode(args[0]), os.fsdecode(args[1]))
        elif event in ("os.link", "os.symlink"):
            self.read(args[0])
            self.written(args[1])
        elif event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "pty.spawn"):
            self.marks.add("subprocess")
            self.untraced = True
        elif event in ("sqlite3.connect",):
            self.untraced = True
            if isinstance(args[0], (str, bytes)) and args[0] not in (":memory:", b":memory:", ""):
                self.read(args[0])
                self.written(args[0])
        elif event.startswith("socket.") and event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.bind"):
            self.marks.add("network")

    def _moved(self, old, new):
        """A directory is renamed: everything in it is gone from one place and new in the other."""
        for folder, folders, files in os.walk(old):
            for name in folders + files:
                path = os.path.join(folder, name)
                self.read(path)
                self.written(path)
                self.written(os.path.join(new, os.path.relpath(path, old)))

    def _open(self, path, mode, flags):
        if isinstance(path, int):
            return
        if isinstance(path, (str, bytes, os.PathLike)) and os.path.islink(path):
            self.read(path)
            path = os.path.realpath(path)
        writing = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        if not writing:
            self.read(path)
            return
        if not flags & os.O_TRUNC:
            self.read(path)
        self.written(path)

    def _wrap_lookups(self):
        """os.stat, os.lstat and os.access raise no audit event; an existence check is a read."""
        for name in ("stat", "lstat", "access"):
            setattr(os, name, _lookup(self, getattr(os, name)))
        accessor = getattr(pathlib, "_NormalAccessor", None)  # 3.10 took its own references
        if accessor is not None:
            accessor.stat = staticmethod(os.stat)
        getcwd = os.getcwd

        def observed_getcwd():
            self.cwd_read = True
            return getcwd()

        os.getcwd = _named(observed_getcwd, getcwd)
        os.environ.__class__ = _environ(self)
        urandom = os.urandom

        def observed_urandom(size):
            if self.active and not importing():
                self.marks.add("entropy")
            return urandom(size)

        os.urandom = random._urandom = _named(observed_urandom, urandom)


def _lookup(files, original):
    def lookup(path, *args, **kwargs):
        if files.active and not isinstance(path, int) and not kwargs.get("dir_fd"):
            files.active = False
            try:
                p = files._path(path)
                if p is not None and p not in files.writes:
                    if _only_presence(sys._getframe(1)):
                        files.reads.setdefault(p, "presence")
                    else:
                        files.reads[p] = None
            finally:
                files.active = True
        return original(path, *args, **kwargs)

    return _named(lookup, original)


_PRESENCE = frozenset(("exists", "isfile", "isdir", "is_file", "is_dir", "lexists", "islink", "is_symlink"))


def _only_presence(frame):
    """Reports whether a lookup serves a question like os.path.exists, which the content of the file does not matter to."""
    for _ in range(3):
        if frame is None:
            return False
        code = frame.f_code
        if code.co_name in _PRESENCE and (code.co_filename.startswith("<frozen ") or origin.is_library_path(code.co_filename)):
            return True
        frame = frame.f_back
    return False


def importing():
    """Reports whether a module is being imported: what a library draws then (keys of processes) is not the program's."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _named(wrapper, original):
    wrapper.__name__ = wrapper.__qualname__ = original.__name__
    wrapper.__module__ = original.__module__
    wrapper.__doc__ = original.__doc__
    return wrapper


def _environ(files):
    base = type(os.environ)

    class _Environ(base):
        def __getitem__(self, key):
            if files.active and isinstance(key, str):
                files.environ.add(key)
            return base.__getitem__(self, key)

        def __iter__(self):
            if files.active:
                files.environ.add("*")
            return base.__iter__(self)

    _Environ.__qualname__ = "_Environ"
    _Environ.__module__ = "os"
    return _Environ


_EVENTS = frozenset((
    "open", "exec", "os.listdir", "os.scandir", "os.remove", "os.truncate", "os.rename", "os.link", "os.symlink", "os.mkdir",
    "os.rmdir", "tempfile.mkstemp", "tempfile.mkdtemp", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork",
    "os.forkpty", "pty.spawn", "sqlite3.connect"))
_PREFIXES = frozenset(("socket.",))
