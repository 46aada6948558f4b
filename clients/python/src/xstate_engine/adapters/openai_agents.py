"""The OpenAI Agents SDK: a function tool for `Agent(tools=[...])`."""

import asyncio
import base64
from collections import deque
from collections.abc import Collection
from typing import Annotated, Any
from weakref import WeakKeyDictionary

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
from ..documents import CallRow
from . import _shared


def run_code(session: AsyncSession, *, pictures: bool = True, approvals: bool = False, **options: Any) -> FunctionTool:
    """Returns a tool by which a model executes code in a session; options are those of AsyncSession.exec.

    Its output is the text, with images if there are pictures. An XStateError is text for the model, too. Agent, model,
    tool call id and tokens are in the step's origin.

    The text names the files of pictures. Without pictures, it is all: for models that see none. The SDK drops images
    for the API of chat completions by itself.

    With approvals, code that waits for a decision interrupts the run of the agent. It was executed up to the call that
    waits, which is what the approval is for: session.calls(waiting=True) shows it. RunState.approve decides yes for
    what waits because of this code, and the code continues; RunState.reject denies it, when the model sends its next
    code. With always_approve, all that later code of the run asks is decided, too. To decide otherwise, call
    session.approve before the run is resumed, and then RunState.approve. The SDK asks before it says who calls, so the
    origin of a step has the call id, and neither agent, model nor tokens.
    """
    turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
    counted: deque[Any] = deque(maxlen=64)  # usages of answers whose tokens a step has; many, as runs may be concurrent

    def in_turn() -> asyncio.Lock:
        """Begins what the SDK does at once with all calls of an answer in their order."""
        return turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    async def execute(context: ToolContext[Any], code: Annotated[str, _shared.CODE]) -> Any:
        origin = _origin(context)
        usage = context.usage.request_usage_entries[-1:]
        if usage and not any(usage[0] is u for u in counted):
            counted.append(usage[0])
            origin |= _shared.origin(tokens_in=usage[0].input_tokens, tokens_out=usage[0].output_tokens)
        try:
            if approvals and context.is_tool_approved(_shared.NAME, context.tool_call_id):
                async with in_turn():
                    asked = (await _waiting(session)).keys()
                    result = await session.exec(code, origin=origin, **options)
                    while numbers := await _own(session, context, context.tool_call_id, result, asked):
                        for number in numbers:
                            await session.approve(number)
                        result = await session.exec(code, origin=origin, **options)
            else:
                result = await session.exec(code, origin=origin, **options)
            return _output(result, pictures)
        except XStateError as e:
            return str(e)

    async def waits(context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
        """Executes the code, as far as it comes. The tool, which submits it again, continues or gets the result."""
        async with in_turn():
            try:
                await _deny(session, context)
                origin = _shared.origin(call_id=call_id)
                result = await session.exec(arguments["code"], origin=origin, **options)
                return bool(await _own(session, context, call_id, result))
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
    for number, call in (await _waiting(session)).items():
        by = await _submission(session, call)
        if by and context.is_tool_approved(_shared.NAME, by) is False:
            await session.approve(number, deny=True)


async def _waiting(session: AsyncSession) -> dict[int, CallRow]:
    try:
        return {call["call"]: call for call in (await session.calls(waiting=True))["calls"]}
    except XStateError as e:
        if e.code == "no-session":  # its first code comes now
            return {}
        raise


async def _own(
    session: AsyncSession,
    context: RunContextWrapper[Any],
    call_id: str,
    result: ExecResult,
    asked: Collection[int] | None = None,
) -> list[int]:
    """The calls that an approval of a tool call decides, of those that were asked about if that is given.

    The program may wait for others: those of a tool call that has no approval yet, or that an earlier run rejected. A
    second question of code that was approved comes with the next code, unless all tool calls are approved.
    """
    always = bool(context.is_tool_approved(_shared.NAME, ""))  # so is a tool call that there is not
    if asked is None or always:
        asked = [w["call"] for w in result.waiting]
    calls = await _waiting(session) if result.waiting else {}
    own = []
    for number in (w["call"] for w in result.waiting):
        if number in asked and (call := calls.get(number)):
            by = await _submission(session, call)
            approved = by and not always and context.is_tool_approved(_shared.NAME, by)
            if by == call_id or call.get("block") == result.block or approved:
                own.append(number)
    return own


async def _submission(session: AsyncSession, call: CallRow) -> str | None:
    """The id of the tool call because of which a call waits: its code made it, or corrected what made it. A decision
    before it is a step, too, and has no id: then it is that of the block."""
    at = await session.query(block=call.get("block", ""), at_step=call.get("step"))
    return at["step"]["origin"].get("call_id") or (at["block"] or {}).get("origin", {}).get("call_id")


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
