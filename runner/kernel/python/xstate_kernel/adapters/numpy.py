"""NumPy: digests of arrays by elements and shared memory, its random generator, its print options."""

import sys
from itertools import chain
from pickle import PickleBuffer

from xstate_kernel import original as __builtins__

from ..ground import code_owner
from ..ground.hidden_variable import PLAIN, Variable, watch_generator
from ..ground.unsupported import Opaque, Unstorable
from .protocol import Adapter

_ATOMS = (int, str, float, bool, type(None), bytes, complex)
_COPY, _SHARED, FRAME = "copy", "shared", "frame"  # how the memory of an array is stored


class NumPy(Adapter):
    packages = ("numpy",)
    volatile = {"numpy.empty": "entropy", "numpy.empty_like": "entropy"}  # the elements are what was in memory
    volatile_texts = {"numpy.datetime64": ("clock", frozenset(("now", "today")))}
    unseen_draws = ("numpy.random._pickle",)  # an unpickled generator draws a seed before it gets its state
    generators = {"numpy.random": lambda module, seed: module.seed(seed & 0xFFFFFFFF)}

    def __init__(self):
        self._unseeded = []  # generators that RandomState made in the node; None while it makes one

    # hidden state

    def variables(self):
        self.generator = Variable(
            "rng:numpy",
            _generator_state,
            _set_generator_state,
            lambda: "numpy.random" in sys.modules,
            "numpy.random",
            precise=True,
        )

        def printing():
            return hasattr(sys.modules.get("numpy"), "set_printoptions")

        return self.generator, Variable("conf:numpy", _get_options, _put_options, printing, "numpy")

    def after_import(self):
        return {"numpy.random": self._watch}

    def _watch(self, hidden, module):
        self.generators["numpy.random"](module, hidden.seed)
        watch_generator(module, self.generator, ("seed", "get_state", "set_state"))
        hidden.begin(self.generator)
        self._watch_legacy(sys.modules["numpy.random.mtrand"])

    def _watch_legacy(self, module):
        """Wraps the generator class of RandomState.

        RandomState(seed) makes a generator with a seed from the operating system, and then sets the given seed."""
        original, adapter = module._MT19937, self

        class Making(type):
            def __call__(cls, *args, **kwargs):
                found, adapter._unseeded = adapter._unseeded, None
                try:
                    g = original(*args, **kwargs)
                finally:
                    adapter._unseeded = found
                if found is not None and not code_owner.importing():
                    found.append(g)
                return g

            def __instancecheck__(cls, o):
                return isinstance(o, original)

        module._MT19937 = Making("MT19937", (), {})

    def unseeded(self):
        found, self._unseeded = self._unseeded, []
        return any(getattr(g, "_seed_seq", g) is not None for g in found or ())

    def seeding(self):
        return self._unseeded is None

    def random_state(self):
        module = sys.modules.get("numpy.random")
        return module and module.get_state()

    def set_random_state(self, state):
        """Restores the state. None means that the generator did not exist at the time: it gets a fixed seed."""
        module = sys.modules.get("numpy.random")
        if module is not None:
            if state is None:
                module.seed(0)
            else:
                module.set_state(state)

    def registered(self):
        np = sys.modules.get("numpy")
        if not hasattr(np, "set_printoptions"):
            return {}
        options = {"formatter": np.get_printoptions()["formatter"], "errcall": np.geterrcall()}
        return {("numpy", k): v for k, v in options.items() if v is not None}

    def state_key(self, o):
        mtrand = sys.modules.get("numpy.random.mtrand")
        if mtrand is not None and hasattr(mtrand, "_rand"):
            if o is mtrand._rand:
                return "rng:numpy"
            if o is mtrand._rand._bit_generator:
                return "bits:numpy"
        return None

    def state_object(self, key):
        if key not in ("rng:numpy", "bits:numpy"):
            return None
        from numpy.random import mtrand

        return mtrand._rand if key == "rng:numpy" else mtrand._rand._bit_generator

    # values

    def nan(self):
        return getattr(sys.modules.get("numpy"), "nan", None)

    def unchanging(self, kind):
        return kind.__module__ == "numpy" and kind.__name__ != "void" and issubclass(kind, sys.modules["numpy"].generic)

    def owns_memory(self, kind):
        return "numpy" in sys.modules and issubclass(kind, sys.modules["numpy"].ndarray)

    def note_memory(self, walk, o):
        shares(walk, o, walk.seen[id(o)])
        if isinstance(getattr(o, "_mask", None), sys.modules["numpy"].ndarray):
            shares(walk, o._mask, "%dm" % walk.seen[id(o)])

    def fingerprint(self, walk, o, t):
        np = sys.modules["numpy"]
        if isinstance(o, np.void) and o.dtype.names is not None:  # it may be a view of an array
            if not walk.mark(o):
                walk.own(o)
                walk.put(b"V")
                shares(walk, o, walk.seen[id(o)])
                walk.stack.extend((o.dtype, o.item()))
            return True
        if isinstance(o, np.generic) and t.__module__ == "numpy":
            walk.put(b"n")
            walk.put(f"{o.dtype.str};".encode())
            walk.put(o.tobytes())
            return True
        if isinstance(o, np.dtype):
            _fingerprint_dtype(walk, o)
            return True
        if t is np.flatiter:
            walk.put(b"i%d;" % o.index)
            walk.stack.append(o.base)
            if not walk.mark(o):
                walk.own(o)
            return True
        if t.__module__.startswith("numpy.random") and _fingerprint_generator(walk, o, t):
            return True
        if isinstance(o, np.memmap) and o._mmap is not None:
            raise Opaque("a memory map")
        if _masked(t):
            walk.put(b"M%r;" % bytes(map(bool, _unpickled(o))))
        if t is not np.ndarray:
            return False
        if walk.mark(o):
            return True
        if _of_map(o):
            raise Opaque("a memory map")
        walk.own(o)
        walk.put(b"A")
        shares(walk, o, walk.seen[id(o)])
        flags = o.flags
        order = "c" if flags.c_contiguous else "f" if flags.f_contiguous else o.strides
        dtype = o.dtype.str if not o.dtype.fields else repr(o.dtype)
        walk.put(("%s%r%d%s;" % (dtype, o.shape, flags.writeable, order)).encode())
        if o.dtype.names is not None and id(o) not in walk.temps:
            walk.stack.append(o.dtype)  # that of a temporary array is the library's, and above are its names
        elements(walk, o)
        return True

    def referents(self, fp, kind, group, shared):
        """Yields the referents of arrays and of iterators over arrays."""
        if kind.__module__ == "numpy" and kind.__name__ == "nditer":
            yield from chain.from_iterable(o.operands for o in group)
        if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
            for a in group:
                root = root_of(a)
                if id(root) not in shared:
                    fp.places[~id(root)] = "x"
                yield from a.ravel().tolist() if a.dtype.hasobject else ()
                yield a.base

    def reports_referents(self, kind):
        return kind.__module__ == "numpy" and kind.__name__ == "ndarray"

    # storing

    def reduce(self, pickler, o, t):
        if _masked(t):
            if o._optinfo or o._basedict:
                raise Unstorable("a masked array with attributes of its own")
            make, args, state = o.__reduce__()
            return make, args, (state, _unpickled(o)), None, None, fill_masked
        if t.__module__ != "numpy" or t.__name__ != "ndarray":
            return NotImplemented
        base = stored_root(o)
        if base is o:
            if o.flags.owndata and contiguous(o):
                return owning(pickler, o, o.flags.writeable)
            rv = o.__reduce_ex__(5)
            if o.dtype.hasobject and len(rv) == 3 and type(rv[2]) is tuple and type(rv[2][-1]) is list:
                return rv[0], rv[1], (*rv[2][:-1], pickler.stand_ins(rv[2][-1]))
            return NotImplemented
        if base.base is not None or base.dtype.hasobject or base.nbytes > 2 * o.nbytes + 4096:
            note_copy(pickler, base, _COPY)
            return NotImplemented
        note_copy(pickler, base, _SHARED)
        if not (base.flags.c_contiguous or base.flags.f_contiguous):
            raise Unstorable("a view of an array that is not contiguous")
        offset = o.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return view, (base, o.dtype, o.shape, offset, o.strides, o.flags.writeable)

    # queries

    def describe(self, value, kind, short):
        if issubclass(kind, _ATOMS) and kind.__module__ == "numpy":
            return {"repr": short(value)}
        return describe_array(value)


