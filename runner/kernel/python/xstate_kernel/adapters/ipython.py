"""IPython: its display functions show values as the builtin display does, and values that bring their own media."""

import binascii
import builtins
import json

from xstate_kernel import original as __builtins__

from .protocol import Adapter

_WIDGETS = "application/vnd.jupyter.widget-"  # they need a running kernel


class IPython(Adapter):
    packages = ("IPython",)

    def after_import(self):
        return {"IPython.core.display_functions": _watch}

    def bundle(self, value):
        """Returns the media of a value that follows IPython's protocol for several media, or for JSON."""
        media = {}
        for method, name in (("_repr_mimebundle_", None), ("_repr_json_", "application/json")):
            render = getattr(type(value), method, None)
            if not callable(render):
                continue
            try:
                found = render(value) if name else render(value, include=None, exclude=None)
            except Exception:
                continue
            if isinstance(found, tuple):
                found = found[0]
            if name and found is not None:
                found = {name: found}
            for key, data in found.items() if isinstance(found, dict) else ():
                if isinstance(key, str) and not key.startswith(_WIDGETS):
                    media[key] = _text(data)
        return media or None


def _text(data):
    if isinstance(data, bytes):
        return binascii.b2a_base64(data, newline=False).decode()
    return data if isinstance(data, str) else json.dumps(data)


class _Media:
    """A bundle of media that the program made itself."""

    def __init__(self, media):
        self._media = media

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self._media


def _watch(hidden, module):
    """Without a shell of IPython, its functions print values as text, or make a shell."""
    show = getattr(builtins, "display", None)
    if show is None:
        return  # the program is not a notebook: outside of xstate it has no shell either

    recorder = getattr(builtins, "__xstate__")._recorder  # noqa: B009

    def display(*objs, raw=False, display_id=None, update=False, **given):
        if update and display_id is None:
            raise TypeError("display_id required for update_display")
        shown = (_Media(o) if raw and isinstance(o, dict) else o for o in objs)
        return show(*shown, display_id=display_id, update=update, **given)

    def publish_display_data(data, metadata=None, *, transient=None, update=False, **_):
        show(_Media(data), display_id=(transient or {}).get("display_id"), update=update)

    def clear_output(wait=False):
        recorder.clear(wait)

    def _new_id():
        return recorder.display_id()

    for f in (display, publish_display_data, clear_output, _new_id):
        original = getattr(module, f.__name__, None)
        if original is None:
            continue  # another version has none
        f.__qualname__, f.__module__, f.__doc__ = original.__qualname__, original.__module__, original.__doc__
        setattr(module, f.__name__, f)


adapter = IPython()
