"""Which names of the namespace share mutable objects: the co-variables."""
import hashlib


class Groups:
    """Fingerprints of the bound names, and an index from object to the names that reach it.

    Names may reach a million objects each, and every node asks who shares with whom: so an object that one name reaches
    costs an entry and no set, and answers are kept until a name they speak of is put or dropped.
    """

    def __init__(self):
        self.prints = {}   # name → Fingerprint
        self._owners = {}  # id of a mutable object, class or function → the name that reaches it, or the set of them
        self._shared = {}  # name → ids of the objects that others reach, too
        self._near = {}    # name → names that share a mutable object with it, names that share any
        self._places = {}  # (a, b) → digest of where they share

    def put(self, name, fp):
        self.drop(name)
        self.prints[name] = fp
        owners, shared = self._owners, set()
        for ids in (fp.ids, fp.soft):
            met = ids.keys() & owners.keys()
            owners.update(dict.fromkeys(ids.keys() - met if met else ids, name))
            for i in met:
                who = owners[i]
                if type(who) is str:
                    self._shared[who].add(i)
                    who = owners[i] = {who}
                who.add(name)
            shared |= met
        self._shared[name] = shared
        self._forget(name)

    def drop(self, name):
        fp = self.prints.pop(name, None)
        if fp is None:
            return
        self._forget(name)
        owners, shared = self._owners, self._shared.pop(name)
        for ids in (fp.ids, fp.soft):
            for i in ids.keys() - shared if shared else ids:
                del owners[i]
        for i in shared:
            who = owners[i]
            who.discard(name)
            if len(who) == 1:
                owners[i] = other = who.pop()
                self._shared[other].discard(i)

    def _forget(self, name):
        """Forgets all answers that speak of name."""
        near = self._near.pop(name, None) or self._find(name)
        for other in near[1]:
            self._near.pop(other, None)
            self._places.pop((name, other) if name < other else (other, name), None)

    def _find(self, name):
        hard, every = set(), set()
        fp = self.prints.get(name)
        for i in self._shared.get(name, ()):
            who = self._owners[i]
            every |= who
            if fp is not None and i in fp.ids:
                hard |= who
        hard.discard(name)
        every.discard(name)
        return hard, every

    def neighbours(self, name, soft=False):
        """Names that reach a mutable object (or, with soft, a class or function) that name reaches."""
        if name not in self.prints:
            return set()
        near = self._near.get(name)
        if near is None:
            near = self._near[name] = self._find(name)
        return near[soft]

    def pairs(self, names):
        """Returns {(a, b): digest of where they share} for all pairs with a member in names; a < b."""
        found = {}
        for name in names:
            for other in self.neighbours(name):
                pair = (name, other) if name < other else (other, name)
                if pair not in found:
                    place = self._places.get(pair)
                    if place is None:
                        place = self._places[pair] = self._place(*pair)
                    if place:
                        found[pair] = place
        return found

    def _place(self, a, b):
        x, y = self.prints[a].ids, self.prints[b].ids
        places = sorted({"%s %s" % (x[i], y[i]) for i in self._shared[a] & self._shared[b] if i in x and i in y})
        return hashlib.blake2b("\n".join(places).encode(), digest_size=10).hexdigest() if places else ""
