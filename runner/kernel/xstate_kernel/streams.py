"""What a node prints, in order, whoever prints it.

Python-level writes come through Stream. Native code and child processes write to descriptors 1 and 2, which are
temporary files: before every Python-level write, and when the node ends, what was added to them is sent first.
"""
import fcntl
import io
import os
import re
import sys
import tempfile
import time

LIMIT = 4 << 20  # characters kept of one stream of one node; the rest is cut with a mark
PLACE = re.compile(r'(<[^<>\n]+>)(?::\d+|", line \d)')  # how warnings and tracebacks cite a line of a block
_FLUSH_CHARS = 1 << 13
_FLUSH_SECONDS = 0.05


class Native:
    """The file behind descriptor 1 or 2."""

    def __init__(self, fd):
        self._file = tempfile.TemporaryFile()
        self._seen = 0
        n = self._file.fileno()
        fcntl.fcntl(n, fcntl.F_SETFL, fcntl.fcntl(n, fcntl.F_GETFL) | os.O_APPEND)
        os.dup2(n, fd)

    def take(self):
        n = self._file.fileno()
        size = os.fstat(n).st_size
        if size == self._seen:
            return ""
        data = os.pread(n, min(size - self._seen, LIMIT * 4), self._seen)
        os.ftruncate(n, 0)
        self._seen = 0
        return data.decode("utf-8", "replace")


class Recorder:
    """Collects the output events of one node and sends them as they come."""

    def __init__(self, channel):
        self._channel = channel
        self._native = None
        self._pid = os.getpid()
        self._pending, self._chars, self._last = [], 0, 0.0
        self._left = {}
        self.node = None
        self.cited = set()  # names of blocks whose lines an output cites

    def take_descriptors(self):
        self._native = (("stdout", Native(1)), ("stderr", Native(2)))

    def begin(self, node):
        self.node, self._left, self.cited = node, {"stdout": LIMIT, "stderr": LIMIT}, set()

    def write(self, stream, text):
        if self._native is None or os.getpid() != self._pid:
            os.write(1 if stream == "stdout" else 2, text.encode("utf-8", "replace"))
            return
        self.drain()
        self._add(stream, text)

    def drain(self):
        for stream, native in self._native:
            text = native.take()
            if text:
                self._add(stream, text)

    def _add(self, stream, text):
        if "<" in text:
            self.cited.update(PLACE.findall(text))
        left = self._left.get(stream, LIMIT)
        if left <= 0:
            return
        if len(text) > left:
            text = text[:left] + "\n[xstate: output cut here]\n"
            left = 0
        self._left[stream] = left - len(text)
        if self._pending and self._pending[-1][0] == stream:
            self._pending[-1][1].append(text)
        else:
            self._pending.append((stream, [text]))
        self._chars += len(text)
        now = time.monotonic()
        if self._chars >= _FLUSH_CHARS or text.endswith("\n") and now - self._last > _FLUSH_SECONDS:
            self.flush()
            self._last = now

    def flush(self):
        pending, self._pending, self._chars = self._pending, [], 0
        for stream, parts in pending:
            self._channel.send({"ev": "output", "node": self.node, "kind": stream, "text": "".join(parts)})

    def rich(self, kind, bundle):
        """Sends display data: kind is "display" or "result", bundle maps a media type to text (images in base64)."""
        self.drain()
        self.flush()
        self._channel.send({"ev": "output", "node": self.node, "kind": kind, "data": bundle})

    def end(self):
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass
        self.drain()
        self.flush()


class Stream(io.TextIOBase):
    """sys.stdout or sys.stderr of the program."""

    encoding = "utf-8"
    errors = "replace"
    newlines = None
    line_buffering = False

    def __init__(self, recorder, name):
        self._recorder, self._name = recorder, name
        self._fd = 1 if name == "stdout" else 2
        self.buffer = _Bytes(self)

    @property
    def name(self):
        return "<%s>" % self._name

    mode = "w"

    def writable(self):
        return True

    def fileno(self):
        return self._fd

    def isatty(self):
        return False

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError("write() argument must be str, not %s" % type(text).__name__)
        if text:
            self._recorder.write(self._name, text)
        return len(text)

    def flush(self):
        pass

    def reconfigure(self, **_):
        pass


class _Bytes(io.RawIOBase):
    def __init__(self, stream):
        self._stream = stream

    def writable(self):
        return True

    def write(self, data):
        self._stream.write(bytes(data).decode("utf-8", "replace"))
        return len(data)
