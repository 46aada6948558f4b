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
import threading
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ipykernel._version import kernel_protocol_version
from ipykernel.kernelbase import Kernel

from .cells import Cell, Notebook, find_path, is_command, is_question
from .complete import complete, completeness, describe, name_at
from .marks import marks, record_of, summary
from .outputs import Output, Outputs, content, display, displays, failure, named_error, saved
from .pipe import Event, Failure, Pipe
from .widgets import CONTROL, Widgets
from .widgets import code as code_of

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
        self._failed: set[str] = set()  # blocks
        self._interrupted = False
        self._busy = 0  # runs that were asked for
        self._turn = threading.Lock()  # held by the cell, or the message to a widget, that is carried out
        self._parent: Any = None  # the request that it came in; messages of a page may come while it runs
        self._ident: Any = None  # the client that sent it
        self._names: dict[str, str] = {}  # the ids of blocks, by those of cells
        self.widgets = Widgets(self._send_widget)
        self._last: dict[str, Any] | None = None  # what the last run said
        self._control = ""  # the comm of a page that asks for the states of widgets
        self._page = ""  # the comm of a page that shows marks; "": there is none
        self._step = 0  # the last step of the session that is known here
        self.shell_handlers["comm_open"] = self.comm_open
        self.shell_handlers["comm_msg"] = self.comm_msg
        self.shell_handlers["comm_close"] = self.comm_close
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is a message

    async def dispatch_shell(self, msg: Any, /, *args: Any, **named: Any) -> None:
        """Says busy and idle also of a message of a page that comes while a cell runs. It waits for the cell."""
        named.pop("concurrent", None)
        await super().dispatch_shell(msg, *args, **named)

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
        parent, ident = self.get_parent("shell"), self._get_shell_context_var(self._shell_parent_ident)
        await self._take_turn()
        self._parent, self._ident = parent, ident
        try:
            return await self._execute(code, silent, user_expressions or {}, allow_stdin, cell_meta or {}, cell_id)
        except Failure as e:
            failure = _fail(send, e.code, str(e))
        except Exception as e:
            self.log.exception("a cell was not carried out")
            failure = _fail(send, type(e).__name__, str(e), traceback.format_exc().splitlines())
        finally:
            self._turn.release()
        return {"status": "error", "execution_count": self.execution_count, **failure}

    async def _take_turn(self) -> None:
        """Waits until nothing else is carried out: subshells have loops of their own."""
        if not self._turn.acquire(blocking=False):
            await asyncio.to_thread(self._turn.acquire)

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
            failed = await self._run(cell, _unsent if silent else self._publish, allow_stdin)
        reply: dict[str, Any] = {"status": "ok", "execution_count": self.execution_count}
        if failed is not None:
            return {**reply, **failed, "status": "error"}
        named = {key: await self._evaluate(text) for key, text in expressions.items() if text.strip()}
        return {**reply, "payload": payload, "user_expressions": named}

    async def _run(self, cell: Cell, send: Any, may_ask: bool, quiet: bool = False) -> dict[str, Any] | None:
        """Brings the notebook up to date until a cell. Returns the error of the cell. quiet: it has no place to say
        what is stale."""
        silent = send is _unsent
        outputs = Outputs(send, self.execution_count)
        names: dict[str, str] = {}

        def follow(event: Event) -> None:
            if event["event"] == "started":
                names.update(event.get("blocks", {}))
                outputs.block = names.get(cell.id, "")
            elif not self._follow_widgets(event) and event["event"] == "output":
                if event["block"] == names.get(cell.id):
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
        self._names = names
        self._ran(done)
        outputs.complete(mine["outputs"])
        if self._typed and not silent:
            self._typed[-1].result = mine.get("result")
        reached = [b for b in done["blocks"] if b is not mine]
        if self.mode == "auto" and not silent and not done.get("stopped"):
            try:
                later = await self._ask_run("", self._follow_widgets)
                self._ran(later)
                reached = [b for b in later["blocks"] if b["id"] != mine["id"]]
            except Failure as e:
                send("stream", {"name": "stderr", "text": f"[xstate: the cells below were not run: {e}]\n"})
        if not silent:
            self._note_shown([mine])
            await self._report(reached, quiet)
        if done.get("stopped"):
            return _fail(send, "KeyboardInterrupt", "", ["KeyboardInterrupt: the run was interrupted"])
        failed = failure(mine, blocks)
        if failed is not None:
            send("error", failed)
        return failed

    def _follow_widgets(self, event: Event) -> bool:
        """Passes on what code sends to widgets. Reports whether the event was that."""
        found = event["event"] == "output" and event["output"]["kind"] == "comm"
        if found:
            self.widgets.live(event["output"])
        return bool(found)

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
        message = {"prompt": prompt, "password": False}
        self.session.send(self.stdin_socket, "input_request", message, self._parent, ident=self._ident)
        while not self._interrupted:
            if self.stdin_socket.poll(0):
                _, reply = self.session.recv(self.stdin_socket)
                if reply is not None:
                    return str(reply["content"]["value"])
            await asyncio.sleep(0.02)
        return None

    def _ran(self, done: dict[str, Any]) -> None:
        """Notes what a run says of the blocks that it reached."""
        self._step, self._last = done["step"], done
        for b in done["blocks"]:
            if b["status"] != "new":
                (self._failed.add if b.get("error") else self._failed.discard)(b["id"])
                self._varying[b["id"]] = b.get("marks") or []
                self.widgets.took(b["id"], b["outputs"])
        self._settle_widgets()

    def _settle_widgets(self) -> None:
        self.widgets.settle(self._names[c] for c in self.notebook.blocks() if c in self._names)

    async def _plan(self) -> dict[str, Any] | None:
        """What a run of the whole notebook would do; None if that cannot be said."""
        try:
            found: dict[str, Any] = await self._pipe.ask("Plan", self._program())
        except Failure:
            return None
        return found

    def _note_shown(self, blocks: Iterable[dict[str, Any]]) -> None:
        for b in blocks:
            self._shown[b["id"]] = b["outputs"], b.get("error")
            self._records[b["id"]] = b.get("record", "")

    async def _report(self, reached: list[dict[str, Any]], quiet: bool) -> None:
        """Refreshes what other cells show, and says what was refreshed and what is stale: in the margin, or without a
        page that has one in a line of the cell. A block that was not executed may have another recorded result now."""
        news = [
            b for b in reached if b["status"] != "new" and self._shown.get(b["id"]) != (b["outputs"], b.get("error"))
        ]
        hidden = {self._names.get(c.id) for c in self.notebook.cells if c.hidden}
        seen = [b for b in news if b["id"] in self._shown and b["id"] not in hidden]
        self._note_shown(b for b in reached if b["status"] != "new")
        plan = await self._plan()
        if self._page:
            cells = dict(zip((b["id"] for b in plan["blocks"]), self.notebook.blocks())) if plan else {}
            self._show(plan, {cells[b["id"]]: saved(b) for b in news if b["id"] in cells})
            return
        for block in seen:
            for number, output in enumerate(displays(block["outputs"])):
                self._publish("update_display_data", display(output, block["id"], number))
        if quiet:
            return
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
        line = summary(found, plan, self._last) if plan else ""
        self._send_page({"marks": found, "summary": line, "outputs": outputs})

    def _marks(self, plan: dict[str, Any] | None) -> dict[str, dict[str, str]]:
        found = marks(plan, self.notebook.blocks(), self._varying, self._records) if plan else {}
        return {c.id: found[c.id] for c in self.notebook.cells if c.id in found and not c.hidden}

    def _send_page(self, data: dict[str, Any]) -> None:
        if self.session and self._page:
            self.session.send(self.iopub_socket, "comm_msg", {"comm_id": self._page, "data": data})

    async def comm_open(self, stream: Any, ident: Any, parent: Any) -> None:
        """A page opens the comm xstate, or one that asks for the states of widgets."""
        content = parent["content"]
        if content["target_name"] == CONTROL:
            self._control = content["comm_id"]
            return
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
        elif content["comm_id"] == self._control:
            if self.session and content["data"].get("method") == "request_states":
                data, buffers = self.widgets.states()
                said = {"comm_id": self._control, "data": data}
                self.session.send(self.iopub_socket, "comm_msg", said, parent, buffers=buffers)
        else:  # on the main loop, like cells; until that is done, the page sends no more
            await asyncio.wrap_future(self._soon(self._message(parent)))

    async def _message(self, parent: Any) -> None:
        """Gives a widget what a page says to it, as a part of the program."""
        content, buffers = parent["content"], parent.get("buffers") or []
        await self._take_turn()
        try:
            self._parent = parent
            if self.widgets.answers(content, buffers):
                return
            model = self.widgets.known[content["comm_id"]]
            cells = {block: cell for cell, block in self._names.items()}
            order = [c.id for c in self.notebook.cells]
            makers = [cells[b] for b in model.blocks if cells.get(b) in order]
            if not makers:
                return  # the cell is gone
            if not self._failed.isdisjoint(model.blocks):
                text = "[xstate: a cell that made this widget, or changed it, failed: the widget does nothing]\n"
                self._publish("stream", {"name": "stderr", "text": text})
                return
            source = code_of(model, content["comm_id"], content["data"], buffers)
            cell = self.notebook.say(source, max(makers, key=order.index), makers[0])
            if await self._run(cell, self._publish, False, quiet=True) is not None:
                self.notebook.cells.remove(cell)  # later runs would fail there, too
                self._settle_widgets()
        finally:
            self._turn.release()

    def _send_widget(self, kind: str, message: dict[str, Any], metadata: Any, buffers: list[bytes]) -> None:
        if self.session:
            about = {"metadata": metadata or {}, "buffers": buffers}
            self.session.send(self.iopub_socket, kind, message, self._parent, **about)

    async def comm_info_request(self, stream: Any, ident: Any, parent: Any) -> None:
        """Says which comms there are."""
        wanted = parent["content"].get("target_name")
        found = {id: {"target_name": m.target} for id, m in [*self.widgets.known.items()] if wanted in (None, m.target)}
        if self.session:
            self.session.send(stream, "comm_info_reply", {"comms": found, "status": "ok"}, parent, ident)

    async def comm_close(self, stream: Any, ident: Any, parent: Any) -> None:
        if parent["content"]["comm_id"] == self._page:
            self._page, self.notebook.live = "", False

    def _soon(self, work: Any) -> Any:
        """Does something on the loop of the main shell: comms come in the threads of subshells, too."""
        return asyncio.run_coroutine_threadsafe(self._logged(work), self.io_loop.asyncio_loop)

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
                self._names[cell] = block["id"]
                self.widgets.took(block["id"], view["outputs"])
                self._note_shown([{**view, "record": record}])
            else:
                self._records.setdefault(block["id"], has)
        self._settle_widgets()
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
        if self.session:
            self.session.send(self.iopub_socket, kind, message, self._parent)


def _fail(send: Any, name: str, value: str, lines: list[str] | None = None) -> dict[str, Any]:
    """Shows an error, and returns it."""
    error = named_error(name, value, lines)
    send("error", error)
    return error


def _unsent(kind: str, message: dict[str, Any]) -> None:
    """In place of a message of silent code."""


def _cells(blocks: list[dict[str, Any]]) -> str:
    names = [b.get("title") or b["id"] for b in blocks]
    if len(names) > 4:
        names = [*names[:3], f"{len(names) - 3} more"]
    return ("the cell " if len(names) == 1 else "the cells ") + ", ".join(names)
