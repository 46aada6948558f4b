"""AG2: a function tool for `Agent(tools=[...])`."""

from typing import Annotated, Any

from ag2 import Context  # pyright: ignore[reportMissingImports]
from ag2.events import ImageInput, ModelResponse, ToolResult  # pyright: ignore[reportMissingImports]
from ag2.tools import tool  # pyright: ignore[reportMissingImports]
from ag2.utils import AGENT_CONTEXT_DEPENDENCY_KEY  # pyright: ignore[reportMissingImports]
from pydantic import Field  # pyright: ignore[reportMissingImports]

from .._async_client import AsyncSession
from . import _shared


def run_code(session: AsyncSession, *, pictures: bool = True, **options: Any) -> Any:
    """Returns a tool by which a model executes code in a session; options are those of AsyncSession.exec.

    Its result is the text, and images if there are pictures; the metadata has the ExecResult as "result". An
    XStateError becomes a ToolErrorEvent. Agent, model, tool call id and tokens are in the step's origin.

    The text names the files of pictures. Without pictures, it is all: for models that see none.
    """

    async def execute(code: Annotated[str, Field(description=_shared.CODE)], context: Context) -> ToolResult:
        result = await session.exec(code, origin=await _origin(context), **options)
        shown = _shared.pictures(result) if pictures else []
        images = (ImageInput(data=image.data, media_type=image.media) for image in shown)
        return ToolResult(str(result), *images, metadata={"result": result})

    return tool(execute, name=_shared.NAME, description=_shared.DESCRIPTION)


async def _origin(context: Any) -> dict[str, Any]:
    """Says who calls: the last response of the model has the call."""
    call_id, agent = context.tool_call_id, context.dependencies.get(AGENT_CONTEXT_DEPENDENCY_KEY)
    about = {"agent": agent and agent.name, "call_id": call_id}
    for event in reversed(list(await context.stream.history.get_events())):
        calls = [call.id for call in event.tool_calls.calls] if isinstance(event, ModelResponse) else []
        if call_id in calls:
            about["model"] = event.model
            if call_id == calls[0]:
                about["tokens_in"] = int(event.usage.prompt_tokens or 0)
                about["tokens_out"] = int(event.usage.completion_tokens or 0)
            break
    return _shared.origin(**about)
