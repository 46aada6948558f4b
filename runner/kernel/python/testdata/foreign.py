"""Judges the unpickler of foreign values: it loads what is data as pickle does, and nothing else, whatever the pickle
names, calls or sets."""

import collections
import datetime
import decimal
import fractions
import functools
import io
import operator
import os
import pathlib
import pickle
import sys
import types
import uuid

import numpy as np
from xstate_kernel.value import foreign


def load(data, buffers=None):
    return foreign.Unpickler(io.BytesIO(data), buffers=buffers).load()


DATA = [
    None,
    True,
    10**40,
    1.5,
    2 + 3j,
    "text",
    b"bytes",
    bytearray(b"b"),
    [1, [2]],
    (1, 2),
    {"a": {1, 2}},
    frozenset((1, 2)),
    range(3),
    slice(1, None),
    Ellipsis,
    collections.OrderedDict(a=1),
    collections.Counter("hello"),
    collections.deque([1, 2], 5),
    collections.defaultdict(list, a=[1]),
    datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc),
    datetime.timedelta(1),
    decimal.Decimal("1.5"),
    fractions.Fraction(1, 3),
    uuid.UUID(int=5),
    pathlib.PurePosixPath("a/b"),
    np.float64(3.5),
    np.arange(6.0).reshape(2, 3),
    np.array([1, "a", None], dtype=object),
    np.array(["abc", "de"]),
    np.array(["2020-01-01"], dtype="M8[ns]"),
    np.arange(3, dtype=">i4"),
]
for value in DATA:
    for protocol in (4, 5):
        got, value = load(pickle.dumps(value, protocol)), pickle.loads(pickle.dumps(value, protocol))
        same = got.tolist() == value.tolist() and got.dtype == value.dtype if hasattr(value, "dtype") else got == value
        assert type(got) is type(value) and same, (value, got)
shared = [[]]
assert (lambda x: x[0][0] is x[1])(load(pickle.dumps([shared, shared[0]])))

FIRED = os.path.join(os.environ.get("TMPDIR", "/tmp"), "xstate-fired-%d" % os.getpid())
COMMAND = "touch " + FIRED


class Calls:
    """What pickles as the call of a function."""

    def __init__(self, function, *args, state=None, items=None):
        self.rv = (function, args, state, items)

    def __reduce__(self):
        return self.rv


def program(*parts):
    """Returns a pickle from instructions, and objects that it makes."""
    made = b"\x80\x04"
    for part in parts:
        made += part if type(part) is bytes else pickle.dumps(part, 4)[2:-1].replace(b"\x95" + bytes(8), b"")
    return made + b"."


def named(module, name):
    return b"\x8c" + bytes([len(module)]) + module.encode() + b"\x8c" + bytes([len(name)]) + name.encode() + b"\x93"


def text(s):
    return b"\x8c" + bytes([len(s)]) + s.encode()


got = load(program(named("numpy._core.multiarray", "scalar")))  # the pickle gets the function that checks
assert got is foreign._scalar, got
assert load(program(named("xstate_kernel.adapters.pandas", "share_references"), b"]\x85R")) is None

