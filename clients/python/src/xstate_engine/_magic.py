"""The magics %%xstate and %xstate, by which cells of any notebook are blocks of a session."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, cast

from ._client import Engine, Session
from ._errors import XStateError
from ._outputs import Outputs, failure
from .documents import Event, PlanBlock, Run

# Commands that take --session. Others are about no session, or about a file.
_ABOUT_SESSION = frozenset(
    "why query log diff blame undo rollback fork calls replay evidence export patch exec run plan".split()
)

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_RETRIES = 4  # of a cell, while others edit the program


@dataclass
class _Page:
    """What is known here of the cells of a session."""

    blocks: dict[str, str] = field(default_factory=dict)  # by the ids of cells
    last: str = ""  # the block that ran last
    shown: dict[str, str] = field(default_factory=dict)  # names of the results that blocks show


class Magic:
    """The magics of one shell of IPython.

    Everything is read again from the record for each cell, so that edits by others and a restart lose nothing. What is
    kept here is which cell is which block, and which one ran last.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._folder = os.getcwd()
        self._engine = Engine(self._folder, python=sys.executable)
        said = os.environ.get("JPY_SESSION_NAME", "")
        if not said.endswith(".ipynb"):
            said = shell.user_ns.get("__vsc_ipynb_file__", "")
        self._file = os.path.join(self._folder, said) if said else ""
        self._pages: dict[str, _Page] = {}  # by session

    def xstate(self, line: str, cell: str | None = None) -> None:
        """Runs a cell as a block of a session of xstate, or a command about the session.

        %%xstate [--session NAME]   the cell is a block of the session, which is named after the notebook
        %xstate                     says which session that is, and where
        %xstate value NAME          prints the value of a variable of the session
        %xstate VERB ...            any command of xstate: %xstate why BLOCK, %xstate run
        """
        try:
            words = shlex.split(line)
            if cell is None:
                self._command(words)
            elif words and (len(words) != 2 or words[0] != "--session"):
                _fail("UsageError", "usage: %%xstate [--session NAME]")
            elif cell.strip():
                self._run(self._engine.session(words[1] if words else self._name()), cell)
        except XStateError as e:
            _fail("XStateError", str(e), [str(e)])
        except ValueError as e:  # a quotation without an end
            _fail("UsageError", str(e))
        except KeyboardInterrupt:
            _fail("KeyboardInterrupt", "", ["KeyboardInterrupt"])

    def _name(self) -> str:
        """The name of the session: the path of the notebook without its ending, or that of the folder."""
        place = Path(self._file).with_suffix("") if self._file else Path(self._folder)
        root = Path(self._engine.store).parent
        with contextlib.suppress(ValueError):
            place = place.resolve().relative_to(root)
        return place.as_posix() if place.name else root.name or "main"

    def _command(self, words: list[str]) -> None:
        session = self._engine.session(self._name())
        if not words:
            step, blocks = _program(session)
            print(f"session {session.name} in {self._engine.store}: {len(blocks)} blocks, step {step}")
        else:
            if words[0] == "value":
                words[:1] = ["query", "--value"]
            about = words[0] in _ABOUT_SESSION and "--session" not in words
            ran = subprocess.run(
                [self._engine._settings.program(), *words, *(["--session", session.name] if about else [])],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                cwd=self._folder,
                env=self._engine._settings.environment()["environ"],
            )
            print(ran.stdout, end="")
            print(ran.stderr, end="", file=sys.stderr)

    def _run(self, session: Session, source: str) -> None:
        """Brings the program up to date until the cell, shows what the cell puts out, and fails as it fails."""
        outputs = Outputs(self._send, 0)
        done, block = self._ask_run(session, source, outputs)
        while self._decide(session, done):
            outputs.again()
            done, block = self._ask_run(session, source, outputs)
        blocks = {b["id"]: cast("dict[str, Any]", b) for b in done["blocks"]}
        outputs.complete(blocks[block]["outputs"])
        self._tell(session, done, block)
        if done.get("stopped"):
            _fail("KeyboardInterrupt", "the run was interrupted")
        failed = failure(blocks[block], blocks)
        if failed is not None:
            _fail(failed["ename"], failed["evalue"], failed["traceback"])

    def _ask_run(self, session: Session, source: str, outputs: Outputs) -> tuple[Run, str]:
        """Runs a cell. Returns the document, and the block that the cell is."""
        for _ in range(_RETRIES):
            try:
                return self._attempt(session, source, outputs)
            except XStateError as e:
                if e.code != "conflict":
                    raise
        return self._attempt(session, source, outputs)

    def _attempt(self, session: Session, source: str, outputs: Outputs) -> tuple[Run, str]:
        metadata = self._metadata()
        id = metadata.get("cellId") or metadata.get("colab", {}).get("cell_id") or ""
        page = self._pages.setdefault(session.name, _Page())
        step, blocks = _program(session)
        saved = id and not id.startswith("vscode-notebook-cell:")  # in a file, so that it is the same after a restart
        if not page.last and not saved:
            blocks = {}  # the program is the cells that run here
        gone = {page.blocks.get(deleted, _block(deleted)) for deleted in metadata.get("deletedCells", ())}
        blocks = {name: text for name, text in blocks.items() if name not in gone}
        block = page.blocks.get(id) or (_block(id) if saved else _free(blocks))
        blocks = _placed(blocks, block, source, page.last)
        names: dict[str, str] = {}  # of blocks as the engine has them: a text that comes back has its old name

        def follow(event: Event) -> None:
            if event["event"] == "started":
                names.update(event.get("blocks", {}))
                outputs.block = names.get(block, block)
            elif event["event"] == "output" and event.get("block") == outputs.block:
                outputs.add(cast("dict[str, Any]", event.get("output")))

        token = uuid.uuid4().hex
        try:
            done = session.run(
                "cells.ipynb",
                contents=_notebook(_as_saved(blocks, self._file)),
                until=block,
                expect=step,
                python=sys.executable,
                origin={"token": token},
                on_event=follow,
            )
        except KeyboardInterrupt:
            _take_back(session, token)
            raise
        page.last = names.get(block, block)
        if id:
            page.blocks[id] = page.last
        return done, page.last

    def _metadata(self) -> dict[str, Any]:
        """What the front end says of the cell that runs; a terminal says nothing."""
        get_parent = getattr(self._shell, "get_parent", None)
        metadata: dict[str, Any] = (get_parent and get_parent().get("metadata")) or {}
        return metadata

    def _decide(self, session: Session, done: Run) -> bool:
        """Asks the person for what a run waits for: input(), or whether a call may happen. False: nothing is."""
        decided = False
        for call in done.get("waiting") or []:
            choices = call.get("choices") or []
            try:
                answer = input(call["question"] + (f" ({', '.join(choices)}) " if choices else ""))
            except (NotImplementedError, EOFError):  # no one can be asked: the cell says what waits
                return False
            if choices and answer not in choices:
                return False
            session.approve(call["call"], choice=answer)
            decided = True
        return decided

    def _tell(self, session: Session, done: Run, block: str) -> None:
        """Says in one line which other blocks ran and what they print now, and which are stale."""
        parts, shown = [], self._pages[session.name].shown
        for b in done["blocks"]:
            if b["id"] != block and not b["nodes"]["ran"]:
                continue
            shown[b["id"]] = b.get("record", "")
            if b["id"] != block:
                text = b["stdout"] + (b["result"] or "")
                if b["error"]:
                    text = f"{b['error']['type']}: {b['error']['message']}"
                parts.append(f"{b['id']} {b['status']}: {' '.join(text.split())[:80]}".rstrip(": "))
        stale = [b for b in session.plan()["blocks"] if b["id"] != block and _is_stale(b, shown.get(b["id"]))]
        if stale:
            seconds, names = sum(b["seconds"] for b in stale), ", ".join(b["id"] for b in stale)
            parts.append(f"stale: {names} ({seconds:.1f} s; %xstate run)")
        if parts:
            self._shell.display_pub.publish({"text/plain": "xstate: " + "; ".join(parts)})

    def _send(self, kind: str, message: dict[str, Any]) -> None:
        """Shows a message of Jupyter by the means of the shell."""
        if "data" in message:
            message["data"].pop("application/vnd.jupyter.widget-view+json", None)  # the page has no such widget
        if kind == "stream":
            print(message["text"], end="", file=getattr(sys, message["name"]), flush=True)
        elif kind == "clear_output":
            self._shell.display_pub.clear_output(message["wait"])
        elif kind == "execute_result":
            hook = self._shell.displayhook
            hook.start_displayhook()
            hook.write_output_prompt()
            hook.write_format_data(message["data"], message["metadata"])
            hook.finish_displayhook()
        else:
            update = kind == "update_display_data"
            about = {"metadata": message["metadata"], "transient": message["transient"], "update": update}
            self._shell.display_pub.publish(message["data"], **about)


