"""Plain data: what arguments and results of calls are made of.

A call is named by its arguments, so these must be data that means the same everywhere. Tuples count as lists, and
numbers of NumPy as numbers. Nothing else is converted in silence: the error says what to pass instead.
"""

import json
import math

from ._errors import NotPlain

LIMIT = 64 << 20  # bytes of JSON

_WORDS = {  # type → what to pass instead
    "set": "sorted(x), which is a list in one order",
    "frozenset": "sorted(x), which is a list in one order",
    "bytes": "base64.b64encode(x).decode(), which is text",
    "bytearray": "base64.b64encode(x).decode(), which is text",
    "memoryview": "base64.b64encode(x).decode(), which is text",
    "datetime": "x.isoformat()",
    "date": "x.isoformat()",
    "time": "x.isoformat()",
    "timedelta": "x.total_seconds()",
    "Timestamp": "x.isoformat()",
    "Decimal": "str(x), or float(x)",
    "Fraction": "str(x), or float(x)",
    "complex": "[x.real, x.imag]",
    "UUID": "str(x)",
    "ndarray": "x.tolist()",
    "Series": "x.tolist()",
    "Index": "x.tolist()",
    "DataFrame": 'x.to_dict("records")',
    "Tensor": "x.tolist()",
    "range": "list(x)",
    "generator": "list(x)",
    "map": "list(x)",
    "filter": "list(x)",
    "zip": "list(x)",
    "dict_keys": "list(x)",
    "dict_values": "list(x)",
    "dict_items": "list(x)",
    "coroutine": "its result: put await before it",
    "Task": "its result: put await before it",
    "Future": "its result: put await before it",
}


def plain(value, path):
    """Returns value as lists, dicts and atoms. path names it in errors, as in query.filters[2]."""
    return _plain(value, path, [])


def _plain(v, path, above):
    kind = type(v)
    if v is None or kind is bool or kind is int:
        return v
    if kind is str:
        return _text(v, path)
    if kind is float:
        return _number(v, path)
    if kind is list or kind is tuple or kind is dict:
        return _container(v, path, above)
    module = kind.__module__.partition(".")[0]
    if module == "numpy" and getattr(v, "ndim", None) == 0 and hasattr(v, "item"):
        item = v.item()
        if type(item) in (bool, int, float, str):
            return _plain(item, path, above)
    if isinstance(v, str):
        return _text(str.__str__(v), path)
    if isinstance(v, int):
        return int.__int__(v)
    if isinstance(v, float):
        return _number(float.__float__(v), path)
    if isinstance(v, (list, tuple, dict)):
        return _container(v, path, above)
    raise _refusal(v, path, _instead(v, kind))


def _instead(v, kind):
    if hasattr(kind, "__members__"):
        return "x.value"
    if hasattr(kind, "__dataclass_fields__"):
        return "dataclasses.asdict(x)"
    if hasattr(kind, "model_dump"):
        return 'x.model_dump(mode="json")'
    if hasattr(kind, "__fspath__"):
        return "str(x)"
    if callable(v):
        return "its name, or its result"
    for c in kind.__mro__:
        if c.__name__ in _WORDS:
            return _WORDS[c.__name__]
    return "text, numbers, lists or a dict of these"


def _refusal(v, path, instead):
    kind = type(v)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return NotPlain(f"{path} is of type {name}, which is not plain data; pass {instead}")


def _text(v, path):
    if not v.isascii():
        try:
            v.encode()
        except UnicodeEncodeError:
            raise NotPlain(
                f"{path} has half of a surrogate pair, which is no character; pass "
                'x.encode("utf-8", "replace").decode()'
            ) from None
    return v


def _number(v, path):
    if not math.isfinite(v):
        raise NotPlain(f"{path} is {v!r}, which JSON does not have; pass None, or a text")
    return v


def _container(v, path, above):
    if any(v is a for a in above):
        raise NotPlain(f"{path} contains itself; pass data without cycles")
    above.append(v)
    if isinstance(v, dict):
        found = {}
        for k, x in dict.items(v):
            if not isinstance(k, str):
                raise NotPlain(f"{path} has the key {k!r} of type {type(k).__qualname__}; keys are text: pass str(key)")
            k = _text(str.__str__(k), "a key of " + path)
            found[k] = _plain(x, f"{path}.{k}" if k.isidentifier() else f"{path}[{k!r}]", above)
    else:
        found = [_plain(x, "%s[%d]" % (path, i), above) for i, x in enumerate(v)]
    above.pop()
    return found


_LETTERS = {type(None): "n", bool: "b", int: "i", float: "f", str: "s", list: "", tuple: "t", dict: ""}


def shape(value):
    """Returns what plain drops of a value, and a function of the program may see all the same: types, and the order of
    keys."""
    kind = type(value)
    name = _LETTERS.get(kind)
    if name is None:
        name = f"<{kind.__module__}.{kind.__qualname__}>"
    if isinstance(value, dict):
        items = (f"{str.__str__(k)!r}:{shape(k)}{shape(v)}" for k, v in dict.items(value))
        return f"{name}{{{','.join(items)}}}"
    if isinstance(value, (list, tuple)):
        return f"{name}[{''.join(map(shape, value))}]"
    return "-f" if kind is float and value == 0 and math.copysign(1, value) < 0 else name


def encoded(value, what):
    """Returns plain data as one line of JSON, in bytes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    if len(text) > LIMIT:
        raise NotPlain("%s: %d bytes are more than %d; write a file, and pass its name" % (what, len(text), LIMIT))
    return text
