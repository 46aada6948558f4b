"""The module decimal: the context of the main thread is hidden state."""

import sys

from xstate_kernel import original as __builtins__

from ..ground.hidden_variable import Variable
from .protocol import Adapter


class Decimal(Adapter):
    packages = ("decimal",)
    immutable = True

    def __init__(self):
        self._context = None  # the context just after the import of the module

    def constant(self, kind):
        return kind.__name__ != "Context"

    def variables(self):
        self.context = Variable("conf:decimal", self._get, self._put, lambda: self._context is not None, "decimal")
        return (self.context,)

    def after_import(self):
        return {"decimal": self._watch}

    def _watch(self, hidden, module):
        self._context = module.getcontext()
        hidden.begin(self.context)

    def registered(self):
        """Returns the context if it is a new object: then the program set it."""
        if self._context is None or sys.modules["decimal"].getcontext() is self._context:
            return {}
        return {"decimal": sys.modules["decimal"].getcontext()}

    def state_key(self, o):
        return "conf:decimal" if o is self._context and o is not None else None

    def state_object(self, key):
        if key != "conf:decimal":
            return None
        import decimal  # noqa: F401, the import sets self._context

        return self._context

    def _get(self):
        c = self._context
        flags, traps = (sorted(s.__name__ for s in which if which[s]) for which in (c.flags, c.traps))
        return c.prec, c.rounding, c.Emin, c.Emax, c.capitals, c.clamp, flags, traps

    def _put(self, v):
        c = self._context
        c.prec, c.rounding, c.Emin, c.Emax, c.capitals, c.clamp = v[:6]
        for signals, names in ((c.flags, v[6]), (c.traps, v[7])):
            for s in signals:
                signals[s] = s.__name__ in names


adapter = Decimal()
