"""smolagents: a `CodeAgent` whose code is executed in a session."""

import ast
import io
import uuid
from collections.abc import Generator, Mapping
from typing import Any

import PIL.Image  # pyright: ignore[reportMissingImports]
import smolagents  # pyright: ignore[reportMissingImports]
from smolagents.local_python_executor import (  # pyright: ignore[reportMissingImports]
    CodeOutput,
    InterpreterError,
    PythonExecutor,
)

from .._client import Session
from .._offers import Tool
from .._results import ExecResult
from . import _functions, _shared


class CodeAgent(smolagents.CodeAgent):
    """A CodeAgent that executes its code in a session. Other arguments are those of smolagents.CodeAgent.

    effects says by the name of a tool what its calls do, as Tool.effect does: "read", for instance. A call of a tool
    without one waits until it is approved. Arguments and results of tools, additional_args and the final answer are
    values that JSON has. options are those of Session.exec.

    Pictures are images of the step's observations, and the text names their files; without pictures, it is all. Agent,
    model, call and tokens are in the step's origin. All modules may be imported that the session's interpreter has.
    """

    def __init__(
        self,
        tools: list[smolagents.Tool],
        model: smolagents.Model,
        *,
        session: Session,
        effects: Mapping[str, str] | None = None,
        pictures: bool = True,
        options: Mapping[str, Any] | None = None,
        instructions: str | None = None,
        **settings: Any,
    ) -> None:
        settings.setdefault("additional_authorized_imports", ["*"])
        told = f"{instructions}\n\n{_shared.BLOCKS}" if instructions else _shared.BLOCKS
        executor = _Executor(session, effects or {}, options or {})
        super().__init__(tools, model, instructions=told, executor=executor, **settings)
        self._pictures = pictures

    def _step_stream(self, memory_step: smolagents.ActionStep) -> Generator[Any]:
        executor: _Executor = self.python_executor
        executor.begin(memory_step, self)
        try:
            yield from super()._step_stream(memory_step)
        finally:
            if self._pictures and executor.result is not None:
                shown = _shared.pictures(executor.result)
                images = [PIL.Image.open(io.BytesIO(image.data)) for image in shown]
                memory_step.observations_images = [*(memory_step.observations_images or ()), *images] or None


class _Executor(PythonExecutor):
    """Executes the code of an agent in a session."""

    def __init__(self, session: Session, effects: Mapping[str, str], options: Mapping[str, Any]) -> None:
        self.result: ExecResult | None = None  # of the current step
        self._session, self._effects, self._options = session, effects, options
        self._step: Any = None
        self._agent: Any = None
        self._run = ""
        self._tools: dict[str, Tool] = {}
        self._final: Any = None

    def begin(self, step: smolagents.ActionStep, agent: CodeAgent) -> None:
        """Says whose code comes next."""
        self.result, self._step, self._agent = None, step, agent

    def send_variables(self, variables: dict[str, Any]) -> None:
        """Makes the variables of a run a block of the program. Raises a TypeError if one is no literal."""
        self._run = uuid.uuid4().hex[:8]  # smolagents counts calls from 1 in each run
        for name, value in variables.items():
            if not _is_literal(value):
                raise TypeError(f"additional_args[{name!r}] is no literal: write it to a file, and name the file")
        if variables:
            lines = (f"{name} = {value!r}" for name, value in variables.items())
            self._session.exec("# %% variables\n" + "\n".join(lines)).check()

    def send_tools(self, tools: dict[str, Any]) -> None:
        """Makes functions that call the tools a block of the program."""
        self._final = tools.get("final_answer")
        self._tools = {
            name: Tool(tool, self._effects.get(name, ""), tool.description)
            for name, tool in tools.items()
            if tool is not self._final
        }
        takes = {
            name: {key: bool(about.get("nullable")) for key, about in tools[name].inputs.items()}
            for name in self._tools
        }
        block = _functions.block("final_answer", ["answer"], takes)
        self._session.exec(block, tools=self._tools).check()

    def __call__(self, code_action: str) -> CodeOutput:
        result = self._session.exec(code_action, origin=self._origin(), tools=self._tools, **self._options)
        self.result = result
        text = str(result)
        if result.error is not None:
            raise InterpreterError(text)
        if answers := _functions.answers(self._session, result, "final_answer"):
            return CodeOutput(self._final(answer=answers[0]), text, True)
        shown = f"{result.result}\n"  # which smolagents shows after the text
        if result.result and result.text.endswith(shown):
            text = result.text.removesuffix(shown) + text.removeprefix(result.text)
        return CodeOutput(result.result, text, False)

    def _origin(self) -> dict[str, Any]:
        """Says who calls."""
        if self._step is None:
            return {}
        usage, calls = self._step.token_usage, self._step.tool_calls
        return _shared.origin(
            agent=self._agent.name or type(self._agent).__name__,
            model=self._agent.model.model_id or type(self._agent.model).__name__,
            call_id=calls and f"{self._run}-{calls[-1].id}",
            tokens_in=usage and usage.input_tokens,
            tokens_out=usage and usage.output_tokens,
        )


def _is_literal(value: Any) -> bool:
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError):
        return False
