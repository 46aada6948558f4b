"""A kernel of Jupyter whose cells are the blocks of a session of xstate."""

from __future__ import annotations

import asyncio
import fnmatch
import os
import platform
import re
import shlex
import signal
import subprocess
from dataclasses import dataclass
from typing import Any

from ipykernel._version import kernel_protocol_version
from ipykernel.kernelbase import Kernel

from .cells import Cell, Notebook, find_path
from .complete import complete, completeness, describe, name_at
from .outputs import Output, Outputs, content, display, displays
from .pipe import Event, Failure, Pipe

_LANGUAGES = {
    "python": {
        "name": "python",
        "mimetype": "text/x-python",
        "file_extension": ".py",
        "pygments_lexer": "ipython3",
        "codemirror_mode": {"name": "ipython", "version": 3},
        "nbconvert_exporter": "python",
        "version": platform.python_version(),
    },
    "javascript": {
        "name": "javascript",
        "mimetype": "text/javascript",
        "file_extension": ".js",
        "version": "",
    },
    "typescript": {
        "name": "typescript",
        "mimetype": "text/typescript",
        "file_extension": ".ts",
        "codemirror_mode": {"name": "javascript", "typescript": True},
        "version": "",
    },
    "bash": {
        "name": "bash",
        "mimetype": "text/x-sh",
        "file_extension": ".sh",
        "codemirror_mode": "shell",
        "version": "",
    },
}

_MODES = ("lazy", "auto")

_QUESTION = re.compile(r"\?{1,2}[\w.*]+|[\w.*]+\?{1,2}")  # help on a name


@dataclass
class _Typed:
    """A cell that ran, for the history."""

    number: int
    code: str
    result: str | None = None

    def entry(self, output: bool) -> tuple[int, int, Any]:
        return (1, self.number, (self.code, self.result) if output else self.code)


