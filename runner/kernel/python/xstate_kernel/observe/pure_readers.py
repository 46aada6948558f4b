"""Proves of a node that it changed nothing that was there before it. The values that such a pure reader read are not
checked.

The proof is of the code that ran, and of what the names that this code loads were bound to:

  - Code holds instructions that bind names, make objects and look at objects, and no other: no store into an object, no
    operation in place, no import, no deletion, no class statement, no handler of exceptions.
  - A name is one that the node bound before it loaded it, a builtin that changes no argument, or it was bound to data,
    or to a function or a class of the program of which the same is proven. Data are exact lists, tuples, dicts, sets,
    frozensets, constants, and instances of such classes: so no value holds code that is not looked at. The walk that
    fingerprinted a value has noted the types that it met (Fingerprint.kinds).
  - An attribute is a method of builtins that changes nothing, or no builtin type has one of that name. Then it is an
    attribute of an instance, or a function of one of the classes, which is looked at.
  - A class has functions and constants, is derived from object alone, and those of its functions that Python calls by
    itself are looked at. Its __init__ may store attributes into its first argument, which is new.

By induction over the instructions that execute: each calls only what was looked at, and changes only what is new. New
objects are of these kinds, too, or are iterators and functions that the node made of them. Code that may run without
being called (finalizers, callbacks of weak references, hooks, handlers of signals, other threads, what the program has
put in place of something of a library) excludes the proof. A node that failed, was interrupted or showed a value is not
proven either. Where nothing is proven, the values are compared as always.

Before CPython 3.12 nothing is proven: the names that a node read are not known exactly.
"""

import builtins
import dis
import sys
import types

from xstate_kernel import original as __builtins__

from ..ground import bytecode
from ..ground.atoms import ATOMS
from ..show import streams
from ..value import instances

_HARMLESS = frozenset(
    """BINARY_SLICE BINARY_SUBSCR BUILD_CONST_KEY_MAP BUILD_LIST BUILD_MAP BUILD_SET BUILD_SLICE BUILD_STRING
    BUILD_TUPLE CACHE CALL CALL_FUNCTION_EX CALL_KW COMPARE_OP CONTAINS_OP CONVERT_VALUE COPY COPY_FREE_VARS DICT_MERGE
    DICT_UPDATE END_FOR EXTENDED_ARG FORMAT_SIMPLE FORMAT_VALUE FORMAT_WITH_SPEC FOR_ITER GET_ITER IS_OP JUMP_BACKWARD
    JUMP_BACKWARD_NO_INTERRUPT JUMP_FORWARD KW_NAMES LIST_APPEND LIST_EXTEND LOAD_CLOSURE LOAD_CONST LOAD_DEREF
    LOAD_FAST LOAD_FAST_AND_CLEAR LOAD_FAST_BORROW LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_FAST_CHECK
    LOAD_FAST_LOAD_FAST LOAD_SMALL_INT MAKE_CELL MAKE_FUNCTION MAP_ADD NOP NOT_TAKEN POP_ITER POP_JUMP_IF_FALSE
    POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE POP_JUMP_IF_TRUE POP_TOP PUSH_NULL RERAISE RESUME RETURN_CONST
    RETURN_GENERATOR RETURN_VALUE SET_ADD SET_FUNCTION_ATTRIBUTE SET_UPDATE STORE_DEREF STORE_FAST
    STORE_FAST_LOAD_FAST STORE_FAST_MAYBE_NULL STORE_FAST_STORE_FAST STORE_GLOBAL STORE_NAME SWAP TO_BOOL
    UNARY_INVERT UNARY_NEGATIVE UNARY_NOT UNPACK_EX UNPACK_SEQUENCE YIELD_VALUE""".split()
)
_OPERATORS = vars(dis).get("_nb_ops", ())  # the name and the sign of each BINARY_OP, since CPython 3.11
_INTRINSICS = frozenset((3, 5, 6))  # values of CALL_INTRINSIC_1: the end of a generator, unary plus, a tuple of a list
_BUILTINS = frozenset(
    """NotImplemented abs all any ascii bin bool bytes callable chr complex dict divmod enumerate filter float format
    frozenset hash hex int isinstance issubclass iter len list map max min next oct ord pow print range repr reversed
    round set slice sorted str sum tuple zip""".split()
)
_METHODS = frozenset(n for n in dir(str) if not n.startswith("_")) | frozenset(
    """copy get items keys values fromkeys union intersection difference symmetric_difference isdisjoint issubset
    issuperset bit_length bit_count conjugate real imag numerator denominator is_integer as_integer_ratio hex start
    stop step __class__ __name__ __qualname__""".split()
)
_TYPES = (
    *(list, dict, set, frozenset, tuple, str, bytes, bytearray, int, float, complex, range, slice, type, object),
    *(types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.GeneratorType, types.CodeType),
    *(types.FrameType, types.CellType, types.ModuleType, type({}.keys()), type({}.values()), type({}.items())),
    *(types.MethodDescriptorType, types.WrapperDescriptorType, types.MappingProxyType, property, memoryview),
    *(map, filter, zip, enumerate, reversed, BaseException, staticmethod, classmethod, type(iter([]))),
)
_OTHERS = frozenset().union(*map(dir, _TYPES)) - _METHODS
# Names that make code run without a call, or that observe the interpreter. No node is proven once code named it.
_LATER = frozenset(
    """__del__ weakref _weakref WeakKeyDictionary WeakValueDictionary WeakSet WeakMethod addaudithook monitoring
    settrace setprofile _setprofile _settrace ctypes _ctypes""".split()
)
_STREAM = streams.Stream.write, streams.Stream.flush
_DATA = frozenset((set, frozenset))  # those of lists, tuples, dicts and constants are not noted
_OF_CLASSES = frozenset(
    """__module__ __doc__ __qualname__ __firstlineno__ __static_attributes__ __annotations__ __annotate__
    __annotate_func__ __annotations_cache__ __match_args__ __dict__ __weakref__ __dataclass_fields__
    __dataclass_params__ __replace__ __type_params__""".split()
)
_STORES = ("LOAD_FAST", "LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")


