"""Answers the calls of a program, in tasks of an event loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from ._errors import XStateError
from ._offers import Offering, answered, failed
from .documents import Event


class AsyncTools:
    """Answers the calls of one run. Coroutines run as tasks, at the same time; other functions run in threads."""

    def __init__(self, offering: Offering, answer: Callable[[dict[str, Any]], Awaitable[Any]]) -> None:
        self._offering = offering
        self._answer = answer
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, event: Event) -> None:
        """Begins to answer a call."""
        task = asyncio.create_task(self._one(event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _one(self, event: Event) -> None:
        try:
            result = await self._result(event)
            answer = answered(event, result)
        except Exception as e:
            answer = failed(event, e)
        try:
            await self._answer(answer)
        except XStateError as e:  # it is too large, or the run has ended and needs none
            with suppress(XStateError):
                await self._answer(failed(event, e))

    async def _result(self, event: Event) -> Any:
        call = self._offering.bind(event)
        if self._offering.is_coroutine(event):
            return await call()
        result = await asyncio.to_thread(call)
        return await result if inspect.isawaitable(result) else result

    async def end(self) -> None:
        """Cancels what the run does not wait for any more."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
