"""unittest.mock: the repr of a mock shows an address; a patch assigns to an attribute that a text names."""

from xstate_kernel import original as __builtins__

from ..ground.hidden_variable import mark_repr
from .protocol import Adapter


class Mock(Adapter):
    packages = ("unittest",)
    patchers = ("unittest.mock",)

    def after_import(self):
        return {"unittest.mock": lambda hidden, module: mark_repr(module.NonCallableMock, "__repr__")}

    def parts(self, o, kind):
        """Returns the parts of a call. A call object has every attribute, even those that control pickling."""
        if kind.__module__ == "unittest.mock" and issubclass(kind, tuple):
            return tuple.__getitem__(o, slice(None)), object.__getattribute__(o, "__dict__")
        return None


adapter = Mock()
