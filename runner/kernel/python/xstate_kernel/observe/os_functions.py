"""Observes functions of os without audit events: lookups, listings, open descriptors and the process id."""

import os
import sys

from xstate_kernel import original as __builtins__

from ..ground import code_owner, descriptors, presence, sandbox
from ..ground.builtin_function import named
from . import environ, libraries, library_caches


def watch(files):
    """Wraps the functions. They report to files while it is active."""
    _watch_lookups(files)
    _watch_listings(files)
    _watch_process(files)
    _watch_descriptors(files)


def _watch_lookups(files):
    """Wraps os.stat, os.lstat and os.access, which raise no audit event. An existence check is a read."""
    for name in ("stat", "lstat", "access"):
        setattr(os, name, _lookup(files, getattr(os, name), name != "lstat"))
    getcwd = os.getcwd

    def observed_getcwd():
        files.cwd_read = True
        files.folder_read = files.folder_read or not code_owner.importing()
        return getcwd()

    files.getcwd = getcwd

    os.getcwd = named(observed_getcwd, getcwd)
    os.environ.__class__ = environ.observed(files)
    os.environb.__class__ = os.environ.__class__


def _watch_listings(files):
    """Wraps the functions that list a folder, so that they hide the store from the program."""
    folder, hidden = os.path.split(files.store.rstrip(os.sep))
    hidden = hidden, os.fsencode(hidden)  # as the folder is named in a listing
    listdir, scandir, stat = os.listdir, os.scandir, os.stat

    def here(path):
        if isinstance(path, int):  # an open folder
            return os.path.samestat(stat(path), stat(folder))
        return os.path.realpath(os.fsdecode(path)) == folder

    def observed_listdir(path=None):
        found = listdir(path)
        if any(name in found for name in hidden) and here("." if path is None else path):
            found = [name for name in found if name not in hidden]
        return found

    def observed_scandir(path=None):
        found = scandir(path)
        return _Entries(found, hidden) if here("." if path is None else path) else found

    os.listdir, os.scandir = named(observed_listdir, listdir), named(observed_scandir, scandir)


def _watch_process(files):
    """Wraps the functions that return ids and times of the process.

    The wrappers ignore libraries, which compare process ids to detect a fork."""

    def noting(original):
        def wrapper(*args):
            if files.active and code_owner.kind_of(sys._getframe(1).f_globals.get("__name__")) != code_owner.LIBRARY:
                files.marks.add("process")
            return original(*args)

        return named(wrapper, original)

    for name in ("getpid", "getppid", "getpgrp", "getsid", "times", "getloadavg"):
        setattr(os, name, noting(getattr(os, name)))


def _watch_descriptors(files):
    """Wraps the functions that open and use descriptors: a plain integer does not show that it refers to an open file.

    A program's descriptor for a file on disk is separate state. The kernel marks a node that leaves another descriptor
    open, or uses one that another node opened. Libraries keep their descriptors in objects."""
    opens_file, replaces, ends, writes = (
        os.open,
        os.dup2,
        (os.close, os.fdopen),
        (os.write, os.writev, os.pwrite, os.pwritev, os.ftruncate),
    )
    for name in ("open", "pipe", "dup", "memfd_create"):
        if hasattr(os, name):
            original = getattr(os, name)
            setattr(os, name, _opens(files, original, original is opens_file))
    for name in (
        "close",
        "fdopen",
        "read",
        "readv",
        "write",
        "writev",
        "lseek",
        "pread",
        "preadv",
        "pwrite",
        "pwritev",
        "ftruncate",
        "fstat",
        "fsync",
        "dup",
        "dup2",
    ):
        original = getattr(os, name)
        setattr(os, name, _uses(files, original, original in writes, original in ends, original is replaces))


