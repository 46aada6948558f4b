"""The process that runs tests. It collects them, queries the engine which to run, and runs these. Then it reports what
each test executed and read."""

import atexit
import gc
import importlib.util
import os
import random
import sys
import threading

from xstate_kernel import original as __builtins__

from ..ground import code_owner, frames
from ..observe import library_caches
from . import tests


def start():
    read_fd, write_fd, *outputs, shared = map(int, os.environ.pop("XSTATE_KERNEL_FDS").split(","))
    channel = frames.Channel(read_fd, write_fd)
    options, _ = channel.receive()
    options["args"] = options["args"] or []
    library_caches.start(options["caches"])
    os.chdir(options["folder"])
    sys.path.insert(0, options["folder"])
    sys.argv = ["pytest", *options["args"]]
    random.seed(0)
    channel.send({"ev": "hello"})
    for number, fd in enumerate(outputs, 1):
        os.dup2(fd, number)
        os.close(fd)
    os.close(shared)  # no node runs here
    options["packages"] = _packages()
    watched = tests.Suite(channel, options)
    if importlib.util.find_spec("pytest") is not None:
        from . import pytest as runner
    else:
        from . import plain as runner
    watched.collect()  # not earlier: importing the test runner executes much code
    gc.freeze()  # else each garbage collection would visit the objects of the test runner
    code = runner.run(watched, options)
    channel.send({"ev": "done", "code": code})
    _leave(code)


def _leave(code):
    """Ends the process as Python does, but does not destroy modules and objects."""
    try:
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _packages():
    """Lists the installed packages. A new or updated package may be imported, or may add hooks to the test runner."""
    found = []
    for folder in sys.path:
        if code_owner.is_library_path(os.path.join(folder, "x")) and os.path.isdir(folder):
            for name in os.listdir(folder):
                if name.endswith((".dist-info", ".egg-info", ".egg-link", ".pth")):
                    found.append("%s %d" % (name, os.stat(os.path.join(folder, name)).st_mtime_ns))
    return sorted(found)
