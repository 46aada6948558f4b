"""Google ADK: a function tool for `LlmAgent(tools=[...])`."""

from typing import Annotated, Any

from google.adk.tools import FunctionTool, ToolContext  # pyright: ignore[reportMissingImports]
from google.genai import types  # pyright: ignore[reportMissingImports]
from pydantic import Field  # pyright: ignore[reportMissingImports]

from .._async_client import AsyncSession
from .._errors import XStateError
from . import _shared


def run_code(session: AsyncSession, *, pictures: bool = True, **options: Any) -> FunctionTool:
    """Returns a tool by which a model executes code in a session; options are those of AsyncSession.exec.

    The function's response has the text as its result, and pictures as its parts. An XStateError is its error. Agent,
    model, function call id and tokens are in the step's origin. A code executor of ADK would keep no pictures and no
    call ids, and ADK would execute no more code after two errors.

    The text names the files of pictures. Without pictures, it is all: for models that see none.
    """

    async def execute(code: Annotated[str, Field(description=_shared.CODE)], context: ToolContext) -> dict[str, Any]:
        try:
            result = await session.exec(code, origin=_origin(context), **options)
        except XStateError as e:
            return {"error": str(e)}
        response: dict[str, Any] = {"result": str(result)}
        if pictures and (shown := _shared.pictures(result)):
            response["pictures"] = [types.Part.from_bytes(data=i.data, mime_type=i.media) for i in shown]
        return response

    execute.__name__, execute.__doc__ = _shared.NAME, _shared.DESCRIPTION
    return FunctionTool(execute)


def _origin(context: ToolContext) -> dict[str, Any]:
    """Says who calls."""
    call_id = context.function_call_id
    about = {"agent": context.agent_name, "call_id": call_id}
    for event in reversed(context.session.events):
        calls = [call.id for call in event.get_function_calls()]
        if call_id in calls:  # the answer of the model
            about["model"] = event.model_version
            if (usage := event.usage_metadata) and call_id == calls[0]:
                about["tokens_in"] = usage.prompt_token_count
                about["tokens_out"] = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
            break
    return _shared.origin(**about)
