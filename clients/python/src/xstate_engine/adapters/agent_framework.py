"""Microsoft Agent Framework: a function tool for `Agent(tools=[...])`."""

from typing import Annotated, Any

from agent_framework import Content, FunctionInvocationContext, FunctionTool  # pyright: ignore[reportMissingImports]

from .._async_client import AsyncSession
from . import _shared


def run_code(session: AsyncSession, *, pictures: bool = True, **options: Any) -> FunctionTool:
    """Returns a tool by which a model executes code in a session; options are those of AsyncSession.exec.

    Its result is the text, and the data of pictures. An XStateError is the exception of the function's result: the
    model reads its text if the client has include_detailed_errors. The call id is in the step's origin. Agent, model
    and tokens are not, as the framework keeps them from tools: the session's origin may name the agent.

    The text names the files of pictures. Without pictures, it is all: for models that see none.
    """

    async def execute(code: Annotated[str, _shared.CODE], context: FunctionInvocationContext) -> list[Content]:
        origin = _shared.origin(call_id=context.metadata.get("call_id"))
        result = await session.exec(code, origin=origin, **options)
        shown = _shared.pictures(result) if pictures else []
        return [Content.from_text(str(result)), *(Content.from_data(i.data, i.media) for i in shown)]

    return _Tool(func=execute, name=_shared.NAME, description=_shared.DESCRIPTION)


class _Tool(FunctionTool):
    """A tool whose function reads its call id as middleware does, also without middleware."""

    async def invoke(self, *, context: Any = None, tool_call_id: str | None = None, **given: Any) -> Any:
        if context is not None:
            context.metadata["call_id"] = tool_call_id
        return await super().invoke(context=context, tool_call_id=tool_call_id, **given)
