"""A full disk. If it stops a write of the kernel itself, that is not a failure of the program."""

import errno
import os

from xstate_kernel import original as __builtins__

FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
channel = None  # to the engine, in a kernel


def check(error, what):
    """Ends the kernel if its own write failed because the disk is full. The engine reports that."""
    if channel is not None and error.errno in FULL:
        channel.send({"ev": "full", "what": what})
        os._exit(1)


def filled(error):
    """Reports whether a full disk is the reason of an exception."""
    seen = []
    while error is not None and not any(error is s for s in seen):
        if isinstance(error, OSError) and error.errno in FULL:
            return True
        seen.append(error)
        error = error.__cause__ or error.__context__
    return False
