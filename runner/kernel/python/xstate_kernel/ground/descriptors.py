"""Files that the program opens by os.open, which returns a descriptor. The position in a file is state that no value
shows.

The kernel gives them numbers that nothing else uses, so that another interpreter can open them with the same numbers.
It cannot reopen a pipe, or a file that differs from the one at its path: see os_functions.py. If code makes an object
from a number (os.fdopen), the number is in use until the object is closed. In the kernel, this may happen later than in
a plain run of the program. The kernel marks a node that leaves such a number open, or opens a file meanwhile.
"""

import fcntl
import os
import posix
import stat
import sys

from xstate_kernel import original as __builtins__

_FIRST = 200
_ONCE = os.O_CREAT | os.O_EXCL | os.O_TRUNC

folder = os.sep  # the workspace
variable = None  # see hidden.py
_open = {}  # number → path, flags
_lent = set()  # numbers that objects use
_before = set()  # the same when the node began
_doubtful = False  # see end
_kept = set()  # those of _lent that no object uses in this interpreter


def path_of(fd):
    """Returns the path of an open file or folder, as the system knows it."""
    if sys.platform == "darwin":
        return os.fsdecode(fcntl.fcntl(fd, fcntl.F_GETPATH, bytes(1024)).partition(b"\0")[0])
    return os.readlink("/proc/self/fd/%d" % fd)


def place(fd, path, flags):
    """Assigns a number to a file that was just opened."""
    if not stat.S_ISREG(posix.fstat(fd).st_mode):
        return fd
    global _doubtful
    _doubtful = _doubtful or bool(_in_use())
    number = _FIRST
    while number in _open or number in _in_use():
        number += 1
    number = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, number)
    posix.close(fd)
    _open[number] = os.path.relpath(os.path.abspath(path), folder), flags & ~_ONCE
    variable.touched = True  # the next free number depends on the open files
    return number


def use(number):
    """Returns the path of an open file, or None for any other descriptor."""
    if number not in _open:
        return None
    variable.touched = True
    return os.path.join(folder, _open[number][0])


def lend(number):
    """Records that a number is closed, or that the object with this number will close it."""
    del _open[number]
    _lent.add(number)


def lent(number):
    """Reports whether an object uses a number that the program opened."""
    return number in _lent


def _in_use():
    _lent.difference_update([number for number in _lent if not _is_open(number)])
    return _lent


def _is_open(number):
    try:
        posix.fstat(number)
    except OSError:
        return False
    return True


def get():
    for number in [number for number in _open if not _is_open(number)]:
        del _open[number]  # code closed it by other means
    return [
        (number, path, flags, posix.lseek(number, 0, os.SEEK_CUR)) for number, (path, flags) in sorted(_open.items())
    ], sorted(_in_use())


def put(value):
    wanted, lent = value
    for number in (*_open, *_kept):
        posix.close(number)
    _open.clear()
    _kept.clear()
    if not _in_use().issubset(lent):
        raise OSError("a descriptor is in use")  # a live object uses it, which another interpreter does not have
    for entry in wanted:
        _reopen(*entry)
    for number in _lent.symmetric_difference(lent):
        _place(posix.open(os.devnull, os.O_RDONLY), number)
        _kept.add(number)
    _lent.update(lent)


def _reopen(number, path, flags, at):
    _place(posix.open(os.path.join(folder, path), flags), number)
    posix.lseek(number, at, os.SEEK_SET)
    _open[number] = path, flags


def _place(fd, number):
    posix.dup2(fd, number, False)
    posix.close(fd)


def begin():
    """Reopens files that the engine has replaced at their paths."""
    global _doubtful, _before
    _doubtful, _before = False, set(_in_use())
    for number in _adrift():
        path, flags = _open[number]
        if os.path.lexists(os.path.join(folder, path)):
            _reopen(number, path, flags, posix.lseek(number, 0, os.SEEK_CUR))


def end():
    """Reports whether an open file differs from the one at its path, or the set of numbers is uncertain.

    From then on, the kernel does not track such a file as its own state."""
    found = _adrift()
    for number in found:
        lend(number)
    return _doubtful or not _in_use() <= _before


def _adrift():
    return [number for number, (path, _) in _open.items() if not _is_at(number, os.path.join(folder, path))]


def _is_at(number, path):
    try:
        return os.path.samestat(posix.fstat(number), posix.stat(path))
    except OSError:
        return False
