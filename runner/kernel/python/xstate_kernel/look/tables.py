"""Descriptions of tables: of pandas, polars and pyarrow, structured arrays of numpy, and records."""

import importlib
import sys

from xstate_kernel import original as __builtins__

from . import arrays, pandas_table, summary, texts

_RECORDS = 1000  # that are compared before a list counts as a table


def table(value, at, most):
    kind = type(value)
    package = texts.top(kind)
    source = None
    if kind is list:
        source = _Records.of(value)
    elif package == "polars":
        source = _Polars.of(value)
    elif package == "pyarrow":
        source = _Arrow.of(value)
    elif "numpy" in sys.modules and arrays.ndarray(value)[0] is not None:
        source = _Structured.of(value)
    else:
        source = pandas_table.Table.of(value)
    return None if source is None else _page(source, at, most)


def _page(source, at, most):
    start = max(0, min(at.get("row", 0), source.rows - 1))
    left = max(0, min(at.get("column", 0), source.width - 1))
    shown = range(left, min(left + most["columns"], source.width))
    step = summary.step(source.rows, len(shown))
    stop = min(source.rows, start + most["rows"])
    columns, lists = source.index(start, stop)
    for i in shown:
        column: dict = {"name": texts.clipped(source.name(i), most["text"]), "type": ""}
        try:
            column.update((k, v) for k, v in source.summary(i, step, most).items() if v is not None)
        except Exception:  # a library refuses: the cells are shown
            column["type"] = source.type(i)
        columns.append(column)
        lists.append(source.cells(i, start, stop))
    for column in columns:
        column["name"] = column["name"].encode("utf-8", "backslashreplace").decode()
    rows = zip(*([texts.cell(x, most["text"]) for x in cells] for cells in lists))
    cells = [{"cells": list(row)} for row in rows]
    return {"rows": source.rows, "width": source.width, "from": start, "left": left, "columns": columns, "cells": cells}


class _Plain:
    """A table without an index."""

    def index(self, start, stop):
        return [], []


