"""Descriptions of arrays of numpy, and tensors of torch in memory."""

import sys

from xstate_kernel import original as __builtins__

from . import summary, texts

_PIECE = 10_000_000  # elements that are looked at at a time


def array(value, at, most):
    value, mask = ndarray(value)
    if value is None or value.dtype.names:
        return None
    numpy = sys.modules["numpy"]
    found: dict = {"shape": list(value.shape), **describe(value, mask, most, 1)}
    lead = value.shape[:-2]
    if lead:
        found["slice"] = [0] * len(lead)
    page = value[(0,) * len(lead)] if value.size else value.reshape(0, 0)
    hidden = mask[(0,) * len(lead)] if mask is not None and value.size else None
    if page.ndim < 2:
        page = page.reshape(-1, 1)
        hidden = hidden.reshape(-1, 1) if hidden is not None else None
    top, left = _clamped(at.get("row", 0), page.shape[0]), _clamped(at.get("column", 0), page.shape[1])
    window = (slice(top, top + most["rows"]), slice(left, left + most["columns"]))
    cells = [[texts.cell(x, most["text"]) for x in row] for row in page[window]]
    if hidden is not None:
        for i, j in numpy.argwhere(hidden[window]).tolist():
            cells[i][j] = "--"
    return {**found, "from": top, "left": left, "cells": [{"cells": row} for row in cells]}


def _clamped(start, length):
    return max(0, min(start, length - 1)) if length else 0


def ndarray(value):
    """Returns a value as an array of numpy itself, and its mask; None, None if it is no array."""
    kind, numpy = type(value), sys.modules.get("numpy")
    if numpy is None or not hasattr(numpy, "ndarray"):
        return None, None
    if texts.top(kind) == "torch" and texts.qualname(kind) in ("Tensor", "Parameter"):
        return value.detach().numpy(), None
    if not issubclass(kind, numpy.ndarray):
        return None, None
    masked = getattr(getattr(numpy, "ma", None), "MaskedArray", None)
    mask = None
    if masked is not None and issubclass(kind, masked):
        mask = numpy.ma.getmaskarray(value)
    return numpy.ndarray.view(value, numpy.ndarray), mask


def describe(value, mask, most, columns):
    """Returns the summary of an array, of which mask hides elements."""
    found: dict = {"type": str(value.dtype)}
    figures = _Figures(value.dtype.kind, summary.step(value.size, columns))
    if mask is not None:
        found["missing"] = int(mask.sum())
    for piece, hidden in _pieces(value, mask):
        figures.add(piece if hidden is None else piece[~hidden])
    found["missing"] = found.get("missing", 0) + figures.missing
    if not figures.count:
        return found
    taken = sys.modules["numpy"].concatenate(figures.taken)
    if taken.size < figures.count:
        found["sampled"] = taken.size
    for name in ("min", "max"):
        if getattr(figures, name) is not None:
            found[name] = texts.cell(getattr(figures, name), most["text"])
    if figures.sum is not None:
        found["mean"] = str(figures.sum / figures.count)
    found.update(_more(value.dtype.kind, taken, most))
    return found


def _pieces(value, mask):
    """Yields the elements of an array in pieces of one dimension, with their part of the mask. An array that does not
    lie in one piece of memory is not copied as a whole."""
    if value.ndim == 0:
        yield value.reshape(1), None if mask is None else mask.reshape(1)
        return
    row = value.size // len(value) if len(value) else 0
    some = max(1, _PIECE // max(row, 1))
    for i in range(0, len(value), some):
        part, hidden = value[i : i + some], None if mask is None else mask[i : i + some]
        if row > _PIECE:
            yield from _pieces(part[0], None if hidden is None else hidden[0])
        else:
            yield part.reshape(-1), None if hidden is None else hidden.reshape(-1)


class _Figures:
    """What is known of the elements of an array so far: figures of all, and a sample."""

    def __init__(self, kind, step):
        self.kind, self.step = kind, step
        self.count = self.missing = 0  # elements that are there, and others
        self.min = self.max = self.sum = None
        self.taken = []

    def add(self, piece):
        numpy = sys.modules["numpy"]
        if self.kind in "fcmM":
            missing = numpy.isnat(piece) if self.kind in "mM" else numpy.isnan(piece)
            if missing.any():
                self.missing += int(missing.sum())
                piece = piece[~missing]
        if not piece.size:
            return
        self.taken.append(piece[-self.count % self.step :: self.step])
        self.count += piece.size
        if self.kind in "biufmM":
            least, most = piece.min(), piece.max()
            self.min = least if self.min is None else min(self.min, least)
            self.max = most if self.max is None else max(self.max, most)
        if self.kind in "biufc":
            total = piece.sum(dtype="complex128" if self.kind == "c" else "float64")
            self.sum = total if self.sum is None else self.sum + total


def _more(kind, taken, most):
    """Returns what is known of a sample: its frequent values, or its histogram."""
    found: dict = {}
    if kind in "iuf":
        found["histogram"] = summary.histogram(taken, most)
    elif kind in "mM":
        ends = (texts.cell(x, most["text"]) for x in (taken.min(), taken.max()))
        found["histogram"] = summary.histogram(taken.view("int64"), most, *ends)
    if kind in "biuUSOmM":
        found.update(summary.frequent(taken.tolist() if kind not in "mM" else list(map(str, taken)), most))
    if found.get("histogram", 0) is None:
        del found["histogram"]
    return found
