"""The formatters of get_ipython().display_formatter: functions by which the program wants values of a class shown.

Each media type has one, with the methods that IPython's has. Registered functions are state of the interpreter that
every display may read, like a handler of signals: see process.py. A function for a class also holds for its subclasses,
and comes before the methods of values (_repr_html_). Its exception is printed, and is not a failure.
"""

import sys
import traceback

from xstate_kernel import original as __builtins__

from ..ground import code_owner, kept_names

METHODS = {  # media type → the method of values that gives it, in the order of IPython
    "text/plain": "_repr_pretty_",
    "text/html": "_repr_html_",
    "text/markdown": "_repr_markdown_",
    "image/svg+xml": "_repr_svg_",
    "image/png": "_repr_png_",
    "application/pdf": "_repr_pdf_",
    "image/jpeg": "_repr_jpeg_",
    "text/latex": "_repr_latex_",
    "application/json": "_repr_json_",
    "application/javascript": "_repr_javascript_",
}
_REQUIRED = object()


class Formatter:
    """The functions for one media type. A name is that of a class whose module may not be loaded yet."""

    enabled = True

    def __init__(self, media, method):
        self.format_type, self.print_method = media, method
        self.singleton_printers, self.type_printers, self.deferred_printers = {}, {}, {}

    def for_type(self, typ, func=None):
        """Registers a function for a class, or for its name. Returns the one before; without one, does no more."""
        if isinstance(typ, str):
            module, _, name = typ.rpartition(".")
            return self.for_type_by_name(module, name, func)
        name = _name(typ)
        before = self.type_printers.get(typ, self.deferred_printers.get(name))
        if func is not None:
            self.type_printers[typ] = func
            self.deferred_printers.pop(name, None)
        return before

    def for_type_by_name(self, type_module, type_name, func=None):
        loaded = getattr(sys.modules.get(type_module), type_name, None)
        if isinstance(loaded, type):
            return self.for_type(loaded, func)
        before = self.deferred_printers.get((type_module, type_name))
        if func is not None:
            self.deferred_printers[type_module, type_name] = func
        return before

    def pop(self, typ, default=_REQUIRED):
        """Takes back what is registered for a class, or for its name."""
        name = tuple(typ.rpartition(".")[::2]) if isinstance(typ, str) else _name(typ)
        classes = [c for c in self.type_printers if c is typ or _name(c) == name]
        found = [self.type_printers.pop(c) for c in classes] or [self.deferred_printers.pop(name, default)]
        if found[0] is _REQUIRED:
            raise KeyError(f"No registered value for {typ!r}")
        return found[0]

    def of_class(self, c):
        """Returns what is registered for a class itself, or None."""
        return self.type_printers.get(c) or (self.deferred_printers and self.deferred_printers.get(_name(c))) or None

    def lookup_by_type(self, typ):
        for c in typ.__mro__:
            if self.of_class(c) is not None:
                return self.of_class(c)
        raise KeyError(f"No registered printer for {typ!r}")

    def lookup(self, obj):
        return self.singleton_printers.get(id(obj)) or self.lookup_by_type(type(obj))

    def knows(self, obj):
        """Reports whether something is registered for a value."""
        if not (self.type_printers or self.deferred_printers or self.singleton_printers):
            return False
        try:
            return self.lookup(obj) is not None
        except KeyError:
            return False

    def __contains__(self, typ):
        return typ in self.type_printers or (isinstance(typ, type) and _name(typ) in self.deferred_printers)

    def __call__(self, obj, failed=lambda e: None):
        """Returns the text of a value in this media type, or None. failed takes the exception of its own method."""
        if not self.enabled:
            return None
        if self.knows(obj):
            return _called(self.lookup(obj), obj)
        render = getattr(type(obj), self.print_method, None)  # not of the value, whose __getattr__ may know any name
        try:
            return render(obj) if callable(render) else None
        except NotImplementedError:
            return None
        except Exception as e:
            failed(e)
            return None

    def registered(self):
        """Returns whether and for what something is registered, and what."""
        entries = [(_name(c), f) for c, f in self.type_printers.items()]
        entries += [*self.deferred_printers.items(), *self.singleton_printers.items()]
        if not self.enabled:
            entries.append((("", ""), False))
        return {(self.format_type, i, name): f for i, (name, f) in enumerate(entries)}


class PlainText(Formatter):
    """The functions that write text: they are given the printer, and whether the value is within itself."""

    pprint, verbose, max_width, newline, max_seq_length = True, False, 79, "\n", 1000
    float_format = "%r"

    def __call__(self, obj, failed=None):
        from .pretty import pretty  # plain programs do not need it

        try:
            return pretty(obj)
        except Exception as e:
            report(e)
            return repr(obj)

    @property
    def float_precision(self):
        return self.float_format

    @float_precision.setter
    def float_precision(self, precision):
        """Sets how floats are written: a number of digits, a format, or "" for all that they have."""
        precision, digits = str(precision), 8
        if "%" in precision:
            try:
                _ = precision % 3.14159
            except Exception:
                raise ValueError(f"Precision must be int or format string, not {precision!r}") from None
            text = precision
        elif precision:
            if not precision.isdecimal():
                raise ValueError(f"Precision must be int or format string, not {precision!r}")
            digits = int(precision)
            text = f"%.{digits}f"
        else:
            text = "%r"
        numpy = sys.modules.get("numpy")
        if numpy is not None and "%" not in precision:
            numpy.set_printoptions(precision=digits)
        self.float_format = text
        if text == "%r":
            self.type_printers.pop(float, None)
        else:
            self.type_printers[float] = lambda value, p, cycle: p.text(text % value)


class DisplayFormatter:
    """The type of get_ipython().display_formatter."""

    def __init__(self):
        self.formatters = {m: (PlainText if m == "text/plain" else Formatter)(m, f) for m, f in METHODS.items()}

    @property
    def active_types(self):
        return [m for m, f in self.formatters.items() if f.enabled]

    @active_types.setter
    def active_types(self, media):
        for m, f in self.formatters.items():
            f.enabled = m in media

    @property
    def format_types(self):
        return list(self.formatters)

    def format(self, obj, include=None, exclude=None):
        """Returns the media of a value, and their metadata."""
        from .display import bundle

        found = bundle(obj, plain)
        kept = {m: d for m, d in found.items() if (not include or m in include) and m not in (exclude or ())}
        return kept, found.metadata

    def __reduce__(self):
        return _own, ()


def _own():
    return formatter


def _name(c):
    return getattr(c, "__module__", ""), getattr(c, "__qualname__", "")


def _called(f, *args):
    """Returns what a registered function returns, or None after an error, which is printed."""
    try:
        return f(*args)
    except NotImplementedError:
        return None
    except Exception as e:
        report(e)
        return None


def report(e):
    tb = e.__traceback__.tb_next
    while tb is not None and tb.tb_frame.f_code.co_filename.startswith(code_owner.FOLDER):
        tb = tb.tb_next
    traceback.print_exception(type(e), e, tb)


def registered():
    """Returns place → what the program has registered."""
    return {
        ("formatter", *place): f
        for m in formatter.formatters.values()
        if m.type_printers or m.deferred_printers or m.singleton_printers or not m.enabled  # as hardly ever
        for place, f in m.registered().items()
    }


formatter = DisplayFormatter()
plain = formatter.formatters["text/plain"]
kept_names.keep("formatters", __name__, Formatter, PlainText, DisplayFormatter, _own)
