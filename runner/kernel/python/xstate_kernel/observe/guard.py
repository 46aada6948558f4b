"""The effects that the guard refuses: changes outside the allowed folders, child processes, the network.

A signal to the engine is always refused."""

import os

from xstate_kernel import original as __builtins__

from ..ground import descriptors

_PROCESSES = frozenset(
    ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "pty.spawn")
)
_SOCKETS = frozenset(
    ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.sendmsg", "socket.bind")
)
# Event → positions of changed paths in its arguments, each with the position of the descriptor it is relative to.
_CHANGES = {
    "open": ((0, None),),
    "sqlite3.connect": ((0, None),),
    "os.remove": ((0, -1),),
    "os.rmdir": ((0, -1),),
    "os.mkdir": ((0, -1),),
    "os.truncate": ((0, None),),
    "os.utime": ((0, -1),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
}
EVENTS = _PROCESSES | _SOCKETS | _CHANGES.keys() | {"os.kill", "os.killpg"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


_engines = frozenset()  # processes that run the program


def protect(engines):
    """Says which processes the program may not signal, beside its parent."""
    global _engines
    _engines = frozenset((os.getppid(), *engines))


def ends_engine(event, args):
    """Reports whether an audit event is a signal to the engine, which may serve other programs, too."""
    if event not in ("os.kill", "os.killpg") or not args[1]:
        return False
    to = args[0] if event == "os.kill" else -args[0]
    return to in _engines or to == -1 or (to < -1 and -to in map(_group, _engines))


def _group(pid):
    try:
        return os.getpgid(pid)
    except OSError:
        return None  # it has ended


def guard_of(options):
    """Returns pairs of a folder and whether its files may change, the longest path first. All other files may not."""
    folders = [(os.path.realpath(f), True) for f in options["allow"]] + [
        (os.path.realpath(f), False) for f in options["deny"]
    ]
    return sorted(folders, key=lambda f: -len(f[0]))


def effect(event, args, guard, getcwd):
    """Returns the forbidden effect that an audit event reports, or None. getcwd is the one that is not observed."""
    if event in _PROCESSES or event == "os.killpg" or (event == "os.kill" and args[0] != os.getpid()):
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
            p = os.path.join(descriptors.path_of(fd), p)
        folder, name = os.path.split(os.path.normpath(os.path.join(getcwd(), p)))
        p = os.path.join(os.path.realpath(folder), name)
        if os.path.islink(p) and event in ("open", "os.truncate", "os.chmod", "os.utime"):
            p = os.path.realpath(p)
        if p.startswith("/dev/"):
            continue
        allowed = next((ok for f, ok in guard if p == f or p.startswith(f + os.sep)), False)
        if not allowed:
            return "file " + p
    return None
