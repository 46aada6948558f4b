"""Calls of a program: of tools and models, questions to people, and steps whose results are kept.

Under the engine xstate, a call happens once: its result is recorded, and served when the program runs again. Elsewhere
the same calls go to functions that the program provides, to the endpoint of a model, and to the terminal.

    import xstate
    from xstate import tools

    found = tools.search(query="weather in Oslo", limit=3)
    text = xstate.llm("Sum this up: " + str(found))
    if xstate.ask("Send it?", ["yes", "no"]) == "yes":
        xstate.tool("send_mail", to="me@example.com", text=text)

Arguments and results are plain data: None, booleans, finite numbers, text, lists, and dicts with text as keys.
Functions whose names begin with an a are for tasks: await xstate.atool("search", query="x").
"""

from ._calls import aask, allm, ask, astep, atool, gather, llm, provide, step, tool
from ._errors import BudgetSpent, CallDenied, CallError, CallLost, NotPlain, Suspended, ToolError
from ._tools import atools, tools

__all__ = [
    *("tool", "tools", "llm", "ask", "step", "atool", "atools", "allm", "aask", "astep", "gather", "provide"),
    *("CallError", "ToolError", "CallLost", "CallDenied", "NotPlain", "Suspended", "BudgetSpent"),
]