class _Facts:
    """Facts about code: whether it is harmless, the names and attributes that it loads, what __init__ stores."""

    __slots__ = ("attributes", "harmless", "names", "stored")

    def __init__(self):
        self.harmless, self.names, self.attributes, self.stored = True, set(), set(), set()


_facts = {}  # id of a code object, whether it is an __init__ → facts, the code object


def later(code):
    """Reports whether code, or code nested in it, names what makes code run that nothing calls."""
    return any(
        c.co_name in _LATER or not _LATER.isdisjoint(c.co_names) or not _LATER.isdisjoint(filter(_is_text, c.co_consts))
        for c in bytecode.nested(code)
    )


def _is_text(o):
    return type(o) is str


def facts(code, makes=False):
    """Returns the facts of code and of the code nested in it. makes: it may store into its first argument."""
    found = _facts.get((id(code), makes))
    if found is None:
        found = _Facts()
        _facts[id(code), makes] = found, code
        _look(code, found, makes)
        for const in code.co_consts:
            if type(const) is types.CodeType:
                inner = facts(const)
                found.harmless = found.harmless and inner.harmless
                found.names |= inner.names
                found.attributes |= inner.attributes
        return found
    return found[0]


def _look(code, found, makes):
    before = ("", 0)
    targets = frozenset(dis.findlabels(code.co_code)) if makes else ()  # what is stored into may come from elsewhere
    for offset, op, arg, name in bytecode.instructions(code):
        if op in ("LOAD_NAME", "LOAD_GLOBAL"):
            found.names.add(name)
        elif op == "LOAD_ATTR":
            found.attributes.add(name)
        elif op == "BINARY_OP":
            found.harmless = found.harmless and not _OPERATORS[arg][1].endswith("=")
        elif op == "CALL_INTRINSIC_1":
            found.harmless = found.harmless and arg in _INTRINSICS
        elif op == "STORE_ATTR" and makes and _of_first(before) and offset not in targets:
            found.stored.add(name)
        elif op not in _HARMLESS:
            found.harmless = False
        if makes and op.startswith("STORE_FAST"):
            found.harmless = False  # the first argument may be another object then
        if op not in ("CACHE", "EXTENDED_ARG"):
            before = op, arg
    if makes and (code.co_argcount < 1 or code.co_cellvars):
        found.harmless = False


def _of_first(instruction):
    """Reports whether an instruction leaves the first local variable on top of the stack."""
    op, arg = instruction
    return op in _STORES and (arg & 15 if op.count("LOAD_FAST") == 2 else arg) == 0


def proven(run):
    """Reports whether a node that ran is a pure reader. run is its NodeRun, before its values are fingerprinted."""
    names, kernel, ns = run.names, run.kernel, run.ns
    if (
        not names.exact
        or names.later
        or names.everything
        or run.failed
        or run.code is None
        or run.execution.part is not None
        or run.execution.made
        or run.execution.shown
        or run.execution.ending
        or not run.writes.values_before
        or len(run.threads) > 1
        or len(sys._current_frames()) > 1
        or run.files.forked
        or run.had_figures
        or run.process_changed
        or kernel.workspace.loaded()
        or not run.modules.pristine()
        or ns.get("__builtins__") not in (builtins, vars(builtins))
        or not _puts_out()
    ):
        return False
    codes = [c for c in (run.code, run.tail) if c is not None]
    bound = frozenset().union(*(bytecode.stores(c, True) for c in codes))
    values = run.writes.values_before

    def before(name):  # and not of all names: every node asks
        return (values[name], run.prints.get(name)) if name in run.start and name in values else None

    proof = Proof(before, bound, ns, names.observed)
    return proof.holds(codes) and run.reads <= proof.names


