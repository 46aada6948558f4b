from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal, overload

from . import documents
from ._async_tools import AsyncTools
from ._async_transport import AsyncOnEvent, AsyncTransport, deliver, pause
from ._errors import XStateError, from_document
from ._offers import Offering, Offers
from ._results import ActiveRun, ExecResult
from ._server import settings

Origin = Mapping[str, Any]

_NOTHING = object()  # no value; None is one

# Codes of calls that did nothing, because another call has the session or the server ends: they are made again.
_NOT_BEGUN = ("store-busy", "store-closed")


class AsyncEngine:
    """The engine of one store: finds its server, or starts one with the first call.

    It has no state but connections: sessions are in the store, and any number of engines may use them.
    Tasks may share it.

    folder is where paths begin, and where code runs. The store is the nearest .xstate at or above it; if there is none,
    the first call makes one there. binary is the path of xstate; else the variable XSTATE names it, or it is on PATH.

    python is the interpreter that executes code; without it xstate chooses as it does at the command line. Code sees
    the variables of environ, or without it those of this process that its bounds allow. origin says who calls: agent,
    model, call_id, reason and more.

    timeout bounds, in seconds, calls that execute nothing. wait bounds how long a call waits for a session that another
    call uses, after the five seconds for which the server itself waits. Calls that execute code take as long as the
    code takes; see the timeouts of exec and run.

    A server ends when it had nothing to do for the time idle ("10m"). With url ("http://127.0.0.1:7777") the engine
    uses the server that listens there, and starts none; the token is that of the store if it is not given.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] = ".",
        store: str | os.PathLike[str] | None = None,
        *,
        binary: str | os.PathLike[str] | None = None,
        python: str | os.PathLike[str] | None = None,
        environ: Mapping[str, str] | None = None,
        origin: Origin | None = None,
        timeout: float | None = 60.0,
        wait: float = 600.0,
        idle: str | None = None,
        url: str | None = None,
        token: str | None = None,
        start: bool = True,
    ) -> None:
        self._settings = settings(folder, store, binary, python, url, token, idle, environ, start, timeout)
        self._transport = AsyncTransport(self._settings)
        self._origin: dict[str, Any] = dict(origin or {})
        self._wait = wait
        self._line: list[_Run] = []  # what executes code or is to, in the order of the calls

    @property
    def store(self) -> str:
        """The folder of the store."""
        return str(self._settings.store)

    def session(self, name: str = "main", *, origin: Origin | None = None) -> AsyncSession:
        """A session by its name. It is made by the first exec; nothing is asked of the server here."""
        return AsyncSession(self, name, {**self._origin, **(origin or {})})

    async def sessions(self) -> documents.Status:
        """The sessions of the store, the one with the latest step first."""
        return await self.call("SessionService/List", {})

    async def runs(self) -> list[ActiveRun]:
        """All current runs of the store, the oldest first."""
        return (await self.call("RunService/ListRuns", {})).get("runs", [])

    async def call(self, method: str, request: dict[str, Any], *, executes: bool = False) -> Any:
        """Calls any unary method of the API, such as "AuditService/Replay"; api/xstate/v1/services.proto has them.

        If it executes code, the timeout of the engine does not bound it.
        """
        limit = time.monotonic() + self._wait
        while True:
            try:
                return await self._transport.call(method, request, None if executes else self._settings.timeout)
            except XStateError as e:
                if e.code not in _NOT_BEGUN or time.monotonic() >= limit:
                    raise
            await pause(0.1)

    async def stop(self) -> None:
        """Ends the server of the store, even if another process started it. It interrupts what runs."""
        await self.close()
        await self._transport.stop()

    async def close(self) -> None:
        """Closes the connections. The server stays for the next client, until it is idle; see stop."""
        await self._transport.close()

    async def __aenter__(self) -> AsyncEngine:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncEngine({str(self._settings.folder)!r}, store={self.store!r})"

    async def _stream(self, method: str, request: dict[str, Any], run: _Run, on_event: AsyncOnEvent | None) -> Any:
        """Calls a method that executes code, and returns the last event. Calls of a session begin in the order in which
        they were made: the second tool call of an answer may need what the first one defines."""
        limit = time.monotonic() + self._wait
        self._line.append(run)
        try:
            while self._is_behind(run) and time.monotonic() < limit:
                await pause(0.005)
                run.check_wanted()
            while True:
                try:
                    return await self._stream_once(method, request, run, on_event)
                except XStateError as e:
                    if e.code not in _NOT_BEGUN or run.started or time.monotonic() >= limit:
                        raise
                run.check_wanted()
                await pause(0.1)
        finally:
            self._line.remove(run)

    def _is_behind(self, run: _Run) -> bool:
        return next(r for r in list(self._line) if r.session == run.session) is not run

    async def _stream_once(self, method: str, request: dict[str, Any], run: _Run, on_event: AsyncOnEvent | None) -> Any:
        last: documents.Event | None = None

        async def each(event: documents.Event) -> None:
            nonlocal last
            kind = event["event"]
            if kind == "call":
                run.tools.begin(event)
            if kind in ("done", "error"):
                last = event
                return
            if kind == "started":
                run.started = event.get("run", "")
                if run.unwanted:
                    await self._interrupt(run)
            if on_event is not None:
                await deliver(on_event, event)

        run.tools = AsyncTools(run.offering, self._answer)
        try:
            await self._transport.stream(method, request, each)
        finally:
            await run.tools.end()
        if last is None:
            raise XStateError("internal", "the server did not say how the run ended", "please report it")
        if last["event"] == "error":
            raise from_document(last.get("error"))
        return last

    async def _interrupt(self, run: _Run) -> None:
        await self.call("RunService/Interrupt", {"run": run.started})

    async def _answer(self, answer: dict[str, Any]) -> None:
        await self.call("CallService/AnswerCall", answer)


class _Run:
    """A call that executes code, so that it can be interrupted."""

    tools: AsyncTools

    def __init__(self, session: str, offering: Offering) -> None:
        self.session = session
        self.started = ""  # its id, when the server has begun it
        self.unwanted = False  # it is to be interrupted as soon as it has an id
        self.offering = offering

    def check_wanted(self) -> None:
        if self.unwanted:
            raise XStateError("interrupted", "the call was interrupted while it waited for its turn")


class AsyncSession:
    """A session: one program, its history, and a warm interpreter in the server.

    Calls that execute code or change the program take turns; questions are answered meanwhile. folder is the private
    one that fork made for the session; None: it runs in the folder of the engine, or fork did not make it here.
    """

    def __init__(self, engine: AsyncEngine, name: str, origin: dict[str, Any], folder: str | None = None) -> None:
        self.engine = engine
        self.name = name
        self.folder = folder
        self._origin = origin
        self._runs: set[_Run] = set()

    def __repr__(self) -> str:
        return f"<AsyncSession {self.name!r} of {self.engine.store!r}>"

    async def exec(
        self,
        code: str,
        *,
        on_event: AsyncOnEvent | None = None,
        replace: str | None = None,
        append: bool = False,
        language: str | None = None,
        budget: int | None = None,
        timeout: float | None = None,
        origin: Origin | None = None,
        detach: bool = False,
        tools: Offers | None = None,
        models: Offers | None = None,
    ) -> ExecResult:
        """Executes code and what depends on it, and returns what this call did.

        The code is a new block of the session's program or a new version of one: the engine finds out, or replace names
        the block, or append says that it is new. Code that fails raises nothing: see ExecResult.error and check.
        language is that of the code (python, javascript, typescript, bash, ...), if it is not the program's.

        tools are functions that the code can call as xstate.tool(name, **arguments), by name: a Tool says more of one.
        models are models that it can ask. A call that happened before is served from its record: the function is not
        called. If a call waits for a decision, the status is waiting; see calls and approve.

        on_event gets the events started, begin, output, end and call, as they happen. If it raises, the run ends.
        budget is how many bytes of text the result has at most; 16000 if it is not given.
        timeout stops, in seconds, a part of a block that runs longer: the code fails with a TimeoutError.
        If this call ends early (an exception, the end of the process), so does the run, unless detach is given.
        """
        request = self._request(origin, replace=replace, append=append, budget=budget, detach=detach, code=code)
        request.update(_given(timeout_seconds=timeout, language=language))
        offering = Offering(tools, models)
        return ExecResult((await self._execute("RunService/ExecStream", request, on_event, offering))["exec"])

    async def run(
        self,
        file: str | os.PathLike[str] | None = None,
        *,
        arguments: list[str] | None = None,
        on_event: AsyncOnEvent | None = None,
        timeout: float | None = None,
        origin: Origin | None = None,
        detach: bool = False,
        tools: Offers | None = None,
        models: Offers | None = None,
        **options: Any,
    ) -> documents.Run:
        """Brings the program up to date: executes what is affected since the last run.

        file is recorded first, if it is given; else the program is the session's own. options are other fields of
        RunRequest (api/xstate/v1/services.proto): verify, fresh, always, never, expect, merge, write and more. tools
        and models are as for exec.
        """
        request = self._request(origin, file=_path(file), arguments=arguments, detach=detach, **options)
        request.update(_given(timeout_seconds=timeout))
        offering = Offering(tools, models)
        return (await self._execute("RunService/RunStream", request, on_event, offering))["result"]

    async def interrupt(self) -> bool:
        """Interrupts what this object executes in the session now, as Ctrl-C does. False if that is nothing.

        Another task calls it. The interrupted call returns, with what was done until then.
        """
        runs = list(self._runs)
        for run in runs:
            run.unwanted = True
            if run.started:
                await self.engine._interrupt(run)
        return bool(runs)

    async def calls(
        self,
        *,
        waiting: bool = False,
        tool: str = "",
        block: str = "",
        since: int | None = None,
        cost: bool = False,
    ) -> documents.Calls:
        """The calls of tools and models that the session made or is served, the newest first."""
        request = self._request(None, environ=False, waiting=waiting, tool=tool, block=block, since=since, cost=cost)
        request.pop("origin", None)
        return await self.engine.call("CallService/ListCalls", request)

    async def approve(
        self, call: int, *, choice: str = "", deny: bool = False, reason: str = "", result: Any = _NOTHING, by: str = ""
    ) -> documents.Approve:
        """Decides about a call that waits; the next run continues from there.

        choice is one of those that the call offers, or yes; deny declines it. result is what the call returned, with
        the choice "happened".
        """
        request: dict[str, Any] = {"call": call}
        request.update((k, v) for k, v in {"choice": choice, "deny": deny, "reason": reason, "by": by}.items() if v)
        if result is not _NOTHING:
            request["result"] = json.dumps(result, allow_nan=False)
        return await self.engine.call("CallService/Approve", request)

    async def edit(
        self,
        patch: str,
        *,
        format: str | None = None,
        block: str | None = None,
        expect: str | int | None = None,
        merge: bool = False,
        dry_run: bool = False,
        run: bool = False,
        timeout: float | None = None,
        origin: Origin | None = None,
    ) -> documents.Patch:
        """Applies a patch in any format that agents write (docs/patches.md): all of it, or nothing.

        With run, what it affects is executed then; the document has the run. expect fails the call unless the session
        is at this step, or the block has this version. Code that calls tools of the client is run by run, which offers
        them.
        """
        request = self._request(origin, patch=patch, format=format, block=block, merge=merge, dry_run=dry_run, run=run)
        request.update(_given(timeout_seconds=timeout, expect=None if expect is None else str(expect)))
        return await self.engine.call("EditService/Edit", request, executes=run)

    async def undo(
        self,
        steps: str | int | None = None,
        *,
        by: str | None = None,
        dry_run: bool = False,
        keep_file: bool = False,
        origin: Origin | None = None,
    ) -> documents.Undo:
        """Takes edits back, keeps what was done since: the last one, a step, a range ("5..9"), or all of an agent."""
        request = self._request(origin, environ=False, by=by, dry_run=dry_run, keep_file=keep_file)
        request.update(_given(steps=None if steps is None else str(steps)))
        return await self.engine.call("EditService/Undo", request)

    async def rollback(
        self, to_step: int, *, keep_file: bool = False, origin: Origin | None = None
    ) -> documents.Rollback:
        """Makes the program what it was after an earlier step. The history is kept."""
        request = self._request(origin, environ=False, keep_file=keep_file)
        return await self.engine.call("EditService/Rollback", {**request, "to_step": to_step})

    async def fork(
        self, new: str, *, at_step: int | None = None, private: bool = False, origin: Origin | None = None
    ) -> AsyncSession:
        """Makes a session with the history of this one, until a step or whole, and returns it.

        private gives it a private copy of the folder that the program runs in: so both can run at a time. The session's
        folder is the path of the copy: its files can be read and edited there.
        """
        request = self._request(origin, environ=False, new=new, private=private)
        done: documents.Fork = await self.engine.call("EditService/Fork", {**request, **_given(at_step=at_step)})
        return AsyncSession(self.engine, done["session"], self._origin, done.get("folder"))

    async def plan(
        self,
        file: str | os.PathLike[str] | None = None,
        *,
        arguments: list[str] | None = None,
        contents: str | None = None,
    ) -> documents.Plan:
        """Reports what run would do now, why, and for how long. Nothing is executed.

        contents is what the file would hold, if it is not saved.
        """
        request = self._request(None, file=_path(file), arguments=arguments)
        request.update(_given(contents=contents))
        request.pop("origin", None)
        return await self.engine.call("QueryService/Plan", request)

    async def why(self, block: str) -> documents.Why:
        """Reports why a block ran, was reused, is blocked or stale, and what the next run would do with it."""
        return await self._ask("Why", block=block)

    async def value(self, name: str, *, at_step: int | None = None) -> documents.QueryValue:
        """The value of a variable: type, shape, size and text."""
        environment = self.engine._settings.environment()
        return await self._ask("Value", name=name, **environment, **_given(at_step=at_step))

    async def history(self, *, limit: int | None = None, after: int | None = None) -> documents.Log:
        """The steps of the session, the newest first: at most 20, or limit (0 is all). after is next of a page."""
        return await self._ask("History", after=after, **_given(limit=limit))

    async def show(self, of: str = "") -> documents.Query | documents.QueryBlock | documents.QueryPatch:
        """The program as it is now; a block; or an edit, by its step."""
        return _only(await self._ask("Show", of=of))

    async def diff(self, start: str | int = "", end: str | int = "") -> documents.Diff:
        """Compares the program after two steps; without them, what the last step changed."""
        return await self._ask("Diff", **{"from": str(start), "to": str(end)})

    @overload
    async def query(self, *, at_step: int | None = None, at: str = "") -> documents.Query: ...
    @overload
    async def query(self, *, at_step: int | None = None, at: str = "", block: str) -> documents.QueryBlock: ...
    @overload
    async def query(self, *, at_step: int | None = None, at: str = "", symbol: str) -> documents.QuerySymbol: ...
    @overload
    async def query(self, *, at_step: int | None = None, affected_by: str) -> documents.QueryDependents: ...
    @overload
    async def query(self, *, at_step: int | None = None, depends_on: str) -> documents.QueryDependents: ...
    @overload
    async def query(self, *, at_step: int | None = None, path: tuple[str, str]) -> documents.QueryPath: ...
    @overload
    async def query(self, *, version: str) -> documents.QueryVersion: ...
    @overload
    async def query(self, *, patch: str | int) -> documents.QueryPatch: ...
    @overload
    async def query(self, *, at_step: int | None = None, failed: Literal[True]) -> documents.QueryBlocks: ...
    @overload
    async def query(self, *, at_step: int | None = None, unverified: Literal[True]) -> documents.QueryUnverified: ...
    @overload
    async def query(self, *, at_step: int | None = None, volatile: Literal[True]) -> documents.QueryVolatile: ...
    @overload
    async def query(
        self, *, at_step: int | None = None, where: str, limit: int | None = None, after: str = ""
    ) -> documents.QueryWhere: ...
    async def query(self, *, at_step: int | None = None, **question: Any) -> Any:
        """Answers a question about the program after a step, or now, from the record. Nothing is executed.

        Without a question the answer is the program. A question is one of: block, symbol, affected_by, depends_on,
        version, patch, where (an expression, docs/json.md) with a text; path with two; failed, unverified, volatile
        with True. at is a time instead of a step; limit and after page the answer to where.
        """
        if "path" in question:
            start, end = question["path"]
            question["path"] = {"from": start, "to": end}
        if "patch" in question:
            question["patch"] = str(question["patch"])
        return _only(await self._ask("Query", **question, **_given(at_step=at_step)))

    async def _ask(self, method: str, **fields: Any) -> Any:
        request = {"session": self.name, "folder": str(self.engine._settings.folder)}
        request.update((name, value) for name, value in fields.items() if value not in ("", None))
        return await self.engine.call(f"QueryService/{method}", request)

    async def _execute(
        self, method: str, request: dict[str, Any], on_event: AsyncOnEvent | None, offering: Offering
    ) -> Any:
        run = _Run(self.name, offering)
        request.update((name, offers) for name, offers in offering.request().items() if offers)
        self._runs.add(run)
        try:
            return await self.engine._stream(method, request, run, on_event)
        finally:
            self._runs.discard(run)

    def _request(self, origin: Origin | None, *, environ: bool = True, **fields: Any) -> dict[str, Any]:
        """A request with the fields that have a value, and with what most requests have."""
        request: dict[str, Any] = {"session": self.name, "folder": str(self.engine._settings.folder)}
        request.update((name, value) for name, value in fields.items() if value)
        if who := {**self._origin, **(origin or {})}:
            request["origin"] = who
        if environ:
            request.update(self.engine._settings.environment())
        return request


def _given(**fields: Any) -> dict[str, Any]:
    """Fields that are not None; 0 is a value."""
    return {name: value for name, value in fields.items() if value is not None}


def _path(file: str | os.PathLike[str] | None) -> str | None:
    return None if file is None else os.fspath(file)


def _only(answer: dict[str, Any]) -> Any:
    """The document of an answer that names the question."""
    (document,) = answer.values()
    return document
