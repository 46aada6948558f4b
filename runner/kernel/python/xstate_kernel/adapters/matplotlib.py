"""matplotlib: its options, named colours and colormaps, figures as output, and objects that all figures share."""

import binascii
import io
import sys
import types
from itertools import islice

from xstate_kernel import original as __builtins__

from ..ground import code_owner
from ..ground.hidden_variable import Settings, Variable, watch_items
from .protocol import NOTHING, Adapter

_PACKAGES = ("matplotlib", "mpl_toolkits")


class Matplotlib(Adapter):
    packages = _PACKAGES
    opaque = True
    known_containers = ("matplotlib._pylab_helpers",)
    usual_environ = (("MPLBACKEND", b"Agg"),)
    showing = ("matplotlib.pyplot",)

    def __init__(self):
        self._colors = None  # the number of named colours just after the import of matplotlib
        self._colormaps = {}  # colormaps that the program registered, by name
        self._internals = 0, NOTHING  # the number of loaded modules, and ids; see shared_internals

    # values

    def plain(self, o, kind):
        """Colormaps, except for those of the library itself, and locators and formatters that no axis has."""
        colors, ticker = sys.modules.get("matplotlib.colors"), sys.modules.get("matplotlib.ticker")
        if kind in (getattr(colors, "ListedColormap", None), getattr(colors, "LinearSegmentedColormap", None)):
            known = getattr(getattr(sys.modules["matplotlib"], "colormaps", None), "_cmaps", {})
            return known.get(o.name) is not o and getattr(sys.modules.get("matplotlib.cm"), o.name, None) is not o
        ticking = kind.__module__ == "matplotlib.ticker" or issubclass(kind, getattr(ticker, "TickHelper", ()))
        return ticking and getattr(o, "axis", None) is None

    # hidden state

    def variables(self):
        def options():
            return "matplotlib" in sys.modules and hasattr(sys.modules["matplotlib"], "rcParams")

        def colors():
            return hasattr(sys.modules.get("matplotlib.colors"), "_colors_full_map")

        self.options = Settings("conf:matplotlib", _get_options, _put_options, options, "matplotlib")
        self.colors = Variable("conf:colors", self._get_colors, self._put_colors, colors, "matplotlib")
        return self.options, self.colors

    def after_import(self):
        return {"matplotlib": self._watch, "matplotlib.pyplot": self._watch_show}

    def _watch_show(self, _, module):
        """Makes pyplot.show put out the open figures at once, whatever becomes of the block. In a script they stay
        open: without a screen it does no more. A cell closes them, as Jupyter does: what is drawn next is another."""
        if self.recorder is None:
            return
        original = module.show

        def show(*args, **named):
            original(*args, **named)
            self.put_out(self.recorder)
            if not self.script:
                self.close_figures()

        show.__module__, show.__qualname__, show.__doc__ = original.__module__, original.__qualname__, original.__doc__
        module.show = show

    def _watch(self, hidden, module):
        hidden.begin(self.options)
        hidden.begin(self.colors)
        self._watch_colormaps(type(module.colormaps))
        watch_items(module.RcParams, self.options, ("__getitem__", "_get", "__setitem__", "_set"))

    def _watch_colormaps(self, cls):
        """Records the colormaps that the program registers, but not those that a library registers at its import."""
        register, unregister, colormaps = cls.register, cls.unregister, self._colormaps

        def observed_register(self, cmap, *, name=None, **named):
            register(self, cmap, name=name, **named)
            if not code_owner.importing():
                colormaps[name or cmap.name] = cmap

        def observed_unregister(self, name):
            unregister(self, name)
            colormaps.pop(name, None)

        for f, original in ((observed_register, register), (observed_unregister, unregister)):
            f.__name__, f.__qualname__ = original.__name__, original.__qualname__
            f.__module__, f.__doc__ = original.__module__, original.__doc__
            setattr(cls, original.__name__, f)

    def _get_colors(self):
        """Returns the colours with one-letter names, which seaborn can change, and all added colours."""
        named = sys.modules["matplotlib.colors"]._colors_full_map
        if self._colors is None:
            self._colors = len(named)
        return [(k, named.get(k)) for k in "bgrcmykw"] + list(islice(named.items(), self._colors, None))

    def _put_colors(self, value):
        named = sys.modules["matplotlib.colors"]._colors_full_map
        for k in list(islice(named, self._colors, None)):
            del named[k]
        for k, color in value:
            named[k] = color

    def registered(self):
        return {("colormap", name): o for name, o in self._colormaps.items()}

    def state_key(self, o):
        matplotlib = sys.modules.get("matplotlib")
        known = matplotlib is not None and o is getattr(matplotlib, "rcParams", None)
        return "conf:matplotlib" if known else None

    def state_object(self, key):
        if key != "conf:matplotlib":
            return None
        import matplotlib

        return matplotlib.rcParams

    # values

    def shared_internals(self):
        """Returns the ids of the values in matplotlib's modules and classes, and of its options.

        All figures refer to some of these objects, and no figure changes them."""
        options = getattr(sys.modules.get("matplotlib"), "rcParams", None)
        if options is None:
            return NOTHING
        if self._internals[0] != len(sys.modules):
            found = set()
            for name, module in list(sys.modules.items()):
                if name.partition(".")[0] in _PACKAGES and type(module) is types.ModuleType:
                    for value in list(vars(module).values()):
                        found.add(id(value))
                        for own in vars(value).values() if isinstance(value, type) else ():
                            found.add(id(own))
                            if type(own).__module__.partition(".")[0] in _PACKAGES and hasattr(own, "__dict__"):
                                found.update(map(id, vars(own).values()))
            self._internals = len(sys.modules), frozenset(found)
        return self._internals[1].union(map(id, dict.values(options)))

    # output

    def bundle(self, value, metadata):
        figure = sys.modules.get("matplotlib.figure")
        if figure is None or not issubclass(type(value), figure.Figure):
            return None
        return _shown(value) or None

    def open_figures(self):
        pyplot = sys.modules.get("matplotlib.pyplot")
        return list(pyplot.get_fignums()) if pyplot is not None and hasattr(pyplot, "get_fignums") else []

    def show_figures(self, recorder):
        self.put_out(recorder)
        self.close_figures()

    def put_out(self, recorder):
        """Sends the open figures as output. The current one stays the current one."""
        helper = sys.modules.get("matplotlib._pylab_helpers")
        for manager in helper.Gcf.get_all_fig_managers() if helper is not None else ():
            figure = manager.canvas.figure
            recorder.rich("display", {"text/plain": repr(figure), **_shown(figure)})

    def close_figures(self):
        """Closes all figures. They keep a canvas that draws, which since 3.11 a closed figure does not."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None or not hasattr(pyplot, "close"):
            return
        drawn = [pyplot.figure(number) for number in self.open_figures()]
        kinds = [type(figure.canvas) for figure in drawn]
        pyplot.close("all")
        for figure, kind in zip(drawn, kinds):
            if type(figure.canvas) is not kind:
                kind(figure)  # makes itself the canvas


def _get_options():
    return dict(dict.items(sys.modules["matplotlib"].rcParams))


def _put_options(value):
    pyplot, params = sys.modules.get("matplotlib.pyplot"), sys.modules["matplotlib"].rcParams
    if value["backend"] != dict.get(params, "backend") and getattr(pyplot, "_backend_mod", None) is not None:
        pyplot.switch_backend(value["backend"])
    dict.update(params, value)


def _shown(figure):
    """Returns the picture of a figure, as a notebook shows it: none of an empty one, and with the figure's own
    resolution and colours, whatever the options for files are."""
    if not figure.axes and not figure.lines:
        return {}
    colors = {"facecolor": figure.get_facecolor(), "edgecolor": figure.get_edgecolor()}
    return {"image/png": _png(figure, dpi=figure.dpi, **colors)}


def picture(figure):
    """Returns the picture of any figure in base64."""
    return _png(figure, dpi=figure.dpi)


def _png(figure, **options):
    out = io.BytesIO()
    figure.savefig(out, format="png", bbox_inches="tight", metadata={"Software": None}, **options)
    return binascii.b2a_base64(out.getvalue(), newline=False).decode()


adapter = Matplotlib()
