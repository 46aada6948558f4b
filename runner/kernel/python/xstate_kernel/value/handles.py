"""Files that stay open between nodes: which of them a value uses, and their paths.

An open file is known by the path at which the kernel first found it. It keeps that name when it is renamed, replaced or
removed, because the handle stays on the same inode.
"""

import fcntl
import io
import os
import stat

from xstate_kernel import original as __builtins__

from .. import adapters
from ..ground import code_owner, descriptors

ANY = -1  # in place of a descriptor: the value may use any open file that no file object accounts for
_NATIVE = frozenset(("sqlite3", "mmap", "_gdbm", "_dbm"))  # modules of the standard library that open files themselves
_DELETED = " (deleted)"


def note(fp, kind, group):
    """Adds to a fingerprint the descriptors that objects of one type use, and whether their end may write."""
    if issubclass(kind, io.FileIO):
        for f in group:
            if not f.closed and not descriptors.lent(io.FileIO.fileno(f)):
                fp.handles.add(io.FileIO.fileno(f))
                fp.lifetime_sensitive |= io.FileIO.writable(f)
        return
    top = kind.__module__.partition(".")[0] if type(kind.__module__) is str else ""
    if top in _NATIVE or _opens_files(top):
        fp.handles.add(ANY)
        fp.lifetime_sensitive |= top in _NATIVE


_opening = {}


def _opens_files(top):
    """Reports whether objects of a package may hold open files unseen: of one that is installed and has no adapter."""
    if top not in _opening:
        _opening[top] = bool(code_owner.witness(top)) and adapters.of_package(top) is None
    return _opening[top]


def _writable(fd):
    """Reports whether a descriptor is open for writing. So may be a map."""
    try:
        return type(fd) is not int or fcntl.fcntl(fd, fcntl.F_GETFL) & (os.O_WRONLY | os.O_RDWR) != 0
    except OSError:  # it was closed meanwhile
        return False


class Handles:
    """The open files of the program."""

    def __init__(self):
        self._names = {}  # (device, inode) → the path at which the file was first found open
        self._pins = {}  # (device, inode) → a descriptor of ours that keeps the number from another file
        self._detached = set()  # files that no longer belong to the program's state
        self.open = {}  # descriptor, or "map" and inode → (device, inode), at the last look
        self.paths = {}  # (device, inode) → its path then; None if it has none

    def look(self, belongs, maps):
        """Finds the files that are open now. belongs reports whether a path is one that the program used.

        With maps, files that are mapped count as open."""
        self.open, self.paths = {}, {}
        own = set(self._pins.values())
        try:
            for fd in map(int, os.listdir("/proc/self/fd")):
                if fd in own:
                    continue
                link = "/proc/self/fd/%d" % fd
                try:
                    st, path = os.fstat(fd), os.readlink(link)
                except OSError:  # the descriptor of the listing itself
                    continue
                if stat.S_ISREG(st.st_mode):
                    self._found(fd, (st.st_dev, st.st_ino), path, belongs, link)
            if maps:
                with open("/proc/self/maps") as f:
                    for line in f:
                        _, _, _, device, inode, *path = line.split(None, 5)
                        if path and inode != "0":
                            major, minor = (int(n, 16) for n in device.split(":"))
                            path = path[0].rstrip("\n")
                            file = os.makedev(major, minor), int(inode)
                            self._found(("map", file), file, path, belongs, path)
        except OSError:  # no /proc
            pass
        for file in self._names.keys() - self.paths.keys() - self._detached:
            self._forget(file)

    def forget(self):
        """Notes that the program has no file open."""
        self.open, self.paths = {}, {}
        for file in self._names.keys() - self._detached:
            self._forget(file)

    def _found(self, key, file, path, belongs, link):
        if file in self._detached:
            return
        gone = path.endswith(_DELETED)
        path = path[: -len(_DELETED)] if gone else path
        if file not in self._names:
            if not belongs(path):
                return
            self._names[file] = path
            self._pin(file, link)
        self.open[key], self.paths[file] = file, None if gone else path

    def _pin(self, file, link):
        """Keeps an inode by a descriptor that can neither read nor lock, out of the way of the program's numbers."""
        try:
            fd = os.open(link, os.O_PATH)
        except OSError:
            return
        try:
            if (os.fstat(fd).st_dev, os.fstat(fd).st_ino) == file:
                self._pins[file] = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 500)
        except OSError:  # too many are open
            pass
        finally:
            os.close(fd)

    def _forget(self, file):
        del self._names[file]
        if file in self._pins:
            os.close(self._pins.pop(file))

    def used(self, handles, known):
        """Returns the files that values use, given their handles. known are the descriptors of all file objects."""
        found = {self.open[fd] for fd in handles if fd in self.open}
        if ANY in handles:
            found.update(file for fd, file in self.open.items() if fd not in known)
        return found

    def names(self, files):
        return {self._names[file] for file in files}

    def located(self, files):
        """Returns the names of open files, with the paths that lead to them."""
        found = {}
        for file in files:
            path = self.paths[file]
            found.setdefault(self._names[file], []).extend(() if path is None else (path,))
        return found

    def all_detached(self, fds):
        """Reports whether all descriptors are of detached files, or closed."""

        def detached(fd):
            try:
                st = os.fstat(fd)
            except OSError:
                return fd != ANY
            return (st.st_dev, st.st_ino) in self._detached

        return all(map(detached, fds))

    def detach(self, names):
        """Forgets the files with these names. Returns the paths of those that a handle that is left may write.

        The caller puts other files there, and the kernel ignores these from now on."""
        gone = {file for file, name in self._names.items() if name in names} - self._detached
        written = {file for fd, file in self.open.items() if file in gone and _writable(fd)}
        for file in gone - written:
            self._forget(file)
        self._detached |= written
        return sorted({self.paths[file] for file in written if self.paths.get(file)})
