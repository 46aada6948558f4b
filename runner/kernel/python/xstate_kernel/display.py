"""What a value looks like: media bundles for results and display(), bounded descriptions for queries, figures."""

import binascii
import reprlib

from xstate_kernel import original as __builtins__

from . import adapters

_ATOMS = (int, str, float, bool, type(None), bytes, complex)


def pretty(value):
    """Returns the text of a value in a notebook."""
    from .pretty import pretty  # plain programs do not need it

    return pretty(value)


def text_of(request):
    """Returns the function that writes the result of a node as text."""
    return pretty if request.get("dialect") == "ipython" else repr


def bundle(value, text=repr):
    """Returns media type → text for a value; images in base64. text writes the value as text."""
    own = adapters.bundle(value)
    if own is not None:
        own.setdefault("text/plain", text(value))
        return own
    found = {"text/plain": text(value)}
    for method, media in (
        ("_repr_html_", "text/html"),
        ("_repr_markdown_", "text/markdown"),
        ("_repr_svg_", "image/svg+xml"),
        ("_repr_png_", "image/png"),
        ("_repr_latex_", "text/latex"),
        ("_repr_jpeg_", "image/jpeg"),
        ("_repr_javascript_", "application/javascript"),
    ):
        try:
            render = getattr(type(value), method, None)  # not on the value, whose __getattr__ may answer to any name
            data = render(value) if callable(render) else None
        except Exception:
            continue
        if isinstance(data, tuple):
            data = data[0]
        if isinstance(data, bytes):
            found[media] = binascii.b2a_base64(data, newline=False).decode()
        elif isinstance(data, str):
            found[media] = data
    return found


def describe(value):
    """Returns type, repr, shape and size of a value in bounded time, running none of the program's code."""
    t = type(value)
    info = {"type": t.__qualname__ if t.__module__ in ("builtins", "__main__") else f"{t.__module__}.{t.__qualname__}"}
    try:
        adapter = adapters.of_type(t)
        own = adapter and adapter.describe(value, t, _small.repr)
        if issubclass(t, _ATOMS) and t.__module__ == "builtins":
            info["repr"] = _small.repr(value)
        elif t in (list, tuple, set, frozenset, dict):
            info["shape"] = str(len(value))
            items = list(value.items() if t is dict else value) if len(value) <= 64 else []
            if (
                items
                and all(type(x) in _ATOMS or (type(x) is tuple and all(type(y) in _ATOMS for y in x)) for x in items)
            ) or not value:
                info["repr"] = _small.repr(value)
        elif own is not None:
            info.update(own)
        elif callable(value) and hasattr(value, "__qualname__"):
            info["repr"] = f"<{t.__name__} {value.__qualname__}>"
    except Exception:
        pass
    return info


_small = reprlib.Repr()
_small.maxstring = _small.maxother = 200
_small.maxlist = _small.maxtuple = _small.maxset = _small.maxfrozenset = _small.maxdict = 12