class _Failed(Exception):
    """Ends a cell. IPython shows its lines in place of a traceback of this module."""

    def __init__(self, message: str, lines: list[str]) -> None:
        super().__init__(message)
        self.lines = lines

    def _render_traceback_(self) -> list[str]:
        return self.lines


def _fail(name: str, message: str, lines: list[str] | None = None) -> NoReturn:
    """Ends a cell with an error of this name."""
    raise type(name, (_Failed,), {})(message, lines or [f"{name}: {message}"]) from None


def _is_stale(block: PlanBlock, shown: str | None) -> bool:
    """Whether the next run executes a block that ran, or the result that it shows is not the one that fits by now."""
    if block["reason"]["code"] == "new":
        return False
    return block["action"] in ("run", "maybe") or shown not in (None, block.get("record", ""))


def _program(session: Session) -> tuple[int, dict[str, str]]:
    """The last step of a session, and the texts of its blocks by their names. One that is not begun has neither."""
    try:
        found = session.query()
    except XStateError as e:
        if e.code not in ("no-session", "no-store"):
            raise
        return 0, {}
    return found["step"]["step"], {b["id"]: b["source"] for b in found["blocks"]}


def _block(cell: str) -> str:
    """The block of a cell with this id. What JupyterLab makes up is too long to be typed."""
    return cell[:8] if _UUID.fullmatch(cell) else cell


