"""AutoGen: a code executor for `CodeExecutorAgent`, and for its tools that execute code."""

import asyncio
from typing import Any

import autogen_core.code_executor as base  # pyright: ignore[reportMissingImports]
from autogen_core import CancellationToken  # pyright: ignore[reportMissingImports]

from .._async_client import AsyncSession
from .._errors import XStateError
from . import _shared

_LANGUAGES = {"py": "python", "sh": "bash", "shell": "bash"}


class CodeExecutor(base.CodeExecutor):
    """Executes the code of agents in a session, in Python and Bash; options are those of AsyncSession.exec.

    The output is the text, which names the files of pictures. The exit code is 1 if code failed, and no block after it
    is executed then. The text of an XStateError is such an output, too. AutoGen gives executors no agent, model, call
    id or tokens: the session's origin may name the agent.

    To cancel the token ends the run of the code. The session keeps its program when the agent is reset, and the
    executor cannot be dumped as a component.
    """

    #: for the system message of the agent that writes the code
    instructions = f"Write Python in ```python blocks. It is executed, and you read the output. {_shared.BLOCKS}"

    def __init__(self, session: AsyncSession, **options: Any) -> None:
        self._session, self._options = session, options

    async def execute_code_blocks(
        self, code_blocks: list[base.CodeBlock], cancellation_token: CancellationToken
    ) -> base.CodeResult:
        told: list[str] = []
        for block in code_blocks:
            language = _LANGUAGES.get(block.language.lower(), block.language.lower())
            run = asyncio.ensure_future(self._session.exec(block.code, language=language or None, **self._options))
            cancellation_token.link_future(run)
            try:
                result = await run
            except XStateError as e:
                return base.CodeResult(1, "".join([*told, str(e)]))
            told.append(str(result))
            if result.error is not None:
                return base.CodeResult(1, "".join(told))
        return base.CodeResult(0, "".join(told))

    async def start(self) -> None:
        """The first code starts what it needs."""

    async def stop(self) -> None:
        """The session stays, with its record."""

    async def restart(self) -> None:
        """The session keeps its program."""
