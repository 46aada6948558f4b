"""Calls of a program: of tools and models, questions to people, and steps whose results are kept.

Under the engine xstate, a call happens once: its result is recorded, and served when the program runs again. Without
it, the same calls go to functions that the program provides, to the endpoint of a model, or to the terminal.
"""

from . import _engine
from ._errors import BudgetSpent, CallDenied, CallError, CallLost, NotPlain, Suspended, ToolError
from ._plain import plain as _plain

__all__ = [
    *("tool", "atool"),
    *("CallError", "ToolError", "CallLost", "CallDenied", "BudgetSpent", "NotPlain", "Suspended"),
]


def _tool_request(name, args):
    return {"kind": "tool", "tool": name, "args": {k: _plain(v, k) for k, v in args.items()}}


def tool(name, /, **args):
    """Calls the tool of a name and returns its result."""
    return _engine.outcome(_engine.call(_tool_request(name, args)))


async def atool(name, /, **args):
    """Does as tool does, in a task."""
    return _engine.outcome(await _engine.acall(_tool_request(name, args)))
