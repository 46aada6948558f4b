"""Texts of cells, keys and items: short, and made without code of the program."""

import enum
import sys
import types
from itertools import islice

from xstate_kernel import original as __builtins__

_FEW = 6  # items of a container in one text
_DEEP = 2
_PART = 2000  # characters of the text of a part
_BITS = 512  # of an integer that is written in decimal; a long one takes time, and CPython refuses 4300 digits
# Libraries whose texts of values are short and change nothing.
_LIBRARIES = frozenset(
    ("numpy", "pandas", "polars", "pyarrow", "torch", "scipy", "shapely", "dateutil", "pytz", "zoneinfo", "PIL")
)
_STANDARD = frozenset(sys.stdlib_module_names) - {"__main__"}
_NAMED = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType)
_PLAIN = frozenset((str, bytes, bytearray, int, float, bool, complex, type(None)))
_SEQUENCES = {list: "[]", tuple: "()", set: "{}", frozenset: ("frozenset({", "})")}


# Standard types whose texts call nothing of what they hold, for they hold nothing.
_LEAVES = frozenset(
    (
        *("date", "time", "datetime", "timedelta", "timezone", "Decimal", "Fraction", "UUID", "ellipsis", "range"),
        *("PosixPath", "PurePosixPath", "WindowsPath", "PureWindowsPath", "Pattern", "Match", "IPv4Address"),
        *("IPv6Address", "IPv4Network", "IPv6Network", "ZoneInfo", "array", "memoryview", "NotImplementedType"),
    )
)


def top(kind):
    """Returns the package that a type is from. A type that a program names after a package is from none."""
    module = _of_type(kind, "__module__")
    if type(module) is not str:
        return ""
    package = module.partition(".")[0]
    if package in _LIBRARIES or (package in _STANDARD and package != "builtins"):
        at = sys.modules.get(module)
        for name in qualname(kind).split("."):
            at = getattr(at, name, None) if type(at) is types.ModuleType or isinstance(at, type) else None
        if at is not kind and _of_type(kind, "__flags__") & _HEAP:
            return ""
    return package


_HEAP = 1 << 9  # the type was made by a class statement, or as if by one


def _of_type(kind, name):
    """Returns an attribute of a type, whatever its metaclass says."""
    return type.__dict__[name].__get__(kind)


def qualname(kind):
    return _of_type(kind, "__qualname__")


def kind_of(v):
    """Returns the name of a value's type for people."""
    kind = type(v)
    package = top(kind)
    return qualname(kind) if package in ("builtins", "__main__", "") else f"{package}.{qualname(kind)}"


def known(kind):
    """Reports whether the standard library or a known library defines a type."""
    package = top(kind)
    return package in _STANDARD or package in _LIBRARIES


def clipped(text, most):
    return text if len(text) <= most else text[:most] + "..."


def cell(v, most):
    """Returns the text of a cell: that of a string has no quotes."""
    if issubclass(type(v), str) and known(type(v)):
        return clipped(str(v[: most + 1]), most).encode("utf-8", "backslashreplace").decode()
    return brief(v, most)


def whole(v):
    """Returns the text of a part of a value."""
    return repr(v) if type(v) in _PLAIN else brief(v, _PART)


def base(v):
    """Returns the builtin container that a value is."""
    for kind in (dict, list, tuple, set, frozenset):
        if issubclass(type(v), kind):
            return kind
    if top(type(v)) == "collections" and type(v).__name__ == "deque":
        return type(v)
    return None


def length(v):
    """Returns how many items a builtin container holds, whatever a class of the program says."""
    return (base(v) or type(v)).__len__(v)


def brief(v, most, deep=_DEEP):
    """Returns a text of at most so many characters."""
    return clipped(_brief(v, most, deep), most)


