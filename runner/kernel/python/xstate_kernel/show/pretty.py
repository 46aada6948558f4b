"""The text of a value as IPython writes it: classes by name, containers broken into lines of 79 columns."""

import collections
import contextlib
import inspect
import re
import types

from xstate_kernel import original as __builtins__

from ..ground import kept_names
from ..ground.builtin_function import BuiltinFunction
from . import formatters

_WIDTH, _ITEMS = 79, 1000
_BREAK, _NEWLINE = object(), object()  # a place where a line may end; one where a line must end


class _Group:
    """Items that share a line if there is room. If there is none, the line ends at each possible place."""

    def __init__(self, indent):
        self.indent, self.items, self.width = indent, [], 0  # width None: it holds the end of a line

    def add(self, item):
        self.items.append(item)
        width = len(item) if type(item) is str else 1 if item is _BREAK else None if item is _NEWLINE else item.width
        self.width = None if width is None or self.width is None else self.width + width

    def lead(self, start):
        """Returns the width of the items from start to the first place where the line may end, and whether there is
        such a place."""
        width = 0
        for item in self.items[start:]:
            if item is _BREAK or item is _NEWLINE:
                return width, True
            more, ends = (len(item), False) if type(item) is str else item.lead(0)
            width += more
            if ends:
                return width, True
        return width, False


class Printer:
    """The argument of _repr_pretty_ methods, with the methods that they call."""

    def __init__(self):
        self._open, self._shown = [_Group(0)], []

    def text(self, text):
        self._open[-1].add(text)

    def breakable(self, separator=" "):
        if separator != " ":
            self.text(separator)
        else:
            self._open[-1].add(_BREAK)

    def break_(self):
        self._open[-1].add(_NEWLINE)

    def begin_group(self, indent=0, open=""):
        if open:
            self.text(open)
        self._open.append(_Group(indent))

    def end_group(self, dedent=0, close=""):
        group = self._open.pop()
        self._open[-1].add(group)
        if close:
            self.text(close)

    @contextlib.contextmanager
    def group(self, indent=0, open="", close=""):
        self.begin_group(indent, open)
        try:
            yield
        finally:
            self.end_group(indent, close)

    def indent(self, indent):
        return self.group(indent)

    def pretty(self, value):
        cycle = id(value) in self._shown
        self._shown.append(id(value))
        try:
            _writer(value)(self, value, cycle)
        finally:
            self._shown.pop()

    def call(self, name, arguments, named=()):
        with self.group(len(name) + 1, name + "(", ")"):
            for i, (key, value) in enumerate([(None, a) for a in arguments] + list(named)):
                self.separate(i)
                if key is not None:
                    self.begin_group(len(key) + 1, key + "=")
                self.pretty(value)
                if key is not None:
                    self.end_group()

    def separate(self, index):
        if index:
            self.text(",")
            self.breakable()

    def items(self, values):
        """Yields the values that are shown, each after the separator of the one before it."""
        for i, value in enumerate(values):
            self.separate(i)
            if i == _ITEMS:
                self.text("...")
                return
            yield value

    def finish(self):
        out = []
        _lay(self._open[0], out, 0, 0, 0)
        return "".join(out)


def _lay(group, out, column, indent, trailing):
    """Writes a group, which text of the width trailing follows on the same line. Returns the column at its end."""
    flat = group.width is not None and column + group.width + trailing <= _WIDTH
    indent += group.indent
    for i, item in enumerate(group.items):
        if item is _NEWLINE or (item is _BREAK and not flat):
            out.append("\n" + " " * indent)
            column = indent
        elif item is _BREAK or type(item) is str:
            out.append(" " if item is _BREAK else item)
            column += len(out[-1])
        else:
            after, ends = group.lead(i + 1)
            column = _lay(item, out, column, indent, after if ends else after + trailing)
    return column


def _own_repr(kind, base):
    return kind is not base and kind.__repr__ is not base.__repr__


def _lines(p, value, cycle):
    """Writes repr; its lines are indented as the first one is."""
    p.begin_group()
    for i, line in enumerate(repr(value).splitlines()):
        if i:
            p.break_()
        p.text(line)
    p.end_group()


def _sequence(base, start, end):
    def write(p, value, cycle):
        kind = type(value)
        if _own_repr(kind, base):
            return p.text(kind.__repr__(value))
        if cycle:
            return p.text(start + "..." + end)
        if base in (set, frozenset) and not value:
            return p.text(base.__name__ + "()")
        with p.group(len(start), start, end):
            for item in p.items(_sorted(value) if base in (set, frozenset) else value):
                p.pretty(item)
            if base is tuple and len(value) == 1:
                p.text(",")

    return write


def _sorted(values):
    if len(values) >= _ITEMS:
        return values
    for key in (None, str):
        try:
            return sorted(values, key=key)
        except Exception:
            pass
    return values


