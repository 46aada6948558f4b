"""Questions whether a file exists that a function of a library asks before it replaces the file.

The function uses the answer only to remove after a failure what it has made. So the answer counts as read only after a
failure."""

import _thread

from xstate_kernel import original as __builtins__

from .builtin_function import named

_asked = {}  # code of a function that cleans_up wraps → {thread: files that the calls under way asked about}


def asked_by(frame):
    """Returns the list that takes the questions of a frame, or None if they count at once."""
    found = _asked.get(frame.f_code) if frame is not None else None
    return found and found.get(_thread.get_ident())


def cleans_up(original):
    """Wraps such a function."""
    calls = _asked[original.__code__] = {}

    def wrapper(*args, **kwargs):
        thread, mine = _thread.get_ident(), []
        outer, calls[thread] = calls.get(thread), mine
        try:
            return original(*args, **kwargs)
        except BaseException:
            for files, p in mine:
                files.reads.setdefault(p, "presence")
            raise
        finally:
            calls[thread] = outer

    return named(wrapper, original)
