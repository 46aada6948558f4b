"""Tools and models that a harness offers the code that it executes."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from .documents import Event


class ToolRefused(Exception):
    """A tool raises it to say that it cannot do this. The code gets the text, and the call is not made again."""


class ToolNotSent(Exception):
    """A tool raises it to say that surely nothing happened. The same call may be made again."""


@dataclass(frozen=True)
class Spent:
    """The result of a tool or a model, with what it has spent."""

    result: Any
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True)
class Tool:
    """A function that code can call as xstate.tool(name, **arguments), and what the engine must know of it.

    effect says what a call does, and so what may be repeated: "pure" (the result depends on the arguments alone),
    "read", "idempotent" (call() gets the same idempotency key again), "reversible" (undo names the tool that takes it
    back) or "irreversible", which is what a tool is without it. A call that happened is served from its record.

    call gets the arguments by name, and returns what json can write. It raises ToolRefused to say no. After any other
    exception it is not known whether it happened: with an effect, the call then waits for a person. With with_key, it
    also gets the argument idempotency_key.
    """

    call: Callable[..., Any]
    effect: str = ""
    description: str = ""  #: the first lines of the function's docstring, if it is empty
    input: Mapping[str, Any] | None = None  #: JSON Schema of the arguments; from the signature, if it is None
    output: Mapping[str, Any] | None = None  #: JSON Schema of the result
    scope: str = ""  #: what it reads or changes; "": what all tools of clients do
    lifetime: float = 0  #: seconds after which the result of a tool that reads is stale; 0: never
    undo: str = ""  #: the tool that takes an effect back
    version: str = ""  #: another version is another tool
    with_key: bool = False
    identity: Sequence[str] = ()  #: the arguments that distinguish calls with effects; none: all of them

    def definition(self, name: str) -> dict[str, Any]:
        """The tool as requests describe it."""
        schema = self.input if self.input is not None else _schema(self)
        found = {
            "name": name,
            "description": self.description or inspect.getdoc(self.call) or "",
            "input": schema,
            "output": self.output,
            "class": self.effect,
            "scope": self.scope,
            "lifetime_seconds": self.lifetime,
            "undo": self.undo,
            "version": self.version,
            "identity": list(self.identity),
        }
        return {key: value for key, value in found.items() if value not in ("", None, 0, [])}


Offered = Union[Tool, Callable[..., Any]]  # noqa: UP007 - Python 3.10 has no | for a class in quotes
Offers = Mapping[str, Offered]


def _schema(tool: Tool) -> dict[str, Any] | None:
    """The names that a function takes; None if its signature does not say."""
    try:
        parameters = inspect.signature(tool.call).parameters.values()
    except (TypeError, ValueError):
        return None
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if tool.with_key:
        named = [p for p in named if p.name != "idempotency_key"]
    return {
        "type": "object",
        "properties": {p.name: {} for p in named},
        "required": [p.name for p in named if p.default is p.empty],
        "additionalProperties": any(p.kind == p.VAR_KEYWORD for p in parameters),
    }


class Offering:
    """The tools and models of one call of exec or run."""

    def __init__(self, tools: Offers | None, models: Offers | None) -> None:
        self._tools = {name: _tool(t, "") for name, t in (tools or {}).items()}
        self._models = {name: _tool(t, "pure") for name, t in (models or {}).items()}

    def __bool__(self) -> bool:
        return bool(self._tools or self._models)

    def request(self) -> dict[str, Any]:
        """The fields of a request."""
        return {
            "tools": [t.definition(name) for name, t in self._tools.items()],
            "models": [t.definition(name) for name, t in self._models.items()],
        }

    def is_coroutine(self, event: Event) -> bool:
        """Whether the call is a coroutine, which belongs into the event loop."""
        tool = self._tools.get(event.get("tool", "")) or self._models.get(event.get("tool", ""))
        return tool is not None and inspect.iscoroutinefunction(tool.call)

    def bind(self, event: Event) -> Callable[[], Any]:
        """The call that an event asks for."""
        name = event.get("tool", "")
        tool = self._tools.get(name) or self._models.get(name)
        if tool is None:
            raise ToolNotSent(f"there is no tool {name!r}")
        arguments = dict(event.get("args") or {})
        if tool.with_key:
            arguments["idempotency_key"] = event.get("idempotency_key", "")
        return lambda: tool.call(**arguments)


def _tool(offered: Offered, effect: str) -> Tool:
    return offered if isinstance(offered, Tool) else Tool(offered, effect)


def answered(event: Event, result: Any) -> dict[str, Any]:
    """The request that answers a call with a result."""
    spent = result if isinstance(result, Spent) else Spent(result)
    request = {"call": event.get("call", 0), "result": json.dumps(spent.result, allow_nan=False)}
    for name in ("input_tokens", "output_tokens", "cost_usd"):
        if value := getattr(spent, name):
            request[name] = value
    return request


def failed(event: Event, error: BaseException) -> dict[str, Any]:
    """The request that answers a call that has no result."""
    kind = "refused" if isinstance(error, ToolRefused) else "not_sent" if isinstance(error, ToolNotSent) else "error"
    text = str(error) or type(error).__name__
    if kind == "error":
        text = f"{type(error).__name__}: {error}"
    return {"call": event.get("call", 0), kind: text}