def describe_array(value):
    """Returns shape and element type of an array or a frame."""
    found = {}
    if hasattr(value, "shape"):
        found["shape"] = "x".join(map(str, value.shape))
    if hasattr(value, "dtype"):
        found["repr"] = str(value.dtype)
    return found


def _generator_state():
    state = sys.modules["numpy.random.mtrand"]._rand.get_state(legacy=False)
    inner = {k: v if type(v) in PLAIN else v.tobytes() for k, v in state["state"].items()}
    return state["bit_generator"], inner, state["has_gauss"], state["gauss"]


def _set_generator_state(state):
    np = sys.modules["numpy"]
    kind, inner, has_gauss, gauss = state
    inner = {k: np.frombuffer(v, dtype=np.uint32) if type(v) is bytes else v for k, v in inner.items()}
    state = {"bit_generator": kind, "state": inner, "has_gauss": has_gauss, "gauss": gauss}
    sys.modules["numpy.random.mtrand"]._rand.set_state(state)


def _get_options():
    np = sys.modules["numpy"]
    return {**np.get_printoptions(), "formatter": None, "err": np.geterr()}


def _put_options(value):
    np = sys.modules["numpy"]
    value = dict(value)
    np.seterr(**value.pop("err"))
    value.pop("override_repr", None)
    np.set_printoptions(**{**value, "formatter": np.get_printoptions()["formatter"]})