def _puts_out():
    """Reports whether print calls nothing of the program's."""
    out = sys.stdout
    return (
        type(out) is streams.Stream
        and (streams.Stream.write, streams.Stream.flush) == _STREAM
        and vars(out).keys().isdisjoint(("write", "flush"))
    )


class Proof:
    """That code changed nothing. before: of a name, its value and fingerprint when the node began, or None. bound: the
    names that the node bound. observed: whether the names that a code object loads are observed."""

    def __init__(self, before, bound, namespace, observed):
        self._before, self._bound, self._namespace, self._observed = before, bound, namespace, observed
        self.names, self._attributes, self._classes = set(), set(), {}
        self._done = set()

    def holds(self, codes):
        if not all(map(self._code, codes)):
            return False
        done = None
        while done != (len(self._attributes), len(self._classes)):  # what is looked at may have more of both
            done = len(self._attributes), len(self._classes)
            if not all(map(self._attribute, list(self._attributes))):
                return False
        return True

    def _code(self, code, makes=False):
        if (id(code), makes) in self._done:
            return True
        self._done.add((id(code), makes))
        f = facts(code, makes)
        if not f.harmless:
            return False
        self._attributes |= f.attributes
        return all(map(self._name, f.names - self.names))

    def _name(self, name):
        self.names.add(name)
        was = self._before(name)
        if was is None:
            if name in self._bound:
                return True
            return name in _BUILTINS and vars(builtins).get(name) is __builtins__[name]
        value, fp = was
        if type(value) in ATOMS:
            return True
        if fp is None or fp.opaque or fp.weak or fp.files or fp.copied or fp.kinds is None:
            return False
        if type(value) is types.FunctionType:
            return self._function(value)
        if type(value) is type:
            return self._class(value)
        return all(map(self._class, fp.kinds - _DATA))

    def _function(self, f, makes=False):
        constants = (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values())
        return (
            f.__globals__ is self._namespace
            and f.__builtins__ is vars(builtins)
            and f.__closure__ is None
            and not f.__dict__
            and all(type(c) in ATOMS for c in constants)
            and self._observed(f.__code__)
            and self._code(f.__code__, makes)
        )

    def _class(self, c):
        if c in self._classes:
            return True
        if type(c) is not type or c.__mro__ != (c, object) or not instances.bare(c):
            return False
        members = self._classes[c] = dict(vars(c))
        return all(self._member(c, name, value) for name, value in members.items())

    def _member(self, c, name, value):
        if name in _OF_CLASSES or type(value) in ATOMS:
            return True
        if type(value) is not types.FunctionType or name.startswith(("_repr_", "_ipython_")):
            return False
        if not name.startswith("__") and name not in _IMPLICIT:
            return True  # it is looked at where an attribute of that name is loaded
        if name == "__init__":
            kept = facts(value.__code__, True).stored
            return self._generated(c, value, True) and all(type(vars(c).get(k)) in ATOMS for k in kept)
        if name == "__repr__" and value.__code__ is _recursive():
            inner = value.__dict__.get("__wrapped__")
            held = [cell.cell_contents for cell in value.__closure__ or ()]
            same = [f for f in held if type(f) not in (str, set)] == [inner]
            return same and type(inner) is types.FunctionType and self._generated(c, inner)
        return name in _IMPLICIT and self._generated(c, value)

    def _generated(self, c, f, makes=False):
        """Does the same as _function for a method, which dataclasses may have generated."""
        if "__dataclass_fields__" not in vars(c) or f.__code__.co_filename != "<string>":
            return self._function(f, makes)
        return (
            f.__closure__ is None
            and all(type(d) in ATOMS for d in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()))
            and facts(f.__code__, makes).names <= _BUILTINS
            and f.__globals__.keys().isdisjoint(_BUILTINS)
            and self._code(f.__code__, makes)
        )

    def _attribute(self, name):
        if name not in _METHODS and (name in _OTHERS or name.startswith("__")):
            return False
        found = [members[name] for members in list(self._classes.values()) if name in members]
        return name.startswith("__") or all(type(f) is not types.FunctionType or self._function(f) for f in found)


_IMPLICIT = frozenset(  # dict(o) and f(**o) call keys, print(file=o) the last two
    """__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __bool__ __len__ __iter__ __getitem__ __contains__ __call__
    __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__ __mod__ __neg__ __abs__
    __str__ __repr__ __format__ __int__ __float__ __index__ keys write flush""".split()
)


def _recursive():
    """The code of what dataclasses puts around the __repr__ that it generates."""
    dataclasses, reprlib = map(sys.modules.get, ("dataclasses", "reprlib"))
    try:
        made = getattr(dataclasses, "_recursive_repr", None) or vars(reprlib)["recursive_repr"]
        f = made(_recursive)
        f = f if type(f) is types.FunctionType and f.__code__.co_name == "wrapper" else made()(_recursive)
        return f.__code__
    except (KeyError, TypeError):
        return None
