"""The connections of an engine, for several threads."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from ._errors import XStateError
from ._server import Address, Settings, late
from ._wire import Answer, request
from .documents import Event

OnEvent = Callable[[Event], object]

_AT_ONCE = 64 << 10


class Transport:
    """Sends requests to the server of a store, and starts one if there is none.

    Threads may use it at the same time: each call has its own connection. The lock guards the idle ones. After a fork
    the child makes its own, because two processes cannot share one.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._idle: list[tuple[socket.socket, Address]] = []
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._process = os.getpid()

    def call(self, method: str, message: dict[str, Any], timeout: float | None) -> Any:
        """Sends a request and returns the document that answers it."""
        found: list[Any] = []
        self._exchange(method, message, found.append, False, timeout)
        return found[0]

    def stream(self, method: str, message: dict[str, Any], each: OnEvent) -> None:
        """Sends a request and hands over each event. If each raises, the connection is closed, which ends the run."""
        self._exchange(method, message, each, True, None)

    def close(self) -> None:
        """Closes idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def __del__(self) -> None:
        for connection, _ in self._idle:
            connection.close()

    def stop(self) -> None:
        self._settings.stop()

    def _exchange(
        self, method: str, message: dict[str, Any], each: Callable[[Any], object], stream: bool, timeout: float | None
    ) -> None:
        limit = None if timeout is None else time.monotonic() + timeout
        connection, address = self._connection()
        answer = Answer(stream)
        try:
            connection.settimeout(timeout)
            connection.sendall(request(method, message, address.header, address.token, stream))
            while not answer.complete:
                if limit is not None:
                    connection.settimeout(max(limit - time.monotonic(), 0.001))
                for document in answer.feed(connection.recv(_AT_ONCE)):
                    each(document)
        except TimeoutError:
            raise late(timeout or 0) from None
        except ConnectionError as e:
            raise self._settings.gone(e) from e
        finally:
            if answer.reusable:
                with self._lock:
                    self._idle.append((connection, address))
            else:
                connection.close()

    def _connection(self) -> tuple[socket.socket, Address]:
        with self._lock:
            if self._process != os.getpid():  # forked: the parent continues to use its connections
                for connection, _ in self._idle:
                    connection.close()
                self._idle, self._process = [], os.getpid()
            idle, self._idle = self._idle, []
            while idle:
                connection, address = idle.pop()
                if not select.select([connection], [], [], 0)[0]:
                    self._idle = idle
                    return connection, address
                connection.close()  # the server closed it, or sent something unasked
        return self._connect() or self._start()

    def _connect(self) -> tuple[socket.socket, Address] | None:
        address = self._settings.find()
        if address is None:
            return None
        unix = bool(address.socket)
        connection = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
        try:
            connection.settimeout(self._settings.timeout)
            connection.connect(address.socket if unix else (address.host, address.port))
        except (FileNotFoundError, ConnectionRefusedError):  # a server that is gone left the address
            connection.close()
            return None
        except OSError as e:
            connection.close()
            raise XStateError("no-server", f"the server cannot be reached: {e}", "xstate serve --status") from e
        return connection, address

    def _start(self) -> tuple[socket.socket, Address]:
        with self._starting:
            found = self._connect()  # by another thread
            if found is None:
                self._settings.launch()
                found = self._connect()
        if found is None:
            raise XStateError("no-server", "the server ended right after its start", "xstate serve --status")
        return found


def deliver(on_event: OnEvent, event: Event) -> None:
    on_event(event)


def pause(seconds: float) -> None:
    """Waits before another attempt."""
    time.sleep(seconds)