def _by_program(original):
    """Reports whether the program, and no library, called the wrapper of a function that calls this."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename == __file__:  # dup is wrapped twice
        frame = frame.f_back
    if original.__name__ == "dup" and "dup" not in frame.f_code.co_names:
        return False  # native code calls dup, for example NumPy's to read and write elements of a file
    return not code_owner.is_library_path(frame.f_code.co_filename)


def _opens(files, original, is_open):
    """Wraps a function that opens descriptors. is_open: it is os.open."""

    def wrapper(*args, **kwargs):
        found = original(*args, **kwargs)
        if files.active:
            mine = _by_program(original)
            if (
                is_open
                and mine
                and files.numbers
                and len(args) > 1
                and kwargs.get("dir_fd") is None
                and not isinstance(args[0], int)
            ):
                files.active = False
                found = descriptors.place(found, os.fsdecode(args[0]), args[1])
                files.active = True
                if descriptors.use(found):
                    return found
            files.descriptors.update(dict.fromkeys(found if type(found) is tuple else (found,), mine))
        return found

    return named(wrapper, original)


def _uses(files, original, writes, ends, replaces):
    """Wraps a function that uses a descriptor: whether it writes to it, ends its use, or puts another file there."""

    def wrapper(fd, *args, **kwargs):
        if files.active and isinstance(fd, int) and fd > 2:
            path = descriptors.use(fd)
            if path is not None:
                files.use_open_file(path, writes)
                if ends:
                    descriptors.lend(fd)
            elif fd not in files.descriptors and _by_program(original):
                files.marks.add("unobserved descriptor")
            if ends:
                files.descriptors.pop(fd, None)
        found = original(fd, *args, **kwargs)
        if replaces and files.active:
            files.on_descriptor(found)
        return found

    return named(wrapper, original)


def _lookup(files, original, follow):
    quiet = None if original is os.access else sandbox.unasked(original)

    def lookup(path, *args, **kwargs):
        if files.restoring and not code_owner.looking and not isinstance(path, int):
            files.look_aside("stat", path)
        if files.active and not code_owner.looking and not isinstance(path, int) and not kwargs.get("dir_fd"):
            files.active = False
            try:
                if sys._getframe(1).f_globals.get("__name__") == "importlib.metadata":
                    files.packages_listed(path)
                p = files.path_of(path, None, follow and kwargs.get("follow_symlinks", True))
                how = None if p is None else _question(sys._getframe(1))
                if how == _IS_THERE and library_caches.base(p):
                    p = None
                if p is not None and (how == _WHEN or p not in files.above):
                    if how != _IS_THERE:
                        files.modes.add(p)
                        (files.times if how == _WHEN else files.looks).add(p)
                    if how != _WHEN:
                        libraries.looked("stat" if how == _IS_THERE else "file", p)
                    if p in files.writes or p in files.caches:
                        pass
                    elif how == _IS_THERE:
                        asked = presence.asked_by(sys._getframe(2))
                        if asked is None:
                            files.reads.setdefault(p, "presence")
                        else:
                            asked.append((files, p))
                    elif how != _WHEN:
                        files.reads[p] = None
            finally:
                files.active = True
        if quiet is not None and not args and not kwargs and type(path) is str and code_owner.counts_for_nothing(path):
            return quiet(path)
        return original(path, *args, **kwargs)

    return named(lookup, original)


_IS_THERE, _WHEN, _ALL = range(3)
_PRESENCE = frozenset(
    ("exists", "isfile", "isdir", "is_file", "is_dir", "lexists", "islink", "is_symlink", "realpath", "_joinrealpath")
)  # whether a path is a symbolic link belongs to its presence
TIMES = frozenset(("st_mtime", "st_mtime_ns", "st_atime", "st_atime_ns", "st_ctime", "st_ctime_ns", "st_birthtime"))


def _question(frame):
    """Classifies a lookup: for presence, as by os.path.exists; for a time of the file; or for anything else."""
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


class _Entries:
    """The entries of a directory except one."""

    def __init__(self, found, hidden):
        self._found, self._hidden = found, hidden

    def __iter__(self):
        return self

    def __next__(self):
        entry = next(self._found)
        return next(self._found) if entry.name in self._hidden else entry

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._found.close()

    def close(self):
        self._found.close()
