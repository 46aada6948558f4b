"""The module warnings: its filters are hidden state. The kernel clears the record of shown warnings before each node.

A filter that an import adds belongs to the library, not to the program.
"""

import warnings

from xstate_kernel import original as __builtins__

from ..ground import code_owner
from ..ground.hidden_variable import Variable
from .protocol import Adapter


class Warnings(Adapter):
    packages = ("warnings",)
    known_containers = ("warnings",)

    def __init__(self):
        self._defaults, self._of_libraries = list(warnings.filters), []

    def variables(self):
        return (Variable("conf:warnings", self._get, self._put),)

    def registered(self):
        """Returns the program's filters if one is for a warning class of the program, which is not plain data."""
        if not _of_program(warnings.filters):
            return {}
        return {"filters": tuple(f for f in warnings.filters if f not in self._of_libraries)}

    def before_node(self):
        """Invalidates every "already shown" registry, so that a node's warnings do not depend on earlier nodes."""
        mutated = getattr(warnings, "_filters_mutated", None) or getattr(warnings, "_filters_mutated_lock_held", None)
        if mutated is not None:
            try:
                mutated()
            except Exception:
                pass

    def library_imported(self, before):
        """Attributes the filters that differ from the list before to the import of a library."""
        unchanged = [f for f in before if f not in self._of_libraries] == self._defaults
        self._of_libraries.extend(
            f for f in warnings.filters if f not in before and f not in self._of_libraries and f not in self._defaults
        )
        if unchanged:  # the import may also have moved or removed some
            self._defaults = [f for f in warnings.filters if f not in self._of_libraries]

    def _get(self):
        """Returns the filters except those of libraries, or None if the program changed none.

        Returns "planted" if registered reports the filters. This text is part of digests and must not change."""
        own = [f for f in warnings.filters if f not in self._of_libraries]
        if own == self._defaults:
            return None
        return "planted" if _of_program(own) else own

    def _put(self, value):
        if value == "planted":
            return  # the node that registered them does this
        own = self._defaults if value is None else value
        i, rest = len(own), list(self._defaults)
        while i and own[i - 1] in rest:  # these did not move since the start; libraries added theirs before them
            i -= 1
            del rest[rest.index(own[i]) :]
        warnings.filters[:] = own[:i] + self._of_libraries + own[i:]
        self.before_node()


def _of_program(filters):
    return any(code_owner.kind_of(f[2].__module__) != code_owner.LIBRARY for f in filters)


adapter = Warnings()
