"""LlamaIndex: a function tool for `FunctionAgent`, `ReActAgent` and any agent with tools."""

from typing import Annotated, Any

from llama_index.core.llms import ImageBlock, TextBlock  # pyright: ignore[reportMissingImports]
from llama_index.core.tools import FunctionTool  # pyright: ignore[reportMissingImports]

from .._async_client import AsyncSession
from . import _shared


def run_code(session: AsyncSession, *, pictures: bool = True, **options: Any) -> FunctionTool:
    """Returns a tool by which a model executes code in a session; options are those of AsyncSession.exec.

    Its output is a block of text, and image blocks if there are pictures. An XStateError becomes an output that is an
    error. LlamaIndex gives tools no agent, model, call id or tokens: the session's origin may name the agent.

    The text names the files of pictures. Without pictures, it is all: for models that see none.
    """

    async def execute(code: Annotated[str, _shared.CODE]) -> list[TextBlock | ImageBlock]:
        result = await session.exec(code, **options)
        shown = _shared.pictures(result) if pictures else []
        images = [ImageBlock(image=image.data, image_mimetype=image.media) for image in shown]
        return [TextBlock(text=str(result)), *images]

    return FunctionTool.from_defaults(async_fn=execute, name=_shared.NAME, description=_shared.DESCRIPTION)
