"""Hides the frames of the kernel from a program that looks at its callers: below the program there is none.

Warnings need nothing: the module warnings skips the kernel's files by their path, see driverName.
"""

import sys
import traceback

from xstate_kernel import original as __builtins__

from . import code_owner


def of_kernel(frame):
    return frame.f_code.co_filename.startswith(code_owner.FOLDER)


def hide():
    """Wraps traceback.walk_stack, by which the functions of traceback list a stack."""
    walk_stack = traceback.walk_stack

    def observed_walk_stack(f):
        if f is None:  # it counts the frames above itself
            return walk_stack(f)
        return _above_kernel(walk_stack(f))

    traceback.walk_stack = _named(observed_walk_stack, walk_stack)


def _above_kernel(frames):
    for frame, line in frames:
        if of_kernel(frame):
            return
        yield frame, line


def hide_from_inspect(inspect):
    getouterframes = inspect.getouterframes

    def observed_getouterframes(frame, context=1):
        above = []
        for info in getouterframes(frame, context):
            if of_kernel(info.frame):
                break
            above.append(info)
        return above

    inspect.getouterframes = _named(observed_getouterframes, getouterframes)


def hide_from_logging(logging):
    """Wraps the search for the caller that a record cites: it ends at the last frame of the program."""
    if sys.version_info < (3, 11):
        return  # there, the wrapper itself would be found
    find = logging.Logger.findCaller

    def findCaller(self, stack_info=False, stacklevel=1):
        found = find(self, stack_info, stacklevel)
        while stacklevel > 1 and found[0].startswith(code_owner.FOLDER):
            stacklevel -= 1
            found = find(self, stack_info, stacklevel)
        return found

    logging.Logger.findCaller = _named(findCaller, find)


def _named(wrapper, original):
    wrapper.__name__, wrapper.__qualname__ = original.__name__, original.__qualname__
    wrapper.__module__, wrapper.__doc__ = original.__module__, original.__doc__
    return wrapper