class _Records(_Plain):
    """A list of dictionaries with the same keys, none of whose values holds others."""

    def __init__(self, rows, names):
        self.list, self.names = rows, names
        self.rows, self.width = len(rows), len(names)

    @classmethod
    def of(cls, value):
        some = value[:: max(1, len(value) // _RECORDS)]
        if not some or type(some[0]) is not dict or not some[0]:
            return None
        names = list(some[0])
        for row in some:
            if type(row) is not dict or list(row) != names or len(value) < 2:
                return None
            if any(texts.base(x) is not None or not texts.known(type(x)) for x in row.values()):
                return None
        return cls(value, names) if all(type(n) is str for n in names) else None

    def name(self, i):
        return self.names[i]

    def type(self, i):
        return ""

    def cells(self, i, start, stop):
        return [self._cell(row, self.names[i]) for row in self.list[start:stop]]

    def _cell(self, row, name):
        return row.get(name) if type(row) is dict else None

    def summary(self, i, step, most):
        values = [self._cell(row, self.names[i]) for row in self.list[::step]]
        kinds = sorted({texts.qualname(type(x)) for x in values if x is not None})
        present = [x for x in values if x is not None and (type(x) is not float or x == x)]
        found: dict = {"type": ", ".join(kinds[:4]), "missing": len(values) - len(present)}
        if len(values) < self.rows:
            found["sampled"] = len(values)
        if present and set(kinds) <= {"int", "float"} and all(type(x) in (int, float) for x in present):
            found.update(summary.of_numbers(present, most))
        found.update(summary.frequent(present, most))
        return found


class _Structured(_Plain):
    """A structured array of numpy with one dimension."""

    def __init__(self, value):
        self.value, self.names = value, value.dtype.names
        self.rows, self.width = len(value), len(self.names)

    @classmethod
    def of(cls, value):
        value, mask = arrays.ndarray(value)
        return cls(value) if value is not None and value.dtype.names and value.ndim == 1 and mask is None else None

    def name(self, i):
        return self.names[i]

    def type(self, i):
        return str(self.value.dtype[i])

    def cells(self, i, start, stop):
        return list(self.value[self.names[i]][start:stop])

    def summary(self, i, _, most):
        column = self.value[self.names[i]]
        return arrays.describe(column, None, most, self.width) if column.ndim == 1 else {"type": self.type(i)}


class _Polars(_Plain):
    def __init__(self, frame):
        self.columns = frame.get_columns()
        self.rows, self.width = frame.height, len(self.columns)

    @classmethod
    def of(cls, value):
        name = texts.qualname(type(value))
        if name == "Series":
            value = value.to_frame()
        return cls(value) if name in ("DataFrame", "Series") else None

    def name(self, i):
        return self.columns[i].name

    def type(self, i):
        return str(self.columns[i].dtype)

    def cells(self, i, start, stop):
        return self.columns[i].slice(start, stop - start).to_list()

    def summary(self, i, step, most):
        column, kind = self.columns[i], self.columns[i].dtype
        found: dict = {"type": str(kind)}
        present = column.drop_nulls()
        if kind.is_float():
            present = present.drop_nans()
        found["missing"] = len(column) - len(present)
        taken = present.gather_every(step) if step > 1 else present
        if len(taken) < len(present):
            found["sampled"] = len(taken)
        numeric = kind.is_numeric() or kind.is_temporal()
        if len(present) and numeric:
            found["min"], found["max"] = (texts.cell(x, most["text"]) for x in (present.min(), present.max()))
        if len(present) and (kind.is_numeric() or str(kind) == "Boolean"):
            found["mean"] = str(present.mean())
        if not kind.is_float() and not kind.is_nested():
            found.update(summary.frequent(taken.to_list(), most))
        if numeric and len(taken) and "numpy" in sys.modules and not kind.is_decimal():
            ends = (None, None)
            if kind.is_temporal():
                ends = (str(taken.min()), str(taken.max()))
                taken = taken.to_physical()
            found["histogram"] = summary.histogram(taken.to_numpy(), most, *ends)
        return found


class _Arrow(_Plain):
    def __init__(self, table):
        self.table = table
        self.rows, self.width = table.num_rows, table.num_columns

    @classmethod
    def of(cls, value):
        pyarrow = sys.modules["pyarrow"]
        if isinstance(value, (pyarrow.Array, pyarrow.ChunkedArray)):
            value = pyarrow.table([value], names=[""])
        return cls(value) if isinstance(value, (pyarrow.Table, pyarrow.RecordBatch)) else None

    def name(self, i):
        return self.table.schema.field(i).name

    def type(self, i):
        return str(self.table.schema.field(i).type)

    def cells(self, i, start, stop):
        return self.table.column(i).slice(start, stop - start).to_pylist()

    def summary(self, i, step, most):
        compute = importlib.import_module("pyarrow.compute")
        pyarrow, column = sys.modules["pyarrow"], self.table.column(i)
        kinds, kind = pyarrow.types, column.type
        present = column.drop_null()
        if kinds.is_floating(kind):
            present = present.filter(compute.invert(compute.is_nan(present)))
        found: dict = {"type": str(kind), "missing": len(column) - len(present)}
        taken = present.take(pyarrow.array(range(0, len(present), step))) if step > 1 else present
        if len(taken) < len(present):
            found["sampled"] = len(taken)
        numeric = kinds.is_integer(kind) or kinds.is_floating(kind)
        if len(present) and (numeric or kinds.is_temporal(kind)):
            ends = compute.min_max(present)
            found["min"], found["max"] = (texts.cell(ends[x].as_py(), most["text"]) for x in ("min", "max"))
        if len(present) and (numeric or kinds.is_boolean(kind)):
            found["mean"] = str(compute.mean(present).as_py())
        if not kinds.is_floating(kind) and not kinds.is_nested(kind):
            found.update(summary.frequent(taken.to_pylist(), most))
        if numeric and "numpy" in sys.modules:
            found["histogram"] = summary.histogram(taken.to_numpy(), most)
        return found
