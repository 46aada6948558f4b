"""The bindings of the program: the namespace, its fingerprints and groups, and groups that are parked."""

from xstate_kernel import original as __builtins__

from ..ground import identity

PRESET = ("__name__", "__doc__", "__file__", "get_ipython")  # names like others, that have a value before the program
SPECIAL = frozenset(
    (
        "__package__",
        "__loader__",
        "__spec__",
        "__builtins__",
        "__annotations__",
        "__warningregistry__",
        "__conditional_annotations__",
        "__annotate__",
        "__cached__",
        "__xstate__",
    )
)
GONE = object()


class Bindings:
    """The namespace of the program, and groups of names that the engine has parked.

    It keeps a copy of the namespace from node to node: with thousands of names, making one takes longer than running a
    node."""

    def __init__(self, namespace, preset, printer, groups):
        self.ns, self.preset, self.printer, self.groups = namespace, preset, printer, groups
        self.kept_alive = []  # unbound values, because the program could observe when they are freed
        self.left_open = []  # unbound values with their open files, which the end of a value would write to
        self.parked = {}  # digest of a group → ({name: value}, {name: Fingerprint})
        self._copy = None  # a copy of the namespace, maybe of an earlier time; None: it is in use, or not made

    def is_bound(self, name):
        """Reports whether the program has bound a name."""
        value = self.ns.get(name, GONE)
        return value is not GONE and name not in SPECIAL and value is not self.preset.get(name, GONE)

    def copy(self):
        """Returns a copy of the namespace. It is the caller's until given back."""
        copy, self._copy = self._copy, None
        if copy is None:
            return dict(self.ns)
        differing = identity.differing(copy, self.ns)
        if differing is None:
            return dict(self.ns)
        for name in differing:
            copy[name] = self.ns[name]
        return copy

    def drop_copy(self):
        """Keeps no values but by the namespace."""
        self._copy = None

    def give_back(self, copy):
        """Takes a copy that was made earlier, and lets go of what is not bound any more."""
        self._copy = copy
        self._copy = self.copy()

    def order(self, names):
        """Puts names in the order in which the program has bound them."""
        if not names:
            return
        names = [n for n in names if n in self.ns and n not in self.preset and n not in SPECIAL]
        if names != list(filter(set(names).__contains__, self.ns)):
            for n in names:
                self.ns[n] = self.ns.pop(n)

    def unbind(self, name):
        self.clear(name)
        self.groups.drop(name)

    def clear(self, name):
        self.ns.pop(name, None)
        if self._copy is not None:
            self._copy.pop(name, None)
        if name in self.preset:
            self.ns[name] = self.preset[name]

    def forget(self, joint):
        bound, prints = self.parked.pop(joint)
        for name, value in bound.items():
            self.keep_alive(value, prints[name])

    def keep_alive(self, value, fp):
        """Keeps a value that the engine drops, and not the program, if the end of its life would have effects."""
        if fp is not None and fp.handles:
            self.left_open.append((value, fp.handles))
        elif fp is not None and fp.lifetime_sensitive:
            self.kept_alive.append(value)

    def close_detached(self, handles):
        """Frees values whose open files do not belong to the program any more: what they hold in buffers is lost."""
        self.left_open = [(value, fds) for value, fds in self.left_open if not handles.all_detached(fds)]

    def bind(self, name, value, fp=None):
        self.ns[name] = value
        if self._copy is not None:
            self._copy[name] = value
        self.groups.put(name, fp or self.printer.of(value))

    def forget_those(self, which):
        """Forgets the parked groups in which a value has such a fingerprint. which is a predicate."""
        gone = [
            j for j, (_, prints) in self.parked.items() if any(fp is not None and which(fp) for fp in prints.values())
        ]
        for joint in gone:
            self.forget(joint)
        return gone

    def park(self, digest, names):
        """Parks a group of names that are still bound."""
        prints = self.groups.prints
        self.parked[digest] = {n: self.ns[n] for n in names}, {n: prints.get(n) for n in names}

    def restore(self, digest):
        """Binds the names of a parked group again."""
        bound, prints = self.parked.pop(digest)
        for name, value in bound.items():
            self.bind(name, value, prints[name])

    def forget_all(self):
        """Forgets all parked groups."""
        for digest in list(self.parked):
            self.forget(digest)

    def unpark(self, classes):
        """Forgets the parked groups that share something with one of the classes, which is bound now."""
        ids = {i for c in classes for i in self.printer.of(c).ids}
        return self.forget_those(lambda fp: fp.among(ids))

    def reach(self, names):
        """Returns the bound names among names and those that the code of their values loads, transitively."""
        seen, todo = set(), list(names)
        while todo:
            name = todo.pop()
            fp = self.groups.prints.get(name)
            if fp is not None and name not in seen:
                seen.add(name)
                todo.extend(fp.deps)
        return seen

    def deps(self, name):
        fp = self.groups.prints.get(name)
        return (fp.deps, fp.imports) if fp is not None else ((), set())

    def parts(self, changed, others):
        """Returns the names whose values a changed module held a part of, or that depend on replaced modules."""
        if not (changed or others):
            return set()
        return {
            n
            for n, fp in self.groups.prints.items()
            if not (changed.isdisjoint(fp.in_modules) and others.isdisjoint(fp.files))
        }

    def rest_on(self, names):
        """Returns the workspace modules that the values of the names depend on."""
        prints = self.groups.prints
        return {m for n in names if n in prints for m in prints[n].files}