class NotebookKernel(Kernel):
    """Runs cells with xstate. See package internal/serve/jupyter."""

    implementation = "xstate"
    implementation_version = os.environ.get("XSTATE_VERSION", "")
    help_links: Any = [{"text": "xstate", "url": "https://github.com/xstate-engine/xstate"}]

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.language = os.environ.get("XSTATE_LANGUAGE", "python")
        self.language_info = _LANGUAGES[self.language]
        self.banner = f"xstate {self.implementation_version}: runs again only what an edit affects"
        self.notebook = Notebook(find_path(os.getcwd()), self.language)
        self.mode = "lazy"
        self._pipe = Pipe()
        self._typed: list[_Typed] = []
        self._shown: set[str] = set()  # cells whose outputs a front end has
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is a message

    def pre_handler_hook(self) -> None:
        """A handler runs no code of the program, so an interrupt of this process means nothing."""

    def post_handler_hook(self) -> None:
        pass

    async def do_execute(
        self,
        code: str,
        silent: bool,
        store_history: bool = True,
        user_expressions: dict[str, str] | None = None,
        allow_stdin: bool = False,
        *,
        cell_meta: dict[str, Any] | None = None,
        cell_id: str | None = None,
    ) -> dict[str, Any]:
        if store_history and not silent:
            self._typed.append(_Typed(self.execution_count, code))
        failed = None
        payload: list[dict[str, Any]] = []
        words = code.split()
        if words[:1] == ["%xstate"] and "\n" not in code.strip():
            await self._command(shlex.split(code.strip())[1:])
        elif self.language == "python" and _QUESTION.fullmatch(code.strip()):
            shown = await self._probe(code)
            text = "".join(content(o)["data"].get("text/plain", o.get("text", "")) for o in shown)
            payload.append({"source": "page", "data": {"text/plain": text}, "start": 0})
        elif words:
            cell = self.notebook.submit(code, cell_id, (cell_meta or {}).get("deletedCells", []), hidden=silent)
            failed = await self._run(cell, silent)
        reply: dict[str, Any] = {"status": "ok", "execution_count": self.execution_count}
        if failed is not None:
            return {**reply, **failed, "status": "error"}
        named = {key: await self._evaluate(text) for key, text in (user_expressions or {}).items()}
        return {**reply, "payload": payload, "user_expressions": named}

    async def _run(self, cell: Cell, silent: bool) -> dict[str, Any] | None:
        """Brings the notebook up to date until a cell. Returns the error of the cell."""
        send = (lambda kind, message: None) if silent else self._publish
        outputs = Outputs(send, self.execution_count)

        names: dict[str, str] = {}  # the ids of blocks, by those of cells

        def follow(event: Event) -> None:
            if event["event"] == "started":
                names.update(event.get("blocks", {}))
                outputs.block = names.get(cell.id, "")
            elif event["event"] == "output" and event["block"] == names.get(cell.id):
                outputs.add(event["output"])

        try:
            done = await self._ask_run(cell.id, follow)
        except Failure as e:
            if e.code == "no-block":  # it holds no code
                return None
            return self._fail(send, e.code, str(e), [f"{e.code}: {e}"])
        blocks = {b["id"]: b for b in done["blocks"]}
        mine = blocks[names[cell.id]]
        outputs.complete(mine["outputs"])
        if self._typed and not silent:
            self._typed[-1].result = mine.get("result")
        self._shown.add(mine["id"])
        changed = [b for b in done["blocks"] if b["status"] in ("ran", "failed") and b is not mine]
        if self.mode == "auto" and not silent and not done.get("stopped"):
            try:
                later = await self._ask_run("", lambda event: None)
                changed += [b for b in later["blocks"] if b["status"] in ("ran", "failed") and b["id"] != mine["id"]]
            except Failure as e:
                send("stream", {"name": "stderr", "text": f"[xstate: the cells below were not run: {e}]\n"})
        if not silent:
            await self._report(changed)
        if done.get("stopped"):
            return self._fail(send, "KeyboardInterrupt", "", ["KeyboardInterrupt: the run was interrupted"])
        return self._failure_of(send, mine, blocks)

    async def _ask_run(self, until: str, follow: Any) -> dict[str, Any]:
        request = {"File": self.notebook.path, "Contents": self.notebook.contents(), "Until": until}
        answer: dict[str, Any] = await self._pipe.ask("Run", request, follow)
        return answer

    def _failure_of(self, send: Any, mine: dict[str, Any], blocks: dict[str, Any]) -> dict[str, Any] | None:
        """Shows why a cell failed, and returns it; None if it did not."""
        error = mine.get("error")
        if error is not None:
            lines = list(error.get("traceback") or [f"{error['type']}: {error['message']}"])
            if error.get("hint"):
                lines.append("hint: " + error["hint"])
            return self._fail(send, error["type"], error["message"], lines)
        if mine["status"] in ("blocked", "not-reached"):
            by = mine["reason"].get("by", "")
            cause = (blocks.get(by) or {}).get("error") or {}
            why = f": {cause['type']}: {cause['message']}" if cause else ""
            text = f"the cell was not executed: it needs the cell {by}, which fails{why}"
            if mine["status"] == "not-reached":
                text = f"the cell was not executed: the cell {by} ends the program before it"
            return self._fail(send, "NotExecuted", text, ["NotExecuted: " + text])
        if mine["status"] == "waiting":
            text = "the cell waits for a decision: xstate calls --waiting"
            return self._fail(send, "Waiting", text, ["Waiting: " + text])
        return None

    def _fail(self, send: Any, name: str, value: str, lines: list[str]) -> dict[str, Any]:
        error = {"ename": name, "evalue": value, "traceback": lines}
        send("error", error)
        return error

    async def _report(self, changed: list[dict[str, Any]]) -> None:
        """Refreshes displays of other cells that ran, and says in one line what ran and what is stale."""
        seen = [b for b in changed if b["id"] in self._shown]
        for block in seen:
            for number, output in enumerate(displays(block["outputs"])):
                self._publish("update_display_data", display(output, block["id"], number))
        try:
            plan = await self._pipe.ask("Plan", {"File": self.notebook.path, "Contents": self.notebook.contents()})
        except Failure:
            return
        stale = [
            b
            for b in plan["blocks"]
            if b["action"] in ("run", "maybe") and b["id"] in self._shown and b["reason"]["code"] != "new"
        ]
        parts = []
        if seen:
            parts.append(f"{_cells(seen)} ran again")
        if stale:
            seconds = sum(b["seconds"] for b in stale)
            parts.append(f"{_cells(stale)} {'is' if len(stale) == 1 else 'are'} stale ({seconds:.1f} s to run)")
        if parts:
            self._publish("display_data", {"data": {"text/plain": "xstate: " + ", ".join(parts)}, "metadata": {}})

    async def _command(self, arguments: list[str]) -> None:
        """Carries out %xstate: a mode, or a command about this notebook."""
        if arguments[:1] == ["mode"] and len(arguments) <= 2:
            if arguments[1:] and arguments[1] in _MODES:
                self.mode = arguments[1]
            elif arguments[1:]:
                self._publish("stream", {"name": "stderr", "text": f"the modes are {' and '.join(_MODES)}\n"})
            self._publish("stream", {"name": "stdout", "text": f"mode {self.mode}\n"})
            return
        about = ["--session", self.notebook.path] if arguments and "--session" not in arguments else []
        ran = await asyncio.to_thread(
            subprocess.run,
            [os.environ["XSTATE"], *arguments, *about],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        for name, text in (("stdout", ran.stdout), ("stderr", ran.stderr)):
            if text:
                self._publish("stream", {"name": name, "text": text})

    async def _probe(self, code: str) -> list[Output]:
        """What code puts out after the cell that ran last. It does not become a part of the program."""
        cell = self.notebook.submit(code, None, [], hidden=True)
        names: dict[str, str] = {}

        def follow(event: Event) -> None:
            names.update(event.get("blocks", {}))

        try:
            done = await self._ask_run(cell.id, follow)
        finally:
            self.notebook.cells.remove(cell)
        block = next(b for b in done["blocks"] if b["id"] == names[cell.id])
        if block["error"] is not None:
            raise Failure({"code": block["error"]["type"], "message": block["error"]["message"]})
        outputs: list[Output] = block["outputs"]
        return outputs

    async def _evaluate(self, text: str) -> dict[str, Any]:
        """The value of an expression, for user_expressions."""
        try:
            shown = [o for o in await self._probe(text) if o["kind"] == "result"]
        except Failure as e:
            return {"status": "error", "ename": e.code, "evalue": str(e), "traceback": []}
        return {"status": "ok", **(content(shown[-1]) if shown else {"data": {}, "metadata": {}})}

    async def _value(self, name: str) -> dict[str, Any]:
        answer: dict[str, Any] = await self._pipe.ask("Query", {"Session": self.notebook.path, "Value": name})
        return answer

    async def do_complete(self, code: str, cursor_pos: int) -> dict[str, Any]:
        above = "".join(c.source + "\n" for c in self.notebook.cells if c.source != code)
        matches, start = await asyncio.to_thread(complete, self.language, above, code, cursor_pos)
        return {
            "matches": matches,
            "cursor_start": start,
            "cursor_end": max(start, min(cursor_pos, len(code))),
            "metadata": {},
            "status": "ok",
        }

    async def do_inspect(
        self, code: str, cursor_pos: int, detail_level: int = 0, omit_sections: Any = ()
    ) -> dict[str, Any]:
        name = name_at(code, cursor_pos)
        parts = []
        if name.isidentifier():
            try:
                value = await self._value(name)
                parts.append(f"{name}: {value.get('type', '')}\n{value['text']}")
            except Failure:
                pass  # the program has no such name, or has not run
        if name and self.language == "python":
            above = "".join(c.source + "\n" for c in self.notebook.cells)
            said = await asyncio.to_thread(describe, above, code, name)
            if said:
                parts.append(said)
        data = {"text/plain": "\n\n".join(parts)} if parts else {}
        return {"status": "ok", "found": bool(parts), "data": data, "metadata": {}}

    async def do_is_complete(self, code: str) -> dict[str, Any]:
        return completeness(self.language, code)

    async def do_history(
        self,
        hist_access_type: str,
        output: bool,
        raw: bool,
        session: int | None = None,
        start: int | None = None,
        stop: int | None = None,
        n: int | None = None,
        pattern: str | None = None,
        unique: bool = False,
    ) -> dict[str, Any]:
        typed = self._typed
        if hist_access_type == "range":
            typed = [t for t in typed if (start or 0) <= t.number and (stop is None or t.number < stop)]
        elif hist_access_type == "search":
            typed = [t for t in typed if fnmatch.fnmatchcase(t.code, pattern or "*")]
            if unique:
                typed = list({t.code: t for t in typed}.values())
        if n and hist_access_type != "range":
            typed = typed[-n:]
        return {"status": "ok", "history": [t.entry(output) for t in typed]}

    async def interrupt_request(self, stream: Any, ident: Any, parent: Any) -> None:
        """Interrupts the run. This is called in the thread of the control channel."""
        self._pipe.interrupt()
        if self.session:
            self.session.send(stream, "interrupt_reply", {"status": "ok"}, parent, ident=ident)

    async def do_debug_request(self, message: Any) -> dict[str, Any]:
        text = "xstate has no debugger; xstate why and xstate query explain a result"
        return {
            "type": "response",
            "request_seq": message.get("seq", 0),
            "success": False,
            "command": message.get("command", ""),
            "message": text,
        }

    @property
    def kernel_info(self) -> dict[str, Any]:
        """What the base class says, without a debugger, which it would import to see whether there is one."""
        return {
            "protocol_version": kernel_protocol_version,
            "implementation": self.implementation,
            "implementation_version": self.implementation_version,
            "language_info": self.language_info,
            "banner": self.banner,
            "help_links": self.help_links,
            "supported_features": ["kernel subshells"] if getattr(self, "_supports_kernel_subshells", False) else [],
        }

    def _publish(self, kind: str, message: dict[str, Any]) -> None:
        self.send_response(self.iopub_socket, kind, message)


def _cells(blocks: list[dict[str, Any]]) -> str:
    names = [b.get("title") or b["id"] for b in blocks]
    if len(names) > 4:
        names = [*names[:3], f"{len(names) - 3} more"]
    return ("the cell " if len(names) == 1 else "the cells ") + ", ".join(names)
