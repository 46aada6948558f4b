"""JSON Schemas of types, and values of these types from data."""

import json

from ._errors import ToolError
from ._plain import plain

_ATOMS = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def of(schema):
    """Returns the JSON Schema of a schema or type, and a function that makes a value of the type from a result."""
    if isinstance(schema, dict):
        return plain(schema, "schema"), lambda result: _data(result, schema)
    if hasattr(schema, "model_json_schema"):
        described = plain(schema.model_json_schema(), "schema")
        return described, lambda result: schema.model_validate(_data(result, described))
    described = _described(schema)
    return described, lambda result: _made(schema, _data(result, described))


def _data(result, schema):
    """Returns the data that a result is. Some models answer with a text that holds it."""
    if not isinstance(result, str) or schema.get("type") == "string":
        return result
    try:
        return json.loads(result)
    except ValueError:
        raise ToolError(f"the model did not answer with JSON: {result!s:.200}", "tool-result") from None


def _described(kind, above=()):
    import typing

    if kind in _ATOMS:
        return {"type": _ATOMS[kind]}
    if kind is typing.Any:
        return {}
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is list or origin is list:
        return {"type": "array", **({"items": _described(args[0], above)} if args else {})}
    if kind is dict or origin is dict:
        return {"type": "object", **({"additionalProperties": _described(args[1], above)} if args else {})}
    if origin is typing.Literal:
        return {"enum": list(args)}
    if _is_union(origin):
        return {"anyOf": [_described(a, above) for a in args]}
    if not isinstance(kind, type) or not (hasattr(kind, "__dataclass_fields__") or typing.is_typeddict(kind)):
        raise TypeError(f"{kind!r} cannot be a schema; pass a JSON Schema, a dataclass or a TypedDict")
    if kind in above:
        raise TypeError(f"{kind.__name__} contains itself; pass a JSON Schema")
    fields, above = _fields(kind), (*above, kind)
    needed = [name for name in fields if _is_needed(kind, name)]
    found = {
        "type": "object",
        "properties": {name: _described(t, above) for name, t in fields.items()},
        "required": needed,
        "additionalProperties": False,
    }
    return found


def _fields(kind):
    import typing

    hints = typing.get_type_hints(kind)
    names = getattr(kind, "__dataclass_fields__", None) or hints
    return {name: hints[name] for name in names if name in hints}


def _is_needed(kind, name):
    fields = getattr(kind, "__dataclass_fields__", None)
    if fields is None:
        return name in kind.__required_keys__
    import dataclasses

    f = fields[name]
    return f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING


def _is_union(origin):
    import types
    import typing

    return origin is typing.Union or origin is types.UnionType


def _made(kind, data):
    """Makes a value of a type from data that its schema describes."""
    import typing

    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if _is_union(origin):
        for a in args:
            if _fits(a, data):
                return _made(a, data)
        return data
    if origin is list and isinstance(data, list):
        return [_made(args[0], v) for v in data]
    if origin is dict and isinstance(data, dict):
        return {k: _made(args[1], v) for k, v in data.items()}
    if kind is float and type(data) is int:
        return float(data)
    if isinstance(data, dict) and (hasattr(kind, "__dataclass_fields__") or typing.is_typeddict(kind)):
        fields = _fields(kind)
        try:
            return kind(**{k: _made(fields.get(k, typing.Any), v) for k, v in data.items()})
        except TypeError as e:
            raise ToolError(f"the answer is no {kind.__name__}: {e!s}", "tool-result") from None
    return data


def _fits(kind, data):
    origin = getattr(kind, "__origin__", None) or kind
    if hasattr(origin, "__dataclass_fields__") or hasattr(origin, "__required_keys__"):
        return isinstance(data, dict)
    if origin is float:
        return isinstance(data, (int, float)) and not isinstance(data, bool)
    return isinstance(origin, type) and isinstance(data, origin) and (origin is not int or not isinstance(data, bool))
