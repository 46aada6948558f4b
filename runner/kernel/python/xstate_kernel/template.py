"""Forks interpreters from a kernel that has imported what a program imports: see ../doc.go.

A template waits in C. The call returns in a copy of it in another process, which takes its own pipes, output files,
spool and number. All else is as in an interpreter that has imported the same: CPython is not notified of the fork, so
generators continue from the same state and no callback runs."""

import gc
import os
import sys
import threading

from xstate_kernel import original as __builtins__

from .ground import code_owner, native, sandbox, started
from .observe import calls, guard, libraries
from .observe import names as observe_names

_door = None  # the socket of requests; None: this interpreter is to be no template
_held = ()  # what the process had before the first request, see _holds
_loaded = frozenset()  # modules that it had then: every start has them
_missed = set()  # modules that imports have looked for since, and not found
_running = started.running  # as the kernel has set it
_own = False  # an import has looked at what differs between copies: the name of the program, arguments, input


class _Missing:
    """A finder after all others."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        _missed.add(name)


def start():
    """Takes the socket."""
    global _door
    number = os.environ.pop("XSTATE_TEMPLATE_FD", None)
    if number is not None and native.template is not None:
        _door = int(number)
        os.set_inheritable(_door, False)


def _holds():
    """Returns what of this process a fork would not copy, or share: its number of threads, of open descriptors, whether
    it has children, and its shared memory."""
    with open("/proc/self/maps") as maps:
        shared = [line for line in maps if line.split(None, 2)[1][1::2] == "ws"]
    return native.alone() if native.alone is not None else (), len(shared)


class _Watched(observe_names.Main):
    def __getattribute__(self, name):
        if name in ("__file__", "__dict__"):
            _looks()
        return observe_names.Main.__getattribute__(self, name)


def _looks():
    global _own
    _own = True
    return False


def ready(kernel):
    """Notes what the kernel has before it imports anything."""
    global _held, _loaded, _running, _own
    if _door is not None:
        _held, _loaded, _running = _holds(), frozenset(sys.modules), started.running
        sys.meta_path.append(_Missing)
        started.running, kernel.main.__class__ = _looks, _Watched
        _own = False


def prepare(kernel):
    """Returns what copies of this interpreter depend on, or None if they would not be whole: a fork copies one thread,
    and shares what is open. These are the files and folders by which a start of Python chooses what there is to import,
    the folders in which a module with one of the names would have been found first, and whether it depends on what
    differs between copies.

    Does what the first node would do in each copy: to look at all objects copies their memory."""
    if _door is None or len(sys._current_frames()) > 1 or _holds() != _held:
        return None
    sys.meta_path.remove(_Missing)
    own = _own
    started.running, kernel.main.__class__ = _running, observe_names.Main
    modules = [m for m in sys.modules.values() if m is not kernel.main]
    if not kernel.hidden.unused() or not all(map(_installed, modules)):
        return None
    libraries.look_ahead()
    kernel.workspace.loaded()
    gc.collect()
    gc.freeze()
    names = {name.partition(".")[0] for name in _missed.union(sys.modules.keys() - _loaded)}
    folders = [*filter(_shadows, sys.path)]
    return {"paths": sorted(_chosen_by()), "names": sorted(names), "folders": folders, "own": own}


def _shadows(folder):
    return not code_owner.is_library_path(os.path.join(folder, "x"))


def _installed(module):
    """Reports whether a module is the kernel's, or one that is known by its version."""
    path = getattr(module, "__file__", None)
    return not isinstance(path, str) or path.startswith(code_owner.FOLDER) or code_owner.is_library_path(path)


def _chosen_by():
    found = {os.path.join(sys.prefix, "pyvenv.cfg"), "/etc/localtime"}
    for name in ("sitecustomize", "usercustomize"):
        path = getattr(sys.modules.get(name), "__file__", None)
        found.update(filter(None, (path,)))
    for folder in filter(os.path.isabs, sys.path):
        if not _shadows(folder):
            found.add(folder)
            if os.path.isdir(folder):
                found.update(os.path.join(folder, n) for n in os.listdir(folder) if n.endswith(".pth"))
    return found


def fork(kernel):
    """Waits for requests. Returns in the copies."""
    global _door
    assert native.template is not None
    read_fd, write_fd, *outputs, calls_fd = native.template(_door)
    _door = None
    kernel.channel.adopt(read_fd, write_fd)
    options, _ = kernel.channel.receive()
    os.chdir(options["folder"])  # another one may have its name by now
    kernel.recorder.adopt(outputs)
    calls.adopt(calls_fd)
    code_owner.adopt()
    guard.protect(options.get("engines") or ())
    kernel.execution.pid = os.getpid()
    kernel.spool = options["spool"]
    kernel.files.adopt(kernel.spool)
    if options.get("file"):
        kernel.bindings.preset["__file__"] = kernel.bindings.ns["__file__"] = options["file"]
    started.start(started.name_of(options), options.get("arguments") or (), options.get("stdin"))
    kernel.hidden.reseed(options["seed"])
    for v in (started.NAME, started.ARGUMENTS):
        kernel.hidden.begin(v)
    getattr(threading.main_thread(), "_set_native_id", int)()
    sandbox.mark("import", "told")
    sandbox.mark("begin", 0)
    sandbox.mark("end", 0)
    kernel.channel.send({"ev": "hello"})
