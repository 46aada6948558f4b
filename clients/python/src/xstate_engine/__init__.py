"""xstate executes the Python that an agent writes, block by block, and runs again only what an edit affects.

    with xstate_engine.Engine("work") as engine:
        session = engine.session("report")
        print(session.exec("x = 20\\nprint(x)"))
        print(session.exec("x + 1").result)

AsyncEngine has the same methods as coroutines. The engine's answers are TypedDicts of xstate_engine.documents.
"""

from typing import Any

from . import documents
from ._async_client import AsyncEngine, AsyncSession
from ._client import Engine, Session
from ._errors import ExecutionError, XStateError
from ._offers import Spent, Tool, ToolNotSent, ToolRefused
from ._results import ActiveRun, Counts, ExecResult, Image
from ._version import VERSION as __version__

__all__ = [
    "ActiveRun",
    "AsyncEngine",
    "AsyncSession",
    "Counts",
    "Engine",
    "ExecResult",
    "ExecutionError",
    "Image",
    "Session",
    "Spent",
    "Tool",
    "ToolNotSent",
    "ToolRefused",
    "XStateError",
    "documents",
]


def load_ipython_extension(ipython: Any) -> None:
    """Adds the magics %xstate and %%xstate to a shell of IPython: `%load_ext xstate_engine` calls it."""
    from ._magic import Magic

    ipython.register_magic_function(Magic(ipython).xstate, "line_cell", "xstate")
