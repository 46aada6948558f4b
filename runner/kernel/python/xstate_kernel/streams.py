"""Captures the output of a node in order: from Python code, native code and child processes.

Descriptors 1 and 2 are files of the engine, so the output survives a crash of the interpreter. Python code writes
through Stream, to the same files as native code and child processes. The kernel sends the new text of one file when the
other file gets text, when there is enough text, and when the node ends.
"""

from . import original as __builtins__
import _thread
import fcntl
import io
import os
import re
import sys
import time

from . import code_owner, disk

LIMIT = 4 << 20  # characters kept of one stream of one node; the rest is cut with a mark
PLACE = re.compile(r'(<[^<>\n]+>)(?::\d+|", line \d)')  # how warnings and tracebacks cite a line of a block
_RICH_LIMIT = 64 << 20  # characters of all display data of one node
CUT = "\n[xstate: output cut here]\n"
_FLUSH_CHARS = 1 << 13
_FLUSH_SECONDS = 0.05


class Native:
    """The file behind descriptor 1 or 2."""

    def __init__(self, file, fd):
        self._file = file
        self.seen = 0  # bytes
        fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_APPEND)
        os.set_inheritable(file, False)
        os.dup2(file, fd)

    def put(self, data):
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as e:
            disk.check(e, "keep what the program prints")
            raise

    def take(self):
        """Returns the text that was added since the last call."""
        size = os.fstat(self._file).st_size
        begin, self.seen = self.seen, size
        if size <= begin:  # nothing is new, or the engine has truncated the file
            return ""
        return os.pread(self._file, min(size - begin, LIMIT * 4), begin).decode("utf-8", "replace")

    def clear(self):
        if os.fstat(self._file).st_size <= self.seen:
            os.ftruncate(self._file, 0)
            self.seen = 0


class Recorder:
    """Collects the output of one node and sends it to the engine while the node runs."""

    def __init__(self, channel, files):
        self._channel = channel
        self._native = {"stdout": Native(files[0], 1), "stderr": Native(files[1], 2)}
        self._pid, self._thread = os.getpid(), _thread.get_ident()
        self._chars, self._last = 0, 0.0
        self._left = {}
        self._active = False
        self._lock = _thread.RLock()
        self.node = None
        self.cited = set()  # names of blocks whose lines an output cites
        self.loading = set()  # libraries that printed while the node imported them
        self._modules = 0  # the number of modules when the node began

    def begin(self, node):
        self.loading, self._modules = set(), len(sys.modules)
        self.node, self._left, self.cited = node, {"stdout": LIMIT, "stderr": LIMIT, "rich": _RICH_LIMIT}, set()
        self._active = True

    def write(self, stream, text):
        data = text[: LIMIT + 1].encode("utf-8", _ERRORS[stream])  # one more, to detect the cut
        if os.getpid() != self._pid:
            os.write(1 if stream == "stdout" else 2, data)
            return
        if not self._active and _thread.get_ident() == self._thread:
            return  # no node is running: a request of the engine triggered a __del__
        if len(sys.modules) != self._modules:
            self.loading.update(filter(None, (code_owner.imported_library(),)))
        with self._lock:
            if self._left.get(stream, LIMIT) <= 0:
                return
            self.drain("stderr" if stream == "stdout" else "stdout")
            self._native[stream].put(data)
            self._chars += len(text)
            if self._chars >= _FLUSH_CHARS or text.endswith("\n") and time.monotonic() - self._last > _FLUSH_SECONDS:
                self.drain(stream)
                self._chars, self._last = 0, time.monotonic()

    def left(self):
        """Returns the remaining room of each stream, which every output reduces."""
        for stream in self._native:
            self.drain(stream)
        return sorted(self._left.items())

    def drain(self, stream):
        """Sends the new text in the file of one stream."""
        native = self._native[stream]
        text = native.take()
        left = self._left.get(stream, LIMIT)
        if not text or left <= 0:
            return
        if "<" in text:
            self.cited.update(PLACE.findall(text))
        if len(text) > left:
            text = text[:left] + CUT
            left = 0
        self._left[stream] = left - len(text)
        self._channel.send({"ev": "output", "node": self.node, "kind": stream, "text": text, "upto": native.seen})

    def rich(self, kind, bundle):
        """Sends display data: kind is "display" or "result", bundle maps a media type to text (images in base64)."""
        left = self._left.get("rich", 0)
        if left <= 0:
            return
        self._left["rich"] = left - sum(map(len, bundle.values()))
        if self._left["rich"] <= 0:
            bundle = {"text/plain": CUT}
        with self._lock:
            self.drain("stdout")
            self.drain("stderr")
            self._channel.send({"ev": "output", "node": self.node, "kind": kind, "data": bundle})

    def end(self):
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass
        with self._lock:
            for stream, native in self._native.items():
                self.drain(stream)
                native.clear()
        self._active = False


_ERRORS = {
    "stdout": getattr(sys.stdout, "errors", "strict"),
    "stderr": "backslashreplace",
}  # as Python has them, for the locale


class Stream(io.TextIOBase):
    """sys.stdout or sys.stderr of the program."""

    encoding = "utf-8"
    newlines = None
    line_buffering = False

    def __init__(self, recorder, name):
        self._recorder, self._name = recorder, name
        self._fd = 1 if name == "stdout" else 2
        self.buffer = _Bytes(self)

    @property
    def name(self):
        return "<%s>" % self._name

    @property
    def errors(self):
        return _ERRORS[self._name]

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
