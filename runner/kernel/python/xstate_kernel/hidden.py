"""Hidden state: what outlives a node without being in the namespace.

Each variable has a key, a way to read it as plain data, a way to put it back, and a pristine value that stands for
"as in a fresh interpreter" (digest absent). Some say precisely when a node read them, by an instrumented accessor;
for the others every node counts as a reader, which is sound and only matters when a program changes them.
"""
from . import original as __builtins__
import _abc
import _locale
import _signal
import abc
import gc
import marshal
import os
import pickle
import random
import resource
import sys
import threading
import time
import warnings
import weakref
from itertools import islice
from operator import is_

from . import blake2b, code_owner, descriptors

_PLAIN = frozenset((int, str, float, bool, type(None)))


class Variable:
    """One piece of hidden state."""

    precise = False  # whether touched tells exactly that a node read it

    def __init__(self, key, get, put, loaded=lambda: True):
        self.key, self.get, self.put, self.loaded = key, get, put, loaded
        self.touched = False
        self.last = None, None  # what was hashed last, and its digest
        self.pristine = None
        self.known = False
        self.start = None   # digest when the node began
        self.put_anew = False  # set by the node, perhaps to what it was: it is so then, whatever it was
        self.fresh = False  # seeded by the node before it drew anything
        self.unseeded = False  # seeded by the node from the operating system
        self.arm = lambda: None  # makes the next read be noted

    def begin(self, digest):
        """A node begins; digest is that of the value now, None where there is none."""
        self.touched, self.put_anew, self.fresh, self.unseeded = False, False, False, False
        self.start = digest
        self.arm()

    def digest(self, value):
        try:
            data = marshal.dumps(value, 2)  # some eight times as fast as repr
        except ValueError:
            data = repr(value).encode()
        if data != self.last[0]:
            self.last = data, blake2b(data, digest_size=20).hexdigest()
        return self.last[1]


class Settings(Variable):
    """Hundreds of options, few of which are not plain."""

    precise = True

    def __init__(self, *args):
        super().__init__(*args)
        self._names, self._values, self._lists, self._others, self._plain = [], [], [], [], b""

    def digest(self, value):
        names, values = list(value), list(value.values())
        if names != self._names or not all(map(is_, values, self._values)):
            self._names, self._values = names, values
            self._lists = [v for v in values if type(v) is list]
            self._others = [v for v in values if type(v) is not list and type(v) not in _PLAIN]
            self._plain = marshal.dumps([(k, v) for k, v in value.items() if type(v) in _PLAIN], 2)
        return super().digest((self._plain, self._lists, list(map(repr, self._others))))


class Collector:
    """The collection of garbage. It works while the program does: what the kernel makes goes by itself, and going through all
    of the program's objects takes longer than looking at what a node changed. What the kernel has when it starts is left out of it:
    that would be gone through each time."""

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