def _free(blocks: Iterable[str]) -> str:
    """A name that no block has."""
    return next(name for name in map("b{}".format, itertools.count(1)) if name not in blocks)


def _placed(blocks: dict[str, str], block: str, source: str, last: str) -> dict[str, str]:
    """The blocks with a text for one of them. One that is new follows the one that ran last."""
    names = list(blocks)
    if block not in blocks:
        names.insert(names.index(last) + 1 if last in blocks else len(names), block)
    return {**{name: blocks.get(name, "") for name in names}, block: source}


def _as_saved(blocks: dict[str, str], file: str) -> dict[str, str]:
    """The blocks in the order of the notebook's file. Those that it lacks stay behind the one that they follow."""
    try:
        places = {name: place for place, name in enumerate(_saved(file, os.stat(file).st_mtime_ns))}
    except (OSError, ValueError, KeyError, TypeError):
        return blocks  # it is not there, or is no notebook with ids
    parts: list[tuple[int, list[str]]] = [(-1, [])]
    for name in blocks:
        if name in places:
            parts.append((places[name], []))
        parts[-1][1].append(name)
    parts.sort(key=lambda part: part[0])
    return {name: blocks[name] for _, names in parts for name in names}


@functools.lru_cache(maxsize=1)
def _saved(file: str, changed: int) -> list[str]:
    """The names of the blocks of a notebook's cells, in order."""
    with open(file, encoding="utf-8") as text:
        return [_block(c["id"]) for c in json.load(text)["cells"]]


def _notebook(blocks: dict[str, str]) -> str:
    """Blocks as a notebook of nbformat 4.5."""
    cells: list[dict[str, Any]] = [
        {"id": name, "cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None}
        for name, source in blocks.items()
    ]
    about = {"language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5})


def _take_back(session: Session, token: str) -> None:
    """Takes back the edits with this token, unless others went on from them. Otherwise the next cell would run them."""
    with contextlib.suppress(XStateError):
        steps = session.history(limit=0)["steps"]
        mine = [s["step"] for s in steps if s.get("kind") != "run" and s["origin"].get("token") == token]
        if mine:
            session.undo(f"{min(mine)}..{max(mine)}")
