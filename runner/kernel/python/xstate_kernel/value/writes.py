"""Finds what a node wrote: names that it bound or deleted, values that it changed in place, and their new aliases."""

import builtins
import types
import weakref

from xstate_kernel import original as __builtins__

from ..ground import code_owner
from ..show import display
from . import groups


class Writes:
    """Fingerprints what a node may have changed, and compares it with what was there before."""

    def __init__(self, bindings):
        self._bindings = bindings
        self.ns, self.printer, self.groups = bindings.ns, bindings.printer, bindings.groups
        # name → value when the node began; empty if the node may observe when a value is freed
        self.values_before = {}
        self.reach_of = {}  # class → names that reach it at the node's position
        self.redefined = {}  # class → itself, for classes that the node defined
        self.defined_as = {}  # id of a class that a node defined → weak reference to it, its digest then
        self.altered = set()  # names of classes and functions that the node changed in place
        self.verifies = False  # looks at what pure readers read, and fails if it changed
        self.old_classes = {}  # digest → the class object that instances may be of

    def fingerprint_writes(self, start, reads, certain, failed, parts, proven=False):
        """Fingerprints what the node bound or may have changed. Returns the facts for the observation. proven: that is
        nothing that was there, see pure_readers.py."""
        old, now = self.groups.earlier(), self.ns
        self.altered, self.redefined = set(), {}
        other, gone, new = start.changes(self._bindings)
        rebound = other.union(filter(self._bindings.is_bound, certain))
        deleted = sorted(gone)
        reads = reads | {n for n in rebound | gone if n in old and n in start and old[n].lifetime_sensitive}
        if failed:
            return self.undo(start, other, reads)
        weak = self.weak(rebound | gone, old)
        read = set() if proven and not self.verifies else reads
        changed, near = self.changed_before(read & (rebound | gone), old)
        candidates = ((read | parts) - rebound) | near | weak
        known = {start.id_of(n): fp for n, fp in self.groups.leveled.items() if n in start}
        for name in deleted:
            self.groups.drop(name)
        for name in rebound:
            self.made_class(now[name], rebound | gone)
            fp = known.get(id(now[name]))
            if fp is None or not (proven or self.printer.unchanged(now[name], fp)):
                fp = self.printer.of(now[name])
                if fp.levels is not None:
                    known[id(now[name])] = fp
            if (
                code_owner.is_a(now[name], type)
                and not fp.opaque
                and code_owner.kind_of(now[name].__module__) == code_owner.PROGRAM
            ):
                value = now[name]
                kept = self.same_class(name, value, fp)
                if kept is not value:
                    fp = self.printer.of(kept)
                else:
                    self.redefined[self.printer.called(kept)] = kept
                    self.defined_as[id(kept)] = weakref.ref(kept), fp.digest
            self.groups.put(name, fp)
        mutated = self.rehash(candidates, old, now, rebound | gone, parts)
        if proven and self.verifies and (changed or not mutated <= weak):
            raise AssertionError(f"a pure reader changed {sorted(changed | mutated)}")
        written = rebound | mutated | gone
        after = self.groups.pairs(written)
        touched = (
            mutated | changed | weak | {n for n in rebound - other if n in start and n in old and old[n].reaches()}
        )
        touched |= self.sources(after, written, touched, reads, old)
        touched = {n for n in touched if n in start and n in old}
        after.update(self.groups.pairs(touched))
        return {
            "reads": sorted(reads),
            "comembers": sorted((mutated | weak) - reads),
            "altered": sorted(self.altered),
            "writes": [self.write(n) for n in sorted(written)],
            "touched": sorted(touched),
            "sharing": [[a, b, d] for (a, b), d in sorted(after.items())],
            "bind_order": new,
        }

    def sources(self, after, written, touched, reads, old):
        """Returns the names from which written names got the objects that they newly share with unwritten names.

        These are names that the node read. If none explains the sharing, the result is the unwritten names themselves.
        """
        found, prints = set(), self.groups.prints
        for pair in after:
            for w, other in (pair, pair[::-1]):
                if w in written and other not in written:
                    new = groups.shared(prints[w], prints[other])
                    if w in touched:
                        new -= groups.shared(old.get(w), old.get(other))
                    for r in sorted(reads) if new else ():
                        from_r = old[r].among(new) if r in old else ()
                        if from_r:
                            found.add(r)
                            new -= from_r
                    if new:
                        found.add(other)
        return found

    def changed_before(self, names, old):
        """Returns the names whose values the node read, may have changed, and then replaced, and the names that share
        with one.

        Example: "f(); f = None", where f appends to a list that other names also refer to.
        """
        changed, near = set(), set()
        for name in names:
            was = old.get(name)
            if was is None:
                continue
            if (was.shares() or was.soft or was.opaque) and self.differed(name, was):
                self.altered |= self.groups.altered(was)
                changed.add(name)
                near |= self.groups.neighbours(name, soft=True)
        return changed, near

    def differed(self, name, was):
        """Reports whether the value that a name had before the node may be another now."""
        if name not in self.values_before:
            return True
        value = self.values_before[name]
        same = self.printer.compare(value, was)
        return self.printer.of(value).differs(was) if same is None else not same

    def weak(self, names, old):
        """Returns the names that refer weakly to the old values of the given names. These values may be freed now."""
        if not any(fp.weak for fp in self.groups.noted.values()):
            return set()
        return {n for name in names for n in self.groups.neighbours(name) if old[n].weak}

    def rehash(self, candidates, old, now, rebound, parts=()):
        """Recomputes the fingerprints of what the node read, and of everything that shares with a changed value."""
        mutated, done, todo = set(), set(), list(candidates)
        while todo:
            name = todo.pop()
            if name in done or name in rebound or name not in now or name not in old:
                continue
            done.add(name)
            was = old[name]
            if not (was.shares() or was.soft or was.opaque or name in parts):
                continue  # all its parts are immutable
            if self.printer.unchanged(now[name], was):
                continue
            near = self.groups.neighbours(name, soft=True)
            fp = self.printer.of(now[name])
            self.altered |= self.groups.altered(was)
            self.groups.put(name, fp)
            if fp.differs(was):
                mutated.add(name)
                todo.extend(near | self.groups.neighbours(name, soft=True))
                prints = self.groups.prints
                todo.extend(prints if fp.partial else [n for n, fp in self.groups.noted.items() if fp.partial])
        return mutated

    def made_class(self, value, names):
        """Numbers a class that the node defined, if names that it did not bind use a class with the same name.

        Even equal classes are two different classes."""
        if (
            not code_owner.is_a(value, type)
            or code_owner.kind_of(value.__module__) != code_owner.PROGRAM
            or self.groups.reached(value)
            or id(value) in self.printer.twins
        ):
            return
        name = self.printer.called(value)
        self.altered.add(name)
        used, n = {k for k, who in self.reach_of.items() if not names.issuperset(who)}, 0
        while "%s#%d" % (name, n) in used or (n == 0 and name in used):
            n += 1
        if n:
            self.printer.twins[id(value)] = value, n
            self.printer.of_classes.clear()  # it is written under another name

    def same_class(self, name, value, fp):
        """Keeps the old object of a class that is defined again to the same effect, so that isinstance is true for old
        instances.

        A class with mutable contents is replaced: it is in one group with its instances, and other names may share its
        contents.
        """
        if fp.shares():
            return value
        kept = self.old_classes.setdefault(fp.digest, value)
        if kept is not value:
            if self.printer.of(kept).digest != fp.digest:  # it changed since
                kept = self.old_classes[fp.digest] = value
            self.ns[name] = kept
            self.printer.classes[fp.digest] = kept
        return kept

    def write(self, name):
        now, fp = self.ns, self.groups.prints.get(name)
        if fp is None or name not in now:
            return {"name": name, "deleted": True}
        return {
            "name": name,
            "digest": "" if fp.opaque else fp.digest,
            "opaque": fp.opaque,
            "size": fp.size,
            "unhanded": fp.size - fp.handed,
            "deps": sorted(d for d in fp.deps if not hasattr(builtins, d)),
            "imports": sorted(fp.imports),
            "info": display.describe(now[name]),
            "class": code_owner.is_a(now[name], (type, types.FunctionType, types.ModuleType)),
            "code": self.groups.code(fp),
            "fragile": fp.lifetime_sensitive,
            "rests": bool(fp.files),
            "held": sorted(f"{m}.{k}" for m, names in fp.in_modules.items() for k in names),
        }

    def undo(self, start, rebound, reads):
        """Undoes a failed node, which defines nothing: restores bindings, and unbinds values that it changed in
        place."""
        if not self.values_before:
            self._bindings.kept_alive.extend(
                self.ns[name] for name in rebound
            )  # freeing it would change the values of other names
        old = self.groups.earlier()
        near = set().union(*(self.groups.neighbours(name, soft=True) for name in reads if not start.same(name)))
        for name in rebound:
            self._bindings.clear(name)
        gone = set()
        for name in start.names():
            if name in self.values_before:
                self.ns[name] = self.values_before[name]
            elif not start.same(name):
                gone.add(name)
        dropped = self.rehash(reads | near, old, self.ns, gone) | gone
        for name in dropped:
            if name in self.ns:
                self._bindings.keep_alive(self.ns[name], old.get(name))
            self._bindings.unbind(name)
        return {
            "reads": sorted(reads),
            "dropped": sorted(dropped),
            "writes": [],
            "comembers": [],
            "touched": [],
            "sharing": [],
        }

    def obsolete(self):
        """Drops cached objects that depend on a class or function that the node changed, or on a redefined class.

        These are parked groups, and classes kept for a later load or redefinition. Returns the names of the groups, and
        the digests of the classes.
        """
        changed, self.groups.changed = self.groups.changed, set()
        made = self.redefined

        def rests(fp):
            return not changed.isdisjoint(fp.soft) or any(
                code_owner.is_a(c, type) and self.again(c, made.get(self.printer.called(c), c))
                for c in fp.soft.values()
            )

        if not (changed or made):
            return [], []
        gone = []
        if made:
            gone = self.printer.forget_classes(rests)
            kept = {id(c): c for c in self.old_classes.values()}
            doomed = {i for i, c in kept.items() if rests(self.printer.of(c))}
            for d in [d for d, c in self.old_classes.items() if id(c) in doomed]:
                del self.old_classes[d]
        return self._bindings.forget_those(rests), gone

    def again(self, c, new):
        """Reports whether new is the result of defining a class again, and replaces it. A new version does not."""
        if c is new:
            return False
        of, was = self.defined_as.get(id(c), (None, None))
        return of is None or of() is not c or was == self.defined_as[id(new)][1]

    def lingering(self, order):
        """Reports whether subclasses of a class differ from those in a fresh run.

        They differ if no name reaches one, such as an earlier version, or if their order is not that of binding."""
        at = {name: i for i, name in enumerate(order)}
        todo, seen = [object], set()
        for c in todo:
            inner = type.__subclasses__(c)
            todo += [s for s in inner if s not in seen]
            seen.update(inner)
            ours = [s for s in inner if vars(s).get("__module__") == "__main__"]
            places = [at[s.__name__] for s in ours if s.__name__ in at]
            if places != sorted(places) or not all(map(self.groups.reached, ours)):
                return True
        return False

    def lifetime_sensitive(self):
        """Reports whether a bound value may observe when an object is freed. If so, the kernel keeps no reference to a
        value while a node runs."""
        return any(fp.lifetime_sensitive or fp.opaque for fp in self.groups.noted.values())
