"""The plain form of values, in which they pass to blocks in other languages. See docs/languages.md."""

import json
import sys

from xstate_kernel import original as __builtins__

from ..ground import kept_names

_SAFE = 1 << 53  # integers beyond it are not numbers in every language


class NoPlainForm(TypeError):
    """A value cannot pass to another language."""

    __module__ = "builtins"


def document(values):
    """Returns the document of values by name."""
    return json.dumps({"names": {name: _form(v, name, ()) for name, v in values.items()}}, allow_nan=False).encode()


def values(text):
    """Returns the values of a document by name. Each is made anew."""
    made = {}
    for name, form in json.loads(text)["names"].items():
        try:
            made[name] = _value(form)
        except Exception as e:  # what a library for tables raises
            raise NoPlainForm(f"{name}: {e}") from None
    return made


def _form(v, where, within):
    t = type(v)
    if v is None or t is bool or t is str:
        return v
    if t is int:
        return v if -_SAFE <= v <= _SAFE else {"$int": str(v)}
    if t is float:
        return _number(v)
    if t is list or t is tuple or t is dict:
        if any(v is outer for outer in within):
            raise NoPlainForm(f"{where}: it holds itself")
        within += (v,)
        if t is dict:
            return _mapping(v, where, within)
        return [_form(x, f"{where}[{i}]", within) for i, x in enumerate(v)]
    return _scalar(v, t, where) or _library(v, t, where, within)


def _number(v):
    if v != v:
        return {"$number": "NaN"}
    if v in (float("inf"), float("-inf")):
        return {"$number": "Infinity" if v > 0 else "-Infinity"}
    return {"$number": "-0"} if v == 0 and str(v) == "-0.0" else v


def _mapping(v, where, within):
    if all(type(k) is str and not k.startswith("$") for k in v):
        return {k: _form(x, f"{where}.{k}", within) for k, x in v.items()}
    pairs = [[_form(k, f"{where}: a key", within), _form(x, f"{where}[{k!r}]", within)] for k, x in v.items()]
    return {"$map": pairs}


def _scalar(v, t, where):
    if t is bytes or t is bytearray:
        import base64

        return {"$bytes": base64.b64encode(v).decode()}
    if t.__module__ == "datetime":
        return _date(v, t.__name__, where)
    return None


def _date(v, name, where):
    if name == "date":
        return {"$day": v.isoformat()}
    if name != "datetime":
        raise NoPlainForm(f"{where}: a {name}")
    if v.utcoffset() is None:
        return {"$datetime": v.isoformat()}
    import datetime

    return {"$date": v.astimezone(datetime.timezone.utc).replace(tzinfo=None).isoformat() + "Z"}


def _library(v, t, where, within):
    """Numbers and arrays of numpy, and tables of pandas, polars and pyarrow."""
    top = t.__module__.partition(".")[0]
    if top == "numpy" and hasattr(v, "tolist") and getattr(v, "dtype", None) is not None and v.dtype.kind in "biufU":
        return _form(v.tolist(), where, within)
    if top in ("pandas", "polars", "pyarrow") and t.__name__ in ("DataFrame", "Table"):
        return {"$table": _arrow(v, top, where)}
    raise NoPlainForm(f"{where}: a value of the type {t.__module__}.{t.__qualname__}")


def _arrow(v, top, where):
    import base64
    import io

    out = io.BytesIO()
    if top == "polars":
        v.write_ipc_stream(out)
    else:
        pyarrow = _pyarrow(f"{where}: ")
        table = pyarrow.Table.from_pandas(v) if top == "pandas" else v
        with pyarrow.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)
    return base64.b64encode(out.getvalue()).decode()


def _pyarrow(where=""):
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise NoPlainForm(f"{where}a table passes by Arrow: pip install pyarrow") from None
    return pyarrow


def _value(form):
    if type(form) is list:
        return [_value(x) for x in form]
    if type(form) is not dict:
        return form
    if len(form) == 1:
        ((tag, v),) = form.items()
        if tag in _TAGS:
            return _TAGS[tag](v)
    return {k: _value(x) for k, x in form.items()}


def _bytes(v):
    import base64

    return base64.b64decode(v)


def _instant(v):
    import datetime

    return datetime.datetime.fromisoformat(v[:-1]).replace(tzinfo=datetime.timezone.utc)


def _datetime(v):
    import datetime

    return datetime.datetime.fromisoformat(v)


def _day(v):
    import datetime

    return datetime.date.fromisoformat(v)


def _table(v):
    """A DataFrame of the library that is there: polars if the program has loaded it and not pandas, else pandas, else a
    table of pyarrow."""
    import io

    data = _bytes(v)
    if "polars" in sys.modules and "pandas" not in sys.modules:
        import polars

        return polars.read_ipc_stream(io.BytesIO(data))
    table = _pyarrow().ipc.open_stream(data).read_all()
    try:
        import pandas  # noqa: F401
    except ImportError:
        return table
    return table.to_pandas()


_TAGS = {
    "$number": float,
    "$int": int,
    "$bytes": _bytes,
    "$date": _instant,
    "$datetime": _datetime,
    "$day": _day,
    "$map": lambda pairs: {_key(k): _value(v) for k, v in pairs},
    "$table": _table,
}


def _key(form):
    key = _value(form)
    return tuple(key) if type(key) is list else key


def give(names):
    """Returns the text of a node that gives values to another language."""
    names = json.loads(names)
    return f"__xstate__.give({{{', '.join(f'{n!r}: {n}' for n in names)}}})"


def take(text):
    """Returns the text of a node that takes values, and the values."""
    taken = values(text)
    return "; ".join(f"{n} = __xstate__.take({n!r})" for n in taken), taken


kept_names.keep("plain", __name__, NoPlainForm)
