"""Which names of the namespace share mutable objects: the co-variables."""
import hashlib


class Groups:
    """Fingerprints of the bound names, and an index from object to the names that reach it."""

    def __init__(self):
        self.prints = {}   # name → Fingerprint
        self._owners = {}  # id of a mutable object, class or function → set of names

    def put(self, name, fp):
        self.drop(name)
        self.prints[name] = fp
        for i in fp.ids:
            self._owners.setdefault(i, set()).add(name)
        for i in fp.soft:
            self._owners.setdefault(i, set()).add(name)

    def drop(self, name):
        fp = self.prints.pop(name, None)
        if fp is None:
            return
        for ids in (fp.ids, fp.soft):
            for i in ids:
                owners = self._owners.get(i)
                if owners is not None:
                    owners.discard(name)
                    if not owners:
                        del self._owners[i]

    def neighbours(self, name, soft=False):
        """Names that reach a mutable object (or, with soft, a class or function) that name reaches."""
        fp = self.prints.get(name)
        found = set()
        if fp is not None:
            for i in fp.ids:
                found |= self._owners[i]
            if soft:
                for i in fp.soft:
                    found |= self._owners[i]
            found.discard(name)
        return found

    def pairs(self, names):
        """Returns {(a, b): digest of where they share} for all pairs with a member in names; a < b."""
        places = {}
        for a in names:
            fp = self.prints.get(a)
            if fp is None:
                continue
            for i, place in fp.ids.items():
                owners = self._owners[i]
                if len(owners) < 2:
                    continue
                for b in owners:
                    if b == a:
                        continue
                    other = self.prints[b].ids.get(i)
                    if other is None:
                        continue
                    if a < b:
                        places.setdefault((a, b), set()).add((place, other))
                    else:
                        places.setdefault((b, a), set()).add((other, place))
        return {pair: hashlib.blake2b(repr(sorted(found)).encode(), digest_size=10).hexdigest() for pair, found in places.items()}
