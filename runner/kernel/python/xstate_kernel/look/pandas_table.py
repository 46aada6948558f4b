"""Tables of pandas: frames, series and indexes."""

import sys

from xstate_kernel import original as __builtins__

from . import summary, texts


class Table:
    def __init__(self, frame):
        self.frame = frame
        self.rows, self.width = frame.shape

    @classmethod
    def of(cls, value):
        kind, pandas = type(value), sys.modules.get("pandas")
        if pandas is None or not hasattr(pandas, "Index"):
            return None
        if issubclass(kind, pandas.DataFrame):
            # a class of the program may redefine what is called below
            return cls(value if kind is pandas.DataFrame else pandas.DataFrame(value))
        if issubclass(kind, pandas.Series):
            return cls(pandas.Series(value).to_frame())
        if issubclass(kind, pandas.Index) and texts.top(kind) == "pandas":
            return cls(value.to_frame(index=False))
        return None

    def index(self, start, stop):
        labels = self.frame.index
        page = labels[start:stop]
        columns, lists = [], []
        for i in range(labels.nlevels):
            level = labels.levels[i] if labels.nlevels > 1 else labels
            columns.append({"name": _label(labels.names[i]), "index": True, "type": str(level.dtype)})
            lists.append(page.get_level_values(i).tolist())
        return columns, lists

    def name(self, i):
        return _label(self.frame.columns[i])

    def type(self, i):
        return str(self.frame.dtypes.iloc[i])

    def cells(self, i, start, stop):
        return _values(self.frame.iloc[start:stop, i])

    def summary(self, i, step, most):
        column = self.frame.iloc[:, i]
        kind = _kind(column)
        found: dict = {"type": str(column.dtype), "missing": int(column.isna().sum())}
        if hasattr(column.dtype, "categories"):
            return {**found, **_categories(column.array, most)}
        taken = column.iloc[::step] if step > 1 else column
        if step > 1:
            found["sampled"] = len(taken)
        taken = taken.dropna()
        if found["missing"] < len(column):
            if kind in "iufmM":
                found["min"], found["max"] = (texts.cell(x, most["text"]) for x in (column.min(), column.max()))
            if kind in "biufcmM":
                found["mean"] = str(column.mean())
        if kind != "f":
            found.update(summary.frequent(taken.tolist(), most))
        if kind in "iufmM" and len(taken):
            found["histogram"] = _histogram(taken, kind, most)
        return found


def _kind(column):
    """Returns the letter of numpy for what a column holds."""
    return getattr(column.dtype, "kind", "O")


def _label(name):
    if name is None:
        return ""
    if type(name) is tuple:  # of several levels
        return " / ".join(texts.cell(part, 80) for part in name)
    return texts.cell(name, 200)


def _values(column):
    """Returns the values of a few rows. A float of four bytes keeps its type, and with it its text."""
    if type(column.dtype).__module__.startswith("numpy") and column.dtype.kind in "biufc":
        return list(column.to_numpy())
    return column.tolist()


def _categories(values, most):
    numpy = sys.modules["numpy"]
    codes = numpy.asarray(values.codes)
    counts = numpy.bincount(codes[codes >= 0], minlength=len(values.categories))
    order = numpy.argsort(-counts, kind="stable")[: most["common"]].tolist()
    common = [
        {"text": texts.cell(values.categories[i], most["text"]), "count": int(counts[i])} for i in order if counts[i]
    ]
    return {"distinct": int((counts > 0).sum()), "common": common}


def _histogram(taken, kind, most):
    numpy = sys.modules["numpy"]
    if kind in "mM":
        ends = (str(taken.min()), str(taken.max()))
        return summary.histogram(numpy.asarray(taken.astype("int64")), most, *ends)
    numbers = taken.to_numpy()
    if numbers.dtype.kind not in "iuf":
        numbers = numbers.astype("float64")
    return summary.histogram(numbers, most)
