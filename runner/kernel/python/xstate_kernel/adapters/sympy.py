"""SymPy: expressions never change. Facts that they compute about themselves or look up are a cache."""

import sys

from xstate_kernel import original as __builtins__

from .protocol import Adapter


class Sympy(Adapter):
    packages = ("sympy",)

    def constant(self, kind):
        basic = sys.modules.get("sympy.core.basic")
        return basic is not None and issubclass(kind, basic.Basic)

    def fingerprint(self, walk, o, kind):
        if kind.__name__ != "FactRules":  # one object, made by the import, whose default dictionaries grow when read
            return False
        walk.put(b"N%s.%s;" % (kind.__module__.encode(), kind.__name__.encode()))
        return True


adapter = Sympy()
