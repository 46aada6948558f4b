"""Answers the calls of a program, in threads."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ._errors import XStateError
from ._offers import Offering, answered, failed
from .documents import Event


class Tools:
    """Answers the calls of one run, each in its own thread. Coroutines are awaited there."""

    def __init__(self, offering: Offering, answer: Callable[[dict[str, Any]], Any]) -> None:
        self._offering = offering
        self._answer = answer

    def begin(self, event: Event) -> None:
        """Begins to answer a call."""
        threading.Thread(target=self._one, args=(event,), name="xstate-tool", daemon=True).start()

    def _one(self, event: Event) -> None:
        try:
            answer = answered(event, self._result(event))
        except Exception as e:
            answer = failed(event, e)
        try:
            self._answer(answer)
        except XStateError as e:  # it is too large, or the run has ended and needs none
            with suppress(XStateError):
                self._answer(failed(event, e))

    def _result(self, event: Event) -> Any:
        result = self._offering.bind(event)()
        if not inspect.isawaitable(result):
            return result

        async def wait() -> Any:
            return await result

        return asyncio.run(wait())

    def end(self) -> None:
        """Leaves threads whose run has ended to themselves: their answers are not needed."""
