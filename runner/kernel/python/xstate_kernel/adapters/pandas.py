"""pandas: digests of frames by columns, its options, and the names that the text of a query looks up."""

import sys

from xstate_kernel import original as __builtins__

from ..ground.hidden_variable import Variable
from . import numpy
from .protocol import Adapter

_GROUPS = ("compute", "display", "future", "io", "mode", "plotting", "styler")  # groups of options
_FUNCTIONS = (("display", "float_format"), ("styler", "format", "formatter"))  # options that may be functions

_HTML_COLUMNS = 20


class Pandas(Adapter):
    packages = ("pandas",)
    ignored_attribute = "_cache"  # earlier results
    # frames pickle these in another form, or not at all
    computed_attributes = frozenset(("_item_cache", "_attrs", "_cacher"))
    class_extenders = {
        "register_dataframe_accessor": "DataFrame",
        "register_series_accessor": "Series",
        "register_index_accessor": "Index",
    }

    # hidden state

    def variables(self):
        self.options = {group: _options_variable(group) for group in _GROUPS}
        return tuple(self.options.values())

    def after_import(self):
        return {
            "pandas._config.config": lambda hidden, module: _watch_options(module, self.options),
            "pandas.core.computation.scope": lambda hidden, module: _watch_names(module.Scope, hidden.names),
        }

    def registered(self):
        found, config = {}, getattr(sys.modules.get("pandas._config.config"), "_global_config", {})
        for names in _FUNCTIONS:
            tree = config
            for name in names:
                tree = dict.get(tree, name) if isinstance(tree, dict) else None
            if tree is not None:
                found[names] = tree
        return found

    # output

    def bundle(self, value, metadata):
        """Shows at most 20 columns of a wide frame as HTML, as pandas does under Jupyter. In a terminal it is 0:
        as many as fit, which for HTML means all."""
        frame = getattr(sys.modules.get("pandas"), "DataFrame", None)
        if frame is None or not issubclass(type(value), frame) or value.shape[1] <= _HTML_COLUMNS:
            return None
        if getattr(type(value), "_repr_html_", None) is not getattr(frame, "_repr_html_", None):
            return None
        options = dict.get(getattr(sys.modules.get("pandas._config.config"), "_global_config", {}), "display")
        if not isinstance(options, dict) or dict.get(options, "max_columns") != 0:
            return None
        found = {"text/plain": repr(value)}
        dict.__setitem__(options, "max_columns", _HTML_COLUMNS)  # the program sees no change of the option
        try:
            html = value._repr_html_()
        except Exception:
            html = None
        finally:
            dict.__setitem__(options, "max_columns", 0)
        if html is not None:
            found["text/html"] = html
        return found

    # values

    def fingerprint(self, walk, o, t):
        pd = sys.modules["pandas"]
        if t is pd.DataFrame or t is pd.Series:
            return self._frame(walk, o, t is pd.DataFrame)
        parts = _memory(o) if isinstance(o, pd.api.extensions.ExtensionArray) else None
        if parts is not None:
            if not walk.mark(o):
                walk.own(o)  # its other attributes are only caches
                walk.put(b"E%d;" % bool(getattr(o, "_readonly", False)))
                walk.stack.extend((*parts, o.dtype))
            return True
        if t is getattr(pd, "StringDtype", None):  # it never changes, and has one NaN: that of numpy
            walk.put(f"s{o.storage}{o.na_value};".encode())
            return True
        if t.__name__ == "ArrowDtype":  # neither does it change
            walk.put(b"a")
            walk.stack.append(o.pyarrow_dtype)
            return True
        if t.__module__ == "pandas._config.config" and t.__name__ == "DictWrapper":  # pandas looks up options by it
            walk.put(f"o{object.__getattribute__(o, 'prefix')};".encode())
            return True
        if isinstance(o, pd.Index):
            if walk.mark(o):
                return True
            walk.put(f"I{t.__name__}{getattr(o, 'dtype', '')};".encode())
            names = walk.temporary(list(o.names))
            if t is pd.RangeIndex:
                parts = [names, o.start, o.stop, o.step]
            elif t is pd.MultiIndex:
                parts = [names, walk.temporary(list(o.levels)), walk.temporary(list(o.codes)), o.sortorder]
            else:
                parts = [names, o._data, getattr(o, "freq", None)]
            walk.own(o)
            walk.apart(walk.temporary(parts), walk.fp.copied)
            return True
        return False

    def _frame(self, walk, o, is_frame):
        """Writes a frame or a series. The grouping of columns in memory is not part of the content."""
        mgr = o._mgr
        if walk.mark(o):
            return True
        walk.own(o)
        try:
            blocks = mgr.blocks
        except AttributeError:
            return False
        walk.put(b"D" if is_frame else b"S")
        later = [o.attrs, o.flags.allows_duplicate_labels, o.index]
        if is_frame:
            later.append(o.columns)
            nos, locs = mgr.blknos, mgr.blklocs
            for i in range(len(nos)):
                later.append(_Column(blocks[nos[i]].values, int(locs[i])))
        else:
            later.append(o.name)
            later.append(_Column(blocks[0].values, None))
        walk.put(b"%d;" % len(later))
        walk.stack.extend(walk.temporary(later))
        return True

    def handlers(self):
        return {_Column: _fingerprint_column}

    # storing

    def reduce(self, pickler, o, t):
        """Records the reference counters of indexes and blocks, because pickling does not show them.

        pandas copies memory before a write if the counter shows other references."""
        if "pandas" in sys.modules:
            # Id of a reference counter → [object that refers to it, index of its block or None].
            counted = pickler.notes.setdefault("pandas", {})
            if issubclass(t, sys.modules["pandas"].Index) and vars(o).get("_references") is not None:
                counted.setdefault(id(o._references), []).append((o, None))
            elif t.__name__.endswith("BlockManager"):
                for i, b in enumerate(o.blocks):
                    counted.setdefault(id(getattr(b, "refs", b)), []).append((o, i))
        if hasattr(o, "_pa_array") and "_pa_array" in vars(o):
            return _bare, (t,), {**vars(o), "_cache": {}}, None, None, _fill
        if t.__name__.endswith("Block") and t.__module__.startswith("pandas.") and copy_on_write():
            return _reduce_block(pickler, o)
        return NotImplemented

    def trailer(self, pickler):
        if "pandas" in sys.modules and copy_on_write():
            return _References(pickler.notes.setdefault("pandas", {}))
        return None

    # queries

    def describe(self, value, kind, short):
        return numpy.describe_array(value)