HARM = {
    "os.system": pickle.dumps(Calls(os.system, COMMAND)),
    "eval": pickle.dumps(Calls(eval, "__import__('os').system(%r)" % COMMAND)),
    "getattr": pickle.dumps(Calls(getattr, 1, "real")),
    "attrgetter": pickle.dumps(operator.attrgetter("__class__")),
    "partial": pickle.dumps(functools.partial(os.system, COMMAND)),
    "import": pickle.dumps(Calls(__import__, "antigravity")),
    "a dotted name": program(named("numpy", "ndarray.tofile")),
    "a name in a known module": program(named("collections", "_sys")),
    "numpy.load": pickle.dumps(Calls(np.load, "x.npy")),
    "numpy's own exec": program(named("numpy.testing._private.utils", "runstring"), text("x"), b"}\x86R"),
    "a class that is only passed": program(named("builtins", "list"), b")\x81"),
    "a call of ndarray": program(named("numpy", "ndarray"), b"K\x01\x85\x85R"),
    "old protocol": b"cos\nsystem\n(S'" + COMMAND.encode() + b"'\ntR.",
    "INST": b"(S'" + COMMAND.encode() + b"'\nios\nsystem\n.",
    "OBJ": b"(cos\nsystem\nS'" + COMMAND.encode() + b"'\no.",
    "a persistent id": b"Pid\n.",
    "an extension": b"\x82\x01.",
    "the state of a class": program(named("pandas", "DataFrame"), b"N}", text("__repr__"), b"Ns\x86b"),
    "the state of a function": program(named("xstate_kernel.sets", "lay"), b"}", text("__code__"), b"Nsb"),
    "the state of an object of the kernel": program(named("builtins", "Ellipsis"), b"}", text("a"), b"Nsb"),
    "a factory that is called": program(named("collections", "defaultdict"), named("os", "getpid"), b"\x85R"),
    "references as numbers": program(  # the flags of a type say that its elements are no references
        named("numpy", "dtype"),
        text("O8"),
        b"\x89\x88\x87R",
        b"(K\x03",
        text("|"),
        b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb",
    ),
    "an array of references over bytes": program(
        named("xstate_kernel.adapters.numpy", "filled"),
        b"(\x88",
        named("numpy", "dtype"),
        text("O8"),
        b"\x89\x88\x87R",
        b"K\x01\x85",
        text("C"),
        b"C\x08AAAAAAAAtR",
    ),
    "memory beyond an array": program(
        named("xstate_kernel.adapters.numpy", "view"),
        b"(C\x08AAAAAAAA",
        named("numpy", "dtype"),
        text("f8"),
        b"\x89\x88\x87R",
        b"K\x09\x85K\x00N\x88tR",
    ),
    "a number of too few bytes": program(
        named("numpy._core.multiarray", "scalar"), named("numpy", "dtype"), text("f8"), b"\x89\x88\x87R", b"C\x01A\x86R"
    ),
    "the table of a set, too large": program(
        named("xstate_kernel.sets", "lay"),
        b"(\x8f(K\x01\x90",
        b"M\xff\xffK\x00C\x08\x01\x00\x00\x00\x00\x00\x00\x00",
        b"]K\x01atR",
    ),
    "the table of a set with another element": program(
        named("xstate_kernel.sets", "lay"),
        b"(\x8f(K\x01\x90",
        b"K\x07K\x00C\x08\x01\x00\x00\x00\x00\x00\x00\x00",
        b"]K\x02atR",
    ),
    "the table of a set without room": program(
        named("xstate_kernel.sets", "lay"),
        b"(\x8f(K\x01\x90",
        b"K\x07K\x00C\x08\x01\x02\x02\x02\x02\x02\x02\x02",
        b"]K\x01atR",
    ),
    "memory without end": program(
        named("collections", "deque"), named("builtins", "range"), b"\x8a\x06\x00\x00\x00\x00\x00\x01\x85R\x85R"
    ),
    "bytes without end": program(named("builtins", "bytearray"), b"\x8a\x06\x00\x00\x00\x00\x00\x01\x85R"),
    "a call of ndarray by a factory": program(
        named("collections", "defaultdict"), named("numpy", "ndarray"), b"\x85R"
    ),
    "an array of fewer objects than it says": program(
        named("numpy._core.multiarray", "_reconstruct"),
        named("numpy", "ndarray"),
        b"K\x00\x85C\x01b\x87R(K\x01K\x32\x85",
        named("numpy", "dtype"),
        text("O8"),
        b"\x89\x88\x87R(K\x03",
        text("|"),
        b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x3ftb\x89]tb",
    ),
    "an index of pandas": program(named("pandas.core.indexes.base", "_new_Index")),
    "a class of pandas": program(named("pandas", "Index")),
    "an array of Arrow": program(named("pyarrow.lib", "_restore_array")),
    "the attributes of what pandas is not": program(named("xstate_kernel.adapters.pandas", "_bare")),
    "references of frames": program(
        named("xstate_kernel.adapters.pandas", "share_references"), b"]", b"]a", b"\x85R"
    ),
    "a function of the program": program(named("xstate_kernel.values", "_function"), b")R"),
    "code of the kernel": program(named("xstate_kernel.values", "_module"), text("antigravity"), b"]\x86R"),
    "a name of the program": program(named("__main__", "FIRED")),
}
for name in ("os.system", "eval", "old protocol", "INST", "OBJ"):  # the judge sees what pickle does with them
    pickle.loads(HARM[name])
    assert os.path.exists(FIRED), name
    os.remove(FIRED)
for name, data in HARM.items():
    try:
        got = load(data)
    except foreign.Refused:
        pass
    except (TypeError, ValueError, KeyError) as e:  # refused by what was called, in its own words
        assert name in (
            "memory beyond an array",
            "a number of too few bytes",
            "an extension",
            "INST",
            "OBJ",
            "a persistent id",
        ), (name, repr(e))
    else:
        raise AssertionError("%s gave %r" % (name, got))
    assert not os.path.exists(FIRED), name
assert "antigravity" not in sys.modules

# A module beside the program that has the name of a library is code of the workspace.
assert "fractions" in sys.modules
sys.modules["uuid"] = module = types.ModuleType("uuid")
module.__file__, module.UUID = os.path.join(os.getcwd(), "uuid.py"), os.system
try:
    load(program(named("uuid", "UUID"), text(COMMAND), b"\x85R"))
    raise AssertionError("a module of the workspace was used")
except foreign.Refused:
    pass
assert not os.path.exists(FIRED)
