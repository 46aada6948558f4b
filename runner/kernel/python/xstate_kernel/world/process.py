"""Registrations of the program in the interpreter: streams, hooks, signal handlers, codecs, finders, handlers of
loggers.

Any node may call or change such an object without reading a name of the program. The engine treats it as a change of a
module: it identifies the object by lineage, and undoes the registration only in a new interpreter. The state is
pristine again when every place contains its first object.

A registered file has its position in the file on disk as additional state. For the handlers of logging itself, which
buffer nothing, this is the end of the file. So the kernel reopens them if the engine has restored another content. For
other files the kernel does not know the position: every node counts as writing to them.
"""

import _signal
import codecs
import gc
import io
import os
import stat
import sys
import threading
import warnings

from xstate_kernel import original as __builtins__

from .. import adapters
from ..adapters import logging as log_handlers
from ..ground import code_owner, identity, shutdown
from ..show import formatters
from ..value import walk

_HOOKS = (
    "stdin",
    "stdout",
    "stderr",
    "displayhook",
    "excepthook",
    "unraisablehook",
    "breakpointhook",
    "__stdout__",
    "__stderr__",
)
_SIGNALS = range(1, _signal.NSIG)


class Process:
    def __init__(self, printer, groups):
        self._printer, self._groups = printer, groups
        self.attributes = {}  # what the program put into modules, by module and name
        self._searchers, self._handlers = [], {}  # by name: searchers of codecs, and handlers of errors in text
        self._tracing = (None, None)
        self.traced = False  # a trace function was active in the node
        self._watch_codecs()
        self._start = self._places()
        self._seen, self._others = [], {}  # see _raw; what of it the program put there
        self._registered, self._print = {}, _Print()
        self._adrift = {}  # id of a handler of which the program itself put away the file → the handler

    def _watch_codecs(self):
        register, unregister, register_error = codecs.register, codecs.unregister, codecs.register_error

        def observed_register(search):
            register(search)
            if not code_owner.imported_library():
                self._searchers.append(search)

        def observed_unregister(search):
            unregister(search)
            if search in self._searchers:
                self._searchers.remove(search)

        def observed_register_error(name, handler):
            register_error(name, handler)
            if not code_owner.imported_library():
                self._handlers[name] = handler

        self._forget = lambda search: (unregister(search), register(search))
        for f, name in (
            (observed_register, "register"),
            (observed_unregister, "unregister"),
            (observed_register_error, "register_error"),
        ):
            f.__name__ = f.__qualname__ = name
            f.__module__ = "codecs"
            setattr(codecs, name, f)

    def _raw(self):
        """Returns the objects in the places, in order. They are mostly the same as at the last check."""
        return [
            *map(vars(sys).get, _HOOKS),
            threading.excepthook,
            warnings.showwarning,
            *sys.get_asyncgen_hooks(),
            *gc.callbacks,
            *self._tracing,
            *map(_signal.getsignal, _SIGNALS),
            None,
            *self._searchers,
            *self._handlers,
            *self._handlers.values(),
            None,
            *sys.meta_path,
            None,
            *sys.path_hooks,
            None,
            *shutdown.left(),
        ]

    def _places(self):
        found = {name: getattr(sys, name) for name in _HOOKS}
        found["threading.excepthook"] = threading.excepthook
        found["showwarning"] = warnings.showwarning  # logging.captureWarnings puts its own there
        found["firstiter"], found["finalizer"] = sys.get_asyncgen_hooks()
        for i, hook in enumerate(gc.callbacks):
            found["gc", i] = hook
        found["trace"], found["profile"] = self._tracing
        for n in _SIGNALS:
            found[n] = _signal.getsignal(n)
        for i, search in enumerate(self._searchers):
            found["codec", i] = search
        for name, handler in self._handlers.items():
            found["codec errors", name] = handler
        for i, entry in enumerate(shutdown.left()):
            found["end", i] = entry
        for name in ("meta_path", "path_hooks"):
            for i, finder in enumerate(filter(code_owner.made_by_user, getattr(sys, name))):
                found[name, i] = finder
        return found

    def registered(self):
        """Returns place → what the program registered there."""
        raw = self._raw()
        if not identity.same(raw, self._seen):
            start = self._start
            self._seen, self._others = raw, {k: v for k, v in self._places().items() if v is not start.get(k)}
        found = dict(self._others)
        found.update(adapters.registered())
        found.update(formatters.registered())
        found.update(self.attributes)
        return found

    def latest(self):
        """Returns what registered returned last: when the node began, or after it ran."""
        return self._registered

    def begin(self):
        for search in self._searchers:
            self._forget(search)  # the interpreter caches what it found through it
        self._registered = self.registered()
        for handler in map(log_handlers.file_handler, self._registered.values()):
            if handler is not None and id(handler) not in self._adrift and not log_handlers.at_end(handler):
                log_handlers.reopen(handler)
        self._print = self._of(self._registered)
        self.traced = self._tracing != (None, None)

    def files(self):
        """The files that handlers of loggers write to."""
        return {
            os.path.realpath(h.baseFilename)
            for h in map(log_handlers.file_handler, self._registered.values())
            if h is not None
        }

    def names(self):
        """Returns the names that registered objects may use, and those that share objects with them."""
        return self._print.deps | self.sharing()

    def modules(self):
        """Returns the workspace modules that registered objects come from."""
        return self._print.files

    def logged_to(self):
        """Returns the names that share objects with those to which handlers of libraries may add records."""
        return self._reaching(self._print.untold)

    def sharing(self):
        return self._reaching(self._print.ids | self._print.untold)

    def _reaching(self, ids):
        return {name for name, fp in self._groups.prints.items() if fp.among(ids)} if ids else set()

    def changed(self, bound):
        """Reports whether the registered objects differ from before, or one changed in place. bound returns the names
        that the node bound."""
        before, was, now = self._registered, self._print, self.registered()
        if not now and not before:
            return False
        lost = not self.sharing().isdisjoint(bound())
        self._registered, self._print = now, self._of(now)
        adrift = {
            id(h): h
            for h in map(log_handlers.file_handler, now.values())
            if h is not None and not log_handlers.at_end(h)
        }
        lost = lost or adrift.keys() != self._adrift.keys()
        self._adrift = adrift
        return (
            now.keys() != before.keys()
            or any(before[k] is not v and not (type(v) is tuple and before[k] == v) for k, v in now.items())
            or self._print.opaque
            or self._print.digests != was.digests
            or lost
        )

    def _of(self, registered):
        found = _Print()
        for place, o in registered.items():
            fp = self._printer.of(_visible(o))
            if (
                fp.opaque
                and isinstance(place, tuple)
                and code_owner.kind_of(type(o).__module__) != code_owner.PROGRAM
                and not _writes(o)
            ):
                if log_handlers.is_handler(o):  # it is enough to know that it is there, and what it may hand records to
                    found.untold.update(map(id, walk.mutable(list(vars(o).values()))))
                continue
            found.opaque = found.opaque or bool(fp.opaque)
            found.digests.append(fp.digest)
            found.ids.update(fp.ids)
            found.deps |= fp.deps
            found.files |= fp.files
        return found

    def resume(self):
        for put, f in zip((sys.settrace, sys.setprofile), self._tracing):
            if f is not None:
                put(f)

    def suspend(self):
        found = sys.gettrace(), sys.getprofile()
        if found != (None, None):
            sys.settrace(None)
            sys.setprofile(None)
        self._tracing = found
        self.traced = self.traced or found != (None, None)


class _Print:
    """The registered objects, as far as the kernel can compute a digest of their content."""

    def __init__(self):
        self.digests, self.ids, self.deps, self.files, self.opaque = [], set(), set(), set(), False
        self.untold = set()  # ids of mutable objects without a digest that handlers of libraries hold


def _writes(o):
    """Reports whether an object is a file of the program, or a handler that writes to one."""
    o = getattr(o, "stream", o) if log_handlers.file_handler(o) is None else None
    if not isinstance(o, io.IOBase):
        return False
    try:
        return o.fileno() > 2 and stat.S_ISREG(os.fstat(o.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def _visible(o):
    """Returns the part of an object that a comparison uses. The kernel observes the content of files on disk
    separately, so a file counts only if a buffer may contain data."""
    if isinstance(o, io.IOBase) and not isinstance(o, (io.StringIO, io.BytesIO)):
        return o if _writes(o) else type(o).__name__
    if log_handlers.is_handler(o):
        own = log_handlers.OF_FILE if log_handlers.file_handler(o) is o else ("lock",)
        return [type(o)] + [(k, _visible(v)) for k, v in vars(o).items() if k not in own]
    return o