def _mapping(p, value, cycle):
    kind = type(value)
    if _own_repr(kind, dict):
        return p.text(kind.__repr__(value))
    if cycle:
        return p.text("{...}")
    with p.group(1, "{", "}"):
        for key in p.items(value):
            p.pretty(key)
            p.text(": ")
            p.pretty(value[key])


def _class(p, value, cycle):
    if next(c for c in type(value).__mro__ if "__repr__" in vars(c)) is not type:
        return _lines(p, value, cycle)
    p.text(_qualified(value, value.__qualname__))


def _qualified(value, name):
    module = getattr(value, "__module__", None)
    return name if module in (None, "builtins") else f"{module}.{name}"


def _function(p, value, cycle):
    name = _qualified(value, getattr(value, "__qualname__", value.__name__))
    try:
        name += str(inspect.signature(value))
    except Exception:
        pass
    p.text(f"<function {name}>")


def _exception(p, value, cycle):
    p.call(_qualified(type(value), type(value).__qualname__), getattr(value, "args", ()))


def _super(p, value, cycle):
    with p.group(8, "<super: ", ">"):
        p.pretty(value.__thisclass__)
        p.text(",")
        p.breakable()
        p.pretty(value.__self__)


def _namespace(p, value, cycle):
    name = "namespace" if type(value) is types.SimpleNamespace else type(value).__name__
    p.text(name + "(...)") if cycle else p.call(name, (), vars(value).items())


def _pattern(p, value, cycle):
    """A regular expression: its text in raw quotes, and the names of its flags."""

    class Raw:
        def __init__(self, text):
            self._text = text

        def __repr__(self):
            return self._text

    flags = "IGNORECASE LOCALE MULTILINE DOTALL UNICODE VERBOSE DEBUG".split()
    names = ["re." + n for n in flags if value.flags & getattr(re, n)]
    text = "r" + repr(value.pattern).replace("\\\\", "\\")
    p.call("re.compile", [Raw(text)] + ([Raw("|".join(names))] if names else []))


def _called(arguments):
    def write(p, value, cycle):
        name = type(value).__name__
        p.text(name + "(...)") if cycle else p.call(name, *arguments(value))

    return write


def _default(p, value, cycle):
    kind = getattr(value, "__class__", None) or type(value)
    if getattr(kind, "__repr__", None) is not object.__repr__:
        return _lines(p, value, cycle)
    with p.group(1, "<", ">"):
        p.pretty(kind)
        p.text(" at " + object.__repr__(value).rpartition(" at ")[2][:-1])


_WRITERS = {
    list: _sequence(list, "[", "]"),
    tuple: _sequence(tuple, "(", ")"),
    set: _sequence(set, "{", "}"),
    frozenset: _sequence(frozenset, "frozenset({", "})"),
    dict: _mapping,
    type: _class,
    types.FunctionType: _function,
    types.BuiltinFunctionType: _function,
    BuiltinFunction: _function,
    BaseException: _exception,
    super: _super,
    re.Pattern: _pattern,
    types.SimpleNamespace: _namespace,
    types.MappingProxyType: _called(lambda v: ([dict(v)],)),
    collections.OrderedDict: _called(lambda v: ([list(v.items())] if v else [],)),
    collections.defaultdict: _called(lambda v: ([v.default_factory, dict(v)],)),
    collections.Counter: _called(lambda v: ([dict(v.most_common())] if v else [],)),
    collections.deque: _called(lambda v: ([list(v)], [("maxlen", v.maxlen)] if v.maxlen is not None else [])),
    collections.UserList: _called(lambda v: ([v.data],)),
    **dict.fromkeys((int, float, str, bytes, range, slice, types.MethodType), _lines),
}


def _writer(value):
    """Returns the function that writes a value: that of the first of its classes that has one."""
    kind = getattr(value, "__class__", None) or type(value)
    if (registered := formatters.plain.singleton_printers.get(id(value))) is not None:
        return lambda p, value, cycle: registered(value, p, cycle)
    for c in kind.__mro__ if isinstance(kind, type) else ():
        if (registered := formatters.plain.of_class(c)) is not None:
            return lambda p, value, cycle: registered(value, p, cycle)
        if c in _WRITERS:
            return _WRITERS[c]
        own = vars(c)
        if callable(own.get("_repr_pretty_")):
            return lambda p, value, cycle: kind._repr_pretty_(value, p, cycle)
        if c is not object and callable(own.get("__repr__")):
            return _lines
    return _default


def pretty(value):
    """Returns the text of a value. A value that is nested too deeply is written as Python does."""
    if type(value) in (str, int, float, bool, type(None)) and not formatters.plain.registered():
        return repr(value)
    try:
        p = Printer()
        p.pretty(value)
        return p.finish()
    except RecursionError:
        return repr(value)


kept_names.keep("pretty", __name__, Printer)
