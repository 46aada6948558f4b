"""The representations of a value: media bundles for results and display(), bounded descriptions for queries,
figures."""

import itertools
import reprlib

from xstate_kernel import original as __builtins__

from .. import adapters
from ..ground import media
from . import formatters

_ATOMS = (int, str, float, bool, type(None), bytes, complex)


def pretty(value):
    """Returns the text of a value in a notebook."""
    from .pretty import pretty  # plain programs do not need it

    return pretty(value)


class Bundle(dict):
    """Media type → text; images in base64. metadata is what a page needs to show them: media type → settings."""

    def __init__(self, media, metadata):
        super().__init__(media)
        self.metadata = metadata


def show(recorder, objects, display_id=None, update=False, clear=False, metadata=None, raw=False, **_):
    """Displays values, as display does in a notebook. Raw values are media that the program made itself. With an id it
    returns an object of IPython, if that is installed, which displays other values in their place."""
    if clear:
        recorder.clear(True)
    if display_id is True:
        display_id = recorder.display_id()
    for o in objects:
        if not raw and shows_itself(o):
            continue
        found = Bundle({m: media.text(m, d) for m, d in o.items()}, {}) if raw else bundle(o, pretty)
        found.metadata.update(metadata or {})
        recorder.rich("update" if update else "display", found, display_id)
    if display_id is None:
        return None
    try:
        from IPython.core.display_functions import DisplayHandle  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    return DisplayHandle(display_id)


def shows_itself(value):
    """Has a value displayed by its own method, as in IPython. Reports whether it has one."""
    method = getattr(type(value), "_ipython_display_", None)
    if not callable(method) or isinstance(value, type):
        return False
    try:
        method(value)
    except NotImplementedError:
        return False
    except Exception as e:
        formatters.report(e)
        return False
    return True


def text_of(request):
    """Returns the function that writes the result of a node as text."""
    return pretty if request.get("dialect") == "ipython" else repr


def bundle(value, text=repr):
    """Returns media type → text for a value; images in base64. text writes the value as text. A function that the
    program has registered for a medium comes first, then what the value or its library gives as several media, then its
    methods. In a notebook their exceptions are printed, as IPython does."""
    failed = formatters.report if text is pretty else lambda e: None
    metadata: dict = {}
    found = Bundle(adapters.bundle(value, metadata) or {}, metadata)
    if formatters.plain.knows(value):
        found["text/plain"] = formatters.plain(value)
    elif "text/plain" not in found:
        try:
            found["text/plain"] = text(value)
        except Exception as e:
            if text is not pretty:
                raise
            failed(e)
    for kind, show in formatters.formatter.formatters.items():
        if kind == "text/plain" or ((kind in found or kind == "application/json") and not show.knows(value)):
            continue
        data = show(value, failed)
        if isinstance(data, tuple):
            data, metadata[kind] = data
        if isinstance(data, (bytes, str)):
            found[kind] = media.text(kind, data)
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


class _Small(reprlib.Repr):
    """reprlib's, which sorts the keys of a dict, with the order that they have."""

    def repr_dict(self, x, level):
        if level <= 0 and x:
            return "{...}"
        items = itertools.islice(x.items(), self.maxdict)
        shown = [f"{self.repr1(k, level - 1)}: {self.repr1(v, level - 1)}" for k, v in items]
        return "{" + ", ".join(shown + ["..."] * (len(x) > self.maxdict)) + "}"


_small = _Small()
_small.maxstring = _small.maxother = 200
_small.maxlist = _small.maxtuple = _small.maxset = _small.maxfrozenset = _small.maxdict = 12
