"""Two things that each test begins with: a note of which test runs, and a check for draws from random's generator."""

import builtins
import mmap
import random

from xstate_kernel import original as __builtins__


def shared_note(path):
    with open(path, "w+b") as f:
        f.truncate(9)
        return mmap.mmap(f.fileno(), 9)


def draws():
    """Returns a function whose result changes with every draw from random's generator.

    The result is the number of used words, and three of the words. The function reads them from memory, if they have
    the expected layout. Getting all 624 words takes as long as all other work for a short test."""
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