def _fingerprint_dtype(walk, o):
    if o.names is not None:  # the program can assign the names
        if walk.mark(o):
            return
        walk.own(o)
    walk.put(b"y")
    walk.put(repr(o).encode() + (b"" if o.metadata is None else repr(o.metadata).encode()))


def _fingerprint_generator(walk, o, t):
    """Writes a random generator. It returns a new copy of its state to each caller, so no other object shares that."""
    random = sys.modules["numpy.random"]
    if issubclass(t, random.BitGenerator):
        parts = _frozen(o.state), getattr(o, "seed_seq", None)
    elif issubclass(t, random.RandomState):
        state = o.get_state(legacy=False)
        parts = (state["has_gauss"], state["gauss"]), o._bit_generator
    else:
        return False
    if not walk.mark(o):
        walk.own(o)
        walk.put(b"R")
        walk.keep.append(parts)
        walk.stack.extend((*parts, t))
    return True


def _frozen(state):
    """Returns the state of a generator as tuples and bytes."""
    if type(state) is dict:
        return tuple((k, _frozen(v)) for k, v in state.items())
    return (state.dtype.str, state.tobytes()) if hasattr(state, "tobytes") else state


def shares(walk, o, ordinal):
    """Records the memory that an array views, under ~id of its root array.

    The id itself would identify the array, but arrays with the same memory are not the same array. A temporary array
    may view memory that stays: a tree of scikit-learn pickles its own memory so. Its id is soon that of another
    array."""
    if id(o) in walk.temps and o.base is None:
        return
    root, address = memory_of(o)
    place = "%d%r" % (address - root.__array_interface__["data"][0], o.strides)
    if id(root) not in walk.temps:
        walk.fp.places[~id(root)] = f"{ordinal}+{place}"
    inner = getattr(root.base, "obj", root.base)
    if inner is not None and type(inner) is not bytes:
        walk.fp.places[id(inner)] = f"{ordinal}+{place}"
    known = walk.memory.get(id(root))
    if known is None:
        walk.memory[id(root)] = (len(walk.memory), address)
    else:
        walk.put(b"~%d%+d%r" % (known[0], address - known[1], o.strides))


def elements(walk, o):
    """Writes the elements of an array."""
    np = sys.modules["numpy"]
    if o.nbytes >= walk.owner.arrays.LARGE:
        found, handed = walk.owner.arrays.digest(o, np)
        if found is not None:
            walk.fp.size += o.nbytes
            walk.fp.handed += handed
            walk.put(found)
            return
    if o.dtype.hasobject:
        items, nan = o.ravel().tolist(), walk.fp.nan
        walk.seq(tuple(items), b"o", False)
        walk.fp.nan = nan  # pickling preserves the identity of these NaNs, see reduce
        walk.keep.append(items)
        return
    flat = o if o.flags.c_contiguous else np.ascontiguousarray(o)
    if flat.size == 0:
        return
    try:
        walk.put(memoryview(flat.reshape(-1).view(np.uint8)))
    except (TypeError, ValueError):
        walk.put(flat.tobytes())


