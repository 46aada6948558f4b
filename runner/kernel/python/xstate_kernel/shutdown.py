"""The end of the interpreter.

Exit code of the program (atexit, __del__, weakref.finalize) does not run: it would act after the last node, unobserved.
Exit code of libraries runs, for example to remove temporary folders. The kernel also flushes files.
"""

import atexit
import gc
import io
import itertools
import os
import sys
import weakref

from xstate_kernel import original as __builtins__

from . import code_owner

_program = []  # functions that the program registered


def watch():
    register = atexit.register

    def registered(func, *args, **kwargs):
        if not code_owner.is_library_path(sys._getframe(1).f_code.co_filename):
            _program.append(func)
        return register(func, *args, **kwargs)

    registered.__name__ = registered.__qualname__ = "register"
    registered.__module__, registered.__doc__ = register.__module__, register.__doc__
    atexit.register = registered


def run(code=0):
    for func in _program:
        atexit.unregister(func)
    for reference, info in list(weakref.finalize._registry.items()):
        if code_owner.kind_of(getattr(info.func, "__module__", None)) != code_owner.LIBRARY:
            reference.detach()
    atexit._run_exitfuncs()
    flush()
    os._exit(code)


def ending(e):
    """Returns how a SystemExit ends the program, as the interpreter does: its code, and the text that it prints.

    Of an int, the system keeps the last eight bits."""
    code = e.code
    if code is None:
        return {"code": 0, "type": type(e).__name__, "message": ""}
    if issubclass(type(code), int):
        number = int.__add__(code, 0)  # and not what a subclass makes of it
        fits = -(1 << 63) <= number < 1 << 63
        return {"code": number & 0xFF if fits else 0xFF, "type": type(e).__name__, "message": str(number)}
    try:
        text = str(code)
        sys.stderr.write(text + "\n")
    except BaseException:  # the interpreter ends without it
        text = ""
    return {"code": 1, "type": type(e).__name__, "message": text[:10000]}


def flush():
    """Writes what the buffers of open files hold, as the end of an interpreter does."""
    objects = gc.get_objects()  # maybe a million
    files = {t for t in set(map(type, objects)) if issubclass(t, (io.TextIOWrapper, io.BufferedWriter))}
    for o in itertools.compress(objects, map(files.__contains__, map(type, objects))):
        try:
            o.flush()
        except Exception:
            pass
