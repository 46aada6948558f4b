"""DSPy: an `interpreter_factory` for RLM, and for the older CodeAct and ProgramOfThought."""

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any

import dspy  # pyright: ignore[reportMissingImports]
from dspy.primitives.code_interpreter import (  # pyright: ignore[reportMissingImports]
    CodeExecutionError,
    CodeInterpreterError,
    FinalOutput,
)
from dspy.primitives.facade import HOST_TOKEN_VAR  # pyright: ignore[reportMissingImports]

from .._client import Session
from .._errors import XStateError
from .._offers import Tool
from . import _functions, _shared


class Interpreters:
    """An interpreter_factory: each interpreter executes code in the session that new_session returns for it.

    A pass of a module should have a session of its own: new inputs in the session of another pass would execute again
    what depends on them. Sessions of one store share results.

    effects says by the name of a tool what its calls do, as Tool.effect does: "read", for instance. A call of a tool
    without one waits until it is approved. What llm_query answers is recorded, and used again for the same prompt.
    Inputs, and arguments and results of tools, are values that JSON has. options are those of Session.exec.

    Text is what the model reads: it names the files of pictures. Code that fails is a CodeExecutionError, which a
    module shows its model. An XStateError becomes a CodeInterpreterError, which ends the pass. The model's name is in
    the step's origin; interpreters get no names of agents, ids of calls, or tokens.
    """

    execution_instructions = _shared.BLOCKS

    def __init__(
        self, new_session: Callable[[], Session], *, effects: Mapping[str, str] | None = None, **options: Any
    ) -> None:
        self._new_session, self._effects, self._options = new_session, effects or {}, options

    def __call__(self) -> "_Interpreter":
        return _Interpreter(self._new_session(), {**_MODELS, **self._effects}, self._options)


_MODELS = {"llm_query": "pure", "llm_query_batched": "pure"}


class _Interpreter:
    """A CodeInterpreter of DSPy."""

    def __init__(self, session: Session, effects: Mapping[str, str], options: Mapping[str, Any]) -> None:
        self.tools: dict[str, Callable[..., Any]] = {}  # RLM adds to it
        self.output_fields: list[dict[str, Any]] | None = None  # set by RLM: the parameters of SUBMIT
        self._session, self._effects, self._options = session, effects, options
        self._inputs: dict[str, Any] = {}
        self._sent: dict[str, str] = {}  # blocks by their headings

    def start(self) -> None:
        """The first code starts what it needs."""

    def shutdown(self) -> None:
        """The session stays, with its record."""

    def execute(self, code: str, variables: dict[str, Any] | None = None) -> Any:
        if HOST_TOKEN_VAR in (variables or {}):  # RLM continues without: the record of their calls would not do
            raise CodeExecutionError("modules of DSPy inside of code are not available")
        self._inputs.update(variables or {})
        try:
            return self._execute(code)
        except XStateError as e:
            raise CodeInterpreterError(str(e)) from e

    def _execute(self, code: str) -> Any:
        tools: dict[str, Tool] = {name: Tool(call, self._effects.get(name, "")) for name, call in self.tools.items()}
        fields = [field["name"] for field in self.output_fields or ()]
        takes = {name: _takes(call) for name, call in self.tools.items()}
        self._define(_functions.block("SUBMIT", fields or ["output"], takes), tools)
        if self._inputs:
            # Not as literals: they may be long, and the program is read whenever code comes.
            tools["dspy-input"] = Tool(lambda name, digest: self._inputs[name], "pure")
            lines = [f"{name} = _input({name!r}, {_digest(name, value)!r})" for name, value in self._inputs.items()]
            self._define("\n".join([_INPUT, *lines]), tools)
        origin = _shared.origin(model=getattr(dspy.settings.lm, "model", None))
        result = self._session.exec(code, origin=origin, tools=tools, **self._options)
        if result.error is not None:
            raise CodeExecutionError(str(result))
        if answers := _functions.answers(self._session, result, "SUBMIT"):
            return FinalOutput({fields[0]: answers[0]} if len(fields) == 1 else answers[0])
        return str(result)

    def _define(self, block: str, tools: Mapping[str, Tool]) -> None:
        """Makes a block of the program, or changes it."""
        heading = block.partition("\n")[0]
        if self._sent.get(heading) != block:
            result = self._session.exec(block, tools=tools)
            if result.error is not None:
                raise CodeInterpreterError(str(result))
            self._sent[heading] = block


_INPUT = """\
# %% inputs
import xstate as _xstate


def _input(name, digest):
    return _xstate.tool("dspy-input", name=name, digest=digest)


"""


def _digest(name: str, value: Any) -> str:
    try:
        return hashlib.sha256(json.dumps(value, allow_nan=False).encode()).hexdigest()[:16]
    except (TypeError, ValueError) as e:
        raise CodeInterpreterError(f"the input {name} is no value that JSON has: {e}") from e


def _takes(call: Callable[..., Any]) -> dict[str, bool]:
    """The parameters of a tool, and whether a call may leave them out."""
    return {p.name: p.default is not p.empty for p in inspect.signature(call).parameters.values()}
