"""The cells of a notebook, as far as a kernel knows them."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import tempfile
from dataclasses import dataclass, field
from typing import Any

_QUESTION = re.compile(r"\?{1,2}[\w.*]+|[\w.*]+\?{1,2}")


def is_question(source: str) -> bool:
    """Whether a cell asks IPython for help on a name."""
    return _QUESTION.fullmatch(source.strip()) is not None


def is_command(source: str) -> bool:
    """Whether a cell is a command of xstate."""
    return source.split()[:1] == ["%xstate"] and "\n" not in source.strip()


@dataclass
class Cell:
    id: str
    source: str
    hidden: bool = False  # code that a front end runs for itself, or what a page says to a widget
    of: Cell | None = None  # the cell that made this widget, as it was then


@dataclass
class Notebook:
    """The program of a kernel: the text of each cell, in order.

    path is the file of the notebook; a file that does not exist is only a name. The order of cells that have ids is
    that of the file, as it was saved last. Cells that the file lacks follow the one that ran before them.
    """

    path: str
    language: str
    cells: list[Cell] = field(default_factory=list)
    last: str = ""  # id of the cell that ran last
    live: bool = False  # a front end sends all cells, so the file is not read
    _made: int = 0  # number of cells that got their ids here: the same in each run of a notebook
    _saved: tuple[int, ...] = ()  # the state of the file when it was read
    _in_file: dict[str, str] = field(default_factory=dict)  # the texts that it had then, by the ids of cells

    def submit(self, source: str, id: str | None, deleted: list[str], hidden: bool = False) -> Cell:
        """Takes a cell that is to run. Without an id it is a new one, after the last."""
        if id and id.startswith("vscode-notebook-cell:"):
            id = id.rsplit("#", 1)[-1]  # before it is the address of the document
        if not self.live:
            self._read()
        self.cells = [c for c in self.cells if c.id not in deleted]
        if hidden:
            self.cells = [c for c in self.cells if not (c.hidden and c.source == source)]
        cell = next((c for c in self.cells if c.id == id), None) if id else None
        if cell is None:
            self._made += 1
            cell = Cell(id or f"{'hidden' if hidden else 'cell'}-{self._made}", source, hidden=hidden)
            ordered = hidden or self.live or bool(self._in_file)
            self.cells.insert(self._after(self.last) if ordered else len(self.cells), cell)
        cell.source = source
        if not hidden:
            self.last = cell.id
        return cell

    def say(self, source: str, after: str, of: str) -> Cell:
        """Takes what a page says to a widget. It follows a cell, and what was said there before."""
        self._made += 1
        maker = next(c for c in self.cells if c.id == of)
        cell = Cell(f"message-{self._made}", source, True, Cell(maker.id, maker.source))
        self.cells.insert(self._after(after), cell)
        return cell

    def _forget(self) -> None:
        """Drops what was said to widgets whose cells were edited: it was about others."""
        texts: dict[str, str] = {}
        for c in self.cells:
            if c.of is None or texts.get(c.of.id) == c.of.source:
                texts[c.id] = c.source
        self.cells = [c for c in self.cells if c.id in texts]

    def take(self, given: list[dict[str, str]]) -> None:
        """Takes all cells, in order, from a page that knows them. Hidden cells stay after those that they follow."""
        self.live = True
        order = [Cell(c["id"], c["source"]) for c in given]
        for i, cell in enumerate(self.cells):
            if cell.hidden:
                before = {c.id: k for k, c in enumerate(order)}
                order.insert(next((before[p.id] + 1 for p in reversed(self.cells[:i]) if p.id in before), 0), cell)
        self.cells = order

    def _head(self, cell: Cell) -> str:
        """The first line of a block that no file has (InFile in package patch)."""
        if not cell.hidden or cell.source.lstrip().startswith("%%"):
            return ""
        return "// xstate: hidden\n" if self.language in ("javascript", "typescript") else "# xstate: hidden\n"

    def blocks(self) -> list[str]:
        """The ids of the cells that are blocks."""
        return [c.id for c in self.cells if self._is_code(c)]

    def _is_code(self, cell: Cell) -> bool:
        """Whether a cell is a block. In Python, commands and questions are: they do nothing to the program."""
        asks = is_command(cell.source) or is_question(cell.source)
        return bool(cell.source.strip()) and (self.language == "python" or not asks)

    def _after(self, id: str) -> int:
        """The place after a cell, and after the hidden ones that follow it; the end if there is no such cell."""
        at = next((i + 1 for i, c in enumerate(self.cells) if c.id == id), len(self.cells))
        while at < len(self.cells) and self.cells[at].hidden:
            at += 1
        return at

    def contents(self) -> str:
        """The notebook as a file of nbformat 4.5, without outputs."""
        self._forget()
        cells = [
            {
                "id": c.id,
                "cell_type": "code",
                "source": self._head(c) + c.source,
                "metadata": {},
                "outputs": [],
                "execution_count": None,
            }
            for c in self.cells
            if self._is_code(c)
        ]
        about = {"kernelspec": {"name": "xstate", "display_name": "xstate", "language": self.language}}
        about["language_info"] = {"name": self.language}
        return json.dumps({"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5})

    def _read(self) -> None:
        """Takes order and texts from the file, if it is another one than was read last. A cell whose text in the file
        is the same keeps the text with which it ran."""
        try:
            state = os.stat(self.path)
            saved = (state.st_mtime_ns, state.st_size, state.st_ino)
            if saved == self._saved:
                return
            with open(self.path, encoding="utf-8") as file:
                found = [c for c in json.load(file)["cells"] if c["cell_type"] == "code"]
            fresh = [Cell(c["id"], _text(c["source"])) for c in found]
        except (OSError, ValueError, KeyError, TypeError):
            return  # it is not there, or is no notebook with ids
        known = {c.id: c for c in self.cells}
        order = [known[c.id] if c.id in known and self._in_file.get(c.id) == c.source else c for c in fresh]
        texts = {c.id: c.source for c in fresh}
        for i, c in enumerate(self.cells):  # those that the file lacks
            if c.id in texts or c.id in self._in_file:
                continue
            before = {o.id: k for k, o in enumerate(order)}
            at = next((before[p.id] + 1 for p in reversed(self.cells[:i]) if p.id in before), 0)
            order.insert(at, c)
        self.cells, self._saved, self._in_file = order, saved, texts


def _text(source: Any) -> str:
    return source if isinstance(source, str) else "".join(source)


def find_path(folder: str) -> str:
    """The file of the notebook that this kernel serves, by what Jupyter says; else a name that is free."""
    said = os.environ.get("JPY_SESSION_NAME", "")
    if said.endswith(".ipynb"):
        path = os.path.join(folder, said)
        if os.path.dirname(path) and os.path.isdir(os.path.dirname(path)):
            return path
    return _free_name(folder)


_locks = []  # held until this process ends


def _free_name(folder: str) -> str:
    """A name for a notebook without a file: the first that no other kernel of this folder has."""
    place = hashlib.sha256(f"{os.getuid()} {os.path.realpath(folder)}".encode()).hexdigest()[:16]
    for number in range(1, 1000):
        name = "kernel.ipynb" if number == 1 else f"kernel-{number}.ipynb"
        if os.path.lexists(os.path.join(folder, name)):
            continue
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            lock = os.open(os.path.join(tempfile.gettempdir(), f"xstate-{place}-{number}.lock"), flags, 0o600)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            continue
        _locks.append(lock)
        return os.path.join(folder, name)
    raise RuntimeError(f"{folder} has too many kernels")
