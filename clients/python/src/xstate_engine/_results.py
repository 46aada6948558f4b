from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, cast

from ._errors import ExecutionError
from .documents import Exec, ExecBlock, ExecError, ExecFile, Reason, WaitingCall


class Counts(NamedTuple):
    """Numbers of blocks of the whole program, by what the call did with them."""

    ran: int
    reused: int
    failed: int
    blocked: int
    not_reached: int


class ActiveRun(TypedDict):
    """A call that executes code now."""

    run: str  #: its id
    verb: str
    session: str
    seconds: float  #: since it began


@dataclass(frozen=True)
class Image:
    """A picture that the code showed, or that another block drew again because of it."""

    block: str  #: that drew it
    media: str  #: such as image/png
    file: Path

    @cached_property
    def data(self) -> bytes:
        return self.file.read_bytes()


class ExecResult(dict[str, Any]):
    """The effects of one call of exec, and no more. str() of it is the text for a model.

    It is a dict, the document, and so whatever keeps results as JSON or MessagePack can keep it: an artifact of
    LangGraph, a log. ExecResult(d) is the result again.
    """

    def __init__(self, document: Exec) -> None:
        super().__init__(document)

    @property
    def document(self) -> Exec:
        """The document as the engine sent it, a plain dict."""
        return cast(Exec, dict(self))

    @property
    def text(self) -> str:
        """The output of the code, the value of its last expression and its error; clipped to the budget."""
        return self.document["text"]

    @property
    def result(self) -> str | None:
        """The text of the last expression's value; None if there is none."""
        return self.document["result"]

    @property
    def images(self) -> list[Image]:
        """Pictures that the code showed, then those that others drew again; see Image.block."""
        return [Image(f["block"], f["media"], Path(f["file"])) for f in self.files if f["media"].startswith("image/")]

    @property
    def error(self) -> ExecutionError | None:
        """Why the code failed or was not executed; None if it was and did not."""
        e = self.document["error"]
        return _error(e, self.block) if e else None

    @property
    def ok(self) -> bool:
        """The code was executed or reused, did not fail, and no other block broke because of it."""
        return self.status in ("ran", "reused") and not self.broken

    def check(self) -> ExecResult:
        """Returns the result if it is ok, and raises an ExecutionError otherwise."""
        if self.ok:
            return self
        if self.status in ("ran", "reused"):
            first = next((b for b in self.broken if b["error"]), self.broken[0])
            if first["error"]:
                raise _error(first["error"], first["block"])
            raise ExecutionError(first["status"], "it needs what the code defined", block=first["block"])
        why = self.document.get("stopped") or "the code was not executed"
        raise self.error or ExecutionError(self.status, why, block=self.block)

    @property
    def block(self) -> str:
        """The block that the code became; of several the first that failed, or the last."""
        return self.document["block"]

    @property
    def action(self) -> str:
        """append, replace, or unchanged: the block had this text already."""
        return self.document["action"]

    @property
    def status(self) -> str:
        """Of the block: ran, reused, failed, waiting, blocked, not-reached; new if the run was interrupted first."""
        return self.document["status"]

    @property
    def waiting(self) -> list[WaitingCall]:
        """Calls that must be decided before the program can continue; see Session.approve."""
        return self.document.get("waiting", [])

    @property
    def taken_back(self) -> bool:
        """The code is not part of the program, because it was interrupted or ended the program."""
        return self.document.get("taken_back", False)

    @property
    def repeated(self) -> bool:
        """A call of the same call_id submitted the code before, and this is its result."""
        return self.document.get("repeated", False)

    @property
    def step(self) -> int:
        """The step that records the run."""
        return self.document["step"]

    @property
    def others(self) -> list[ExecBlock]:
        """Other blocks that the call executed because they depend on the code, or whose results are gone."""
        return self.document["others"]

    @property
    def broken(self) -> list[ExecBlock]:
        """Of the others those that failed, wait or are blocked because of this call. A block that had failed before and
        was tried again is not among them."""
        well = ("ran", "reused")
        return [b for b in self.others if b["status"] not in well and b["reason"]["code"] != "failed-before"]

    @property
    def stale(self) -> list[str]:
        """Of the others those that have no results now: they need what a failed block would have defined."""
        return [b["block"] for b in self.others if b["status"] in ("blocked", "not-reached")]

    @property
    def files(self) -> list[ExecFile]:
        """Pictures, and texts that were clipped."""
        return self.document["files"]

    @property
    def counts(self) -> Counts:
        d = self.document
        return Counts(d["ran"], d["reused"], d["failed"], d["blocked"], d["not_reached"])

    @property
    def seconds(self) -> float:
        """Spent executing."""
        return self.document["seconds"]

    @property
    def engine(self) -> float:
        """Seconds that the call took beyond executing, until it was recorded."""
        return self.document["engine_seconds"]

    @property
    def saved(self) -> float:
        """Seconds: the recorded cost of what was reused, less those of the engine. It may be negative."""
        return self.document["saved_seconds"]

    def __str__(self) -> str:
        """The text, what became of other blocks, and how the run ended where that is unusual. It is never empty."""
        d = self.document
        parts = [self.text]
        for b in self.others:
            parts += [f"block {b['block']} {b['status']} because of it ({_reason(b['reason'])})", b["text"]]
        if stopped := d.get("stopped"):
            parts.append(f"stopped early: {stopped}")
        if (code := d.get("exit_code")) is not None:
            parts.append("the program ended itself with exit code %d" % code)
        parts += [f"note: {n}" for n in d.get("notices") or ()]
        parts = [p if p.endswith("\n") else p + "\n" for p in parts if p]
        return "".join(parts) or "no output\n"

    def __repr__(self) -> str:
        return f"<ExecResult step={self.step} block={self.block!r} {self.action} {self.status}>"


def _reason(r: Reason) -> str:
    key, by = r.get("key"), r.get("by")
    return r["code"] + (f": {key}" if key else "") + (f" by {by}" if by else "")


def _error(e: ExecError, block: str) -> ExecutionError:
    trace = "\n".join(line.rstrip("\n") for line in e.get("traceback") or ())
    return ExecutionError(
        e["type"], e["message"], trace, e.get("hint", ""), e.get("block") or block, e.get("line") or 0
    )
