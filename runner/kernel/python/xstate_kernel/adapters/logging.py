"""The module logging: its levels and loggers are hidden state. The program registers handlers, which may write files.

The state of such a file is on disk, and the position of its handler is the end of the file. The handlers of logging
itself buffer nothing. So the kernel reopens them if the engine has restored another content.
"""

import fcntl
import os
import sys

from xstate_kernel import original as __builtins__

from ..ground import callers, code_owner
from ..ground.hidden_variable import Variable, noting_first, watch_items
from .protocol import Adapter

_KERNEL = "kernel"
OF_FILE = frozenset(("lock", "stream", "dev", "ino"))  # attributes of a handler that show how its file was opened


class Logging(Adapter):
    packages = ("logging",)
    keeps_time = True
    changed_by = {"logging": {"addLevelName": ("_levelToName", "_nameToLevel")}}
    attributes_read = frozenset(("level", "propagate", "disabled", "manager", "vars", "__dict__"))

    def __init__(self):
        self._library_levels = {}  # name of a logger → its level, which a library set during its import
        self._later = set()  # names of loggers that the program creates in some node
        self._made = {}  # names of loggers that the program's code created, but not during the import of a module

    def variables(self):
        self.levels = Variable(
            "conf:logging",
            self._get,
            self._put,
            lambda: hasattr(sys.modules.get("logging"), "root"),
            "logging",
            precise=True,
        )
        self.loggers = Variable("conf:loggers", lambda: sorted(self._made), self._put_loggers, precise=True)
        return self.levels, self.loggers

    def attributes_variable(self):
        return self.levels if "logging" in sys.modules else None

    def after_import(self):
        return {"logging": self._watch, "logging.config": self._watch_configuration}

    def _watch(self, hidden, module):
        """Observes code that logs, or that reads or sets a level, and code that creates a logger."""
        variable, library_levels, later, made = self.levels, self._library_levels, self._later, self._made

        def note(*_, **__):
            variable.touched = True

        callers.hide_from_logging(module)
        module.disable = noting_first(module.disable, note, module)
        cls, original = module.Logger, module.Logger.setLevel

        def setLevel(self, level):
            original(self, level)
            if code_owner.imported_library():
                library_levels[self.name] = self.level

        setLevel.__qualname__, setLevel.__module__ = original.__qualname__, original.__module__
        setLevel.__doc__ = original.__doc__
        cls.setLevel = setLevel
        get = module.Manager.getLogger

        def getLogger(self, name):
            text = code_owner.is_a(name, str)
            known = not text or code_owner.is_a(self.loggerDict.get(name), module.Logger)
            if not known or (text and name in later and name not in made):
                caller = _caller(sys._getframe(1))
                if not known and caller != code_owner.LIBRARY:
                    later.add(name)
                if name in later and caller != _KERNEL:
                    made[name] = None
            return get(self, name)

        getLogger.__qualname__, getLogger.__module__ = get.__qualname__, get.__module__
        getLogger.__doc__ = get.__doc__
        module.Manager.getLogger = getLogger
        watch_items(cls, variable, ("isEnabledFor", "getEffectiveLevel", "handle", "setLevel"))
        hidden.begin(variable)

    def _watch_configuration(self, hidden, module):
        """Wraps logging.config, which disables existing loggers.

        The wrapper spares loggers of blocks that come later in the program."""
        logging, original = sys.modules["logging"], module._handle_existing_loggers
        variable, later, made = self.loggers, self._later, self._made

        def note(*_, **__):
            variable.touched = True
            for name in made:
                logging.getLogger(name)  # this interpreter may not have the logger yet

        def _handle_existing_loggers(existing, *args):
            original([name for name in existing if name in made or name not in later], *args)

        for name in ("dictConfig", "fileConfig"):
            setattr(module, name, noting_first(getattr(module, name), note, module))
        module._handle_existing_loggers = _handle_existing_loggers

    def _loggers(self):
        """Yields every logger, and the level that it has without the program."""
        logging = sys.modules["logging"]
        yield logging.root, self._library_levels.get("root", logging.WARNING)
        for name, x in list(logging.root.manager.loggerDict.items()):
            if isinstance(x, logging.Logger):
                yield x, self._library_levels.get(name, logging.NOTSET)

    def _get(self):
        """Returns the settings that the program changed: level, propagate and disabled of each logger."""
        changed = [
            (x.name, x.level, x.propagate, x.disabled)
            for x, level in self._loggers()
            if x.level != level or not x.propagate or x.disabled
        ]
        return sys.modules["logging"].root.manager.disable, sorted(changed)

    def _put(self, value):
        manager = sys.modules["logging"].root.manager
        manager.disable = value[0]
        for x, level in self._loggers():
            x.level, x.propagate, x.disabled = level, True, False
        for name, *settings in value[1]:
            x = sys.modules["logging"].getLogger(name)
            x.level, x.propagate, x.disabled = settings
        manager._clear_cache()

    def _put_loggers(self, value):
        self._made.clear()
        self._made.update(dict.fromkeys(value))

    def registered(self):
        """Returns the logger class, filters and handlers that the program set. Levels are plain data, see _get."""
        logging = sys.modules.get("logging")
        if logging is None:
            return {}
        found = {}
        if logging.getLoggerClass() is not logging.Logger:
            found["logger class"] = logging.getLoggerClass()
        made = [x for x in logging.root.manager.loggerDict.values() if isinstance(x, logging.Logger)]
        for x in [logging.root, *made]:
            handlers = [h for h in x.handlers if type(h).__name__ != "NullHandler"]
            if x.filters:
                found["logger", x.name] = tuple(x.filters)
            for i, h in enumerate(handlers):
                found["handler", x.name, i] = h
        return found

    def writes_line_numbers(self):
        """Reports whether a formatter writes the line of the code that logs."""
        for reference in getattr(sys.modules.get("logging"), "_handlerList", ()):
            formatter = getattr(reference(), "formatter", None)
            if "lineno" in str(getattr(formatter, "_fmt", None)):
                return True
        return False


