"""LangChain and LangGraph: a tool for `create_agent`, for `ToolNode` and for models with tools."""

import base64
from typing import Annotated, Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException  # pyright: ignore[reportMissingImports]
from langgraph.prebuilt import ToolRuntime  # pyright: ignore[reportMissingImports]

from .._async_client import AsyncSession
from .._client import Session
from .._errors import XStateError
from .._results import ExecResult
from . import _shared


def run_code(session: Session | AsyncSession, *, pictures: bool = True, **options: Any) -> BaseTool:
    """Returns a tool by which a model executes code in a session; options are those of Session.exec.

    The content of its message is the text, and content blocks if there are pictures; the artifact is the ExecResult. An
    XStateError becomes a message with the status error. Agent, model, tool call id and tokens are in the step's origin.

    The text names the files of pictures. Without pictures, it is all: for models that see none.

    The tool of an AsyncSession is for ainvoke and astream: to cancel these ends the run of the code.
    """
    if isinstance(session, AsyncSession):

        async def execute_async(code: Annotated[str, _shared.CODE], runtime: ToolRuntime = None) -> Any:
            try:
                result = await session.exec(code, origin=_origin(runtime), **options)
            except XStateError as e:
                raise ToolException(str(e)) from e
            return _message(result, pictures)

        how = {"coroutine": execute_async}
    else:

        def execute(code: Annotated[str, _shared.CODE], runtime: ToolRuntime = None) -> Any:
            try:
                result = session.exec(code, origin=_origin(runtime), **options)
            except XStateError as e:
                raise ToolException(str(e)) from e
            return _message(result, pictures)

        how = {"func": execute}
    return StructuredTool.from_function(
        **how,
        name=_shared.NAME,
        description=_shared.DESCRIPTION,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _origin(runtime: ToolRuntime | None) -> dict[str, Any]:
    """Says who calls. Outside of a graph it is not known."""
    if runtime is None:
        return {}
    call_id = runtime.tool_call_id
    about = {"agent": runtime.config.get("metadata", {}).get("lc_agent_name"), "call_id": call_id}
    messages = runtime.state.get("messages", ()) if isinstance(runtime.state, dict) else ()
    for message in reversed(messages):
        calls = [call["id"] for call in getattr(message, "tool_calls", ())]
        if call_id in calls:  # the answer of the model
            about["model"] = message.response_metadata.get("model_name") or message.response_metadata.get("model")
            if message.usage_metadata and call_id == calls[0]:
                about["tokens_in"] = message.usage_metadata["input_tokens"]
                about["tokens_out"] = message.usage_metadata["output_tokens"]
            break
    return _shared.origin(**about)


def _message(result: ExecResult, pictures: bool) -> tuple[str | list[dict[str, Any]], ExecResult]:
    """Returns the content and the artifact of a message."""
    shown = _shared.pictures(result) if pictures else []
    if not shown:
        return str(result), result
    blocks = [{"type": "image", "base64": base64.b64encode(i.data).decode(), "mime_type": i.media} for i in shown]
    return [{"type": "text", "text": str(result)}, *blocks], result