def _memory(o):
    """Returns the parts of an extension array that hold its elements, or None if they are not known."""
    if hasattr(o, "_mask") and hasattr(o, "_data"):
        return o._mask, o._data
    if hasattr(o, "_pa_array"):  # it never changes: a write gives the array another
        return (o._pa_array,)
    return (o._ndarray, getattr(o, "_freq", None)) if hasattr(o, "_ndarray") else None


def _bare(kind):
    return kind.__new__(kind)


def _fill(o, state):
    """Loads an extension array over one of Arrow. In the form that pandas stores, it would be one chunk."""
    vars(o).update(state)


class _Column:
    """One column of a frame."""

    __slots__ = ("row", "values")

    def __init__(self, values, row):
        self.values, self.row = values, row


def _fingerprint_column(walk, c):
    values, row = c.values, c.row
    ids = walk.fp.copied if copy_on_write() else walk.fp.notes
    if type(values) is sys.modules["numpy"].ndarray:
        root, address = numpy.memory_of(values)
        place = "%d+%d%r" % (len(walk.seen), address - root.__array_interface__["data"][0], values.strides)
        ids.setdefault(~id(root), place)
        if row is not None and values.ndim == 2:
            values = values[row]
        walk.put(f"{values.dtype.str}{values.shape!r};".encode())
        numpy.elements(walk, values)
    else:
        walk.put(f"{getattr(values, 'dtype', '')};".encode())
        walk.apart(values, ids)


def copy_on_write():
    """Reports whether pandas copies memory that frames share before it writes to it."""
    pandas = sys.modules["pandas"]
    return int(pandas.__version__.partition(".")[0]) >= 3 or bool(getattr(pandas.options.mode, "copy_on_write", False))


def _reduce_block(pickler, o):
    """Returns how to pickle a block of a frame, with its own memory.

    Under copy-on-write, no program can observe that frames share memory, and a loaded frame could not detect it."""
    rv = o.__reduce__()
    values = rv[1][0]
    if type(values).__name__ == "ndarray" and values.base is not None and not values.dtype.hasobject:
        numpy.note_copy(pickler, numpy.stored_root(values), numpy.FRAME)
        if numpy.contiguous(values):
            return (_block, (rv[0], numpy.owning(pickler, values, True)[1], *rv[1][1:]), *tuple(rv[2:]))
        return (rv[0], (values.copy(order="K"), *tuple(rv[1][1:])), *tuple(rv[2:]))
    return NotImplemented


def _block(make, memory, *rest):
    """Loads a block of a frame."""
    return make(numpy.filled(*memory), *rest)


class _References:
    """An extra stored object for frames that share memory. It records which of them use the same reference counter."""

    def __init__(self, counted):
        self._counted = counted

    def __reduce__(self):
        return share_references, ([group for group in self._counted.values() if len(group) > 1],)


def share_references(groups):
    """Restores the shared reference counters that _References stored."""
    for group in groups:
        refs = None
        for o, i in group:
            block = None if i is None else o.blocks[i]
            if refs is None:
                refs = o._references if block is None else block.refs
            elif block is None:
                o._references = refs
                refs.add_index_reference(o)
            else:
                block.refs = refs
                refs.add_reference(block)


def _watch_names(cls, names):
    """Wraps the lookup of names in a text for query and eval: pandas reads them from the caller's namespace."""
    resolve = cls.resolve

    def wrapper(self, key, is_local):
        if is_local or not self.has_resolvers:
            names.note(key)
        return resolve(self, key, is_local)

    cls.resolve = wrapper


class _Options(dict):
    """The dict in which pandas and the program look up options. It records each lookup as a read."""

    variables = {}

    def __getitem__(self, key):
        if key in self.variables:
            self.variables[key].touched = True
        return dict.__getitem__(self, key)


def _watch_options(module, variables):
    _Options.variables = variables
    module._global_config = _Options(module._global_config)
    options = getattr(module, "options", None)
    if isinstance(getattr(options, "__dict__", {}).get("d"), dict):
        object.__setattr__(options, "d", module._global_config)


def _options_variable(group):
    def tree():
        return dict.get(sys.modules["pandas._config.config"]._global_config, group, {})

    return Variable(
        "conf:pandas." + group,
        lambda: _plain(tree()),
        lambda value: _put_options(tree(), value),
        lambda: "pandas._config.config" in sys.modules,
        "pandas",
        precise=True,
    )


def _plain(tree):
    """Returns a tree of options without functions: registered reports these."""
    return {k: _plain(v) if isinstance(v, dict) else v for k, v in tree.items() if not callable(v)}


def _put_options(tree, plain):
    for k, v in plain.items():
        if isinstance(v, dict) and isinstance(tree.get(k), dict):
            _put_options(tree[k], v)
        else:
            tree[k] = v


adapter = Pandas()