class Hidden:
    def __init__(self, seed, names):
        self.seed = seed
        self.names = names
        self.collector = Collector()
        self.variables = [
            Variable("rng:random", random.getstate, random.setstate),
            Variable("rng:numpy", _numpy_state, _set_numpy_state, lambda: "numpy.random" in sys.modules),
            Settings("conf:matplotlib", _mpl_get, _mpl_put, lambda: "matplotlib" in sys.modules and hasattr(sys.modules["matplotlib"], "rcParams")),
            Variable("conf:colors", _colors_get, _colors_put, lambda: hasattr(sys.modules.get("matplotlib.colors"), "_colors_full_map")),
            Variable("conf:sklearn", _sklearn_get, _sklearn_put, lambda: _sklearn is not None),
            Variable("conf:numpy", _numpy_get, _numpy_put, lambda: hasattr(sys.modules.get("numpy"), "set_printoptions")),
            Variable("conf:warnings", _warnings_get, _warnings_put),
            Variable("conf:decimal", _decimal_get, _decimal_put, lambda: _context is not None),
            Variable("conf:locale", lambda: _locale.setlocale(_locale.LC_ALL), lambda v: _locale.setlocale(_locale.LC_ALL, v)),
            Variable("conf:recursion", sys.getrecursionlimit, sys.setrecursionlimit),
            Variable("conf:sys.path", lambda: list(sys.path), _set_sys_path),
            Variable("conf:argv", lambda: list(sys.argv), _set_argv),
            Variable("conf:descriptors", descriptors.get, descriptors.put),
            Variable("conf:gc", self.collector.get, self.collector.put),
            Variable("conf:umask", _umask, os.umask),
            Variable("conf:time-zone", _zone, _set_zone),
            Variable("conf:rlimits", lambda: [resource.getrlimit(r) for r in _RLIMITS], _set_rlimits),
            Variable("conf:socket", lambda: sys.modules["socket"].getdefaulttimeout(), lambda v: sys.modules["socket"].setdefaulttimeout(v), lambda: hasattr(sys.modules.get("socket"), "getdefaulttimeout")),
            Variable("conf:csv", _csv_get, _csv_put, lambda: hasattr(sys.modules.get("csv"), "list_dialects")),
            Variable("conf:mimetypes", _mimetypes_get, _mimetypes_put, lambda: "mimetypes" in sys.modules),
            Variable("conf:logging", _logging_get, _logging_put, lambda: hasattr(sys.modules.get("logging"), "root")),
            Variable("conf:loggers", lambda: sorted(_made_loggers), _put_loggers),
            Variable("conf:threads", lambda: threading._counter.__self__.next, _set_threads),
            Variable("conf:pools", lambda: _pools()._counter.__self__.next, _set_pools, lambda: hasattr(_pools(), "_counter")),
            Variable("conf:interpreter", lambda: [get() for get, _ in _SETTINGS], _set_settings),
            Variable("cwd", os.getcwd, os.chdir),
        ]
        for group in _PANDAS:
            self.variables.append(_pandas_variable(group))
        if hasattr(sys, "set_int_max_str_digits"):
            self.variables.append(Variable("conf:int-digits", sys.get_int_max_str_digits, sys.set_int_max_str_digits))
        _watch_zone()
        self.by_key = {v.key: v for v in self.variables}
        for key in ("rng:random", "rng:numpy", "conf:descriptors", "conf:loggers", "conf:logging", "conf:threads", "conf:pools"):
            self.by_key[key].precise = True
        descriptors.variable = self.by_key["conf:descriptors"]
        threading._counter = _Threads(self.by_key["conf:threads"], 1).number
        random.seed(seed)
        _watch_state(random, self.by_key["rng:random"], ("seed", "getstate", "setstate"))
        self._imports = Importing(self)
        sys.meta_path.insert(0, self._imports)
        if "logging" in sys.modules:
            self._imports.loaded("logging")
        if "logging.config" in sys.modules:
            self._imports.loaded("logging.config")

    def snapshot(self):
        """Returns key → (digest, value, own digest); a pristine value has "" for the first."""
        found = {}
        for v in self.variables:
            if not v.loaded():
                continue
            try:
                value = v.get()
                digest = v.digest(value)
            except Exception:
                continue
            if not v.known:
                v.known, v.pristine = True, (digest, value)
            found[v.key] = ("" if digest == v.pristine[0] else digest, value, digest)
        return found

    def levels_asked(self, codes):
        """Code that names an attribute that tells of the levels of loggers asks for them."""
        if "logging" in sys.modules and any(not _LEVELS.isdisjoint(c.co_names) for c in codes):
            self.by_key["conf:logging"].touched = True

    def restore(self, key, blob):
        """Puts a variable back: to the pickled value, or to the pristine one when blob is None."""
        v = self.by_key[key]
        if not v.loaded():
            if blob is None:
                return
            __import__({"rng:numpy": "numpy.random", "conf:colors": "matplotlib", "conf:pools": "concurrent.futures.thread"}.get(key, key.partition(":")[2].partition(".")[0]))
        if not v.known:
            self.snapshot()
        v.put(v.pristine[1] if blob is None else pickle.loads(blob))


