from __future__ import annotations

import json
import re
from typing import Any

from .documents import Error


class XStateError(Exception):
    """A call failed: the engine refused it, or could not be asked.

    code is stable (docs/json.md lists the codes), message one sentence, and hint says what to do next. Codes of the
    client itself: no-xstate (the program xstate is missing), no-server (it does not start or cannot be reached),
    server-gone (it ended before it answered) and timeout (it did not answer in time).
    """

    def __init__(self, code: str, message: str, hint: str = "", document: Error | None = None) -> None:
        super().__init__(code, message, hint, document)
        self.code = code
        self.message = message
        self.hint = hint
        #: The whole error: an edit that does not fit has candidates or conflicts.
        self.document: Error = document or {"code": code, "message": message, "hint": hint}

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class ExecutionError(Exception):
    """The code that was executed failed. ExecResult.error is one, and ExecResult.check raises it."""

    def __init__(
        self, type: str, message: str, traceback: str = "", hint: str = "", block: str = "", line: int = 0
    ) -> None:
        super().__init__(type, message, traceback, hint, block, line)
        self.type = type  #: the name of the exception's class
        self.message = message
        self.traceback = traceback  #: as Python prints it, in lines of blocks
        self.hint = hint  #: what to do; "" if that is not clear
        self.block = block
        self.line = line  #: line of the block, from 1; 0 if it is not known

    def __str__(self) -> str:
        return (f"{self.type}: {self.message}" if self.message else self.type) + (
            f" ({self.hint})" if self.hint else ""
        )


_IN_MESSAGE = re.compile(r"([a-z][a-z-]*): (.*?)(?: \((.*)\))?", re.DOTALL)


def from_document(error: Any) -> XStateError:
    """An error as the engine prints it."""
    if not isinstance(error, dict):
        return XStateError("internal", f"the server answered with an error that cannot be read: {error!r:.200}")
    return XStateError(
        error.get("code", "internal"),
        error.get("message", ""),
        error.get("hint", ""),
        error,  # type: ignore[arg-type]
    )


def from_connect(body: bytes, status: int = 200) -> XStateError:
    """An error of the Connect protocol. Our own is in its details, and as text in its message."""
    try:
        error = json.loads(body)
    except ValueError:
        error = None
    if not isinstance(error, dict):
        text = body.decode("utf-8", "replace").strip()
        if status in (401, 403):
            return XStateError("forbidden", text, "give the token of the store: Engine(url=…, token=…)")
        return XStateError("internal", f"the server answered with status {status}: {text:.200}")
    if isinstance(error.get("error"), dict):
        return from_document(error["error"])
    for detail in error.get("details") or ():
        if detail.get("type") == "xstate.v1.Error" and isinstance(detail.get("debug"), dict):
            return from_document(detail["debug"])
    message = str(error.get("message", ""))
    parts = _IN_MESSAGE.fullmatch(message)
    if parts is None:
        return XStateError(str(error.get("code", "internal")).replace("_", "-"), message)
    return XStateError(parts[1], parts[2], parts[3] or "")
