"""Hidden state: what outlives a node without being in the namespace.

Each variable has a key, a way to read it as plain data, a way to put it back, and a pristine value that stands for
"as in a fresh interpreter" (digest absent). Some say precisely when a node read them, by an instrumented accessor;
for the others every node counts as a reader, which is sound and only matters when a program changes them.
"""
import decimal
import gc
import hashlib
import locale
import marshal
import os
import pickle
import random
import sys
import warnings


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
        self.fresh = False  # seeded by the node before it drew anything

    def digest(self, value):
        try:
            data = marshal.dumps(value, 2)  # some eight times as fast as repr
        except ValueError:
            data = repr(value).encode() if type(value) is not dict else marshal.dumps(
                [(k, v if type(v) in _PLAIN else repr(v)) for k, v in value.items()], 2)
        if data != self.last[0]:
            self.last = data, hashlib.blake2b(data, digest_size=20).hexdigest()
        return self.last[1]


class Hidden:
    def __init__(self, seed):
        self.seed = seed
        self.variables = [
            Variable("rng:random", random.getstate, random.setstate),
            Variable("rng:numpy", _numpy_state, _set_numpy_state, lambda: "numpy.random" in sys.modules),
            Variable("conf:matplotlib", _mpl_get, _mpl_put, lambda: "matplotlib" in sys.modules and hasattr(sys.modules["matplotlib"], "rcParams")),
            Variable("conf:pandas", _pandas_get, _pandas_put, lambda: "pandas._config.config" in sys.modules),
            Variable("conf:numpy", _numpy_get, _numpy_put, lambda: hasattr(sys.modules.get("numpy"), "set_printoptions")),
            Variable("conf:warnings", _warnings_get, _warnings_put),
            Variable("conf:decimal", _decimal_get, _decimal_put),
            Variable("conf:locale", lambda: locale.setlocale(locale.LC_ALL), lambda v: locale.setlocale(locale.LC_ALL, v)),
            Variable("conf:recursion", sys.getrecursionlimit, sys.setrecursionlimit),
            Variable("conf:sys.path", lambda: list(sys.path), _set_sys_path),
            Variable("conf:argv", lambda: list(sys.argv), _set_argv),
            Variable("conf:gc", lambda: (gc.isenabled(), gc.get_threshold()), _set_gc),
            Variable("conf:umask", _umask, os.umask),
            Variable("cwd", os.getcwd, os.chdir),
        ]
        self.by_key = {v.key: v for v in self.variables}
        for key in ("rng:random", "rng:numpy", "conf:matplotlib", "conf:pandas"):
            self.by_key[key].precise = True
        random.seed(seed)
        _watch_seed(random, self.by_key["rng:random"])
        self._imports = Importing(self)
        sys.meta_path.insert(0, self._imports)
        self.reset_reads()

    def reset_reads(self):
        for v in self.variables:
            v.touched = False

    def snapshot(self):
        """Returns key → (digest, value); a pristine value has digest "". """
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
            found[v.key] = ("" if digest == v.pristine[0] else digest, value)
        return found

    def restore(self, key, blob):
        """Puts a variable back: to the pickled value, or to the pristine one when blob is None."""
        v = self.by_key[key]
        if not v.loaded():
            if blob is None:
                return
            __import__({"rng:numpy": "numpy.random", "conf:matplotlib": "matplotlib", "conf:pandas": "pandas",
                        "conf:numpy": "numpy"}.get(key, "sys"))
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
        if name not in ("numpy.random", "pandas._config.config", "matplotlib") or name in self._busy:
            return None
        import importlib.util
        self._busy.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._busy.discard(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _After(spec.loader, lambda: self._loaded(name))
        return spec

    def _loaded(self, name):
        if name == "numpy.random":
            np_random = sys.modules["numpy.random"]
            np_random.seed(self._hidden.seed & 0xFFFFFFFF)
            _watch_seed(np_random, self._hidden.by_key["rng:numpy"])
            self._begin("rng:numpy")
        elif name == "matplotlib":
            self._begin("conf:matplotlib")
            _watch_item(sys.modules[name].RcParams, self._hidden.by_key["conf:matplotlib"])
        else:
            _watch_option(sys.modules[name], self._hidden.by_key["conf:pandas"])

    def _begin(self, key):
        """Takes the value as it is when the package was just loaded for the pristine one."""
        v = self._hidden.by_key[key]
        value = v.get()
        v.known, v.pristine = True, (v.digest(value), value)
        v.start = v.pristine[0]


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


def _watch_seed(module, variable):
    """Wraps module.seed so that seeding before any draw does not count as reading the generator."""
    seed = module.seed

    def wrapper(*args, **kwargs):
        if variable.start is not None and variable.digest(variable.get()) == variable.start:
            variable.fresh = bool(args or kwargs)
        return seed(*args, **kwargs)

    wrapper.__name__ = wrapper.__qualname__ = "seed"
    wrapper.__module__ = module.__name__
    wrapper.__doc__ = seed.__doc__
    module.seed = wrapper


def _watch_item(cls, variable):
    get = cls.__getitem__

    def __getitem__(self, key):
        variable.touched = True
        return get(self, key)

    cls.__getitem__ = __getitem__
    if hasattr(cls, "_get"):
        raw = cls._get

        def _get(self, key):
            variable.touched = True
            return raw(self, key)

        cls._get = _get


def _watch_option(module, variable):
    for name in ("_get_option", "get_option"):
        f = getattr(module, name, None)
        if isinstance(f, type(_watch_option)):
            _watch_function(module, name, f, variable)
        elif hasattr(f, "__func__"):  # pandas 2 wraps it in a callable object
            f.__func__ = module._get_option


def _watch_function(module, name, f, variable):
    def wrapper(*args, **kwargs):
        variable.touched = True
        return f(*args, **kwargs)

    wrapper.__dict__.update(f.__dict__)
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(wrapper, attribute, getattr(f, attribute))
    setattr(module, name, wrapper)


def _numpy_state():
    return tuple(x.tolist() if hasattr(x, "tolist") else x for x in sys.modules["numpy.random"].get_state(legacy=True))


def _set_numpy_state(state):
    np = sys.modules["numpy"]
    np.random.set_state((state[0], np.array(state[1], dtype=np.uint32)) + tuple(state[2:]))


def _mpl_get():
    rc = sys.modules["matplotlib"].rcParams
    return {k: dict.__getitem__(rc, k) for k in sorted(dict.keys(rc)) if k not in _MPL_SESSION}


_MPL_SESSION = frozenset(("backend", "backend_fallback", "interactive", "toolbar"))


def _mpl_put(value):
    dict.update(sys.modules["matplotlib"].rcParams, value)


def _pandas_get():
    return _plain(sys.modules["pandas._config.config"]._global_config)


def _plain(tree):
    return {k: _plain(v) if isinstance(v, dict) else v for k, v in tree.items()}


def _pandas_put(value):
    def put(tree, plain):
        for k, v in plain.items():
            if isinstance(v, dict) and isinstance(tree.get(k), dict):
                put(tree[k], v)
            else:
                tree[k] = v
    put(sys.modules["pandas._config.config"]._global_config, value)


def _numpy_get():
    np = sys.modules["numpy"]
    return {**np.get_printoptions(), "err": np.geterr()}


def _numpy_put(value):
    np = sys.modules["numpy"]
    value = dict(value)
    np.seterr(**value.pop("err"))
    value.pop("override_repr", None)
    np.set_printoptions(**value)


_library_filters = list(warnings.filters)


def _warnings_get():
    return [f for f in warnings.filters if f not in _library_filters]


def _warnings_put(value):
    warnings.filters[:] = list(value) + [f for f in warnings.filters if f in _library_filters]
    renew_warnings()


def library_import(before):
    """Filters that were added since the list before was taken came with a library's import."""
    for f in warnings.filters:
        if f not in before and f not in _library_filters:
            _library_filters.append(f)


def renew_warnings():
    """Makes every "already shown" registry void, so that what a node warns of does not depend on what ran before."""
    mutated = getattr(warnings, "_filters_mutated", None) or getattr(warnings, "_filters_mutated_lock_held", None)
    if mutated is not None:
        try:
            mutated()
        except Exception:
            pass


def _decimal_get():
    c = decimal.getcontext()
    return (c.prec, c.rounding, c.Emin, c.Emax, c.capitals, c.clamp, sorted(s.__name__ for s in c.flags if c.flags[s]),
            sorted(s.__name__ for s in c.traps if c.traps[s]))


def _decimal_put(v):
    signals = {s.__name__: s for s in decimal.getcontext().flags}
    decimal.setcontext(decimal.Context(prec=v[0], rounding=v[1], Emin=v[2], Emax=v[3], capitals=v[4], clamp=v[5],
                                       flags=[signals[n] for n in v[6]], traps=[signals[n] for n in v[7]]))


def _set_argv(value):
    sys.argv[:] = value


def _set_gc(value):
    (gc.enable if value[0] else gc.disable)()
    gc.set_threshold(*value[1])


def _umask():
    mask = os.umask(0o77)
    os.umask(mask)
    return mask


def _set_sys_path(value):
    sys.path[:] = value
