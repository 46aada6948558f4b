"""The OpenAI Agents SDK: a function tool for `Agent(tools=[...])`."""

import base64
from collections import deque
from typing import Annotated, Any

from agents import FunctionTool, ToolOutputImage, ToolOutputText, function_tool  # pyright: ignore[reportMissingImports]
from agents.models import get_default_model  # pyright: ignore[reportMissingImports]
from agents.tool_context import ToolContext  # pyright: ignore[reportMissingImports]

from .._async_client import AsyncSession
from .._errors import XStateError
from .._results import ExecResult
from . import _shared


def run_code(session: AsyncSession, *, pictures: bool = True, **options: Any) -> FunctionTool:
    """Returns a tool by which a model executes code in a session; options are those of AsyncSession.exec.

    Its output is the text, with images if there are pictures. An XStateError is text for the model, too. Agent, model,
    tool call id and tokens are in the step's origin.

    The text names the files of pictures. Without pictures, it is all: for models that see none. The SDK drops images
    for the API of chat completions by itself.
    """
    counted: deque[Any] = deque(maxlen=64)  # usages of answers whose tokens a step has; many, as runs may be concurrent

    async def execute(context: ToolContext[Any], code: Annotated[str, _shared.CODE]) -> Any:
        origin = _origin(context)
        usage = context.usage.request_usage_entries[-1:]
        if usage and not any(usage[0] is u for u in counted):
            counted.append(usage[0])
            origin |= _shared.origin(tokens_in=usage[0].input_tokens, tokens_out=usage[0].output_tokens)
        try:
            return _output(await session.exec(code, origin=origin, **options), pictures)
        except XStateError as e:
            return str(e)

    return function_tool(execute, name_override=_shared.NAME, description_override=_shared.DESCRIPTION)


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
