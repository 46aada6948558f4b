"""What each test begins with: a note of which test runs, and whether anything was drawn from random's generator."""

from . import original as __builtins__
import builtins
import mmap
import random


def shared_note(path):
    with open(path, "w+b") as f:
        f.truncate(9)
        return mmap.mmap(f.fileno(), 9)


def draws():
    """Changes with whatever is drawn from random's generator: how many of its words are used up, and three of them.
    Read where they lie, if they are found there: to have all 624 told takes as long as all else that is done about a
    short test."""
    state = super(random.Random, random._inst).getstate
    words = state()
    try:
        import _ctypes

        class Word(_ctypes._SimpleCData):
            _type_ = "I"

        if random.Random.__basicsize__ >= object.__basicsize__ + 4 * len(words):
            start = builtins.id(random._inst) + object.__basicsize__
            lie = [Word.from_address(start + 4 * i) for i in range(len(words))]
            if words == (*[w.value for w in lie[1:]], lie[0].value):
                few = lie[:4]
                return lambda: [w.value for w in few]
    except ImportError:
        pass
    return lambda: [state()[i] for i in (624, 0, 1, 2)]
