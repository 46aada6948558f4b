"""Finds the instances that libraries hold: objects of a library's class that are attributes of its modules.

Such an object (reprlib.aRepr, mpmath.mp) is part of the library. An assignment of the program to its attributes changes
the results of the library for all later code, under whatever name the program reached the object.
"""

import sys
import types

from xstate_kernel import original as __builtins__

from ..ground import code_owner

_HEAP = 1 << 9  # type flag: made by a class statement
_OTHER = (types.ModuleType, type, types.FunctionType)


class HeldInstances:
    def __init__(self):
        self._indexes = {}  # package → number of loaded modules, id of an instance → its module and name

    def name_of(self, value):
        """Returns the dotted name by which a library holds an instance, or None."""
        t = type(value)
        if not (t.__flags__ & _HEAP and code_owner.kind_of(t.__module__) == code_owner.LIBRARY and _has_attributes(t)):
            return None
        package = t.__module__.partition(".")[0]
        count = len(sys.modules)
        if self._indexes.get(package, (0,))[0] != count:
            self._indexes[package] = count, _index(package)
        module, name = self._indexes[package][1].get(id(value), ("", ""))
        # The library may have replaced it since: the index must keep nothing alive.
        return f"{module}.{name}" if vars(sys.modules.get(module, sys)).get(name) is value else None


def _index(package):
    inner = package + "."
    return {
        id(v): (n, k)
        for n, module in list(sys.modules.items())
        if (n == package or n.startswith(inner)) and code_owner.is_a(module, types.ModuleType)
        for k, v in vars(module).items()
        if type(v).__flags__ & _HEAP and not code_owner.is_a(v, _OTHER)
    }


def _has_attributes(kind):
    """Reports whether vars of an instance of a class is the dict of the instance itself, and no property."""
    found = next((c.__dict__["__dict__"] for c in kind.__mro__ if "__dict__" in c.__dict__), None)
    return type(found) is types.GetSetDescriptorType