class Importing:
    """Sees a few packages being imported, to give their hidden state a known beginning.

    Entries that an import adds to the warning filters belong to the package, not to the program.
    """

    def __init__(self, hidden):
        self._hidden = hidden
        self._busy = set()

    def find_spec(self, name, path=None, target=None):
        if name not in _NOTED or name in self._busy:
            return None
        import importlib.util
        self._busy.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._busy.discard(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _After(spec.loader, lambda: self.loaded(name))
        return spec

    def loaded(self, name):
        if name == "numpy.random":
            np_random = sys.modules["numpy.random"]
            np_random.seed(self._hidden.seed & 0xFFFFFFFF)
            _watch_state(np_random, self._hidden.by_key["rng:numpy"], ("seed", "get_state", "set_state"))
            self._begin("rng:numpy")
            _watch_legacy(sys.modules["numpy.random.mtrand"])
        elif name == "concurrent.futures.thread":
            _pools()._counter = _Threads(self._hidden.by_key["conf:pools"], 0).number
            self._begin("conf:pools")
        elif name == "logging":
            _watch_loggers(sys.modules[name], self._hidden.by_key["conf:logging"])
            self._begin("conf:logging")
        elif name == "logging.config":
            _watch_configuration(sys.modules[name], self._hidden.by_key["conf:loggers"])
        elif name in ("csv", "decimal", "socket"):
            if name == "decimal":
                _note_context()
            self._begin("conf:" + name)
        elif name == "matplotlib":
            self._begin("conf:matplotlib")
            self._begin("conf:colors")
            _watch_colormaps(type(sys.modules[name].colormaps))
            _watch_item(sys.modules[name].RcParams, self._hidden.by_key["conf:matplotlib"], ("__getitem__", "_get", "__setitem__", "_set"))
        elif name == "unittest.mock":
            _mark_repr(sys.modules[name].NonCallableMock, "__repr__")
        elif name == "asyncio.base_tasks":
            _mark_repr(sys.modules[name], "_task_repr" if sys.version_info >= (3, 11) else "_task_repr_info")  # before _asyncio takes it
        elif name == "sklearn._config":
            _watch_sklearn(sys.modules[name], self._hidden.by_key["conf:sklearn"])
            self._begin("conf:sklearn")
        elif name == "pandas.core.computation.scope":
            _watch_names(sys.modules[name].Scope, self._hidden.names)
        else:
            _watch_options(sys.modules[name], {g: self._hidden.by_key["conf:pandas." + g] for g in _PANDAS})

    def _begin(self, key):
        """Takes the value as it is when the package was just loaded for the pristine one."""
        v = self._hidden.by_key[key]
        value = v.get()
        v.known, v.pristine = True, (v.digest(value), value)
        v.start = v.pristine[0]


_NOTED = frozenset(("numpy.random", "pandas._config.config", "pandas.core.computation.scope", "matplotlib", "sklearn._config", "csv", "decimal", "logging", "logging.config", "socket", "concurrent.futures.thread", "unittest.mock", "asyncio.base_tasks"))


class _After:
    def __init__(self, loader, then):
        self._loader, self._then = loader, then

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._then()


def _watch_state(module, variable, names):
    """Wraps the functions of a module that seed a generator, and that give and set its state, so that who sets it before any draw does
    not count as reading it, and who asks for it does."""
    seed, give, put = names

    def setting(*args, **kwargs):
        if variable.start is not None and not variable.touched and variable.digest(variable.get()) == variable.start:
            variable.fresh = True
        variable.put_anew = True

    def seeding(*args, **kwargs):
        setting()
        variable.unseeded = not any(a is not None for a in (*args[:1], *kwargs.values()))

    def giving(*args, **kwargs):
        variable.touched = variable.touched or not variable.fresh

    for name, note in ((seed, seeding), (give, giving), (put, setting)):
        setattr(module, name, _noting_first(getattr(module, name), note, module))


def _noting_first(function, note, module):
    def wrapper(*args, **kwargs):
        note(*args, **kwargs)
        return function(*args, **kwargs)

    wrapper.__name__ = wrapper.__qualname__ = function.__name__
    wrapper.__module__ = module.__name__
    wrapper.__doc__ = function.__doc__
    return wrapper


made = []  # generators that RandomState made in the node, as yet without a seed; None: it is making one


def _watch_legacy(module):
    """RandomState(seed) makes a generator that takes its seed from the operating system, and then gives it another."""
    original = module._MT19937

    class Making(type):
        def __call__(cls, *args, **kwargs):
            global made
            found, made = made, None
            try:
                g = original(*args, **kwargs)
            finally:
                made = found
            if made is not None and not code_owner.importing():
                made.append(g)
            return g

        def __instancecheck__(cls, o):
            return isinstance(o, original)

    module._MT19937 = Making("MT19937", (), {})


def left_unseeded():
    """Reports whether RandomState made a generator that did not get a seed. Forgets them."""
    global made
    found, made = made, []
    return any(getattr(g, "_seed_seq", g) is not None for g in found or ())


def _watch_item(cls, variable, names):
    """Notes the first use of an item in a node; there are tens of thousands in a drawing. Who sets one, perhaps to what it was, reads what
    the others are."""
    own = {name: vars(cls)[name] for name in names if name in vars(cls)}

    def noting(name):
        def used(self, *args, **named):
            variable.touched = True
            put(own)
            return own[name](self, *args, **named)

        used.__name__, used.__qualname__, used.__module__ = name, own[name].__qualname__, own[name].__module__
        return used

    def put(methods):
        for name, method in methods.items():
            setattr(cls, name, method)

    watched = {name: noting(name) for name in own}
    variable.arm = lambda: put(watched)
    variable.arm()


_LEVELS = frozenset(("level", "propagate", "disabled", "manager", "vars", "__dict__"))  # attributes that tell of the levels of loggers
_library_levels = {}  # name of a logger → its level, which a library set when it was imported


def _watch_loggers(module, variable):
    """Notes who logs, asks for a level or sets one."""
    def note(*_, **__):
        variable.touched = True

    module.disable = _noting_first(module.disable, note, module)
    cls, original = module.Logger, module.Logger.setLevel

    def setLevel(self, level):
        original(self, level)
        if code_owner.imported_library():
            _library_levels[self.name] = self.level

    setLevel.__qualname__, setLevel.__module__, setLevel.__doc__ = original.__qualname__, original.__module__, original.__doc__
    cls.setLevel = setLevel
    get = module.Manager.getLogger

    def getLogger(self, name):
        known = not code_owner.is_a(name, str) or code_owner.is_a(self.loggerDict.get(name), module.Logger)
        if not known or code_owner.is_a(name, str) and name in _later and name not in _made_loggers:
            who = _who_asks(sys._getframe(1))
            if not known and who != code_owner.LIBRARY:
                _later.add(name)
            if name in _later and who != _KERNEL:
                _made_loggers[name] = None
        return get(self, name)

    getLogger.__qualname__, getLogger.__module__, getLogger.__doc__ = get.__qualname__, get.__module__, get.__doc__
    module.Manager.getLogger = getLogger
    _watch_item(cls, variable, ("isEnabledFor", "getEffectiveLevel", "handle", "setLevel"))


_KERNEL = "kernel"
_later = set()  # names of loggers that the program makes somewhere


def _who_asks(frame):
    """Tells who asks for a logger: the program, the kernel, which restores something, or a library. A module that is imported counts as one."""
    while frame.f_globals.get("__name__") == "logging":
        frame = frame.f_back
    name = str(frame.f_globals.get("__name__"))
    if name.startswith("xstate_kernel"):
        return _KERNEL
    return code_owner.PROGRAM if code_owner.kind_of(name) != code_owner.LIBRARY and not code_owner.importing() else code_owner.LIBRARY


def _loggers():
    """Yields every logger, its level as it is without the program."""
    logging = sys.modules["logging"]
    yield logging.root, _library_levels.get("root", logging.WARNING)
    for name, x in list(logging.root.manager.loggerDict.items()):
        if isinstance(x, logging.Logger):
            yield x, _library_levels.get(name, logging.NOTSET)


def _logging_get():
    """The levels of loggers, whether others hear of them, and which are disabled, as the program set it."""
    return sys.modules["logging"].root.manager.disable, sorted((x.name, x.level, x.propagate, x.disabled) for x, level in _loggers()
                                                               if x.level != level or not x.propagate or x.disabled)


def _logging_put(value):
    manager = sys.modules["logging"].root.manager
    manager.disable = value[0]
    for x, level in _loggers():
        x.level, x.propagate, x.disabled = level, True, False
    for name, *settings in value[1]:
        x = sys.modules["logging"].getLogger(name)
        x.level, x.propagate, x.disabled = settings
    manager._clear_cache()


_made_loggers = {}  # names of the loggers that code of the program has made, as far as no module did when it was imported


def _put_loggers(value):
    _made_loggers.clear()
    _made_loggers.update(dict.fromkeys(value))


def _watch_configuration(module, variable):
    """logging.config disables loggers that there are: not those that blocks have made which are yet to come."""
    logging, original = sys.modules["logging"], module._handle_existing_loggers

    def note(*_, **__):
        variable.touched = True
        for name in _made_loggers:
            logging.getLogger(name)  # which this interpreter may be without

    def _handle_existing_loggers(existing, *args):
        original([name for name in existing if name in _made_loggers or name not in _later], *args)

    for name in ("dictConfig", "fileConfig"):
        setattr(module, name, _noting_first(getattr(module, name), note, module))
    module._handle_existing_loggers = _handle_existing_loggers


def _watch_names(cls, names):
    """pandas looks up, in the caller's namespace, the names in a text given to query and eval."""
    resolve = cls.resolve

    def wrapper(self, key, is_local):
        if is_local or not self.has_resolvers:
            names.note(key)
        return resolve(self, key, is_local)

    cls.resolve = wrapper


_PANDAS = ("compute", "display", "future", "io", "mode", "plotting", "styler")  # groups of options


class _Options(dict):
    """The options of pandas, by which it and the program look them up."""

    variables = {}

    def __getitem__(self, key):
        if key in self.variables:
            self.variables[key].touched = True
        return dict.__getitem__(self, key)


def _watch_options(module, variables):
    _Options.variables = variables
    module._global_config = _Options(module._global_config)
    options = getattr(module, "options", None)
    if isinstance(getattr(options, "__dict__", {}).get("d"), dict):
        object.__setattr__(options, "d", module._global_config)


marks = set()  # what the node is marked with, because of what it showed


def _mark_repr(holder, name):
    """Marks who shows what has an address, or a number that counts all that were made, in it."""
    original = getattr(holder, name)

    def shown(o):
        marks.add("process")
        return original(o)

    for k in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(shown, k, getattr(original, k))
    setattr(holder, name, shown)


def _pandas_variable(group):
    def config():
        return sys.modules["pandas._config.config"]._global_config

    v = Variable("conf:pandas." + group, lambda: _plain(dict.get(config(), group, {})), lambda value: _put_options(dict.get(config(), group, {}), value),
                 lambda: "pandas._config.config" in sys.modules)
    v.precise = True
    return v


def _numpy_state():
    state = sys.modules["numpy.random.mtrand"]._rand.get_state(legacy=False)
    return state["bit_generator"], {k: v if type(v) in _PLAIN else v.tobytes() for k, v in state["state"].items()}, state["has_gauss"], state["gauss"]


def _set_numpy_state(state):
    np = sys.modules["numpy"]
    kind, inner, has_gauss, gauss = state
    inner = {k: np.frombuffer(v, dtype=np.uint32) if type(v) is bytes else v for k, v in inner.items()}
    np.random.mtrand._rand.set_state({"bit_generator": kind, "state": inner, "has_gauss": has_gauss, "gauss": gauss})


def _mpl_get():
    return dict(dict.items(sys.modules["matplotlib"].rcParams))


_known_colors = None  # how many colors have names when matplotlib was just loaded


def _colors_get():
    """The colors that one letter stands for, which seaborn gives others, and those that were added."""
    global _known_colors
    named = sys.modules["matplotlib.colors"]._colors_full_map
    if _known_colors is None:
        _known_colors = len(named)
    return [(k, named.get(k)) for k in "bgrcmykw"] + list(islice(named.items(), _known_colors, None))


def _colors_put(value):
    named = sys.modules["matplotlib.colors"]._colors_full_map
    for k in list(islice(named, _known_colors, None)):
        del named[k]
    for k, color in value:
        named[k] = color


def _mpl_put(value):
    pyplot, params = sys.modules.get("matplotlib.pyplot"), sys.modules["matplotlib"].rcParams
    if value["backend"] != dict.get(params, "backend") and getattr(pyplot, "_backend_mod", None) is not None:
        pyplot.switch_backend(value["backend"])
    dict.update(params, value)


_colormaps = {}  # that the program registered, by name


def _watch_colormaps(cls):
    """A library registers its own when it is imported."""
    register, unregister = cls.register, cls.unregister

    def observed_register(self, cmap, *, name=None, **named):
        register(self, cmap, name=name, **named)
        if not code_owner.importing():
            _colormaps[name or cmap.name] = cmap

    def observed_unregister(self, name):
        unregister(self, name)
        _colormaps.pop(name, None)

    for f, original in ((observed_register, register), (observed_unregister, unregister)):
        f.__name__, f.__qualname__, f.__module__, f.__doc__ = original.__name__, original.__qualname__, original.__module__, original.__doc__
        setattr(cls, original.__name__, f)


_sklearn = None  # a function that returns the options of scikit-learn


def _watch_sklearn(module, variable):
    global _sklearn
    _sklearn = original = module._get_threadlocal_config

    def wrapper():
        variable.touched = True
        return original()

    wrapper.__name__ = wrapper.__qualname__ = original.__name__
    wrapper.__module__, wrapper.__doc__ = module.__name__, original.__doc__
    module._get_threadlocal_config = wrapper
    variable.precise = True


def _sklearn_get():
    return dict(_sklearn())


def _sklearn_put(value):
    _sklearn().clear()
    _sklearn().update(value)


def _plain(tree):
    """A tree of options without those that are functions, see registered."""
    return {k: _plain(v) if isinstance(v, dict) else v for k, v in tree.items() if not callable(v)}


def _put_options(tree, plain):
    for k, v in plain.items():
        if isinstance(v, dict) and isinstance(tree.get(k), dict):
            _put_options(tree[k], v)
        else:
            tree[k] = v


def _numpy_get():
    np = sys.modules["numpy"]
    return {**np.get_printoptions(), "formatter": None, "err": np.geterr()}


def _numpy_put(value):
    np = sys.modules["numpy"]
    value = dict(value)
    np.seterr(**value.pop("err"))
    value.pop("override_repr", None)
    np.set_printoptions(**{**value, "formatter": np.get_printoptions()["formatter"]})


def registered():
    """Options that are functions, and filters for warnings of the program's own classes, are not plain data, and another
    decimal context is another object: they belong to what the program puts into the interpreter, see process.py."""
    found = {}
    if _context is not None and sys.modules["decimal"].getcontext() is not _context:
        found["decimal"] = sys.modules["decimal"].getcontext()
    if _of_program(warnings.filters):
        found["filters"] = tuple(f for f in warnings.filters if f not in _library_filters)
    config = getattr(sys.modules.get("pandas._config.config"), "_global_config", {})
    for names in (("display", "float_format"), ("styler", "format", "formatter")):
        tree = config
        for name in names:
            tree = dict.get(tree, name) if isinstance(tree, dict) else None
        if tree is not None:
            found[names] = tree
    found.update((("colormap", name), o) for name, o in _colormaps.items())
    np = sys.modules.get("numpy")
    if hasattr(np, "set_printoptions"):
        options = {"formatter": np.get_printoptions()["formatter"], "errcall": np.geterrcall()}
        found.update((("numpy", k), v) for k, v in options.items() if v is not None)
    return found


_default_filters, _library_filters = list(warnings.filters), []


def _warnings_get():
    """The filters beside those of libraries; None: as without the program; "planted": see registered."""
    own = [f for f in warnings.filters if f not in _library_filters]
    if own == _default_filters:
        return None
    return "planted" if _of_program(own) else own


def _of_program(filters):
    return any(code_owner.kind_of(f[2].__module__) != code_owner.LIBRARY for f in filters)


def _warnings_put(value):
    if value == "planted":
        return  # by who registered them
    own = _default_filters if value is None else value
    i, rest = len(own), list(_default_filters)
    while i and own[i - 1] in rest:  # what stands where it stood before the program: libraries were imported after that
        i -= 1
        del rest[rest.index(own[i]):]
    warnings.filters[:] = own[:i] + _library_filters + own[i:]
    renew_warnings()


def library_import(before):
    """What the filters came to, since the list before was taken, came with a library's import."""
    global _default_filters
    unchanged = [f for f in before if f not in _library_filters] == _default_filters
    _library_filters.extend(f for f in warnings.filters if f not in before and f not in _library_filters and f not in _default_filters)
    if unchanged:  # the import may also have moved some, or taken them out
        _default_filters = [f for f in warnings.filters if f not in _library_filters]


def renew_warnings():
    """Makes every "already shown" registry void, so that what a node warns of does not depend on what ran before."""
    mutated = getattr(warnings, "_filters_mutated", None) or getattr(warnings, "_filters_mutated_lock_held", None)
    if mutated is not None:
        try:
            mutated()
        except Exception:
            pass


def renew_types():
    """Makes typing forget the types that it has put together: in a part of one that was text is kept what it came to."""
    for forget in getattr(sys.modules.get("typing"), "_cleanups", ()):
        forget()


def renew_answers(classes):
    """Makes abstract classes forget what they answered about classes of the program, which may have been others then."""
    if any(getattr(r.__callback__, "__name__", None) == "_destroy" for c in classes for r in weakref.getweakrefs(c)):  # in one's memory
        todo, seen = [object], set()
        for c in todo:
            if id(c) not in seen:
                seen.add(id(c))
                todo += type.__subclasses__(c)
                if code_owner.is_a(c, abc.ABCMeta):
                    _abc._reset_caches(c)


_context = None  # of the module decimal, once that is loaded


def _note_context():
    global _context
    _context = sys.modules["decimal"].getcontext()


def _decimal_get():
    c = _context
    return (c.prec, c.rounding, c.Emin, c.Emax, c.capitals, c.clamp, sorted(s.__name__ for s in c.flags if c.flags[s]),
            sorted(s.__name__ for s in c.traps if c.traps[s]))


def _decimal_put(v):
    c = _context
    c.prec, c.rounding, c.Emin, c.Emax, c.capitals, c.clamp = v[:6]
    for signals, names in ((c.flags, v[6]), (c.traps, v[7])):
        for s in signals:
            signals[s] = s.__name__ in names


def keeper(o):
    """Returns the key of the hidden state that an object keeps: who refers to it means it and no copy. Else None."""
    if o is random._inst:
        return "rng:random"
    if o is _context and o is not None:
        return "conf:decimal"
    matplotlib = sys.modules.get("matplotlib")
    if matplotlib is not None and o is getattr(matplotlib, "rcParams", None):
        return "conf:matplotlib"
    numpy = sys.modules.get("numpy.random.mtrand")
    if numpy is not None and hasattr(numpy, "_rand"):
        if o is numpy._rand:
            return "rng:numpy"
        if o is numpy._rand._bit_generator:
            return "bits:numpy"
    return None


def kept_by(key):
    """Returns the object that keeper knows by the key."""
    if "numpy" in key:
        from numpy.random import mtrand
        return mtrand._rand if key == "rng:numpy" else mtrand._rand._bit_generator
    if key == "conf:matplotlib":
        import matplotlib
        return matplotlib.rcParams
    if key == "conf:decimal":
        import decimal  # noted when it is loaded
        return _context
    return random._inst


def _set_argv(value):
    sys.argv[:] = value


class _Threads:
    """The number in the name of the next thread, or pool of threads, without one of its own."""

    def __init__(self, variable, first):
        self.next, self._variable = first, variable

    def number(self):
        self._variable.touched = True
        self.next += 1
        return self.next - 1


def _set_threads(value):
    threading._counter.__self__.next = value


def _pools():
    return getattr(sys.modules.get("concurrent.futures.thread"), "ThreadPoolExecutor", None)


def _set_pools(value):
    _pools()._counter.__self__.next = value


_SETTINGS = (
    (sys.getswitchinterval, lambda v: sys.setswitchinterval(v + 5e-7)),  # what is between microseconds is cut off
    (gc.get_debug, gc.set_debug),
    (sys.get_coroutine_origin_tracking_depth, sys.set_coroutine_origin_tracking_depth),
    (sys.getdlopenflags, sys.setdlopenflags),
    (lambda: sorted(map(int, _signal.pthread_sigmask(_signal.SIG_BLOCK, ()))), lambda v: _signal.pthread_sigmask(_signal.SIG_SETMASK, v)),
    (lambda: threading.main_thread().name, lambda v: setattr(threading.main_thread(), "name", v)),
)


def _set_settings(value):
    for (_, put), v in zip(_SETTINGS, value):
        put(v)


def _umask():
    mask = os.umask(0o77)
    os.umask(mask)
    return mask


def _watch_zone():
    """time.tzset takes the time zone from the environment; what it took is not to be asked for later."""
    global _taken
    tzset = time.tzset
    _taken = _zone_variable()

    def wrapper():
        global _taken
        tzset()
        _taken = _zone_variable()

    wrapper.__name__ = wrapper.__qualname__ = "tzset"
    wrapper.__module__ = "time"
    time.tzset = wrapper


def _zone_variable():
    return os.environ._data.get(b"TZ")


def _zone():
    return _taken, _zone_variable()  # the variable alone counts, too: C's mktime and strftime look at it


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


_DIALECT = ("delimiter", "doublequote", "escapechar", "lineterminator", "quotechar", "quoting", "skipinitialspace", "strict")


def _csv_get():
    csv = sys.modules["csv"]
    return csv.field_size_limit(), [(n, [getattr(csv.get_dialect(n), a) for a in _DIALECT]) for n in sorted(csv.list_dialects())]


def _csv_put(value):
    csv = sys.modules["csv"]
    csv.field_size_limit(value[0])
    for n in csv.list_dialects():
        csv.unregister_dialect(n)
    for n, attributes in value[1]:
        csv.register_dialect(n, **dict(zip(_DIALECT, attributes)))


def _mimetypes_get():
    m = sys.modules["mimetypes"]
    if not m.inited:
        m.init()
    return [dict(d) for d in (*m._db.types_map, *m._db.types_map_inv, m._db.encodings_map, m._db.suffix_map)]


def _mimetypes_put(value):
    m = sys.modules["mimetypes"]
    for d, kept in zip((*m._db.types_map, *m._db.types_map_inv, m._db.encodings_map, m._db.suffix_map), value):
        d.clear()
        d.update(kept)


def _set_sys_path(value):
    sys.path[:] = value
