"""The end of the program, and that of the interpreter.

The end of a script is a node. There the kernel waits for the program's threads, and then runs what the program has
registered with atexit and weakref.finalize, in the order of the interpreter: the last one first, and all finalizers
where the first one was made. It keeps the functions, because the engine may want that state again. Other programs have
no end, and what they register never runs.

When the interpreter ends, exit code of libraries runs, for example to remove temporary folders. The kernel also flushes
files. A __del__ of what is still bound does not run: it would act after the last node, unobserved.
"""

import atexit
import gc
import io
import itertools
import os
import sys
import threading
import traceback
import weakref

from xstate_kernel import original as __builtins__

from . import code_owner

_program = []  # what the program registered: a function and its arguments, or a finalizer with them
_FINALIZER = 4  # the length of an entry of a finalizer
script = False  # the program has an end
_ended = threading.Event()  # the main thread has nothing more to do


def watch():
    register, unregister, finalizing = atexit.register, atexit.unregister, weakref.finalize.__init__

    def registered(func, *args, **kwargs):
        if not callable(func) or code_owner.is_library_path(sys._getframe(1).f_code.co_filename):
            return register(func, *args, **kwargs)
        _program.append((func, args, kwargs))
        return func

    def unregistered(func):
        unregister(func)
        _program[:] = [e for e in _program if len(e) == _FINALIZER or not e[0] == func]

    def made(self, *args, **kwargs):
        finalizing(self, *args, **kwargs)
        if not code_owner.is_library_path(sys._getframe(1).f_code.co_filename):
            info = self._registry[self]
            _program.append((self, info.func, info.args, info.kwargs))

    for wrapper, name, original in (
        (registered, "register", register),
        (unregistered, "unregister", unregister),
        (made, "__init__", finalizing),
    ):
        wrapper.__name__, wrapper.__qualname__ = name, original.__qualname__
        wrapper.__module__, wrapper.__doc__ = original.__module__, original.__doc__
    atexit.register, atexit.unregister, weakref.finalize.__init__ = registered, unregistered, made
    if script:
        _watch_main()


def left():
    """Returns what a script has left for its end."""
    if not script:
        return ()
    _program[:] = [e for e in _program if len(e) != _FINALIZER or e[0].alive]
    return (*_program, *_threads())


def _threads():
    """Returns the threads that the interpreter waits for."""
    main = threading.main_thread()
    return [t for t in threading.enumerate() if t is not main and not t.daemon]


def _watch_main():
    """Has the main thread look ended to others while the end of a script waits for them."""
    main, ident = threading.main_thread(), threading.get_ident()

    def join(timeout=None):
        if threading.get_ident() == ident:
            raise RuntimeError("cannot join current thread")
        _ended.wait(timeout)

    vars(main).update(join=join, is_alive=lambda: not _ended.is_set())


def _wait():
    """Has pools of concurrent.futures do what they were given, and waits for all other threads, as the interpreter
    does: to those, the main thread has ended."""
    pools = getattr(sys.modules.get("concurrent.futures.thread"), "_threads_queues", ())
    for t in _threads():
        args = getattr(t, "_args", None) if t in pools else None  # None: it has ended meanwhile
        pool = args and args[0]()
        if pool is not None:
            pool.shutdown()
    _ended.set()
    try:
        while threads := _threads():
            for t in threads:
                t.join()
    finally:
        _ended.clear()


def end():
    """Runs what a script has left for its end."""
    _wait()
    first = next((e for e in _program if len(e) == _FINALIZER), None)
    for entry in reversed(tuple(_program)):
        if not any(e is entry for e in _program):
            continue  # a handler has removed it
        if entry is first:
            _finalize()
        elif len(entry) != _FINALIZER:
            _call(*entry)


def _call(func, args, kwargs):
    try:
        func(*args, **kwargs)
    except KeyboardInterrupt:
        raise
    except BaseException as e:
        _print(e, f"Exception ignored in atexit callback: {func!r}\n")


def _finalize():
    while True:
        alive = [e[0] for e in _program if len(e) == _FINALIZER and e[0].alive and e[0].atexit]
        if not alive:
            return
        try:
            max(alive, key=lambda f: f._registry[f].index)()
        except KeyboardInterrupt:
            raise
        except Exception as e:
            _print(e, "")


def _print(e, head):
    tb = e.__traceback__ and e.__traceback__.tb_next  # without this module
    sys.stderr.write(head + "".join(traceback.format_exception(type(e), e, tb)))


def run(code=0):
    for e in _program:
        if len(e) == _FINALIZER:
            e[0].detach()
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
