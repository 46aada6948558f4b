"""Writes many atoms at once: values of CPython's own types that hold nothing else and never change.

Invariant: the bytes of a list determine its items and their types. Which form is chosen depends on these alone. Texts,
which are most of what programs hold many of, are joined: marshal takes five times as long for them."""

import marshal

from xstate_kernel import original as __builtins__

ATOMS = frozenset((int, str, float, bool, type(None), bytes, complex))
TEXTS = frozenset((str,))
_PIECE = 1 << 16  # atoms at a time: what is written is larger than the list
_FEW = 64


def among(kinds):
    """Returns the set of the types in a list. Mostly that is one, and to count it takes a tenth of the time."""
    if kinds and kinds[0] is kinds[-1] and kinds.count(kinds[0]) == len(kinds):
        return frozenset(kinds[:1])
    return frozenset(kinds)


def parts(items, kinds):
    """Yields a list of atoms, of which the types are given, in parts with their types and the set of these: keys, and
    names of attributes, follow values."""
    found, half = among(kinds), len(items) // 2
    if found != TEXTS and str in found and half >= _FEW and kinds[half:].count(str) == len(items) - half:
        yield items[:half], kinds[:half], among(kinds[:half])
        items, kinds, found = items[half:], kinds[half:], TEXTS
    yield items, kinds, found


def written(items, found):
    """Yields bytes for a list of atoms of these types."""
    for i in range(0, len(items), _PIECE):
        piece = items[i : i + _PIECE]
        if found != TEXTS:
            yield marshal.dumps(piece, 2)  # version 2: no references, no interning marks
            continue
        text = "\0".join(piece).encode("utf-8", "surrogatepass")
        lengths = marshal.dumps(list(map(len, piece)), 2) if text.count(b"\0") >= len(piece) else b""
        yield b"T%d,%d,%s" % (len(piece), len(text), lengths)
        yield text
