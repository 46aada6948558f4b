"""The Connect protocol with JSON over HTTP/1.1, as bytes: nothing here reads or writes. So both clients share it."""

from __future__ import annotations

import json
import struct
from typing import Any

from ._errors import XStateError, from_connect
from ._version import VERSION

_MOST_HEAD = 64 << 10  # bytes of a response's head
_MOST_BODY = 16 << 20  # bytes of a request, as the server has it
_IN_FILES = "write large data into a file of the workspace"
_LAST = 2  # flag of the envelope that ends a stream


def request(method: str, message: dict[str, Any], host: str, token: str | None, stream: bool) -> bytes:
    """The bytes of a request. method is SERVICE/METHOD."""
    try:
        body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as e:
        raise XStateError("usage", f"a text of the request is no Unicode: {e}", "decode it before") from None
    if len(body) > _MOST_BODY:  # the server closes the connection while the rest is sent
        raise XStateError("too-large", f"the request has {len(body)} bytes, want at most {_MOST_BODY}", _IN_FILES)
    if stream:
        body = struct.pack(">BI", 0, len(body)) + body
    head = [
        f"POST /xstate.v1.{method} HTTP/1.1",
        f"Host: {host}",
        f"User-Agent: xstate-engine/{VERSION} python",
        "Content-Type: application/" + ("connect+json" if stream else "json"),
        "Connect-Protocol-Version: 1",
        f"Content-Length: {len(body)}",
    ]
    if token:
        head.append(f"Authorization: Bearer {token}")
    return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body


class Answer:
    """The answer to one request. It is fed with what the server sends, and hands over documents as they come."""

    def __init__(self, stream: bool) -> None:
        self.complete = False  # nothing more comes
        self.reusable = False  # the connection can carry another request
        self._stream = stream
        self._input = bytearray()
        self._body = bytearray()
        self._status = 0
        self._chunked = False
        self._left: int | None = None  # bytes of the body or the chunk that are to come; None: the head of one
        self._close = False
        self._ended = False  # the last envelope came

    def feed(self, data: bytes) -> list[Any]:
        """Takes what was received; b"" is the end of the connection. Returns the documents that are complete."""
        if not data:
            return self._end_of_connection()
        self._input += data
        if not self._status and not self._head():
            return []
        self._read_body()
        return self._documents()

    def _end_of_connection(self) -> list[Any]:
        if self._status and not self._chunked and self._left is None:  # a body without a length ends so
            self.complete = True
            return self._documents()
        raise ConnectionResetError("the server closed the connection before its answer was complete")

    def _head(self) -> bool:
        end = self._input.find(b"\r\n\r\n")
        if end < 0:
            if len(self._input) > _MOST_HEAD:
                raise _malformed("the head of its answer has no end")
            return False
        first, *lines = bytes(self._input[:end]).decode("latin-1").split("\r\n")
        del self._input[: end + 4]
        try:
            version, status = first.split(" ", 2)[:2]
            self._status = int(status)
        except ValueError:
            raise _malformed(f"its answer begins with {first!r:.80}") from None
        fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self._chunked = fields.get("transfer-encoding", "").lower() == "chunked"
        self._close = version != "HTTP/1.1" or fields.get("connection", "").lower() == "close"
        if not self._chunked and "content-length" in fields:
            self._left = _number(fields["content-length"], 10)
        return True

    def _read_body(self) -> None:
        if not self._chunked:
            self._take(len(self._input) if self._left is None else self._left)
            self.complete = self._left == 0
        while self._chunked and not self.complete:
            if self._left is None:
                end = self._input.find(b"\r\n")
                if end < 0:
                    return
                size = _number(bytes(self._input[:end]).decode("latin-1").partition(";")[0], 16)
                if size == 0:
                    if len(self._input) < end + 4:  # the empty line after the last chunk
                        return
                    self.complete = True
                    return
                del self._input[: end + 2]
                self._left = size
            self._take(self._left)
            if self._left > 0 or len(self._input) < 2:
                return
            del self._input[:2]
            self._left = None

    def _take(self, most: int) -> None:
        part = self._input[:most]
        del self._input[:most]
        self._body += part
        if self._left is not None:
            self._left -= len(part)

    def _documents(self) -> list[Any]:
        if self._status != 200 or not self._stream:
            if not self.complete:
                return []
            self.reusable = not self._close
            if self._status != 200:
                raise from_connect(bytes(self._body), self._status)
            return [_document(self._body)]
        found = []
        while len(self._body) >= 5:
            flags, size = struct.unpack_from(">BI", self._body)
            if len(self._body) < 5 + size:
                break
            text = bytes(self._body[5 : 5 + size])
            del self._body[: 5 + size]
            if flags & _LAST:
                self._ended = True
                if isinstance(end := _document(text), dict) and end.get("error"):
                    raise from_connect(json.dumps(end["error"]).encode())
            else:
                found.append(_document(text))
        if self.complete:
            if not self._ended:
                raise _malformed("its stream has no end")
            self.reusable = not self._close
        return found


def _document(text: bytes | bytearray) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise _malformed(f"it sent {bytes(text)!r:.80}") from None


def _number(text: str, base: int) -> int:
    try:
        n = int(text, base)
    except ValueError:
        n = -1
    if n < 0:
        raise _malformed(f"its answer has the length {text!r:.40}")
    return n


def _malformed(what: str) -> XStateError:
    return XStateError("internal", f"this is no server of xstate: {what}", "xstate serve --status shows its address")
