"""Operations of xstate, over the pipe to the process that started this one.

A request is a line of JSON: {"id": 1, "type": "Run", "request": {...}, "events": true}. What comes back has the same
id: any number of events, then an answer or an error. {"interrupt": 1} stops what a request runs. The answer to a run
has null in place of the outputs of a block that are those of the last answer.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import threading
from collections.abc import Callable
from typing import Any

_FROM, _TO = 3, 4  # descriptors of the pipe

Event = dict[str, Any]


class Failure(Exception):
    """An error of xstate: a stable code, a sentence and a hint."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error.get("message", ""))
        self.code: str = error.get("code", "internal")
        self.hint: str = error.get("hint", "")

    def __str__(self) -> str:
        return f"{self.args[0]}\nhint: {self.hint}" if self.hint else self.args[0]


class _Asked:
    def __init__(self, loop: asyncio.AbstractEventLoop, on_event: Callable[[Event], None] | None) -> None:
        self.loop = loop
        self.on_event = on_event
        self.done: asyncio.Future[Any] = loop.create_future()

    def take(self, line: dict[str, Any]) -> None:
        """Takes a line that came, on the loop that asked."""
        if "event" in line:
            if self.on_event is not None and not self.done.done():
                self.on_event(line["event"])
        elif self.done.done():
            pass
        elif "error" in line:
            self.done.set_exception(Failure(line["error"]))
        else:
            self.done.set_result(line["answer"])


class Pipe:
    """Asks for operations. Loops of several threads may ask at the same time."""

    def __init__(self) -> None:
        self._to = os.fdopen(_TO, "w", encoding="utf-8")
        self._numbers = itertools.count(1)
        self._asked: dict[int, _Asked] = {}
        self._outputs: dict[str, list[Any]] = {}  # of blocks, as the last answers had them
        self._lock = threading.Lock()
        threading.Thread(target=self._read, name="xstate", daemon=True).start()

    async def ask(self, kind: str, request: dict[str, Any], on_event: Callable[[Event], None] | None = None) -> Any:
        """The document of an operation. Failure says why there is none. Cancelling the task interrupts what runs."""
        number, asked = next(self._numbers), _Asked(asyncio.get_running_loop(), on_event)
        self._asked[number] = asked
        try:
            self._send({"id": number, "type": kind, "request": request, "events": on_event is not None})
            return await asked.done
        except asyncio.CancelledError:
            self._send({"interrupt": number})
            raise
        finally:
            del self._asked[number]

    def interrupt(self) -> None:
        """Interrupts everything that runs. Any thread may call it; the answers come all the same."""
        for number, asked in list(self._asked.items()):
            if asked.on_event is not None:
                self._send({"interrupt": number})

    def _send(self, line: dict[str, Any]) -> None:
        text = json.dumps(line, ensure_ascii=True)
        with self._lock:
            self._to.write(text + "\n")
            self._to.flush()

    def _fill(self, blocks: list[dict[str, Any]]) -> None:
        for b in blocks:
            if b["outputs"] is None:
                b["outputs"] = self._outputs.get(b["id"], [])
            self._outputs[b["id"]] = b["outputs"]

    def _read(self) -> None:
        with os.fdopen(_FROM, encoding="utf-8") as lines:
            for text in lines:
                line = json.loads(text)
                if line.get("type") == "Run" and "answer" in line:
                    self._fill(line["answer"]["blocks"])
                asked = self._asked.get(line["id"])
                if asked is not None:
                    asked.loop.call_soon_threadsafe(asked.take, line)
        os._exit(0)  # xstate is gone, and the kernel with it
