"""The connections of an engine, for the tasks of an event loop."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable
from typing import Any

from ._errors import XStateError
from ._server import Address, Settings, late
from ._wire import Answer, request
from .documents import Event

AsyncOnEvent = Callable[[Event], object]  # what it returns is awaited if it can be

_AT_ONCE = 64 << 10


class AsyncTransport:
    """Sends requests to the server of a store, and starts one if there is none.

    Tasks may use it at the same time: each call has its own connection. A call that is cancelled closes it, which ends
    its run. Connections are kept for one event loop; another one makes its own.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._idle: list[_Connection] = []
        self._starting: asyncio.Task[None] | None = None

    async def call(self, method: str, message: dict[str, Any], timeout: float | None) -> Any:
        """Sends a request and returns the document that answers it."""
        found: list[Any] = []

        async def each(document: Any) -> None:
            found.append(document)

        try:
            await asyncio.wait_for(self._exchange(method, message, each, False), timeout)
        except asyncio.TimeoutError:
            raise late(timeout or 0) from None
        return found[0]

    async def stream(self, method: str, message: dict[str, Any], each: Callable[[Event], Awaitable[None]]) -> None:
        """Sends a request and hands over each event. If each raises, the connection is closed, which ends the run."""
        await self._exchange(method, message, each, True)

    async def close(self) -> None:
        """Closes idle connections."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    async def stop(self) -> None:
        await asyncio.to_thread(self._settings.stop)

    async def _exchange(
        self, method: str, message: dict[str, Any], each: Callable[[Any], Awaitable[None]], stream: bool
    ) -> None:
        connection = await self._connection()
        answer = Answer(stream)
        try:
            address = connection.address
            connection.writer.write(request(method, message, address.header, address.token, stream))
            await connection.writer.drain()
            while not answer.complete:
                for document in answer.feed(await connection.reader.read(_AT_ONCE)):
                    await each(document)
        except ConnectionError as e:
            raise await asyncio.to_thread(self._settings.gone, e) from e
        finally:
            if answer.reusable:
                self._idle.append(connection)
            else:
                connection.close()

    async def _connection(self) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable():
                return connection
            connection.close()
        return await self._connect() or await self._start()

    async def _connect(self) -> _Connection | None:
        address = self._settings.find()
        if address is None:
            return None
        try:
            if address.socket:
                opening = asyncio.open_unix_connection(address.socket)
                reader, writer = await asyncio.wait_for(opening, self._settings.timeout)
            else:
                over_tcp = asyncio.open_connection(address.host, address.port)
                reader, writer = await asyncio.wait_for(over_tcp, self._settings.timeout)
        except (FileNotFoundError, ConnectionRefusedError):  # a server that is gone left the address
            return None
        except (OSError, asyncio.TimeoutError) as e:
            raise XStateError("no-server", f"the server cannot be reached: {e}", "xstate serve --status") from e
        return _Connection(reader, writer, address)

    async def _start(self) -> _Connection:
        # One task starts the server for all that wait. It continues if one of them is cancelled.
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(asyncio.to_thread(self._settings.launch))
        await asyncio.shield(self._starting)
        found = await self._connect()
        if found is None:
            raise XStateError("no-server", "the server ended right after its start", "xstate serve --status")
        return found


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: Address) -> None:
        self.reader = reader
        self.writer = writer
        self.address = address
        self._loop = asyncio.get_running_loop()
        self._process = os.getpid()

    def _ours(self) -> bool:
        return self._loop is asyncio.get_running_loop() and self._process == os.getpid()

    def usable(self) -> bool:
        return self._ours() and not self.reader.at_eof() and not self.writer.is_closing()

    def close(self) -> None:
        if not self._loop.is_closed():
            self.writer.transport.abort()  # nothing is left to be sent


async def deliver(on_event: AsyncOnEvent, event: Event) -> None:
    if inspect.isawaitable(done := on_event(event)):
        await done


async def pause(seconds: float) -> None:
    """Waits before another attempt."""
    await asyncio.sleep(seconds)
