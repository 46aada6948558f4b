"""The OpenAI Agents SDK: a function tool for `Agent(tools=[...])`."""

import base64
from collections import deque
from typing import Annotated, Any

from agents import (  # pyright: ignore[reportMissingImports]
    FunctionTool,
    RunContextWrapper,
    ToolOutputImage,
    ToolOutputText,
    function_tool,
)
from agents.models import get_default_model  # pyright: ignore[reportMissingImports]
from agents.tool_context import ToolContext  # pyright: ignore[reportMissingImports]

from .._async_client import AsyncSession
from .._errors import XStateError
from .._results import ExecResult
from . import _shared


def run_code(session: AsyncSession, *, pictures: bool = True, approvals: bool = False, **options: Any) -> FunctionTool:
    """Returns a tool by which a model executes code in a session; options are those of AsyncSession.exec.

    Its output is the text, with images if there are pictures. An XStateError is text for the model, too. Agent, model,
    tool call id and tokens are in the step's origin.

    The text names the files of pictures. Without pictures, it is all: for models that see none. The SDK drops images
    for the API of chat completions by itself.

    With approvals, code that waits for a decision interrupts the run of the agent. It was executed up to the call that
    waits, which is what the approval is for: session.calls(waiting=True) shows it. RunState.approve decides yes for
    what waits then, and the code continues; RunState.reject denies it, when the model sends its next code. To decide
    otherwise, call session.approve before the run is resumed, and then RunState.approve. The SDK asks before it says
    who calls, so the origin of a step has the call id, and neither agent, model nor tokens.
    """
    counted: deque[Any] = deque(maxlen=64)  # usages of answers whose tokens a step has; many, as runs may be concurrent

    async def execute(context: ToolContext[Any], code: Annotated[str, _shared.CODE]) -> Any:
        origin = _origin(context)
        approved = approvals and context.is_tool_approved(_shared.NAME, context.tool_call_id)
        usage = context.usage.request_usage_entries[-1:]
        if usage and not any(usage[0] is u for u in counted):
            counted.append(usage[0])
            origin |= _shared.origin(tokens_in=usage[0].input_tokens, tokens_out=usage[0].output_tokens)
        try:
            if approved:
                for call in (await session.calls(waiting=True))["calls"]:
                    await session.approve(call["call"])
            return _output(await session.exec(code, origin=origin, **options), pictures)
        except XStateError as e:
            return str(e)

    async def waits(context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
        """Executes the code, as far as it comes. The tool, which submits it again, continues or gets the result."""
        try:
            await _deny(session, context)
            origin = _shared.origin(call_id=call_id)
            return bool((await session.exec(arguments["code"], origin=origin, **options)).waiting)
        except XStateError:  # the tool meets it, too, and the model reads it
            return False

    return function_tool(
        execute,
        name_override=_shared.NAME,
        description_override=_shared.DESCRIPTION,
        needs_approval=waits if approvals else False,
    )


async def _deny(session: AsyncSession, context: RunContextWrapper[Any]) -> None:
    """Denies calls that wait if the run rejected the tool call that had their code."""
    try:
        waiting = (await session.calls(waiting=True))["calls"]
    except XStateError as e:
        if e.code == "no-session":  # its first code comes now
            return
        raise
    for call in waiting:
        block = (await session.query(block=call.get("block", "")))["block"]
        call_id = block["origin"].get("call_id") if block else None
        if call_id and context.is_tool_approved(_shared.NAME, call_id) is False:
            await session.approve(call["call"], deny=True)


def _origin(context: ToolContext[Any]) -> dict[str, Any]:
    """Says who calls."""
    agent = context.agent
    model = (context.run_config and context.run_config.model) or getattr(agent, "model", None) or get_default_model()
    name = model if isinstance(model, str) else getattr(model, "model", type(model).__name__)
    return _shared.origin(agent=agent and agent.name, model=name, call_id=context.tool_call_id)


def _output(result: ExecResult, pictures: bool) -> str | list[ToolOutputText | ToolOutputImage]:
    shown = _shared.pictures(result) if pictures else []
    if not shown:
        return str(result)
    urls = [f"data:{image.media};base64,{base64.b64encode(image.data).decode()}" for image in shown]
    return [ToolOutputText(text=str(result)), *(ToolOutputImage(image_url=url) for url in urls)]