def _of_map(a):
    """Reports whether the memory of an array is a mapped file: other processes may write to it."""
    while a is not None and type(a).__name__ != "mmap":
        a = a.obj if isinstance(a, memoryview) else getattr(a, "base", None)
    return a is not None


def memory_of(a):
    """Returns the array at the root of a view, and the address of the view's first element."""
    return root_of(a), a.__array_interface__["data"][0]


def root_of(a):
    """Returns the array that owns the memory of a view, as far as the base attributes show."""
    array = sys.modules["numpy"].ndarray
    while True:
        base = a.base
        if not isinstance(base, array):
            base = getattr(base, "base", None)  # as_strided inserts an object between view and array
            if not isinstance(base, array):
                return a
        a = base


def stored_root(a):
    """Returns the array of the same class at the root of a view."""
    while type(a.base) is type(a):
        a = a.base
    return a


def note_copy(pickler, base, how):
    """Records how the memory of base is stored. Raises Unstorable if a second way would break an alias."""
    before = pickler.bases.setdefault(id(base), how)
    if before != how or (how == _COPY and pickler.bases.get((id(base), 1))):
        raise Unstorable("arrays that share memory")
    if how == _COPY:
        pickler.bases[id(base), 1] = True


def contiguous(a):
    """Reports whether the elements of an array are the bytes of one region of memory."""
    return a.nbytes > 0 and not a.dtype.hasobject and (a.flags.c_contiguous or a.flags.f_contiguous)


def owning(pickler, o, writeable):
    """Returns how to pickle a contiguous array so that the loaded array owns its memory.

    An array over a buffer could not be resized or made writeable."""
    flat = o if o.flags.c_contiguous else o.T
    buffer = PickleBuffer((flat if o.ndim else o.reshape(1)).view("u1"))  # some types have no buffer
    pickler.owned[id(buffer)] = buffer
    return filled, (writeable, o.dtype, o.shape, "C" if o.flags.c_contiguous else "F", buffer)


def filled(writeable, dtype, shape, order, memory):
    """Loads an array that owns its memory. memory is bytes, or what reads itself into a buffer."""
    import numpy

    a = numpy.empty(shape, dtype, order)
    flat = (a if order == "C" else a.T).reshape(-1).view(numpy.uint8)
    if hasattr(memory, "read_into"):
        memory.read_into(memoryview(flat))
        memory.filled(a)
    else:
        flat[:] = numpy.frombuffer(memory, numpy.uint8)
    a.flags.writeable = writeable
    return a


def owned(writeable, make, args):
    """Loads an array that owns its memory, as earlier versions stored it."""
    a = make(*args).copy(order="K")
    a.flags.writeable = writeable
    return a


def _masked(kind):
    return kind.__name__ == "MaskedArray" and kind.__module__.startswith("numpy.ma")


def _unpickled(o):
    """Returns what the own pickling of a masked array loses: whether it has no mask and no fill value, whether it
    copies its mask before it changes it, and whether it keeps it."""
    return o._mask is sys.modules["numpy.ma"].nomask, o._fill_value is None, o._sharedmask, o._hardmask


def fill_masked(a, stored):
    """Loads the content of a masked array."""
    state, (unmasked, unfilled, shared, hard) = stored
    a.__setstate__(state)
    if unmasked:
        a._mask = sys.modules["numpy.ma"].nomask
    if unfilled:
        a._fill_value = None
    a._sharedmask, a._hardmask = shared, hard


def view(base, dtype, shape, offset, strides, writeable):
    """Loads a view of an array that was stored with it."""
    import numpy

    a = numpy.ndarray(shape, dtype, base if base.flags.c_contiguous else base.T, offset, strides)
    a.flags.writeable = writeable
    return a


adapter = NumPy()
