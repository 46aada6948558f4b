"""Learns from the audit events of Python about a node: one function for each event, by its name in HANDLERS.

Each gets the observer, the event and its arguments. On the stack are then the function, the two methods of the observer
that lead to it, and the hook: the caller of what raised the event is ABOVE frames further up."""

from __future__ import annotations

import os
import stat
import sys
import types

from xstate_kernel import TYPE_CHECKING
from xstate_kernel import original as __builtins__

from ..ground import code_owner, descriptors
from . import libraries, proxy
from . import names as observe_names

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .files import Files

_ABOVE = 4


def _open(files: Files, event: str, args: tuple[Any, ...]) -> None:
    path, _, flags = args
    if isinstance(path, int):
        number, path = path, descriptors.use(path)
        if path is not None:
            files.use_open_file(path, True)
            descriptors.lend(number)
            files.active = False  # in the hook
        return
    if not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND):
        files.read(path)
        return
    if flags & os.O_EXCL:
        files.seen(path)
        if os.path.lexists(path):
            return  # opening it fails
    elif not flags & os.O_TRUNC:
        files.read(path)
    files.written(path)


def _exec(files: Files, event: str, args: tuple[Any, ...]) -> None:
    code = args[0]
    if isinstance(code, types.CodeType):
        files.on_code(code)


def _find_class(files: Files, event: str, args: tuple[Any, ...]) -> None:
    if args[0] == "__main__":
        files.names.add(args[1].partition(".")[0])
    else:
        files.unpickled.add(args[0])


def _list(files: Files, event: str, args: tuple[Any, ...]) -> None:
    name = files.listing(args[0], sys._getframe(_ABOVE))
    if name is not None:
        files.note_listing(name)
        if name == files.path_of(args[0]) and os.path.basename(name) == libraries.PACKAGES:
            files.marks.add("unobserved " + event)  # it has the name of another key


def _change_entry(files: Files, event: str, args: tuple[Any, ...]) -> None:
    files.seen(args[0], args[-1])
    files.written(args[0], args[-1], False)


def _chdir(files: Files, event: str, args: tuple[Any, ...]) -> None:
    files.seen(args[0], follow=True)  # without the folder, chdir fails
    files.moved = True


def _put_variable(files: Files, event: str, args: tuple[Any, ...]) -> None:
    files.put[args[0]] = args[1] if len(args) > 1 else None


def _change_file(files: Files, event: str, args: tuple[Any, ...]) -> None:
    files.read(args[0])
    files.written(args[0])


def _chmod(files: Files, event: str, args: tuple[Any, ...]) -> None:
    p = files.path_of(args[0], args[2])
    if p is not None:
        files.seen(p)
        files.chmods.setdefault(p, stat.S_IMODE(os.stat(p).st_mode))


def _random_name(files: Files, event: str, args: tuple[Any, ...]) -> None:
    if not code_owner.importing():
        files.marks.add("entropy")


def _rename(files: Files, event: str, args: tuple[Any, ...]) -> None:
    files.read(args[0], args[2], False)
    files.seen(args[1], args[3])
    files.written(args[0], args[2], False)
    files.written(args[1], args[3], False)
    if not isinstance(args[0], int) and os.path.isdir(args[0]):
        _rename_folder(files, os.path.abspath(os.fsdecode(args[0])), os.path.abspath(os.fsdecode(args[1])))


def _rename_folder(files: Files, old: str, new: str) -> None:
    """Records a renamed directory: its files disappear from the old path and appear at the new one."""
    for folder, folders, names in os.walk(old):
        files.listings.add(folder)
        for name in folders + names:
            path = os.path.join(folder, name)
            files.read(path, follow=False)
            files.written(path, follow=False)
            files.written(os.path.join(new, os.path.relpath(path, old)), follow=False)


def _symlink(files: Files, event: str, args: tuple[Any, ...]) -> None:
    files.seen(args[1], args[2])
    files.written(args[1], args[2], False)


def _link(files: Files, event: str, args: tuple[Any, ...]) -> None:
    files.read(args[0], args[2])
    files.seen(args[1], args[3])
    files.written(args[0], args[2])
    files.written(args[1], args[3], False)


def _child(files: Files, event: str, args: tuple[Any, ...]) -> None:
    if not files.observed:
        if not library_imports():
            files.marks.add("subprocess")
        files.scan.before()
        _command(files, args)
    files.on_child()
    files.forked = files.forked or event in ("os.fork", "os.forkpty")
    if len(args) < 4 or args[3] is None:
        files.environ.add("+")


def _command(files: Files, args: tuple[Any, ...]) -> None:
    """Counts the workspace files that a command names as read."""
    folder = args[2] if len(args) > 2 and isinstance(args[2], (str, bytes, os.PathLike)) else "."
    todo = list(args[:2])
    while todo:
        word = todo.pop()
        if isinstance(word, (list, tuple)):
            todo.extend(word)
        elif isinstance(word, (str, bytes, os.PathLike)):
            for part in os.fsdecode(word).split():
                p = files.path_of(os.path.join(os.fsdecode(folder), part.strip("'\"")))
                if p is not None and p.startswith(files.folder) and os.path.isfile(p):
                    files.read(p)


def _database(files: Files, event: str, args: tuple[Any, ...]) -> None:
    name = os.fsdecode(args[0]) if isinstance(args[0], (str, bytes, os.PathLike)) else ""
    if name.startswith("file:"):
        name = name[5:].partition("?")[0]
    if name not in (":memory:", ""):
        files.read(name)
        for more in ("", "-journal", "-wal", "-shm"):
            files.written(name + more)
        if files.path_of(name) is not None:
            files.logs.setdefault(os.path.realpath(name) + "-wal")


def _all_objects(files: Files, event: str, args: tuple[Any, ...]) -> None:
    if not code_owner.is_library_path(sys._getframe(_ABOVE).f_code.co_filename):
        files.marks.add("unobserved " + event)
        files.objects = True
        if observe_names.watching is not None:
            observe_names.watching.everything = True


def _network(files: Files, event: str, args: tuple[Any, ...]) -> None:
    if files.proxy is None or not proxy.meant(files.proxy, event, args):
        files.marks.add("network")


def library_imports() -> bool:
    """Reports whether a library that is being imported causes the present event."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name == "<frozen importlib._bootstrap>":
            return True
        if not name.startswith("<frozen ") and not code_owner.is_library_path(name):
            return False
        frame = frame.f_back
    return False


HANDLERS: dict[str, Callable[[Files, str, tuple[Any, ...]], None]] = {
    "open": _open,
    "exec": _exec,
    "pickle.find_class": _find_class,
    "os.chdir": _chdir,
    "os.chmod": _chmod,
    "os.rename": _rename,
    "os.symlink": _symlink,
    "os.link": _link,
    "sqlite3.connect": _database,
    **dict.fromkeys(("os.listdir", "os.scandir"), _list),
    **dict.fromkeys(("os.remove", "os.rmdir", "os.mkdir"), _change_entry),
    **dict.fromkeys(("os.putenv", "os.unsetenv"), _put_variable),
    **dict.fromkeys(("os.truncate", "os.utime"), _change_file),
    **dict.fromkeys(("tempfile.mkstemp", "tempfile.mkdtemp"), _random_name),
    **dict.fromkeys(
        ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "pty.spawn"), _child
    ),
    **dict.fromkeys(("gc.get_objects", "gc.get_referrers"), _all_objects),
    **dict.fromkeys(("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.bind"), _network),
}
