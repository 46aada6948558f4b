"""IPython: its display functions show values as the builtin display does, and values that bring their own media."""

import builtins

from xstate_kernel import original as __builtins__

from ..ground import media
from . import comm
from .protocol import Adapter

_WIDGETS = "application/vnd.jupyter.widget-"


class IPython(Adapter):
    packages = ("IPython",)

    def after_import(self):
        return {"IPython.core.display_functions": _watch, "IPython.core.getipython": _give_shell}

    def bundle(self, value, metadata):
        """Returns the media of a value that follows IPython's protocol for several media, or for JSON."""
        shown = {}
        for method, name in (("_repr_mimebundle_", None), ("_repr_json_", "application/json")):
            render = getattr(type(value), method, None)
            if not callable(render):
                continue
            try:
                found = render(value) if name else render(value, include=None, exclude=None)
            except Exception:
                continue
            if isinstance(found, tuple):
                found, about = found
                metadata.update({name: about} if name else about or {})
            if name and found is not None:
                found = {name: found}
            for key, data in found.items() if isinstance(found, dict) else ():
                if isinstance(key, str) and (not key.startswith(_WIDGETS) or comm.on_page(value)):
                    shown[key] = media.text(key, data)
        return shown or None


def _give_shell(hidden, module):
    """Libraries ask IPython whether the program is a notebook."""
    own = getattr(builtins, "get_ipython", None)
    if own is not None:
        module.get_ipython = own


def _watch(hidden, module):
    """Without a shell of IPython, its functions print values as text, or make a shell."""
    show = getattr(builtins, "display", None)
    if show is None:
        return  # the program is not a notebook: outside of xstate it has no shell either

    recorder = getattr(builtins, "__xstate__")._recorder  # noqa: B009

    def display(*objs, raw=False, display_id=None, update=False, **given):
        if update and display_id is None:
            raise TypeError("display_id required for update_display")
        return show(*objs, display_id=display_id, update=update, raw=raw, **given)

    def publish_display_data(data, metadata=None, *, transient=None, update=False, **_):
        id = (transient or {}).get("display_id")
        show(data, display_id=id, update=update, metadata=metadata, raw=True)

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
