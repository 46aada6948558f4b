from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import NamedTuple

from ._errors import ExecutionError
from .documents import Block, Exec, ExecFile


class Counts(NamedTuple):
    """Numbers of blocks of the whole program, by what the call did with them."""

    ran: int
    reused: int
    failed: int
    blocked: int
    not_reached: int


@dataclass(frozen=True)
class Image:
    """A picture that a block showed."""

    block: str
    media: str  #: such as image/png
    data: bytes = field(repr=False)


class ExecResult:
    """What one call of exec did, and no more. str() of it is a text for a model: the output and the error."""

    def __init__(self, document: Exec) -> None:
        self.document = document  #: as the engine sent it
        self.images = _images(document)  #: pictures that the blocks of this call showed

    @property
    def text(self) -> str:
        """What the code printed, and the value of its last expression; clipped to the budget."""
        return self.document["text"]

    @property
    def result(self) -> str | None:
        """The text of the last expression's value."""
        return self.document["result"]

    @property
    def error(self) -> ExecutionError | None:
        """Why the code failed; None if it did not."""
        e = self.document["error"]
        if e is None:
            return None
        trace = "\n".join(line.rstrip("\n") for line in e.get("traceback") or ())
        return ExecutionError(
            e["type"], e["message"], trace, e.get("hint", ""), e.get("block") or self.block, e.get("line", 0)
        )

    @property
    def ok(self) -> bool:
        """The block was executed or reused, and did not fail."""
        return self.status in ("ran", "reused")

    def check(self) -> ExecResult:
        """Raises an ExecutionError unless ok."""
        if self.ok:
            return self
        raise self.error or ExecutionError(
            self.status, self.document.get("stopped") or f"block {self.block} was not executed", block=self.block
        )

    @property
    def block(self) -> str:
        """The block that the code became; the last one if it became several."""
        return self.document["block"]

    @property
    def action(self) -> str:
        """append, replace, or unchanged: the block had this text already."""
        return self.document["action"]

    @property
    def status(self) -> str:
        """Of the block: ran, reused, failed, blocked, not-reached; new if the run was stopped before it."""
        return self.document["status"]

    @property
    def step(self) -> int:
        """The step that records the run."""
        return self.document["step"]

    @property
    def blocks(self) -> list[Block]:
        """The blocks that this call executed: of the code, and those that an edit affects."""
        return self.document["blocks"]

    @property
    def stale(self) -> list[str]:
        """Blocks that are not up to date after the call: they need what a failed block would have defined."""
        return self.document["stale"]

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
    def saved(self) -> float:
        """Seconds: the recorded cost of what was reused."""
        return self.document["saved_seconds"]

    def __str__(self) -> str:
        parts = [self.text.rstrip("\n")]
        if e := self.error:
            parts += [e.traceback or str(e), f"hint: {e.hint}" if e.hint else ""]
        elif not self.ok:
            parts.append(f"{self.status}: {self.document.get('stopped', '')}".rstrip(": "))
        return "\n".join(part for part in parts if part)

    def __repr__(self) -> str:
        return f"<ExecResult step={self.step} block={self.block!r} {self.action} {self.status}>"


def _images(document: Exec) -> list[Image]:
    """Pictures: from the document where it holds them, else from the files that it names."""
    found = []
    for block in document["blocks"]:
        for output in block["outputs"]:
            for media, text in (output.get("data") or {}).items():
                if media.startswith("image/"):
                    data = text.encode() if media.endswith("+xml") else base64.b64decode(text)
                    found.append(Image(block["id"], media, data))
    return found
