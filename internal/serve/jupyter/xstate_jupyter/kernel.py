"""A kernel of Jupyter whose cells are the blocks of a session of xstate."""

from __future__ import annotations

import asyncio
import fnmatch
import os
import platform
import shlex
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ipykernel._version import kernel_protocol_version
from ipykernel.kernelbase import Kernel

from .cells import Cell, Notebook, find_path, is_command, is_question
from .complete import complete, completeness, describe, name_at
from .marks import marks, record_of, summary
from .outputs import Output, Outputs, content, display, displays, error_content, saved
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

# Commands that take --session. Others take a file, or are about no session.
_ABOUT_SESSION = frozenset(
    "why query log diff blame undo rollback fork calls approve replay evidence export artifact patch exec".split()
)

_LOOK_EVERY = 1.0  # seconds between two looks at what others edit


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
        self._shown: dict[str, Any] = {}  # what a front end shows of blocks, by their ids
        self._records: dict[str, str] = {}  # the results that it shows, by name
        self._varying: dict[str, list[str]] = {}  # why the results of blocks may vary
        self._interrupted = False
        self._busy = 0  # runs that were asked for
        self._page = ""  # the comm of a page that shows marks; "": there is none
        self._step = 0  # the last step of the session that is known here
        self.shell_handlers["comm_open"] = self.comm_open
        self.shell_handlers["comm_msg"] = self.comm_msg
        self.shell_handlers["comm_close"] = self.comm_close
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
        send = _unsent if silent else self._publish
        try:
            return await self._execute(code, silent, user_expressions or {}, allow_stdin, cell_meta or {}, cell_id)
        except Failure as e:
            failure = _fail(send, e.code, str(e))
        except Exception as e:
            self.log.exception("a cell was not carried out")
            failure = _fail(send, type(e).__name__, str(e), traceback.format_exc().splitlines())
        return {"status": "error", "execution_count": self.execution_count, **failure}

    async def _execute(
        self,
        code: str,
        silent: bool,
        expressions: dict[str, str],
        allow_stdin: bool,
        meta: dict[str, Any],
        cell_id: str | None,
    ) -> dict[str, Any]:
        failed = None
        payload: list[dict[str, Any]] = []
        if is_command(code):
            try:
                await self._command(shlex.split(code.strip())[1:])
            except ValueError as e:  # a quotation without an end
                failed = _fail(self._publish, "UsageError", str(e))
        elif self.language == "python" and is_question(code):
            shown = await self._probe(code)
            text = "".join(content(o)["data"].get("text/plain", o.get("text", "")) for o in shown)
            payload.append({"source": "page", "data": {"text/plain": text}, "start": 0})
        elif code.strip():
            cells = (meta.get("xstate") or {}).get("cells")
            if cells is not None:
                self.notebook.take(cells)
            cell = self.notebook.submit(code, cell_id, meta.get("deletedCells", []), hidden=silent)
            failed = await self._run(cell, silent, allow_stdin)
        reply: dict[str, Any] = {"status": "ok", "execution_count": self.execution_count}
        if failed is not None:
            return {**reply, **failed, "status": "error"}
        named = {key: await self._evaluate(text) for key, text in expressions.items() if text.strip()}
        return {**reply, "payload": payload, "user_expressions": named}

    async def _run(self, cell: Cell, silent: bool, may_ask: bool) -> dict[str, Any] | None:
        """Brings the notebook up to date until a cell. Returns the error of the cell."""
        send = _unsent if silent else self._publish
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
            while may_ask and await self._decide(done):
                outputs.again()
                done = await self._ask_run(cell.id, follow)
        except Failure as e:
            if e.code == "no-block":  # it holds no code
                return None
            return _fail(send, e.code, str(e))
        blocks = {b["id"]: b for b in done["blocks"]}
        mine = blocks.get(names.get(cell.id, ""))
        if mine is None:
            return _fail(send, "Conflict", "others edited the notebook at the same time: run the cell again")
        self._ran(done)
        outputs.complete(mine["outputs"])
        if self._typed and not silent:
            self._typed[-1].result = mine.get("result")
        reached = [b for b in done["blocks"] if b is not mine]
        if self.mode == "auto" and not silent and not done.get("stopped"):
            try:
                later = await self._ask_run("", lambda event: None)
                self._ran(later)
                reached = [b for b in later["blocks"] if b["id"] != mine["id"]]
            except Failure as e:
                send("stream", {"name": "stderr", "text": f"[xstate: the cells below were not run: {e}]\n"})
        if not silent:
            self._note_shown([mine])
            await self._report(reached)
        if done.get("stopped"):
            return _fail(send, "KeyboardInterrupt", "", ["KeyboardInterrupt: the run was interrupted"])
        return self._failure_of(send, mine, blocks)

    def _program(self) -> dict[str, str]:
        """What a run or a plan is about. The session remembers the interpreter, for the command line."""
        python = sys.executable if self.language == "python" else ""
        return {"File": self.notebook.path, "Contents": self.notebook.contents(), "Python": python}

    async def _ask_run(self, until: str, follow: Any) -> dict[str, Any]:
        request = {**self._program(), "Until": until}
        self._busy += 1
        try:
            answer: dict[str, Any] = await self._pipe.ask("Run", request, follow)
        finally:
            self._busy -= 1
        return answer

    def _failure_of(self, send: Any, mine: dict[str, Any], blocks: dict[str, Any]) -> dict[str, Any] | None:
        """Shows why a cell failed, and returns it; None if it did not."""
        error = mine.get("error")
        if error is not None:
            shown = error_content(error)
            if error.get("hint"):
                shown["traceback"].append("hint: " + error["hint"])
            send("error", shown)
            return shown
        if mine["status"] in ("blocked", "not-reached"):
            by = mine["reason"].get("by") or next((b["id"] for b in blocks.values() if b["status"] == "failed"), "")
            cause = (blocks.get(by) or {}).get("error") or {}
            why = f": {cause['type']}: {cause['message']}" if cause else ""
            text = f"the cell was not executed: it needs the cell {by}, which fails{why}"
            if mine["status"] == "not-reached":
                text = f"the cell was not executed: the cell {by} ends the program before it"
            return _fail(send, "NotExecuted", text)
        return None

    async def _decide(self, done: dict[str, Any]) -> bool:
        """Asks the person for what a run waits for: input(), or whether a call may happen. False: nothing is."""
        decided = False
        for call in done.get("waiting") or []:
            choices = call.get("choices") or []
            answer = await self._input(call["question"] + (f" ({', '.join(choices)}) " if choices else ""))
            if answer is None or (choices and answer not in choices):
                return False
            await self._pipe.ask("Approve", {"Calls": [call["call"]], "Choice": answer})
            decided = True
        return decided

    async def _input(self, prompt: str) -> str | None:
        """What a person types; None if that is interrupted."""
        assert self.session is not None
        self._interrupted = False
        ident = self._get_shell_context_var(self._shell_parent_ident)
        message = {"prompt": prompt, "password": False}
        self.session.send(self.stdin_socket, "input_request", message, self.get_parent("shell"), ident=ident)
        while not self._interrupted:
            if self.stdin_socket.poll(0):
                _, reply = self.session.recv(self.stdin_socket)
                if reply is not None:
                    return str(reply["content"]["value"])
            await asyncio.sleep(0.02)
        return None

    def _ran(self, done: dict[str, Any]) -> None:
        """Notes what a run says of the blocks that it reached."""
        self._step = done["step"]
        for b in done["blocks"]:
            if b["status"] != "new":
                self._varying[b["id"]] = b.get("marks") or []

    async def _plan(self) -> dict[str, Any] | None:
        """What a run of the whole notebook would do; None if that cannot be said."""
        try:
            found: dict[str, Any] = await self._pipe.ask("Plan", self._program())
        except Failure:
            return None
        return found

    def _note_shown(self, blocks: Iterable[dict[str, Any]]) -> None:
        for b in blocks:
            self._shown[b["id"]] = saved(b)
            self._records[b["id"]] = b.get("record", "")

    async def _report(self, reached: list[dict[str, Any]]) -> None:
        """Refreshes what other cells show, and says what was refreshed and what is stale: in the margin, or without a
        page that has one in a line of the cell. A block that was not executed may have another recorded result now."""
        news = [b for b in reached if b["status"] != "new" and self._shown.get(b["id"]) != saved(b)]
        seen = [b for b in news if b["id"] in self._shown]
        self._note_shown(b for b in reached if b["status"] != "new")
        plan = await self._plan()
        if self._page:
            cells = dict(zip((b["id"] for b in plan["blocks"]), self.notebook.blocks())) if plan else {}
            self._show(plan, {cells[b["id"]]: saved(b) for b in news if b["id"] in cells})
            return
        for block in seen:
            for number, output in enumerate(displays(block["outputs"])):
                self._publish("update_display_data", display(output, block["id"], number))
        found, parts = self._marks(plan), []
        pairs = zip(self.notebook.blocks(), plan["blocks"]) if plan else ()
        stale = [b for c, b in pairs if found.get(c, {}).get("state") == "stale" and b["id"] in self._shown]
        if seen:
            parts.append(f"{_cells(seen)} {'shows' if len(seen) == 1 else 'show'} something else now")
        if stale:
            seconds = sum(b["seconds"] for b in stale)
            parts.append(f"{_cells(stale)} {'is' if len(stale) == 1 else 'are'} stale ({seconds:.1f} s to run)")
        if parts:
            self._publish("display_data", {"data": {"text/plain": "xstate: " + ", ".join(parts)}, "metadata": {}})

    def _show(self, plan: dict[str, Any] | None, outputs: dict[str, Any]) -> None:
        """Sends the page the marks of cells, and the outputs of those that ran without being asked."""
        found = self._marks(plan)
        self._send_page({"marks": found, "summary": summary(found, plan) if plan else "", "outputs": outputs})

    def _marks(self, plan: dict[str, Any] | None) -> dict[str, dict[str, str]]:
        return marks(plan, self.notebook.blocks(), self._varying, self._records) if plan else {}

    def _send_page(self, data: dict[str, Any]) -> None:
        if self.session and self._page:
            self.session.send(self.iopub_socket, "comm_msg", {"comm_id": self._page, "data": data})

    async def comm_open(self, stream: Any, ident: Any, parent: Any) -> None:
        """A page of JupyterLab opens the comm xstate. Widgets have no comm here."""
        content = parent["content"]
        if content["target_name"] != "xstate":
            if self.session:
                self.session.send(self.iopub_socket, "comm_close", {"comm_id": content["comm_id"], "data": {}}, parent)
            return
        self._page = content["comm_id"]
        self._soon(self._look(content["data"]["cells"]))
        self._soon(self._watch(self._page))

    async def comm_msg(self, stream: Any, ident: Any, parent: Any) -> None:
        content = parent["content"]
        if content["comm_id"] == self._page:
            self._soon(self._look(content["data"]["cells"]))

    async def comm_close(self, stream: Any, ident: Any, parent: Any) -> None:
        if parent["content"]["comm_id"] == self._page:
            self._page, self.notebook.live = "", False

    def _soon(self, work: Any) -> None:
        """Does something on the loop of the main shell: comms come in the threads of subshells, too."""
        asyncio.run_coroutine_threadsafe(self._logged(work), self.io_loop.asyncio_loop)

    async def _logged(self, work: Any) -> None:
        try:
            await work
        except Exception:
            self.log.exception("a message of the page was not carried out")

    async def _look(self, cells: list[dict[str, str]]) -> None:
        """Takes the cells of a page, and shows how they are."""
        self.notebook.take(cells)
        await self._refresh()

    async def _watch(self, page: str) -> None:
        """Tells a page when others have edited the program: an agent, or the command line."""
        while self._page == page:
            await asyncio.sleep(_LOOK_EVERY)
            try:
                log = await self._pipe.ask("Log", {"Session": self.notebook.path, "Limit": 10})
            except Failure:
                continue  # there is no session yet
            news = [s["kind"] for s in log["steps"] if s["step"] > self._step]
            if not news or self._busy:
                continue
            known, self._step = self._step, log["steps"][0]["step"]
            if known and any(kind not in ("run", "verify") for kind in news):
                self._send_page({"edited": True})
            elif known:
                await self._refresh()

    async def _refresh(self) -> None:
        """Shows the marks of all cells, and the recorded outputs of those that the page shows otherwise."""
        plan = await self._plan()
        if plan is None:
            return
        outputs = {}
        for cell, block in zip(self.notebook.blocks(), plan["blocks"]):
            record = block.get("record", "")
            if not record or self._records.get(block["id"]) == record:
                continue
            asked = {"Session": self.notebook.path, "Block": block["id"]}
            view: dict[str, Any] = (await self._pipe.ask("Query", asked))["block"]
            has = record_of(n.get("trace", "") for n in view["nodes"])
            if has == record:
                outputs[cell] = saved(view)
                self._note_shown([{**view, "record": record}])
            else:
                self._records.setdefault(block["id"], has)
        self._show(plan, outputs)

    async def _command(self, arguments: list[str]) -> None:
        """Carries out %xstate: a mode, or a command about this notebook."""
        if arguments[:1] == ["mode"] and len(arguments) <= 2:
            if arguments[1:] and arguments[1] in _MODES:
                self.mode = arguments[1]
            elif arguments[1:]:
                self._publish("stream", {"name": "stderr", "text": f"the modes are {' and '.join(_MODES)}\n"})
            self._publish("stream", {"name": "stdout", "text": f"mode {self.mode}\n"})
            return
        about: list[str] = []
        if arguments[:1] and arguments[0] in _ABOUT_SESSION and "--session" not in arguments:
            about = ["--session", self.notebook.path]
        elif arguments in (["run"], ["plan"], ["preflight"]):
            about = [self.notebook.path]
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
        self._interrupted = True
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


def _fail(send: Any, name: str, value: str, lines: list[str] | None = None) -> dict[str, Any]:
    """Shows an error, and returns it."""
    error = {"ename": name, "evalue": value, "traceback": lines or [f"{name}: {value}"]}
    send("error", error)
    return error


def _unsent(kind: str, message: dict[str, Any]) -> None:
    """In place of a message of silent code."""


def _cells(blocks: list[dict[str, Any]]) -> str:
    names = [b.get("title") or b["id"] for b in blocks]
    if len(names) > 4:
        names = [*names[:3], f"{len(names) - 3} more"]
    return ("the cell " if len(names) == 1 else "the cells ") + ", ".join(names)
