"""The OpenAI Agents SDK: a sandbox client for `SandboxRunConfig(client=...)`."""

from __future__ import annotations

import base64
import io
import os
import shutil
import tarfile
import uuid
from pathlib import Path
from typing import Any, Literal

from agents.sandbox import (  # pyright: ignore[reportMissingImports]
    ExecResult,
    ExecTimeoutError,
    ExecTransportError,
    Manifest,
    WorkspaceArchiveReadError,
    WorkspaceArchiveWriteError,
    WorkspaceReadNotFoundError,
    resolve_snapshot,
)
from agents.sandbox.session import (  # pyright: ignore[reportMissingImports]
    BaseSandboxClient,
    BaseSandboxSession,
    SandboxSession,
    SandboxSessionState,
)
from agents.sandbox.session.workspace_payloads import coerce_write_payload  # pyright: ignore[reportMissingImports]
from agents.sandbox.util.tar_utils import (  # pyright: ignore[reportMissingImports]
    should_skip_tar_member,
    validate_tarfile,
)

from .. import documents
from .._async_client import AsyncEngine, AsyncSession
from .._errors import XStateError
from . import _commands

_ROOT = Manifest.model_fields["root"].default
_SNAPSHOT = ".xstate-snapshot.tar"  # in the workspace, while it is extracted


class SessionState(SandboxSessionState):
    """What resumes a sandbox: the name of the xstate session is session_id, and its folder is the manifest's root."""

    type: Literal["xstate"] = "xstate"


class Session(BaseSandboxSession):
    """A sandbox whose commands are blocks of an xstate session, in Bash. What it does to files are commands, too."""

    state: SessionState

    def __init__(self, state: SessionState, store: Path, options: dict[str, Any]) -> None:
        self.state = state
        self._store, self._options = store, options
        self._running = False
        self._open(dict(os.environ))

    def _open(self, environ: dict[str, str]) -> None:
        root = self.state.manifest.root
        Path(root).mkdir(parents=True, exist_ok=True)
        self.engine = AsyncEngine(root, self._store, **{"environ": environ, **self._options})

    @property
    def xstate(self) -> AsyncSession:
        """The session of xstate, for its history, why and undo."""
        return self.engine.session(str(self.state.session_id))

    async def recorded(self) -> bool:
        """Reports whether the session has steps, from which xstate restores the files of the workspace."""
        try:
            return bool((await self.xstate.history(limit=1))["steps"])
        except XStateError as e:
            if e.code == "no-session":
                return False
            raise

    async def _prepare_backend_workspace(self) -> None:
        if variables := await self.state.manifest.environment.resolve():
            await self.engine.close()
            self._open({**os.environ, **variables})

    async def provision_manifest_accounts(self) -> None:
        if self.state.manifest.users or self.state.manifest.groups:
            raise ValueError("a sandbox of xstate has the user that runs xstate, and no users or groups of a manifest")

    async def _after_start(self) -> None:
        self._running = True

    async def _after_shutdown(self) -> None:
        self._running = False
        await self.engine.close()

    async def running(self) -> bool:
        return self._running

    def _prepare_exec_command(self, *command: str | Path, shell: bool | list[str], user: Any) -> list[str]:
        """A login shell would set PATH anew."""
        return super()._prepare_exec_command(*command, shell=["sh", "-c"] if shell is True else shell, user=user)

    async def _exec_internal(self, *command: str | Path, timeout: float | None = None) -> ExecResult:
        words = [str(word) for word in command]
        result = await self._execute(_commands.program(words, timeout), command)
        if timeout and result.exit_code == 124:
            raise ExecTimeoutError(command=command, timeout_s=timeout)
        return result

    async def read(self, path: Path, *, user: Any = None) -> io.IOBase:
        if user is not None:
            await self._check_read_with_exec(path, user=user)
        file = str(self.normalize_path(path))
        done = await self._execute(_commands.reads(file), ("read", file))
        if not done.ok():
            missing = b"No such file" in done.stdout
            raise (WorkspaceReadNotFoundError if missing else WorkspaceArchiveReadError)(
                path=Path(file), context={"output": done.stdout.decode()}
            )
        return io.BytesIO(base64.b64decode(done.stdout))

    async def write(self, path: Path, data: io.IOBase, *, user: Any = None) -> None:
        if user is not None:
            await self._check_write_with_exec(path, user=user)
        file = str(self.normalize_path(path, for_write=True))
        for command in _commands.writes(file, coerce_write_payload(path=path, data=data).stream.read()):
            done = await self._execute(command, ("write", file))
            if not done.ok():
                raise WorkspaceArchiveWriteError(path=Path(file), context={"output": done.stdout.decode()})

    async def persist_workspace(self) -> io.IOBase:
        root = Path(self.state.manifest.root)
        skip = self._persist_workspace_skip_relpaths()

        def kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
            left = should_skip_tar_member(member.name, skip_rel_paths=skip, root_name=None)
            return None if left or member.isfifo() or member.isdev() else member

        archive = io.BytesIO()
        try:
            if await self.recorded():
                await self.xstate.run()  # executes nothing: it restores what an undo or a deletion left to do
            with tarfile.open(fileobj=archive, mode="w") as tar:
                tar.add(root, arcname=".", filter=kept)
        except (XStateError, OSError, tarfile.TarError) as e:
            raise WorkspaceArchiveReadError(path=root, cause=e) from e
        archive.seek(0)
        return archive

    async def hydrate_workspace(self, data: io.IOBase) -> None:
        root = Path(self.state.manifest.root)
        archive = io.BytesIO(data.read())
        try:
            with tarfile.open(fileobj=archive, mode="r:*") as tar:
                validate_tarfile(tar, allow_external_symlink_targets=False)
        except (ValueError, tarfile.TarError) as e:
            raise WorkspaceArchiveWriteError(path=root, cause=e) from e
        archive.seek(0)
        await self.write(root / _SNAPSHOT, archive)
        await self._exec_checked_nonzero("sh", "-c", f"tar -xf {_SNAPSHOT} && rm {_SNAPSHOT}")

    async def _can_skip_snapshot_restore_on_resume(self, *, is_running: bool) -> bool:
        """The record of the session is what the snapshot would be, and later."""
        return True

    async def _execute(self, text: str, command: Any) -> ExecResult:
        """Executes the text of a command; command is what errors name."""
        if not _commands.fits(text):
            return ExecResult(stdout=b"", stderr=_commands.TOO_LONG.encode(), exit_code=126)
        printed: dict[str, str] = {"stdout": "", "stderr": ""}

        def on_event(event: documents.Event) -> None:
            if event["event"] == "output" and (output := event.get("output")) and output["kind"] in printed:
                printed[output["kind"]] += output.get("text", "")

        try:
            done = await self.xstate.exec(
                _commands.block(text, uuid.uuid4().hex), append=True, language="bash", on_event=on_event
            )
            if _commands.unfinished(done):
                await self.xstate.undo(done.step - 1)
        except XStateError as e:
            raise ExecTransportError(command=command, cause=e, message=str(e)) from e
        stdout, code = _commands.outcome(printed["stdout"])
        if code is None:
            raise ExecTransportError(command=command, message=done.text)
        return ExecResult(stdout=stdout.encode(), stderr=printed["stderr"].encode(), exit_code=code)


