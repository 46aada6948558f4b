"""Deep Agents: a sandbox for `create_deep_agent(backend=...)`."""

import base64
import hashlib
import uuid
from collections import Counter
from typing import Any

from deepagents.backends.protocol import (  # pyright: ignore[reportMissingImports]
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
)
from deepagents.backends.sandbox import BaseSandbox  # pyright: ignore[reportMissingImports]
from langgraph.config import get_config  # pyright: ignore[reportMissingImports]
from langgraph.runtime import get_runtime  # pyright: ignore[reportMissingImports]

from .._client import Session
from .._errors import XStateError
from . import _commands, _shared

# What a shell says of a file, and the error that the protocol has for it.
_ERRORS = {
    "No such file or directory": "file_not_found",
    "Permission denied": "permission_denied",
    "Is a directory": "is_directory",
}


class Sandbox(BaseSandbox):
    """A sandbox whose commands are blocks of a session, in Bash. The tools for files are commands, too.

    Each command is executed once, in a shell of its own, in the folder of the session. No other session, and no
    other program, may change files in this folder. timeout ends, in seconds, a command for which the call has none.

    A call that LangGraph makes again, as it resumes a run, has its first result. Agent and call id are in the step's
    origin.
    """

    grep_exclude_dirs = (*BaseSandbox.grep_exclude_dirs, ".xstate")

    def __init__(self, session: Session, *, timeout: float | None = None) -> None:
        self._session, self._timeout = session, timeout
        self._asked: Counter[tuple[Any, str]] = Counter()  # by the run of a tool, and the command

    @property
    def id(self) -> str:
        return self._session.name

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        return self._execute(_commands.shell(command, self._timeout if timeout is None else timeout))

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return [FileUploadResponse(path=path, error=self._upload(path, data)) for path, data in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return [self._download(path) for path in paths]

    def _upload(self, path: str, data: bytes) -> str | None:
        for command in _commands.writes(path, data):
            done = self._execute(command)
            if done.exit_code != 0:
                return _error(done.output)
        return None

    def _download(self, path: str) -> FileDownloadResponse:
        done = self._execute(_commands.reads(path), _commands.WHOLE)
        if done.exit_code != 0:
            return FileDownloadResponse(path=path, error=_error(done.output))
        return FileDownloadResponse(path=path, content=base64.b64decode(done.output))

    def _execute(self, command: str, budget: int = _commands.BUDGET) -> ExecuteResponse:
        if not _commands.fits(command):
            return ExecuteResponse(output=_commands.TOO_LONG, exit_code=126)
        origin = self._origin(command)
        number = origin.get("call_id") or uuid.uuid4().hex
        try:
            done = self._session.exec(
                _commands.block(command, number), append=True, language="bash", budget=budget, origin=origin
            )
            if _commands.unfinished(done):
                self._session.undo(done.step - 1)
        except XStateError as e:
            return ExecuteResponse(output=f"Error: {e}", exit_code=1)
        output, code = _commands.outcome(done.text)
        return ExecuteResponse(output=output, exit_code=code, truncated=bool(done.document.get("clipped")))

    def _origin(self, command: str) -> dict[str, Any]:
        """Says who calls. The call id is the same when LangGraph executes the task of a tool call again.

        Tasks of other nodes have none: they may execute several calls, in any order.
        """
        try:
            config = get_config()
        except RuntimeError:  # outside of a graph
            return {}
        about = config.get("metadata", {})
        agent = about.get("lc_agent_name")
        if about.get("langgraph_path", ("",))[0] != "__pregel_push":
            return _shared.origin(agent=agent)
        task = get_runtime().execution_info.task_id
        digest = hashlib.sha256(command.encode()).hexdigest()[:12]
        attempt = (getattr(config.get("callbacks"), "parent_run_id", None), digest)
        self._asked[attempt] += 1
        return _shared.origin(agent=agent, call_id=f"{task}-{digest}-{self._asked[attempt]}")


def _error(output: str) -> str:
    return next((error for said, error in _ERRORS.items() if said in output), output.strip())