def _caller(frame):
    """Returns the owner of the code that requests a logger: program, library, or the kernel during a restore.

    A module that is being imported counts as a library."""
    while frame.f_globals.get("__name__") == "logging":
        frame = frame.f_back
    name = str(frame.f_globals.get("__name__"))
    if name.startswith("xstate_kernel"):
        return _KERNEL
    if code_owner.kind_of(name) != code_owner.LIBRARY and not code_owner.importing():
        return code_owner.PROGRAM
    return code_owner.LIBRARY


def is_handler(o):
    """Reports whether an object is a handler of log records."""
    return isinstance(o, getattr(sys.modules.get("logging"), "Handler", ()))


def file_handler(o):
    """Returns the file handler of logging itself that o is, or that o forwards records to, or None."""
    logging = sys.modules.get("logging")
    if not is_handler(o):
        return None
    if isinstance(o, logging.FileHandler):
        return o if type(o).__module__.partition(".")[0] == "logging" else None
    return file_handler(getattr(o, "target", None))


def at_end(handler):
    """Reports whether a handler writes to the end of the file at its path."""
    stream = handler.stream
    if stream is None:
        return True
    try:
        st, fd = os.stat(handler.baseFilename), stream.fileno()
        if not os.path.samestat(st, os.fstat(fd)):
            return False
        return bool(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_APPEND) or os.lseek(fd, 0, os.SEEK_CUR) == st.st_size
    except (OSError, ValueError):
        return False


def reopen(handler):
    """Makes a handler write to the end of the file that is now at its path."""
    handler.stream.close()
    handler.stream = None  # the handler opens a stream at its next write
    if os.path.exists(handler.baseFilename):
        mode, errors = "a" if "a" in handler.mode else "r+", getattr(handler, "errors", None)
        handler.stream = open(handler.baseFilename, mode, encoding=handler.encoding, errors=errors)
        handler.stream.seek(0, os.SEEK_END)


adapter = Logging()
