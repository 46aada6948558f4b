"""Observes by audit events what a node does to files, and its other effects outside the namespace.

A failed lookup is also a read: of a file that is absent.
"""

import errno
import os
import re
import stat
import sys
import threading
import types
from json import dumps

from xstate_kernel import original as __builtins__

from .. import adapters
from ..ground import bytecode, code_owner, descriptors, disk, sandbox, started
from ..value import handles
from . import audit_events, calls, clocks, draws, guard, libraries, library_caches, names, os_functions, proxy, scan

_STANDARD_INPUT = (0, "/dev/stdin", "/dev/fd/0")
SQL = re.compile(
    r"""(?:^|;)\s*(?:(attach)\b(?:\s+database\b)?|vacuum\b.*?\binto\b)\s*(?:'([^']+)')?""", re.IGNORECASE
)  # SQL that names a database


class Files:
    """Observes what a node does to files, and its other effects outside the namespace."""

    numbers = True  # files that the program opens as descriptors are separate state
    observed = 0  # the number under which the sandbox observes the node that runs; 0: it does not

    duration = "clock"  # the mark of a node that measures a duration
    draws = draws.Draws()

    def on_child(self):
        """Is called when a child process starts. The kernel replaces this method, tests run without."""

    def on_descriptor(self, fd):
        """Is called when another file is put in the place of a descriptor, likewise."""

    def __init__(self, spool, store, folder, on_code, refusing=None):
        self._guard = refusing and guard.guard_of(refusing)
        self._home = threading.get_ident()
        self._spool = spool  # folder for copies of files before their first write
        self.store = os.path.realpath(store) + os.sep
        self.folder = os.path.realpath(folder) + os.sep
        # A folder in the store is a private one, whose files are the program's.
        self._private = self.folder if self.folder.startswith(self.store) else None
        descriptors.folder = self.folder
        self.above = code_owner.folders_above(
            self.folder
        )  # libraries check these folders for links in the paths of their files
        self.on_code = on_code  # called with each code object that is executed at run time
        self._thread = None
        self._count = 0
        self._known = set()  # every path that the program read or wrote
        self._wrote = set()  # every path that it wrote
        self.logs = {}  # write-ahead log that a connection of SQLite may write → its state when the node began
        self._prepare(os.path.realpath(store))
        self.handles = handles.Handles()
        self.proxy = None  # its host and port, if it records what the program requests
        self.active = False
        self.restoring = False  # no node is running, but a restore may import libraries
        self.reset()
        names.watch_files(self)
        os_functions.watch(self)
        clocks.watch(self)
        if sys.version_info < (3, 11):
            import pathlib

            for name in ("stat", "getcwd", "listdir", "scandir"):  # pathlib keeps its own references to these
                setattr(pathlib._NormalAccessor, name, staticmethod(getattr(os, name)))
        passed = self._passed = set()  # irrelevant events; there are thousands of them

        def hook(event, args):
            if event not in passed:
                self._audit(event, args)

        sys.addaudithook(hook)

    def _prepare(self, store):
        self.scan = scan.Scan(self.folder.rstrip(os.sep), store, self._copy)
        self._journal = self._open_journal()

    def _open_journal(self):
        return os.open(os.path.join(self._spool, "writing"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def adopt(self, spool):
        """Continues with another spool, in an interpreter that was forked from a template."""
        self._spool = spool
        journal = self._open_journal()
        os.dup2(journal, self._journal, False)
        os.close(journal)

    def reset(self):
        self.reads = {}  # absolute path → None, or "presence" if the program checked only that
        self.writes = {}  # absolute path → what was there before, see _before; None: nothing
        # files outside the workspace that a library creates once, when it is imported, for its own use
        self.caches = set()
        self.cached = set()  # files of caches that libraries used; the program's own code may have used them as well
        self.modes = set()  # paths whose permissions the node read
        self.chmods = {}  # path → its permissions before the node set them
        self.times = set()  # paths whose times the node read
        self.looks = set()  # paths whose whole status the node read, with the times
        self.listings = set()
        self.environ = set()
        self.forked = False  # the node forked this process: the kernel does not observe the child's reads
        self.put = {}  # variable → value that the node put into the environment, perhaps without os.environ
        self.put_by_program = set()  # those variables that not only imports of libraries put there
        self.marks = set()
        self.chance = []  # (generator, state after its seed from the operating system), while nothing is drawn
        self.descriptors = {}  # descriptor that was opened → whether the program, not a library, opened it
        self.cwd_read = False
        self.moved = False  # the node called chdir, perhaps with the same directory
        self.folder_read = False  # the node got the path of the workspace
        self.objects = False  # the node listed all objects
        self.names = set()  # names of the program that an unpickler looked up
        self.unpickled = set()  # modules in which an unpickler looked up names

    def begin(self, logs=(), observed=0, served=()):
        """Begins to observe a node. It may write to files that are open, and to logs, without opening them.

        observed is the number under which the sandbox observes the node, or 0. served is what the node is to draw."""
        self.reset()
        self.draws.begin(served)
        self.observed = observed
        if observed:
            sandbox.mark("begin", observed)
        descriptors.begin()
        self.scan.begin()
        for p in self._wrote.intersection((*self.handles.paths.values(), *logs)):
            self._announce(p, None)
        self.logs = {p: _state(p) for p in self.logs}
        self._thread = threading.get_ident()
        self.active = True

    def end(self):
        self.active = False
        if self.observed:
            sandbox.mark("end", self.observed)
        if descriptors.end():
            self.marks.add("unobserved descriptor")
        if self.chance or any(now and now != was for p, was in self.logs.items() for now in (_state(p),)):
            self.marks.add("entropy")  # SQLite draws the salt of a log
        if any(self.descriptors.values()):
            self.marks.add("unobserved descriptor")
        if any(os.environ._data.get(k) != v for k, v in self.put.items()):
            self.marks.add("unobserved os.putenv")
        self.modes -= self.caches
        for path, before in self.scan.changes():
            if path in self.writes:
                continue
            if before is not None:
                self.reads[path] = None  # the new content may depend on the old
                if before["copy"] is None:
                    self.marks.add("file changed unseen")
                    continue
            self.writes[path] = before
        self._known.update(self.reads, self.writes)
        self._wrote.update(self.writes)

    def folder_in(self, text):
        """Reports whether a text holds the path of the workspace."""
        return self.folder in text

    def path_of(self, path, dir_fd=None, follow=True):
        """Returns the absolute path without symbolic links if it is relevant, else None.

        The links in the path count as read. Unless follow is true, a link as the last part is not resolved."""
        if isinstance(path, int) or path is None:
            return None
        try:
            p = os.fsdecode(path)
        except TypeError:
            return None
        if isinstance(dir_fd, int) and dir_fd >= 0 and not os.path.isabs(p):
            p = os.path.join(descriptors.path_of(dir_fd), p)
        if not os.path.isabs(p):
            self.cwd_read = True
            p = os.path.join(self.getcwd(), p)
        p = os.path.normpath(p)
        if self._other(p) or self._cache(p):
            return None
        head, tail = (p, "") if follow else os.path.split(p)
        real = os.path.realpath(head)
        if real != head:
            self._links(head, 40)
            p = os.path.join(real, tail) if tail else real
            if self._other(p) or self._cache(p):
                return None
        return p

    def _cache(self, p):
        """Reports whether a library uses a path of its cache, which is then not a file of the program."""
        if not library_caches.use(p):
            return False
        self.cached.update((p, os.path.realpath(p)))
        return True

    def _other(self, p):
        """Reports whether a path does not belong to the program."""
        return (
            ((p + os.sep).startswith(("/proc/", "/dev/", "/sys/")) and not p.startswith("/dev/shm/"))
            or (
                p.startswith((self.store, self._spool))
                and not (self._private and (p + os.sep).startswith(self._private))
            )
            or "__pycache__" in p
            or p.endswith(".pyc")
            or (self._library(p) and (".dist-info/" not in p or audit_events.library_imports()))
        )

    def _links(self, p, depth):
        """Counts the symbolic links in a path as read."""
        at = ""
        parts = p.split("/")[1:]
        for i, part in enumerate(parts):
            at += "/" + part
            if depth and os.path.islink(at):
                if at not in self.writes:
                    self.reads[at] = None
                self._links(
                    os.path.normpath(os.path.join(os.path.dirname(at), os.readlink(at), *parts[i + 1 :])), depth - 1
                )
                return

    def _library(self, p):
        folder = os.path.dirname(p)
        known = _library_folders.get(folder)
        if known is None:
            known = _library_folders[folder] = code_owner.is_library_folder(folder)
        return known

    def read(self, path, dir_fd=None, follow=True):
        p = self.path_of(path, dir_fd, follow)
        if p is not None and p not in self.caches:
            libraries.looked("file", p)
            if p not in self.writes:
                self.reads[p] = None

    def seen(self, path, dir_fd=None, follow=False):
        """Records that the node depends on the presence of a file, but not on its content."""
        p = self.path_of(path, dir_fd, follow)
        if p is not None and p not in self.caches:
            libraries.looked("stat", p)
            if p not in self.writes:
                self.reads.setdefault(p, "presence")

    def packages_listed(self, path):
        """Counts what a folder lists of installed packages as read: importlib.metadata looks at no other names, and
        lists the folder again only after a change."""
        self.note_listing(_packages_in(os.path.realpath(path)))

    def note_listing(self, name):
        libraries.looked("dir", name)
        self.listings.add(name)

    def look_again(self, looks):
        """Counts what a library read during its import as read by the node, see libraries.looked."""
        for kind, name in looks:
            if kind == "env":
                self.environ.add(name)
            elif kind == "dir":
                self.listings.add(name)
            elif name in self.writes or name in self.caches:
                pass
            elif kind == "file":
                self.reads[name] = None
            else:
                self.reads.setdefault(name, "presence")

    def look_aside(self, kind, path, frame=None):
        """Records what a library reads if a restore imports it."""
        self.restoring = False
        try:
            p = self.path_of(path) if frame is None else self.listing(path, frame)
            if p is not None:
                libraries.looked(kind, p)
        finally:
            self.restoring = True

    def written(self, path, dir_fd=None, follow=True):
        p = self.path_of(path, dir_fd, follow)
        if p is None or p in self.writes or p in self.caches:
            return
        if not p.startswith(self.folder) and audit_events.library_imports():
            self.caches.add(p)
            self.reads.pop(p, None)
        else:
            folder = os.path.dirname(p)
            if folder.startswith(self.folder) and folder not in self.writes:
                self.reads.setdefault(folder, "presence")  # without the folder, the write fails
            self.writes[p] = before = self._before(p)
            self._announce(p, before)
            if self.observed:
                sandbox.mark("wrote", p.lstrip("/"))

    def _announce(self, p, before):
        """Records in the journal that the program changes a path from now on. A recovery after a crash reads this."""
        try:
            os.write(self._journal, dumps({"path": p, "before": before}).encode() + b"\n")
        except OSError as e:
            disk.check(e, f"note that the program writes {p}")
            raise

    def _before(self, p):
        """Describes and copies what is at a path that is about to be written."""
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
        try:
            with open(p, "rb") as src, open(copy, "wb") as dst:
                while True:
                    chunk = src.read(1 << 20)
                    if not chunk:
                        return copy
                    dst.write(chunk)
        except OSError as e:
            disk.check(e, f"copy {p} before the program writes it")
            raise

    def _audit(self, event, args):
        if event == "object.__getattr__":
            f, name = args
            if (
                self.active
                and name == "__code__"
                and type(f) is types.FunctionType
                and names.watching is not None
                and f.__globals__ is names.watching.namespace
            ):
                self._code_asked(f, sys._getframe(2))
            return
        seen = event in audit_events.HANDLERS or event[:7] in _PREFIXES
        if not seen and event not in guard.EVENTS:
            self._passed.add(event)
            return
        if guard.ends_engine(event, args):
            raise PermissionError(errno.EPERM, "the program may not signal the process that runs it")
        if calls.is_own(event, args):
            return
        if self._guard is not None and event in guard.EVENTS and (self.active or threading.get_ident() != self._home):
            self._refuse(event, args)
        if self.restoring and event == "open" and not isinstance(args[0], int) and not code_owner.looking:
            self.look_aside("file", args[0])
        if self.restoring and event in ("os.listdir", "os.scandir"):
            self.look_aside("dir", args[0], sys._getframe(2))
        if self.restoring and event == "exec":
            self.on_code(args[0])
        if (self.restoring or self.active) and event in ("os.putenv", "os.unsetenv"):
            if libraries.set_variable(args[0], args[1] if len(args) > 1 else None) is None:
                self.put_by_program.add(args[0])
        if not self.active or not seen:
            return
        if event == "open" and type(args[0]) in (int, str) and args[0] in _STANDARD_INPUT and started.stdin.rest():
            raise OSError("xstate gives the standard input to sys.stdin, and not to descriptor 0")
        self.active = False  # the hook's own events do not belong to the program
        try:
            self._event(event, args)
        except Exception:
            self.marks.add("unobserved " + event)
        finally:
            self.active = True

    def _code_asked(self, f, frame):
        """Counts the names of a function as read when a library inspects its code, to pickle or compile it."""
        name = frame.f_globals.get("__name__")
        if code_owner.kind_of(name) != code_owner.LIBRARY or (
            name.partition(".")[0] in adapters.DEFINING_CODE and frame.f_code.co_name != "getclosurevars"
        ):
            return
        self.active = False
        for name in bytecode.code_facts(f.__code__)[0]:
            names.watching.note(name)
        self.active = True

    def _refuse(self, event, args):
        """Raises an exception before an effect that cannot be undone. Only the record answers recorded requests."""
        if self.proxy is not None and proxy.meant(self.proxy, event, args):
            return
        active, self.active = self.active, False
        try:
            what = guard.effect(event, args, self._guard, self.getcwd)
        finally:
            self.active = active
        if what is not None and not (what.startswith("file") and audit_events.library_imports()):
            if ".pyc" not in what:  # Python works without compiled files
                self.marks.add("refused " + what)
            raise PermissionError("xstate refused an effect outside the workspace: " + what)

    def _event(self, event, args):
        handler = audit_events.HANDLERS.get(event)
        if handler is not None:
            handler(self, event, args)

    def listing(self, path, frame):
        """Returns the name under which a listing of a folder counts, or None."""
        path = self.path_of("." if path is None else path)
        if path is None or frame.f_code.co_filename == "<frozen importlib._bootstrap_external>":
            return None
        while frame.f_globals["__name__"] == os_functions.__name__:
            frame = frame.f_back
        packages = frame.f_code.co_name == "children" and frame.f_globals.get("__name__") == "importlib.metadata"
        return _packages_in(path) if packages else path

    def look_at_handles(self, opaque, apart):
        """Finds the program's files that are open or mapped, except those in apart.

        opaque has the reasons why reachable values have no digest of their content: without one, none is open."""
        if not opaque:
            self.handles.forget()
            return
        maps = any("mmap" in why or "memory map" in why for why in opaque)
        self.handles.look(lambda path: path in self._known and path not in apart, maps)

    def quietly(self, action):
        """Calls a function of the kernel's whose effects do not belong to the node."""
        active, restoring, self.active, self.restoring = self.active, self.restoring, False, False
        try:
            action()
        finally:
            self.active, self.restoring = active, restoring

    def opened_by_node(self):
        """Returns the files that are open and that the node opened."""
        before = set(self.handles.paths)
        self.handles.look(lambda path: path in self.reads or path in self.writes, False)
        return self.handles.paths.keys() - before

    def attached(self, codes):
        """Counts the databases that SQL in the code attaches as read: attaching raises no audit event.

        It scans the workspace, as for a child process. If the code computes a name at run time, it marks the node.
        Where the sandbox observes the node, it sees which databases are opened.
        """
        if self.observed:
            return
        self.active = False
        self.scan.before()
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
        """Counts the times of all files with a read status as read, if the code names a time of a file."""
        if (self.looks or self.listings) and any(os_functions.TIMES & set(c.co_names) for c in codes):
            self.times |= self.looks
            if self.listings and not self.looks:
                self.marks.add("clock")  # a directory entry may have shown a time

    def use_open_file(self, path, written):
        """Records the use of a file that another node may have opened."""
        self.active = False
        self.read(path)
        if written:
            self.written(path)
        self.active = True


def _state(path):
    """Describes a file so that a change shows; None while it has no content."""
    try:
        st = os.stat(path)
    except OSError:
        return None
    return (st.st_ino, st.st_size, st.st_mtime_ns) if st.st_size else None


_library_folders = {}  # folder → whether its files are a library's


def _packages_in(folder):
    return folder if folder.lower().endswith(".egg") else os.path.join(folder, libraries.PACKAGES)


_PREFIXES = frozenset(("socket.",))
