"""asyncio: the kernel cannot compute a digest of its objects, and the repr of a task shows a global counter."""

import sys

from xstate_kernel import original as __builtins__

from ..ground.hidden_variable import mark_repr
from .protocol import Adapter

_SHOWN_BY = "_task_repr" if sys.version_info >= (3, 11) else "_task_repr_info"


class Asyncio(Adapter):
    packages = ("asyncio", "_asyncio")
    opaque = True
    keeps_time = True

    def after_import(self):
        return {"asyncio.base_tasks": lambda hidden, module: mark_repr(module, _SHOWN_BY)}  # before _asyncio gets it


adapter = Asyncio()
