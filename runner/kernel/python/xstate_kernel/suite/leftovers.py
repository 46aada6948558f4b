"""Finds what a test changed and did not restore: globals of workspace modules, the containers and classes that they
bind, and the state of the process."""

import os
import sys
import types
from operator import is_

from xstate_kernel import original as __builtins__

_BOXES = (list, dict, set)


class ModuleBindings:
    """The bindings of modules when the kernel last checked them."""

    def __init__(self):
        self._modules = {}  # Module → [its bindings, see boxes]
        self._spaces = []
        self._all = None  # values of all modules in one list: comparing it takes a quarter of the time

    def __len__(self):
        return len(self._modules)

    def hold(self, modules):
        """Stores the present bindings of the modules that are new."""
        for m in modules:
            if m not in self._modules:
                self._modules[m] = [dict(m.namespace), boxes(m)]
        self._spaces = [m.namespace for m in self._modules]
        self._all = None

    def _bound(self):
        found = []
        for space in self._spaces:
            found += space.values()
            found.append(next(reversed(space), None))  # if one name replaced another, the last name differs
        return found

    def changes(self, executed):
        """Lists changed modules, each with the names whose bindings differ from those at the last call.

        executed is a set of paths. In modules with these paths, it also compares containers and classes."""
        found = []
        try:
            same = self._bound() == self._all
        except Exception:
            same = False  # arrays: comparing them gives no single truth value
        for m, held in self._modules.items():
            if same and m.path not in executed:
                continue
            changed = set() if same else _differs(held[0], m.namespace)
            if m.path in executed:
                changed |= _inside(held[1])
            if changed:
                held[:] = dict(m.namespace), boxes(m)
                found.append((m, changed))
        if not same:
            self._all = self._bound()
        return found


def _differs(held, namespace):
    """Returns the names with other bindings, except modules: importing a submodule later binds its name."""
    gone = object()
    names = {k for k in held.keys() | namespace.keys() if held.get(k, gone) is not namespace.get(k, gone)}
    return {
        k
        for k in names
        if not (isinstance(k, str) and k.startswith("__") and k.endswith("__"))
        and not isinstance(namespace.get(k), types.ModuleType)
    }


def boxes(module):
    """Returns [name, value, copy] for each container and class that a module binds, and for containers in classes."""
    found = []
    for name, value in list(module.namespace.items()):
        if not isinstance(name, str) or name.startswith("__"):
            continue
        if type(value) in _BOXES:
            found.append([name, value, _copy(value)])
        elif isinstance(value, type) and value.__dict__.get("__module__") == module.name:
            found.append([name, value.__dict__, dict(value.__dict__)])
            found += [[k, v, _copy(v)] for k, v in found[-1][2].items() if type(v) in _BOXES and not k.startswith("__")]
    return found


def _inside(boxes):
    """Returns the names of changed containers and of changed attributes of classes."""
    changed = set()
    for name, now, was in boxes:
        if was is None or _same(was, now):
            continue
        changed.add(name)
        if isinstance(now, types.MappingProxyType):
            changed |= {k for k in was.keys() | now.keys() if was.get(k) is not now.get(k)}
    return {k for k in changed if not k.startswith("__") and k != "_abc_impl"}


def _copy(value):
    return value.copy() if len(value) < 10000 else None  # too large to compare after each test


def _same(was, now):
    try:
        return was == now
    except Exception:  # arrays: comparing them gives no single truth value
        return len(was) == len(now) and all(
            map(is_, was.values(), now.values()) if type(was) is dict else map(is_, was, now)
        )


def around(files):
    """Returns the environment, the working directory and sys.path."""
    return dict(os.environ._data), files.getcwd(), sys.path[:]


def stayed(was, files):
    return was[0] == os.environ._data and was[2] == sys.path and was[1] == files.getcwd()


def moved(was, now):
    def decode(k):
        return os.fsdecode(k) if isinstance(k, bytes) else k

    left = {"env:" + decode(k) for k in was[0].keys() | now[0].keys() if was[0].get(k) != now[0].get(k)}
    left -= {"env:PYTEST_CURRENT_TEST"}
    if was[1] != now[1]:
        left.add("cwd")
    if was[2] != now[2]:
        left.add("sys.path")
    return left


def children():
    """Returns a text that changes when multiprocessing starts a process, which raises no audit event."""
    module = sys.modules.get("multiprocessing.process")
    return repr(module._process_counter) if module is not None else "count(1)"
