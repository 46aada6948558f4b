"""Speaks with the supervisor of the sandbox, which sees the system calls of this process and of its children.

A call of access(2) on a path below /.xstate is a message. It comes in order with all other calls of the thread. There
is no such folder, so the call changes nothing where nobody listens.
"""

import os

from xstate_kernel import original as __builtins__

_access = os.access  # as it is before the hooks wrap it


def mark(what, name):
    """Sends a message: "begin" or "end" with the number of a node, or "wrote" with the path of a file whose former
    content the hooks have kept."""
    _access(f"/.xstate/{what}/{name}", os.F_OK)
