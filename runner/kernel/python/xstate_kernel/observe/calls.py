"""The kernel's part of the calls of a program, for the module xstate, which the program imports.

The interpreter inherits one socket, the door. For each call the module opens a connection: it makes a pair of sockets
and sends one end through the door. Nothing here counts as an effect of the program. The engine's half is
call_channel.go.
"""

import importlib.util
import os
import struct
import sys

from xstate_kernel import original as __builtins__

from .. import blake2b
from ..ground import code_owner, kept_names
from . import names as observe_names
from . import volatility

VERSION = 1  # the version of the interface that the module xstate finds here

_IMPORTERS = {"importlib", "runpy", "pkgutil", "__import__", "eval", "exec"}  # who uses one may import any module
_OFFERED = os.path.join(code_owner.FOLDER, "offered")
_INT = struct.Struct("i")
_fd = None  # descriptor of the door
_door = None  # the door as a socket, once a call was made
_doors = {}  # the same, for the threads that make the first calls at the same time
_kernel = None
filename = None  # what tracebacks call the block that runs
node = 0  # how many nodes ran
_codes = ()  # code of the node
_telling = None  # (how many names there were, marks that the text of the node has)
tools = None  # (node, what there is to call), once the program asked


def start():
    """Takes the door. It is not inherited further by programs that the program starts, but by its forks."""
    global _fd
    _fd = int(os.environ.pop("XSTATE_CALLS_FD"))
    os.set_inheritable(_fd, False)


def adopt(fd):
    """Takes another door, in an interpreter that was forked from a template."""
    os.dup2(fd, _fd, False)
    os.close(fd)


class Offer:
    """A finder of the module xstate, after all others: a module of the workspace and an installed one come first."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "xstate" or path is not None:
            return None
        folder = os.path.join(_OFFERED, "xstate")
        return importlib.util.spec_from_file_location(
            name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )


def offer(kernel):
    """Lets the program import xstate."""
    global _kernel
    _kernel = kernel
    sys.meta_path.append(Offer)


def begin(name, codes):
    """Begins a node of a block."""
    global filename, node, _codes, _telling
    filename, node, _codes, _telling = name, node + 1, codes, None


def drawn():
    """Returns what the engine needs to distinguish a call from one of the node's earlier run: what the node drew, and
    whether anything that it did may differ from run to run. None: that is not known."""
    files = _kernel.files
    if not files.active:
        return None
    found = {"varies": bool(files.marks or files.chance or files.draws.made or _tells())}
    unsent = files.draws.unsent()
    if unsent is not None:
        found["drawn_from"], found["drawn"] = unsent
    return found


def _tells():
    """Reports whether the text of the node names a source of what varies."""
    global _telling
    space = _kernel.bindings.ns
    if _telling is None or _telling[0] != len(space):
        found = []
        watched = observe_names.watching
        observe_names.watch_main(None)
        try:
            _kernel.files.quietly(lambda: found.append(volatility.volatile(_codes, space, _kernel.groups.dotted)))
        finally:
            observe_names.watch_main(watched)
        _telling = len(space), found[0]
    return _telling[1]


def connect():
    """Returns a socket on which one call can be made."""
    import _socket

    global _door
    if _door is None:
        _door = _doors.setdefault("door", _door_socket(_socket))
        _door.setblocking(True)
    mine, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        mine.setblocking(True)  # whatever the program's default is
        _door.sendmsg([b"c"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, _INT.pack(theirs.fileno()))])
    except BaseException:
        mine.close()
        raise
    finally:
        theirs.close()
    return mine


def _door_socket(_socket):
    """Returns a socket of the door that leaves it open when the socket has no holder any longer. Each thread that makes
    a first call makes one, and one of them is used. An interrupt may drop a socket as soon as it is made, too."""

    class Door(_socket.socket):
        __slots__ = ()
        __del__ = _socket.socket.detach

    return Door(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, _fd)


def is_own(event, args):
    """Reports whether an audit event is one of the door's."""
    return event == "socket.sendmsg" and args[0] is _door and _door is not None


def line():
    """Returns the line in the block that runs of the outermost frame that is the block's; 0 if there is none."""
    found, frame = 0, sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == filename:
            found = frame.f_lineno or found
        frame = frame.f_back
    return found


def version_of(function, shape):
    """Returns a digest of a function, of the shape of its arguments, and of all that it loads by name: what is recorded
    of one function is of no use for another. The node counts as a reader of these names, because it may be served a
    record and not run the function.

    Of an object that has no content to digest, such as a socket, the type counts. The digest then begins with
    "opaque"."""
    found = []
    _kernel.files.quietly(lambda: found.append(_version_of(function, shape)))
    version, names = found[0]
    for name in names:
        _kernel.names.note(name)
    return version


def _version_of(function, shape):
    printer, space, prints = _kernel.printer, _kernel.bindings.ns, _kernel.groups.prints
    watched = observe_names.watching
    observe_names.watch_main(None)
    try:
        first = printer.of(function)
        lines, seen, todo = [_text(function, first)], set(), sorted(first.deps)
        used = first.deps | first.imports
        while todo:
            name = todo.pop()
            if name in seen or name not in space:
                continue
            seen.add(name)
            value, fp = space[name], prints.get(name)
            if fp is None or not printer.unchanged(value, fp):
                fp = printer.of(value)
            lines.append(f"{name} {_text(value, fp)}")
            todo.extend(fp.deps)
            used |= fp.deps | fp.imports
        lines += [f"module {name} {_kernel.workspace.digest(name)}" for name in _modules(used)]
    finally:
        observe_names.watch_main(watched)
    digest = blake2b("\n".join([lines[0], shape, *sorted(lines[1:])]).encode(), digest_size=20).hexdigest()
    opaque = any(line.split(" ", 1)[0] == "opaque" or " opaque " in line for line in lines)
    return ("opaque " if opaque else "") + digest, sorted(seen)


def _modules(used):
    """Returns the workspace modules that code may use which has these names and imports. Other loaded modules do not
    matter: another interpreter may have loaded less."""
    if not used.isdisjoint(_IMPORTERS):
        return [name for name, _ in _kernel.workspace.loaded()]
    return _kernel.imports.modules_of(used, ())


def _text(value, fp):
    return f"opaque {type(value).__qualname__}" if fp.opaque else fp.digest


# Marks of what a step may do: the journal keeps what came of it.
_KEPT = {"clock", "entropy", "network"}


def effects():
    """Returns what the node did so far beside values, by what is said of it."""
    found = []
    _kernel.files.quietly(lambda: found.append(_kernel.effects()))
    reads, listings, environ, writes, _, *others = found[0]
    marks = set(_kernel.files.marks)
    return {
        "it read a file": reads,
        "it listed a folder": listings,
        "it read the environment": environ,
        "it wrote a file": writes,
        "it printed": others[0],
        "it changed hidden state, such as that of random numbers": others[1],
        "it changed the environment": others[2],
        "it changed the interpreter": others[3:],
        "it did what is not seen": marks - _KEPT,
        "": marks,
        None: len(_kernel.files.draws.made),
    }


def effects_since(before):
    """Returns what was done since effects() returned before, or ""."""
    now = effects()
    return next((what for what in now if what and now[what] != before[what]), "")  # "" and None are not effects


def recorded(before):
    """Drops the marks of a step whose result is recorded, where nothing else ran meanwhile."""
    if len(sys._current_frames()) == 1:
        _kernel.files.marks.difference_update((set(_kernel.files.marks) & _KEPT) - before[""])
        _kernel.files.draws.forget(before[None])


kept_names.keep("calls", __name__, Offer)