class SandboxClient(BaseSandboxClient[None]):
    """Makes sandboxes in folders below one folder, which share its store; options are those of AsyncEngine.

    To resume a sandbox opens its session again, even if the folder was deleted: xstate restores the files. A manifest
    with a root of its own says where the sandbox is; delete leaves that folder, and always the history.
    """

    backend_id = "xstate"
    supports_default_options = True

    def __init__(self, folder: str | os.PathLike[str] = ".", **options: Any) -> None:
        self._folder, self._options = Path(folder).resolve(), options

    async def create(self, *, snapshot: Any = None, manifest: Manifest | None = None, options: None = None) -> Any:
        start = self._validate_manifest_for_create(Manifest() if manifest is None else manifest)
        id = uuid.uuid4()
        root = str(self._folder / f"sandbox-{id}") if start.root == _ROOT else start.root
        return self._session(self._state(id, start, root, snapshot))

    async def resume(self, state: SandboxSessionState) -> SandboxSession:
        if not isinstance(state, SessionState):
            raise TypeError("the state is not that of a sandbox of xstate")
        state.assert_path_grants_rebound()
        session = self._session(state)
        if await session._inner.recorded():
            session._inner._set_start_state_preserved(True)
        return session

    async def fork(self, session: SandboxSession) -> SandboxSession:
        """Makes a sandbox with the history and the files of another. Later commands of one do not reach the other."""
        id = uuid.uuid4()
        forked = await session._inner.xstate.fork(str(id), private=True)
        state = self._state(id, session.state.manifest, str(forked.folder), None)
        state.workspace_root_ready = True
        return await self.resume(state)

    async def delete(self, session: SandboxSession) -> SandboxSession:
        root, name = Path(session.state.manifest.root), str(session.state.session_id)
        private = self._folder / ".xstate" / "private" / name
        if root == self._folder / f"sandbox-{name}" or private in root.parents:  # the client made it, or fork
            shutil.rmtree(root, ignore_errors=True)
        return session

    def deserialize_session_state(self, payload: dict[str, object]) -> SandboxSessionState:
        return self._deserialize_session_state_payload(payload, SessionState)

    def _state(self, id: uuid.UUID, manifest: Manifest, root: str, snapshot: Any) -> SessionState:
        manifest = manifest.model_copy(update={"root": root}, deep=True)
        return SessionState(session_id=id, manifest=manifest, snapshot=resolve_snapshot(snapshot, str(id)))

    def _session(self, state: SessionState) -> SandboxSession:
        return self._wrap_session(Session(state, self._folder / ".xstate", self._options))
