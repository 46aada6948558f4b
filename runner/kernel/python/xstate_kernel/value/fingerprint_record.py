"""The facts about a value: its digest, and what the digest leaves out."""

from xstate_kernel import original as __builtins__

from .. import blake2b


class Fingerprint:
    """What is known of a value: see the module's docstring."""

    __slots__ = (
        "cites",
        "copied",
        "deps",
        "digest",
        "files",
        "handed",
        "handles",
        "imports",
        "in_modules",
        "kinds",
        "levels",
        "libraries",
        "lifetime_sensitive",
        "nan",
        "notes",
        "opaque",
        "ordinals",
        "partial",
        "places",
        "sets",
        "shuffled",
        "size",
        "soft",
        "weak",
    )

    def __init__(self):
        self.digest = None
        self.opaque = None  # the reason, when it is
        self.places = {}  # id of a mutable object → place (ordinal, or "ordinal+offset")
        self.ordinals = None  # more such objects, whose places are ordinals, see ordinals.py
        self.notes = {}  # during a walk: the same as places, for objects that the walk may still meet
        self.copied = {}  # the same for memory that is copied before it is written to: that of frames and indexes
        self.soft = {}  # id of a class or function of the program → itself
        self.deps = set()  # global names its code may load
        self.imports = set()  # modules its code may import
        self.kinds = set()  # types of what it holds, but lists, tuples, dicts and constants; None: others, see Walk
        self.size = 0  # bytes hashed, about; more for what takes longer to pickle
        self.handed = 0  # those bytes in parts of arrays that the engine was given before
        self.cites = set()  # files of the code where exceptions in it were raised
        self.files = set()  # workspace modules it depends on
        self.libraries = set()  # packages of which it has a function, a class, or what keeps their state
        # Workspace module that holds a part of it → the names of that there, for the module that others have it from.
        self.in_modules = {}
        self.partial = False  # more can be reached than ids show
        self.weak = False  # it holds weak references: it changes when a target goes
        self.lifetime_sensitive = False  # it may notice that an object goes
        self.shuffled = False  # it holds a set whose order changes each time
        self.sets = False  # it holds another set
        self.nan = False  # it holds a NaN beside those in arrays
        self.handles = set()  # descriptors of open files that an opaque value reaches, see handles.py
        self.levels = None  # for a large container of containers and immutable values: what they hold, see graph

    def of_part(self, number):
        """Returns the fingerprint of a part that reaches all that the value reaches."""
        found = Fingerprint()
        for name in Fingerprint.__slots__:
            setattr(found, name, getattr(self, name))
        found.digest = blake2b(("%s %d" % (self.digest, number)).encode(), digest_size=20).hexdigest()
        return found

    def settle(self):
        """Takes the ordinals into the places. It is for a fingerprint that is in no index."""
        if self.ordinals is not None:
            self.places = {**self.ordinals.places(), **self.places}
            self.ordinals = None

    @property
    def ids(self):
        """Id of a mutable object → its place. With many objects, that takes time."""
        return self.places if self.ordinals is None else {**self.ordinals.places(), **self.places}

    def shares(self):
        """Reports whether the value reaches an object that others may share and change."""
        return bool(self.places) or self.ordinals is not None

    def reaches(self):
        """Reports whether it reaches one, or memory that others may share and copy."""
        return self.shares() or bool(self.copied)

    def among(self, ids):
        """Returns those of the ids that the value reaches."""
        found = set(filter(self.places.__contains__, ids)).union(filter(self.copied.__contains__, ids))
        return found if self.ordinals is None else found.union(self.ordinals.among(ids))

    def differs(self, was):
        """Reports whether the value was changed since, or holds equal objects in place of those that it held."""
        return (
            self.opaque
            or self.digest != was.digest
            or not self.same_places(was)
            or self.copied != was.copied
            or self.soft.keys() != was.soft.keys()
        )

    def same_places(self, was):
        """Reports whether the same objects are at the same places."""
        now, then = self.places, was.places
        if self.ordinals is not was.ordinals and (
            self.ordinals is None or was.ordinals is None or not self.ordinals.same(was.ordinals)
        ):  # where C walked a level now, and Python then, other objects are in the ordinals
            now, then = self.ids, was.ids
        return now == then or _of_objects(now) == _of_objects(then)


def _of_objects(ids):
    """Without the __dict__ of instances, which may be made at any time: see _Walk.dicts."""
    return {i: place for i, place in ids.items() if type(place) is not int or place >= 0 or i < 0}
