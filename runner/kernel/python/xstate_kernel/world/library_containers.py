"""Observes changes to dicts, lists and sets that are attributes of modules and classes of libraries.

The kernel observes containers that code of the program or the workspace reaches by attribute names. It also observes
those that functions of the standard library change on behalf of such code. It finds them before the node runs, or when
the node imports the library. After each node, it checks whether the contents of one changed.
"""

import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque

from xstate_kernel import original as __builtins__

from .. import adapters
from ..ground import bytecode, code_owner, identity

_DICTS = frozenset((dict, defaultdict, OrderedDict, Counter))
_KINDS = _DICTS | {list, set, deque}
_HEAP = 1 << 9  # type flag: made by a class statement
_BY_TEXT = frozenset(("getattr", "vars", "__dict__", "attrgetter"))
# Modules whose containers the kernel observes by other means, or whose containers are only caches.
_OTHERWISE = frozenset(("sys", "os", "gc", "linecache")) | adapters.KNOWN_CONTAINERS
_NONE = types.MappingProxyType({})
_named = {}


def _facts(code):
    """Returns the names that a code object loads, the modules that it imports, and its attribute names.

    A text in the code may also be an attribute name. Nested code does not count."""
    found = _named.get(code)
    if found is None:
        roots, imports, names = set(), set(), set()
        for _, op, _, name in bytecode.instructions(code):
            if op == "IMPORT_NAME":
                imports.add(name)
            elif op in ("LOAD_NAME", "LOAD_GLOBAL"):
                roots.add(name)
            elif op in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"):
                names.add(name)
        if not _BY_TEXT.isdisjoint(code.co_names):
            names.update(k for k in code.co_consts if type(k) is str)
        found = _named[code] = roots, imports, names
    return found


class LibraryContainers:
    def __init__(self):
        self._known = {}  # id of a container → itself, the name of its owner, its own name, its contents
        self._names = set()  # attribute names in the code that the node may run
        self._awaited = set()  # libraries that this code imports, and that are not loaded
        # id of a module or class → itself, its number of attributes, the names of the observed ones
        self._indexes = {}
        self.ids = self._known.keys()

    def begin(self, spaces, dotted):
        """Finds the containers that the code of a node can reach. spaces are pairs of a namespace and the code that may
        run there. dotted are the names of the program with a dot."""
        self._names, self._awaited = set(), set()
        self.come(spaces, bytecode.variables(dotted))

    def come(self, spaces, variables=_NONE):
        roots, imports = {}, set()
        for space, codes in spaces:
            loads = set()
            for code in codes:
                own, imported, names = _facts(code)
                loads |= own
                imports |= imported
                self._names |= names
                for n in (*code.co_varnames, *code.co_freevars) if variables else ():
                    loads.update(variables.get(n, ()))
            roots.update((id(v), v) for v in map(space.get, loads) if v is not None)
        self._names.update(
            v.__name__
            for v in roots.values()
            if code_owner.is_a(v, types.FunctionType) and v.__module__ in adapters.CHANGED_BY
        )
        if not self._names:
            return
        for name in imports:
            module = sys.modules.get(name)
            if module is not None:
                roots[id(module)] = module
            else:
                self._awaited.add(name)
        self._look(list(roots.values()))

    def awaits(self, name):
        return name in self._awaited

    def imported(self, module):
        """Checks a library that the code imports and that was just loaded."""
        self._look([module])

    def _look(self, todo):
        done = set()
        for value in todo:
            if code_owner.is_a(value, types.FunctionType):
                value = sys.modules.get(value.__module__)  # one of its functions may be in adapters.CHANGED_BY
            if code_owner.is_a(value, types.ModuleType):
                owners = (
                    (value,)
                    if code_owner.module_class(value) == code_owner.LIBRARY and value.__name__ not in _OTHERWISE
                    else ()
                )
            else:
                t = value if code_owner.is_a(value, type) else type(value)
                owners = (
                    [
                        c
                        for c in t.__mro__
                        if c.__flags__ & _HEAP and code_owner.kind_of(c.__module__) == code_owner.LIBRARY
                    ]
                    if t.__flags__ & _HEAP
                    else ()
                )
            for owner in owners:
                if id(owner) not in done:
                    done.add(id(owner))
                    space = vars(owner)
                    changers = adapters.CHANGED_BY.get(owner.__name__, {})
                    for k in {k for f in self._names & changers.keys() for k in changers[f]} & space.keys():
                        self._note(owner, k, space[k] if type(space[k]) in _KINDS else vars(space[k]))
                    for name in self._names & self._index(owner, space):
                        if type(space[name]) in _KINDS:
                            self._note(owner, name, space[name])
                        else:
                            todo.append(space[name])

    def _index(self, owner, space):
        known = self._indexes.get(id(owner))
        if known is None or known[1] != len(space):
            known = self._indexes[id(owner)] = (
                owner,
                len(space),
                {k for k, v in space.items() if type(v) in _KINDS or code_owner.is_a(v, (types.ModuleType, type))},
            )
        return known[2] & space.keys()

    def _note(self, owner, name, container):
        if id(container) not in self._known:
            title = (
                owner.__name__
                if code_owner.is_a(owner, types.ModuleType)
                else f"{owner.__module__}.{owner.__qualname__}"
            )
            self._known[id(container)] = container, title, name, _flat(container)

    def differ(self):
        """Reports whether the contents of a container changed since the last check."""
        return any(not identity.same(known[3], _flat(known[0])) for known in self._known.values())

    def changed(self):
        """Yields (owner, name, old contents, new contents, container) for each container that changed since the last
        check."""
        for i, (container, title, name, before) in self._known.items():
            after = _flat(container)
            if not identity.same(before, after):
                self._known[i] = container, title, name, after
                yield title, name, before, after, container


def _flat(container):
    """Lists the contents of a container, including those of nested containers."""
    found, todo, seen = [], [container], set()
    for o in todo:
        if id(o) not in seen:
            seen.add(id(o))
            inner = [*o.keys(), *o.values()] if type(o) in _DICTS else list(o)
            found += (o, *inner)
            todo += [x for x in inner if type(x) in _KINDS]
    return found