def _brief(v, most, deep):
    kind = type(v)
    if kind in (str, bytes, bytearray) or (issubclass(kind, (str, bytes)) and known(kind)):
        plain = (str if issubclass(kind, str) else bytes)(v[:most])
        return repr(plain) + ("..." if len(v) > most else "")
    if kind is int:
        return _integer(v)
    if kind in (float, bool, complex, type(None)):
        return repr(v)
    if base(v) is not None:
        return _container(v, most, deep)
    if issubclass(kind, enum.Enum):
        return f"{qualname(kind)}.{object.__getattribute__(v, '_name_')}"
    if issubclass(kind, type):
        return f"<{_of_type(kind, '__name__')} {qualname(v)}>"
    if kind in _NAMED:
        return f"<{kind.__name__} {_name(v)}>"
    if known(kind):
        return _known(v, kind)
    return _object(v, most, deep)


def _integer(v):
    bits = v.bit_length()
    if bits <= _BITS:
        return repr(v)
    return f"{'-' if v < 0 else ''}{hex(abs(v) >> (bits - 64))}... ({bits} bits)"


def _name(v):
    name = getattr(v, "__qualname__", None) or getattr(v, "__name__", "")
    return name if type(name) is str else ""


def _known(v, kind):
    package = top(kind)
    zone = getattr(v, "tzinfo", None) if package in ("datetime", "pandas") else None
    if zone is not None and not known(type(zone)):
        return f"{v.replace(tzinfo=None)!s} <{qualname(type(zone))}>"
    if package in _LIBRARIES:
        shape = getattr(v, "shape", None)
        if type(shape) is tuple and shape:
            return f"{kind_of(v)} {' x '.join(map(str, shape))}"
        if getattr(getattr(v, "dtype", None), "hasobject", False):
            return f"<{kind_of(v)}>"
        return str(v) if package in ("numpy", "pandas") else repr(v)
    if package == "pathlib" or _of_type(kind, "__name__") in _LEAVES:
        return str(v) if package in ("datetime", "decimal", "fractions", "uuid") else repr(v)
    return f"<{kind_of(v)}>"  # its own text would ask for those of what it holds


def _container(v, most, deep):
    kind = base(v) or type(v)
    name = "" if type(v) is kind and kind in (dict, list, tuple, set, frozenset) else qualname(type(v))
    size = length(v)
    if deep == 0:
        return f"{name}({size})" if name else {dict: "{...}", list: "[...]"}.get(kind, "(...)")
    if kind is dict:
        parts = [f"{_brief(k, most, 0)}: {brief(x, most, deep - 1)}" for k, x in islice(dict.items(v), _FEW)]
        left, right = "{}"
    else:
        parts = [brief(x, most, deep - 1) for x in islice(kind.__iter__(v), _FEW)]
        left, right = _SEQUENCES.get(kind, "[]")
        if not parts and kind in (set, frozenset):
            return f"{name or kind.__name__}()"
        if kind is tuple and size == 1:
            right = ",)"
    if size > _FEW:
        parts.append("...")
    text = f"{left}{', '.join(parts)}{right}"
    return f"{name}({text})" if name else text


def _object(v, most, deep):
    name = qualname(type(v))
    found = fields(v)
    if not found or deep == 0:
        return f"<{name}>"
    parts = [f"{k}={brief(x, most, deep - 1)}" for k, x in found[:_FEW]]
    return f"{name}({', '.join(parts)}{', ...' if len(found) > _FEW else ''})"


def fields(v):
    """Returns the attributes that an object itself holds, with their names. No property is computed."""
    found = []
    for kind in type(v).__mro__:
        for name, member in type.__getattribute__(kind, "__dict__").items():
            if type(member) is types.MemberDescriptorType and not name.startswith("__"):
                try:
                    found.append((name, member.__get__(v)))
                except AttributeError:  # it has no value
                    continue
            elif name == "__dict__" and type(member) is types.GetSetDescriptorType:
                own = member.__get__(v)
                found.extend(item for item in dict.items(own) if type(item[0]) is str)
    return found
