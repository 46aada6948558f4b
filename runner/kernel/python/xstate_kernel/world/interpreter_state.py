"""Hidden state of the interpreter itself: limits, paths, locale, time zone, the collector of garbage, and more."""

import _locale
import _signal
import gc
import os
import resource
import sys
import threading
import time

from xstate_kernel import original as __builtins__

from ..ground import descriptors, shutdown
from ..ground.hidden_variable import Counter, Variable


class Collector:
    """The garbage collection. It is active only while the program runs.

    The kernel's own objects need no collector. Visiting all objects of the program takes longer than checking what a
    node changed. The collector skips the objects that exist when the kernel starts, instead of visiting them each time.
    """

    def __init__(self):
        self.paused = True
        self._enabled = gc.isenabled()
        gc.disable()

    def get(self):
        return self._enabled if self.paused else gc.isenabled(), gc.get_threshold()

    def put(self, value):
        self._enabled, threshold = value
        if not self.paused:
            self.resume()
        gc.set_threshold(*threshold)

    def resume(self):
        self.paused = False
        (gc.enable if self._enabled else gc.disable)()

    def pause(self):
        self.paused, self._enabled = True, gc.isenabled()
        gc.disable()


def variables(collector):
    """Returns the variables of the interpreter, and begins to observe the time zone and the names of threads."""
    _watch_zone()
    threads = Variable("conf:threads", lambda: threading._counter.__self__.next, _set_threads, precise=True)
    threading._counter = Counter(threads, 1).number
    files = descriptors.variable = Variable("conf:descriptors", descriptors.get, descriptors.put, precise=True)
    found = [
        Variable(
            "conf:locale", lambda: _locale.setlocale(_locale.LC_ALL), lambda v: _locale.setlocale(_locale.LC_ALL, v)
        ),
        Variable("conf:recursion", sys.getrecursionlimit, sys.setrecursionlimit),
        Variable("conf:sys.path", lambda: list(sys.path), _set_sys_path),
        files,
        Variable("conf:gc", collector.get, collector.put),
        Variable("conf:umask", _umask, os.umask),
        Variable("conf:time-zone", _zone, _set_zone),
        Variable("conf:rlimits", lambda: [resource.getrlimit(r) for r in _RLIMITS], _set_rlimits),
        threads,
        Variable("conf:interpreter", lambda: [get() for get, _ in _SETTINGS], _set_settings),
        Variable("cwd", os.getcwd, os.chdir),
        Variable("conf:exit", lambda: bool(shutdown.left()), lambda v: None, precise=True),  # see process.py
    ]
    if hasattr(sys, "set_int_max_str_digits"):
        found.append(Variable("conf:int-digits", sys.get_int_max_str_digits, sys.set_int_max_str_digits))
    return found


def _set_sys_path(value):
    sys.path[:] = value


def _set_threads(value):
    threading._counter.__self__.next = value


_SETTINGS = (
    (sys.getswitchinterval, lambda v: sys.setswitchinterval(v + 5e-7)),  # what is between microseconds is cut off
    (gc.get_debug, gc.set_debug),
    (sys.get_coroutine_origin_tracking_depth, sys.set_coroutine_origin_tracking_depth),
    (sys.getdlopenflags, sys.setdlopenflags),
    (
        lambda: sorted(map(int, _signal.pthread_sigmask(_signal.SIG_BLOCK, ()))),
        lambda v: _signal.pthread_sigmask(_signal.SIG_SETMASK, v),
    ),
    (lambda: threading.main_thread().name, lambda v: setattr(threading.main_thread(), "name", v)),
)


def _set_settings(value):
    for (_, put), v in zip(_SETTINGS, value):
        put(v)


def _umask():
    mask = os.umask(0o77)
    os.umask(mask)
    return mask


_zone_taken = None  # the value that the last call of tzset read from the environment; no function returns it later


def _watch_zone():
    """time.tzset takes the time zone from the environment."""
    global _zone_taken
    tzset = time.tzset
    _zone_taken = _zone_variable()

    def wrapper():
        global _zone_taken
        tzset()
        _zone_taken = _zone_variable()

    wrapper.__name__ = wrapper.__qualname__ = "tzset"
    wrapper.__module__ = "time"
    time.tzset = wrapper


def _zone_variable():
    return os.environ._data.get(b"TZ")


def _zone():
    return _zone_taken, _zone_variable()  # the variable alone counts, too: C's mktime and strftime look at it


def _set_zone(value):
    for zone, then in zip(value, (time.tzset, lambda: None)):
        if zone is None:
            os.environ.pop("TZ", None)
        else:
            os.environ["TZ"] = os.fsdecode(zone)
        then()


_RLIMITS = sorted({getattr(resource, n) for n in dir(resource) if n.startswith("RLIMIT_")})


def _set_rlimits(value):
    for r, limits in zip(_RLIMITS, value):
        if resource.getrlimit(r) != tuple(limits):
            resource.setrlimit(r, tuple(limits))
