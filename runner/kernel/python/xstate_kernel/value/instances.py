"""Takes instances of the user's classes apart and reassembles them without running their code. Their own pickling may
have side effects, leave things out, or give false results."""

import copyreg
import enum
import types

from xstate_kernel import original as __builtins__

from ..ground import code_owner, kept_names
from . import attributes

_BASES = (list, dict, tuple, set, frozenset, int, float, str, bytes, complex)
_PICKLING = frozenset(("__reduce__", "__reduce_ex__", "__getstate__", "__getnewargs__", "__getnewargs_ex__"))
_LOADING = frozenset(
    (
        "__class__",
        "__setstate__",
        "__new__",
        "__getattr__",
        "__getattribute__",
        "__setattr__",
        "__setitem__",
        "append",
        "extend",
    )
)
_CALLED = _LOADING | {"__init__", "update", "add"}  # by a class that is called
_PYTHON = (
    1 << 9,
    1 << 8,
)  # type flags: made by a class statement are those with the first (heap) and without the second (immutable)

_simple, _custom, _bares = {}, {}, {}


def _users(c):
    return code_owner.kind_of(c.__module__) != code_owner.LIBRARY


def python(c):
    """Reports whether a class was made by a class statement."""
    return bool(c.__flags__ & _PYTHON[0] and not c.__flags__ & _PYTHON[1])


def simple(t):
    """Reports whether t is a class of the user's whose instances are what their __dict__, slots and built-in base
    hold."""
    found = _simple.get(t)
    if found is None:
        found = _users(t)
        for c in t.__mro__:
            if c is object or c in _BASES or _users(c):
                continue
            found = found and python(c) and _PICKLING.isdisjoint(vars(c))
        _simple[t] = found
    return found


class _Bare:
    """A model of instances that have attributes and nothing else."""


def bare(t):
    """Reports whether instances of t are what their __dict__ holds, and o.__dict__ gives that."""
    found = _bares.get(t)
    if found is None:
        found = _bares[t] = _is_bare(t)
    return found


def _is_bare(t):
    return bool(
        simple(t)
        and base(t) is object
        and t.__dictoffset__
        and t.__basicsize__ <= _Bare.__basicsize__
        and t.__getattribute__ is object.__getattribute__
        and not any(
            "__dict__" in vars(c) and type(vars(c)["__dict__"]) is not types.GetSetDescriptorType for c in t.__mro__
        )
    )


def record(t):
    """Reports whether instances of t are tuples that hold nothing but their items: as those of a NamedTuple."""
    return bool(simple(t) and base(t) is tuple and not t.__dictoffset__)


def custom(t):
    """Reports whether pickling an instance of t would run code of the user's."""
    found = _custom.get(t)
    if found is None:
        found = t in copyreg.dispatch_table
        found = _custom[t] = found or any(
            not (_PICKLING | _LOADING).isdisjoint(vars(c)) for c in t.__mro__ if c is not object and _users(c)
        )
    return found


def loaded_by_user(t, rv):
    """Reports whether putting an instance together from what a library pickles of it would run code of the user's."""
    if issubclass(t, enum.Enum):
        return False  # is there already
    called = {"__new__"}
    if rv[0] not in (copyreg.__newobj__, copyreg.__newobj_ex__):
        called |= _CALLED
    for part, names in zip(rv[2:5], (("__setstate__",), ("append", "extend"), ("__setitem__",))):
        if part is not None:
            called.update(names)
    return any(not called.isdisjoint(vars(c)) for c in t.__mro__ if c is not object and _users(c))


def base(t):
    """The built-in class that t is derived from, or object."""
    return next((b for b in _BASES if issubclass(t, b)), object)


def parts(o, t):
    """Returns what the built-in base holds (None for object), the attributes as a dict or None, the slots as (place,
    name, value), and whether that dict is o's own."""
    if bare(t):
        members, own = attributes.of(o, t)
        return None, members, [], own
    b = base(t)
    if b in (list, tuple, set, frozenset):
        content = list(b.__iter__(o))
    elif b is dict:
        content = dict(dict.items(o))
    elif b is object:
        content = None
    elif b in (str, bytes):
        content = b.__getitem__(o, slice(None))
    elif b is complex:
        content = complex(complex.real.__get__(o), complex.imag.__get__(o))
    else:
        content = b.__int__(o) if b is int else b.__float__(o)
    slots = []
    for i, c in enumerate(t.__mro__):
        for name, member in vars(c).items():
            if type(member) is types.MemberDescriptorType:
                try:
                    slots.append((i, name, member.__get__(o)))
                except AttributeError:
                    pass  # not set
    return content, object.__getattribute__(o, "__dict__") if t.__dictoffset__ else None, slots, True


def reduce(o, t):
    """Returns what a pickler needs to store o."""
    content, members, slots, _ = parts(o, t)
    b = object if bare(t) else base(t)
    if b in (list, dict, set, object):
        return make, (t, b, None), (content, members, slots), None, None, fill
    return make, (t, b, content), (None, members, slots), None, None, fill


def make(t, b, content):
    return b.__new__(t) if content is None else b.__new__(t, content)


def fill(o, state):
    content, members, slots = state
    if type(content) is list:
        (set.update if issubclass(type(o), set) else list.extend)(o, content)
    elif content is not None:
        for k, v in content.items():
            dict.__setitem__(o, k, v)
    if members:
        _set(o, type(o), members)
    for i, name, value in slots:
        vars(type(o).__mro__[i])[name].__set__(o, value)


def _set(o, t, members):
    """Gives o attributes, without its __dict__ where that will do."""
    if type(t) is type and bare(t) and not any(hasattr(type(getattr(t, k, None)), "__set__") for k in members):
        for k, v in members.items():
            object.__setattr__(o, k, v)
    else:
        object.__getattribute__(o, "__dict__").update(members)


kept_names.keep("instances", __name__, make, fill)
