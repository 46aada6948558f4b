"""The module socket: its default timeout is hidden state."""

import sys

from xstate_kernel import original as __builtins__

from ..ground.hidden_variable import Variable
from .protocol import Adapter


class Socket(Adapter):
    packages = ("socket",)
    opaque = True
    keeps_time = True

    def variables(self):
        self.timeout = Variable(
            "conf:socket",
            lambda: sys.modules["socket"].getdefaulttimeout(),  # noqa: PLW0108 - of the module as it is then
            lambda v: sys.modules["socket"].setdefaulttimeout(v),  # noqa: PLW0108
            lambda: hasattr(sys.modules.get("socket"), "getdefaulttimeout"),
            "socket",
        )
        return (self.timeout,)

    def after_import(self):
        return {"socket": lambda hidden, module: hidden.begin(self.timeout)}


adapter = Socket()
