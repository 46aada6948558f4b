"""Numbers objects by their ids, in the order in which a walk meets them.

The C form of it also keeps, without a Python object for each, which of them other values may share (in Python these are
in a dict of the fingerprint from the start):

    share(id)      counts as such; reports whether it has an ordinal
    withhold(ids)  no longer do
    sharing()      how many do
    places()       id → ordinal; for the attributes of an instance, the ordinal of the instance, inverted
    among(ids)     those of the ids that do
    same(other)    whether the same do, at the same places
    meets(other)   whether one does in both
    common(other)  those that do in both, as a set
    pairs(other)   their places in both, as pairs of 64-bit integers, sorted
"""

from collections import deque
from itertools import count, islice

from xstate_kernel import original as __builtins__

from . import native


class _Ordinals(dict):
    def add(self, i):
        if i not in self:
            self[i] = len(self)

    def extend(self, ids):
        if self.isdisjoint(ids):
            self.update(zip(dict.fromkeys(ids), count(len(self))))
            return
        for i in ids:
            self.add(i)

    def isdisjoint(self, ids):
        return self.keys().isdisjoint(ids)

    def since(self, first):
        """Returns the ids from an ordinal on, the last first."""
        return list(islice(reversed(self), len(self) - first))

    def truncate(self, first):
        deque(map(self.__delitem__, self.since(first)), 0)

    def share(self, i):
        return False

    def sharing(self):
        return 0

    def withhold(self, ids):
        pass

    def among(self, ids):
        return []


Ordinals = native.Ordinals or _Ordinals
