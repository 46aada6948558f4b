"""What a column or an array holds: frequent values, and histograms."""

import sys
from collections import Counter

from xstate_kernel import original as __builtins__

from . import texts

SAMPLE = 4_000_000  # values of a page that are looked at one at a time, see step
_FEWEST = 10_000  # of one column
_MOST = 1_000_000


def step(length, columns):
    """Returns the distance between the values of a sample of a column."""
    return -(-length // max(_FEWEST, min(_MOST, SAMPLE // max(columns, 1)))) or 1


def frequent(values, most):
    """Returns how many distinct values there are, and the most frequent. Only values of known types are compared."""
    kinds = set(map(type, values))
    if not all(kind is type(None) or texts.known(kind) for kind in kinds):
        return {}
    if kinds & {list, dict, set, tuple, frozenset, bytearray}:  # they cannot be hashed, or hold what the program made
        return {}
    try:
        counts = Counter(values)
    except TypeError:
        return {}
    found: dict = {"distinct": len(counts)}
    common = counts.most_common(most["common"])
    if common and common[0][1] > 1:
        found["common"] = [{"text": texts.cell(v, most["text"]), "count": n} for v, n in common]
    return found


def histogram(numbers, most, low=None, high=None):
    """Returns the histogram of an array of numbers without missing ones, or None. low and high are the texts of the
    least and the largest where the numbers are those of other values, such as dates."""
    numpy = sys.modules["numpy"]
    if numbers.dtype.kind == "f":
        numbers = numbers[numpy.isfinite(numbers)]
        if numbers.dtype.itemsize < 8:
            numbers = numbers.astype("float64")
    if not numbers.size:
        return None
    try:
        counts, edges = numpy.histogram(numbers, most["bins"])
    except (ValueError, TypeError, OverflowError):  # the range is too large for a float
        return None
    return {
        "low": low or repr(float(edges[0])),
        "high": high or repr(float(edges[-1])),
        "counts": counts.tolist(),
    }


def of_numbers(values, most):
    """Returns the summary of a list of integers and floats, of which none is missing."""
    finite = [x for x in values if x - x == 0]
    found: dict = {"min": texts.brief(min(values), most["text"]), "max": texts.brief(max(values), most["text"])}
    try:
        found["mean"] = repr(float(sum(values)) / len(values))
        low, high = float(min(finite)), float(max(finite))
    except (OverflowError, ValueError):
        return found
    if low == high:
        low, high = low - 0.5, high + 0.5
    bins, width = most["bins"], high - low
    counts = [0] * bins
    if width - width == 0:  # finite
        for x in finite:
            n = min(int((x - low) / width * bins), bins - 1)
            if x < low + n * (width / bins):  # as numpy does: the quotient is rounded
                n -= 1
            elif n < bins - 1 and x >= low + (n + 1) * (width / bins):
                n += 1
            counts[n] += 1
        found["histogram"] = {"low": repr(low), "high": repr(high), "counts": counts}
    return found
