"""The namespace as a node finds it, and what of it is another afterwards.

Each node asks, and a program has thousands of names. So neither looks at each of them, as far as that is possible: the
names that a node binds come last, so mostly the names that were there are the first of those that are there now, in the
same order.
"""

from xstate_kernel import original as __builtins__

from ..ground import identity
from ..value.bindings import GONE, SPECIAL


class Start:
    """The namespace when a node began.

    It keeps the values, so that no other object gets the id of one; but only their ids where the program may observe
    when a value is freed."""

    def __init__(self, bindings, keeps):
        self._ns = bindings.ns
        self._keeps, self._ids = keeps, {}
        if keeps:
            self.values = self._all = bindings.copy()
        else:
            bindings.drop_copy()
            self.values, self._ids = {}, dict(zip(self._ns, map(id, self._ns.values())))
            self._all = self._ids
        # names that the program has not bound
        self._others = {n for n in (*SPECIAL, *bindings.preset) if n in self._ns and not bindings.is_bound(n)}

    def end(self, bindings, keeps):
        """Lets go of the values: nothing is asked any more. keeps: as for the next node."""
        if self._keeps and keeps:
            bindings.give_back(self.values)

    def __contains__(self, name):
        """Reports whether the program had bound a name."""
        return name in self._all and name not in self._others

    def among(self, names):
        """Returns those of some names that the program had bound."""
        return {n for n in names if n in self._all} - self._others

    def names(self):
        """Returns the names that the program had bound, in the order of binding."""
        return [n for n in self._all if n not in self._others]

    def id_of(self, name):
        return id(self.values[name]) if self._keeps else self._ids[name]

    def same(self, name):
        """Reports whether a name, of the program or not, is as it was: bound to the same object, or to none."""
        if self._keeps:
            return self.values.get(name, GONE) is self._ns.get(name, GONE)
        return self._ids.get(name, id(GONE)) == id(self._ns.get(name, GONE))

    def changes(self, bindings):
        """Returns the names that the program has bound to other objects since, those that it has deleted, and the new
        ones in the order of binding; of these none if they are sorted. "-NAME" existed before, and was deleted
        meanwhile."""
        found = identity.differing(self.values, self._ns) if self._keeps else None
        if found is None or not bindings.preset.keys().isdisjoint(found):
            return self._all_changes(bindings)
        changed = [n for n in found if n not in SPECIAL]
        new = [n for n in changed if n not in self.values]
        return set(changed), set(), [] if sorted(new) == new else new

    def _all_changes(self, bindings):
        """Does the same as changes, name by name."""
        now = [n for n in self._ns if bindings.is_bound(n)]
        changed = {n for n in now if n not in self or not self.same(n)}
        return changed, set(self.names()).difference(now), _bind_order(self.names(), now)


def _bind_order(before, after):
    """Returns the new names in the order of binding, or nothing if they are sorted. "-NAME" existed before, and was
    deleted meanwhile."""
    new = after[len(before) :]
    if after[: len(before)] != before:
        rest, new = iter(before), []
        for at, name in enumerate(after):
            if name not in rest:  # which takes from it what comes before
                new = after[at:]
                break
    was = set(before)
    return [] if was.isdisjoint(new) and sorted(new) == new else ["-" + n if n in was else n for n in new]
