"""Pydantic AI: a tool for `Agent(tools=[...])` and for toolsets."""

from typing import Any

from pydantic_ai import BinaryContent, ModelRetry, RunContext, Tool, ToolReturn  # pyright: ignore[reportMissingImports]
from pydantic_ai.messages import ModelResponse  # pyright: ignore[reportMissingImports]

from .._async_client import AsyncSession
from .._errors import XStateError
from . import _shared


def run_code(session: AsyncSession, *, pictures: bool = True, **options: Any) -> Tool[Any]:
    """Returns a tool by which a model executes code in a session; options are those of AsyncSession.exec.

    It returns the text, and pictures as BinaryContent; the metadata is the ExecResult. An XStateError becomes a
    ModelRetry. Agent, model, tool call id and tokens are in the step's origin.

    The text names the files of pictures. Without pictures, it is all: for models that see none.
    """

    async def execute(context: RunContext[Any], code: str) -> ToolReturn:
        try:
            result = await session.exec(code, origin=_origin(context), **options)
        except XStateError as e:
            raise ModelRetry(str(e)) from e
        text, shown = str(result), _shared.pictures(result) if pictures else []
        content = [text, *(BinaryContent(i.data, media_type=i.media) for i in shown)] if shown else text
        return ToolReturn(content, metadata=result)

    execute.__doc__ = f"{_shared.DESCRIPTION}\n\nArgs:\n    code: {_shared.CODE}"
    return Tool(execute, name=_shared.NAME)


def _origin(context: RunContext[Any]) -> dict[str, Any]:
    """Says who calls: the last response of the model has the call."""
    call_id = context.tool_call_id
    about = {"agent": context.agent and context.agent.name, "model": context.model.model_name, "call_id": call_id}
    for message in reversed(context.messages):
        if isinstance(message, ModelResponse):
            about["model"] = message.model_name or about["model"]
            if message.tool_calls and message.tool_calls[0].tool_call_id == call_id:
                about.update(tokens_in=message.usage.input_tokens, tokens_out=message.usage.output_tokens)
            break
    return _shared.origin(**about)
