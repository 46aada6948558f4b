"""Computes digests of values by content.

The digest of a value is that of a canonical stream. The stream has no ids and does not depend on memory layout: two
equal strings are written equally, whether or not they are one object. Sets are sorted. Arrays are written by elements,
functions by code (not by line), classes by members, library objects by name and version. If the walk meets a mutable
object again, it writes a reference to its ordinal, so sharing inside a value is part of the digest.

The traversal also yields what the digest leaves out: the identity of every mutable object reached (for co-variables),
the classes and functions of the program reached, and the global names that their code may load.

A value without a digest of its content (a generator, socket, lock or drawing) is *opaque*. The engine identifies it by
lineage, and assumes that every node that reads it changes it.
"""

import sys
import warnings
from itertools import count

from xstate_kernel import original as __builtins__

from ..ground import code_owner, identity, memory, native, started
from ..ground.unsupported import Opaque
from .reach import Reach
from .walk import Walk
from .walk_containers import PLAIN, members

_MRO = type.__dict__["__mro__"].__get__


class Fingerprinter:
    def __init__(self, namespace, workspace):
        self.namespace = namespace
        self.workspace = workspace
        self.classes = {}  # digest → class of the program
        self.twins = {}  # id of a class whose name another class in use has → itself, how many others
        self.dotted = set()  # dotted names of modules that the program imported
        self.shared = {}  # workspace module → id of a mutable object that it holds → place, see module_state.py
        self.arrays = memory.Arrays()
        # While no code of the program runs; else None.
        self.reached = None  # id of an opaque value → its fingerprint
        self.of_classes = None  # id of a class of the program → it, its fingerprint, the order of what that reaches

    def begin(self):
        """Begins a time in which no code of the program runs: what is fingerprinted stays the same."""
        self.reached, self.of_classes = {}, {}

    def end(self):
        self.reached = self.of_classes = None

    def of(self, value):
        """Fingerprints a value. It never raises: a value that it cannot write is marked opaque."""
        if issubclass(type(value), type) and code_owner.kind_of(value.__module__) == code_owner.PROGRAM:
            return self._class(value)[1]
        return self._of(value)

    def _class(self, c):
        """Returns a class of the program, its fingerprint, and id → number of the classes and functions that it
        reaches.

        A base class may reach the classes that are derived from it, which it registers. Then all reach the same, and
        one walk does for all: the digest of such a class is that of its base, and where the walk from there meets it.
        Else a program that registers N classes, one by one, walks N**3 of them."""
        found = self.of_classes and self.of_classes.get(id(c))
        if found:
            return found
        fp = numbers = None
        root = next(b for b in reversed(_MRO(c)) if code_owner.kind_of(b.__module__) == code_owner.PROGRAM)
        if root is not c:
            _, of_root, numbers = self._class(root)
            if not of_root.opaque and id(c) in numbers:
                fp = of_root.of_part(numbers[id(c)])
                self.classes[fp.digest] = c
        if fp is None:
            fp = self._of(c)
            numbers = dict(zip(fp.soft, count()))
        found = c, fp, numbers
        if self.of_classes is not None:
            self.of_classes[id(c)] = found
        return found

    def _of(self, value):
        walk = Walk(self)
        fp = walk.fp
        walk.levels = [] if type(value) in (list, dict) else None
        filters = warnings.filters
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                if value is sys.modules:
                    fp.files.update(name for name, _ in self.workspace.loaded())
                    raise Opaque("what is loaded")
                if value is sys.path or value is sys.argv is not started.arguments or value is filters:
                    raise Opaque("a list of the interpreter")
                if type(value) not in PLAIN:
                    walk.fp.kinds.add(type(value))
                walk.run(value)
                walk.note_module_state()
                fp.digest = walk.h.hexdigest()
            except RecursionError:
                fp.opaque = "too deep"
            except MemoryError:
                fp.opaque = "too large"
            except Opaque as e:
                fp.opaque = str(e) or "opaque"
            except BaseException as e:  # the value's own code failed
                fp.opaque = f"{type(e).__name__} while hashing"
        if fp.opaque:
            walk.fold()
            Reach(self, fp).run(value)
        elif code_owner.is_a(value, type) and code_owner.kind_of(value.__module__) == code_owner.PROGRAM:
            self.classes[fp.digest] = value
        elif walk.levels and not fp.soft:
            fp.levels = walk.levels
        return fp

    def forget_classes(self, which):
        """Forgets the classes with such a fingerprint, under every digest that they had. which is a predicate.

        To fingerprint a class that changed adds its present digest. Returns the digests."""
        doomed = {i for i, c in {id(c): c for c in self.classes.values()}.items() if which(self.of(c))}
        gone = [d for d, c in self.classes.items() if id(c) in doomed]
        for d in gone:
            del self.classes[d]
        return gone

    def called(self, c):
        """The qualified name of a class, and where others of that name are in use, which of them it is."""
        name, twin = type.__dict__["__qualname__"].__get__(c), self.twins.get(id(c))
        return name if twin is None else "%s#%d" % (name, twin[1])

    def unchanged(self, value, fp):
        """Reports that a value still is what fp says, if the objects in its containers show that. That takes a small
        part of the time. False: it may be, or not."""
        return self.compare(value, fp) is True

    def compare(self, value, fp):
        """Returns True if a value certainly is what fp says, and False if it certainly differs: containers whose
        members are the same objects, and then one that has more or fewer. None: only another walk shows."""
        if (
            fp.levels is None or self.shared
        ):  # more is recorded of values that share a module's data, see Walk.note_module_state
            return None
        level = [value]
        for lengths, inner, below in fp.levels:
            if lengths is None:
                found = native.same(level, inner)
                if found < 1:
                    return None if found else False
            else:
                now = members(level)
                if now[0] != lengths:
                    return False
                if not identity.same(now[1], inner):
                    return None
            level = below
        return True
