"""unittest.mock: its mocks show addresses, its patches assign to attributes of what a text names."""

from .. import original as __builtins__

from ..hidden_variable import mark_repr
from .protocol import Adapter


class Mock(Adapter):
    packages = ("unittest",)
    patchers = ("unittest.mock",)

    def after_import(self):
        return {"unittest.mock": lambda hidden, module: mark_repr(module.NonCallableMock, "__repr__")}

    def parts(self, o, kind):
        """Of a call, which has every attribute: also those that tell how to pickle it."""
        if kind.__module__ == "unittest.mock" and issubclass(kind, tuple):
            return tuple.__getitem__(o, slice(None)), object.__getattribute__(o, "__dict__")
        return None


adapter = Mock()
