"""Speaks with the supervisor of the sandbox, which sees the system calls of this process and of its children.

A call of access(2) on a path below /.xstate is a message. It comes in order with all other calls of the thread. The
folder does not exist, so the call changes nothing without a supervisor.
"""

import _frozen_importlib
import functools
import os
import sys
from _thread import get_ident

from xstate_kernel import original as __builtins__

from ..bundle import UNASKED

_access = os.access  # as it is before the hooks wrap it


def unasked(look):
    """Returns os.stat or os.lstat for absolute paths, which does not ask the supervisor. Use it where the answer of the
    supervisor would count for nothing: a question takes longer than the look."""
    return functools.partial(look, dir_fd=UNASKED) if sys.platform == "linux" else look


def mark(what, name):
    """Sends a message: "begin" or "end" with the number of a node, or "wrote" with the path of a file whose former
    content the hooks have kept."""
    _access(f"/.xstate/{what}/{name}", os.F_OK)


def watch_imports():
    """Reports to the supervisor when a thread begins to import and when that ends. An import looks for modules in the
    workspace, and a library for its own files: these look-ups are not inputs of the node."""
    bootstrap = _frozen_importlib.__dict__
    find, modules, threads = bootstrap["_find_and_load"], sys.modules, set()

    def marked(name, import_):
        thread = get_ident()
        if thread in threads or name in modules:
            return find(name, import_)
        threads.add(thread)
        _access("/.xstate/import/begin", 0)
        try:
            return find(name, import_)
        finally:
            threads.discard(thread)
            _access("/.xstate/import/end", 0)

    # The frame is one of importlib's: these are left out of tracebacks, and known to those who walk frames.
    marked.__code__ = marked.__code__.replace(co_filename="<frozen importlib._bootstrap>")
    bootstrap["_find_and_load"] = marked
    mark("import", "told")
