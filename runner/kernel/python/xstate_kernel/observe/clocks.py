"""Observes clocks and the randomness of the operating system. The kernel marks a node that reads one."""

import _datetime
import _random
import gc
import os
import random
import sys
import time

from xstate_kernel import original as __builtins__

from .. import adapters
from ..ground import code_owner
from ..ground.builtin_function import named

_DURATIONS = (
    "perf_counter",
    "perf_counter_ns",
    "monotonic",
    "monotonic_ns",
    "process_time",
    "process_time_ns",
    "thread_time",
    "thread_time_ns",
    "clock_gettime",
    "clock_gettime_ns",
)


def watch(files):
    """Wraps the clocks and the sources of randomness. The wrappers add marks to files while it is active."""
    _watch_clocks(files)
    _watch_urandom(files)
    _watch_seeds(files)


def _watch_clocks(files):
    """Wraps the clocks, so that the kernel observes each read, whatever name or value led to the clock."""
    for name in ("time", "time_ns", "strftime", "ctime"):
        setattr(time, name, _clock(files, getattr(time, name), {"strftime": 1}.get(name, 0), _itself, _itself))
    for name in ("localtime", "gmtime"):
        setattr(time, name, _clock(files, getattr(time, name), 0, _parts_of_time, _time_of_parts))
    for name in _DURATIONS:
        setattr(time, name, _stopwatch(files, getattr(time, name)))
    for cls, name in ((_datetime.date, "today"), (_datetime.datetime, "now"), (_datetime.datetime, "utcnow")):
        (members,) = gc.get_referents(vars(cls))  # Python code cannot set attributes of these classes
        members[name] = _clock_of_class(files, members[name])


def _watch_urandom(files):
    urandom = os.urandom

    def observed_urandom(size):
        if (
            files.active
            and not adapters.seeding()
            and not code_owner.importing()
            and not _drawn_unseen(sys._getframe(1))
        ):
            files.marks.add("entropy")
            source = f"urandom {size}"
            text = files.draws.served(source) or urandom(size).hex()
            files.draws.keep(source, text)
            return bytes.fromhex(text)
        return urandom(size)

    os.urandom = random._urandom = named(observed_urandom, urandom)


def _watch_seeds(files):
    """Wraps the methods that seed a random.Random and set its state.

    A generator without a given seed gets one from the operating system; a copied generator does too. The program may
    set another seed or a state before the first draw, so the wrapper marks nothing yet."""
    state = _random.Random.getstate

    def noting(original):
        def wrapper(generator, *args, **kwargs):
            if files.active and files.chance:
                files.chance = [(g, s) for g, s in files.chance if g is not generator or state(g) != s]
            original(generator, *args, **kwargs)
            if files.active and original is seed and args[:1] in ((), (None,)) and kwargs.get("a") is None:
                if not code_owner.importing() and not _drawn_unseen(sys._getframe(1)):
                    files.chance.append((generator, state(generator)))

        return named(wrapper, original)

    seed = random.Random.seed
    random.Random.seed, random.Random.setstate = noting(seed), noting(random.Random.setstate)
    for f in (random.Random.seed, random.Random.setstate):
        f.__qualname__ = "Random." + f.__name__


def _itself(value):
    return value


def _parts_of_time(t):
    return [list(t), t.tm_zone, t.tm_gmtoff]


def _time_of_parts(parts):
    return time.struct_time(parts[0], {"tm_zone": parts[1], "tm_gmtoff": parts[2]})


def _clock(files, original, given, pack, unpack):
    """Wraps a clock. given is the number of arguments before the time; without a time, the clock uses the present. pack
    makes plain data of its value, and unpack the value again."""
    source = original.__name__

    def clock(*args):
        if files.active and ("clock" not in files.marks or not files.draws.full):
            now = len(args) <= given or args[given] is None
            if (now or given) and _shows_time(sys._getframe(1), now):
                files.marks.add("clock")
                if now:
                    name = " ".join((source, *args[:given])) if given else source
                    value = files.draws.served(name)
                    if value is None:
                        value = pack(original(*args))
                    files.draws.keep(name, value)
                    return unpack(value)
        return original(*args)

    return named(clock, original)


_FIELDS = ("year", "month", "day", "hour", "minute", "second", "microsecond", "fold")


def _clock_of_class(files, original):
    def clock(cls, *args, **kwargs):
        read = original.__get__(None, cls)
        wanted = files.active and ("clock" not in files.marks or not files.draws.full)
        if wanted and _shows_time(sys._getframe(1), True):
            files.marks.add("clock")
            zone = args[0] if args else kwargs.get("tz")
            name = f"{original.__name__} {zone}"
            fields = files.draws.served(name)
            if fields is None:
                value = read(*args, **kwargs)
                fields = [getattr(value, field) for field in _FIELDS if hasattr(value, field)]
            elif len(fields) == 3:
                value = cls(*fields)
            else:
                value = cls(*fields[:7], zone, fold=fields[7])
            files.draws.keep(name, fields)
            return value
        return read(*args, **kwargs)

    clock.__name__, clock.__qualname__, clock.__module__, clock.__doc__ = (
        original.__name__,
        original.__qualname__,
        "datetime",
        original.__doc__,
    )
    return classmethod(clock)


def _stopwatch(files, original):
    """Wraps a clock for durations. It ignores libraries other than timeit, because they measure for themselves."""
    source = original.__name__

    def clock(*args):
        if files.active and (files.duration not in files.marks or not files.draws.full):
            name = sys._getframe(1).f_globals.get("__name__")
            if name == "timeit" or code_owner.kind_of(name) != code_owner.LIBRARY:
                files.marks.add(files.duration)
                name = " ".join((source, *map(str, args)))
                value = files.draws.served(name)
                if value is None:
                    value = original(*args)
                files.draws.keep(name, value)
                return value
        return original(*args)

    return named(clock, original)


def _has_cookies(variables):
    """Reports whether a function of http.cookiejar has cookies, which may expire. It reads the clock first."""
    response = variables.get("response")
    return bool(getattr(variables.get("self"), "_cookies", True)) or (
        response is not None and bool(response.info().get_all("Set-Cookie"))
    )


def _shows_time(frame, now):
    """Reports whether the program sees a time.

    Libraries that wait or keep records read times that the program does not see until a record is formatted."""
    if frame.f_code.co_name == "formatTime":
        return True
    if frame.f_globals.get("__name__") == "http.cookiejar" and not _has_cookies(frame.f_locals):
        return False
    adapter = adapters.of_package(str(frame.f_globals.get("__name__")).partition(".")[0])
    return now and not (adapter and adapter.unseen_time(frame)) and not code_owner.importing()


def _drawn_unseen(frame):
    """Reports whether a draw affects no result.

    Some libraries draw to number their actions. A generator that is copied or unpickled draws a seed before it gets its
    state."""
    for _ in range(3):
        if frame is None:
            return False
        if frame.f_globals.get("__name__") in adapters.UNSEEN_DRAWS:
            return True
        frame = frame.f_back
    return False
