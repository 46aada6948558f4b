"""The state that a traversal of a value keeps, and how it writes to the canonical stream: see fingerprint.py."""

import weakref

from xstate_kernel import original as __builtins__

from .. import blake2b
from ..ground.ordinals import Ordinals
from ..ground.unsupported import Opaque
from .fingerprint_record import Fingerprint

_MANY = 1000  # objects: fewer are quicker to find in an index of all


class WalkState:
    """The part of Walk that the others build on."""

    def __init__(self, owner, outer=None):
        self.owner = owner
        self.fp = Fingerprint()
        self.h = blake2b(digest_size=20)
        self.keep = [] if outer is None else outer.keep  # temporaries: alive, so that no other object gets their ids
        self.temps = set() if outer is None else outer.temps  # ids of containers that the walk made, not the value
        self.seen = Ordinals()
        self.memory = {}  # id of an array that owns memory → ordinal, address first met
        self.stack = []
        self.codes = {}  # class → its code, see graph
        # Types are noted of what a value holds, and not of what is in a class of the program, see pure_readers.py.
        self.classes, self.below = False, None  # a class was met; how long the stack was, while its parts are written
        self.levels = None  # to be noted for unchanged; None: not, or no longer
        self.tuples = {}  # id → digest, see immutable
        # Id of the __dict__ of an instance → its place, which is the same whether it exists yet or not: that of the
        # instance, inverted.
        self.dicts = {}
        self.pending, self.deferred = [], 0  # sets to be written last, see walk_unordered.py: number, elements
        self.units = {}  # id of an element of such a set → its unit
        self.tied = None  # the first ordinal that may be that of another object, as elements have equal colours

    def put(self, data):
        self.h.update(data)
        self.fp.size += len(data)

    def mark(self, o):
        """Gives o the next ordinal. If the walk met o before, writes a reference to it and returns true."""
        i = id(o)
        n = self.seen.get(i)
        if n is not None:
            self.put(b"@%d;" % n)
            self.again()
            return True
        self.seen.add(i)
        return False

    def again(self):
        """Notes that the walk met an object again: what that holds, it may have met in a class."""
        if self.classes and self.below is None:
            self.fp.kinds.add(None)

    def own(self, o):
        if self.levels:
            self.levels = None  # it changes, and is not a container of graph
        if id(o) in self.temps:
            return
        if self.seen.share(id(o)):
            self.fp.places.pop(id(o), None)
        else:
            self.fp.places[id(o)] = self.seen.get(id(o), 0)

    def fold(self):
        """Notes in the fingerprint the objects that other values may share."""
        fp, seen = self.fp, self.seen
        seen.withhold(fp.places)
        for i, place in fp.notes.items():
            if i not in fp.places and not seen.among((i,)):
                fp.places[i] = place
        fp.notes = {}
        fp.ordinals = seen if seen.sharing() else None  # pyright: ignore[reportAttributeAccessIssue]
        if seen.sharing() < _MANY:
            fp.settle()

    def temporary(self, o):
        self.keep.append(o)
        self.temps.add(id(o))
        return o

    def watched(self, o):
        if any(type(r.__callback__) is weakref.finalize for r in weakref.getweakrefs(o)):
            self.fp.lifetime_sensitive = True
            raise Opaque("an object with a finalizer")

    def drain(self):
        """Writes what is on the stack, and all that it reaches but elements of deferred sets."""
        raise NotImplementedError
