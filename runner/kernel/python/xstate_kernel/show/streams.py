"""Captures the output of a node in order: from Python code, native code and child processes.

Descriptors 1 and 2 are files of the engine: native code and child processes write there. The text of Python code goes
into memory that the engine shares, without a system call. So all of it survives a crash of the interpreter, and the
engine can show it while it waits. The kernel sends that text when the memory is full, when the other stream or a file
of the engine gets text, and when the node ends.

Only the main thread writes to the memory, so that it needs no lock. Other threads and forked children write to the
files, as native code does.

The order of the two is what a look at the files finds. The first writes of a node look each time. Then only some do,
which are counted: no clock decides the order. A flush, an import, a child process and text in a file bring the looks
back.
"""

import codecs
import fcntl
import io
import json
import mmap
import os
import re
import struct
import sys
from _thread import get_ident

from xstate_kernel import original as __builtins__

from ..ground import code_owner, disk, frames, kept_names

PLACE = re.compile(r'(<[^<>\n]+>)(?::\d+|", line \d)')  # how warnings and tracebacks cite a line of a block
_PLACE_CHARS = 300  # what is cited may lie across two pieces of text
_HEADER = struct.Struct("<QQ")  # in the shared memory: bytes of text that were sent before, and the stream
_LOOKED = 512  # writes of a node that all look at the files
_UNLOOKED = 31  # later writes between two looks
_PIECE = 1 << 20  # bytes that are sent at once
_STREAMS = ("stdout", "stderr")


class Native:
    """The file behind descriptor 1 or 2."""

    def __init__(self, file, fd, lseek=os.lseek, write=os.write, pread=os.pread, fstat=os.fstat):
        self._file = file
        self._lseek, self._write, self._pread, self._fstat = lseek, write, pread, fstat  # not as they are wrapped later
        self.seen = 0  # bytes
        fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_APPEND)
        os.set_inheritable(file, False)
        os.dup2(file, fd)
        self._fd, self.elsewhere = fd, False  # whether the node has put another file in its place

    def adopt(self, file):
        """Continues with another file, in an interpreter that was forked from a template."""
        os.dup2(file, self._file, False)
        os.dup2(file, self._fd)
        os.close(file)
        self.seen = 0

    def redirected(self):
        """Finds out whether the descriptor is another file now."""
        self.elsewhere = not os.path.samestat(self._fstat(self._file), self._fstat(self._fd))

    def put(self, data):
        try:
            while data:
                data = data[self._write(self._file, data) :]
        except OSError as e:
            disk.check(e, "keep what the program prints")
            raise

    def size(self):
        return self._lseek(self._file, 0, os.SEEK_END)

    def take(self):
        """Returns the bytes that were added since the last call, as many as are sent at once."""
        size = self.size()
        if size <= self.seen:  # nothing is new, or the engine has truncated the file
            self.seen = size
            return b""
        data = _piece(self._pread(self._file, min(size - self.seen, 2 * _PIECE), self.seen))
        self.seen += len(data)
        return data

    def clear(self):
        if self.seen and self.size() <= self.seen:
            os.ftruncate(self._file, 0)
            self.seen = 0


class Shared:
    """The memory that takes the text of Python code, all of one stream."""

    def __init__(self, file):
        self._map = mmap.mmap(file, 0)
        os.close(file)
        self.put = self._map.write  # raises ValueError where the text does not fit
        self.sent = 0  # bytes of text that were sent before
        self.stream = 0
        self.begin()

    def begin(self):
        self.sent = 0
        self._start()

    def _start(self):
        _HEADER.pack_into(self._map, 0, self.sent, self.stream)
        self._map.seek(_HEADER.size)

    def fits(self, data):
        """Puts text into the memory, if it fits."""
        try:
            self.put(data)
        except ValueError:
            return False
        return True

    def size(self):
        return self._map.tell() - _HEADER.size

    def text(self):
        return self._map[_HEADER.size : self._map.tell()]

    def clear(self, size):
        """Forgets the text, of so many bytes, which was sent. All bytes after the text are zero: that shows its end."""
        self._map[_HEADER.size : _HEADER.size + size] = bytes(size)
        self.sent += size
        self._start()

    def of(self, stream):
        self.stream = stream
        self._start()


def _piece(data):
    """Returns the begin of encoded text, not much longer than _PIECE, that does not end within a character."""
    end = _PIECE
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return data[:end]


class Recorder:
    """Collects the output of one node and sends it to the engine while the node runs."""

    def __init__(self, channel, files):
        self._channel = channel
        self._native = [Native(files[0], 1), Native(files[1], 2)]
        self.shared = Shared(files[2])
        _attach(self)
        self._home = get_ident()
        self._forked = False  # this is a child process of the kernel
        self._active = self._busy = False
        self._interrupt = None  # raises an interrupt that came in the middle of a write
        self._writes, self._always = 0, False  # that looked at the files; whether all do
        self._tail = ["", ""]  # the end of what was searched for places
        self._displays = 0
        self.captured = None  # what takes display data in place of the page: %%capture, an Output widget
        self.ending = None  # called at the end of a node, before the rest of its output is sent
        self.node = None
        self.cited = set()  # names of blocks whose lines an output cites
        self.loading = set()  # libraries that printed while the node imported them
        self._modules = 0  # the number of modules when the node began
        os.register_at_fork(after_in_child=self._in_child)

    def adopt(self, files):
        """Continues with other files, in an interpreter that was forked from a template."""
        self._native[0].adopt(files[0])
        self._native[1].adopt(files[1])
        self.shared = Shared(files[2])
        _attach(self)

    def _in_child(self):
        self._forked = True
        self.look()

    def begin(self, node, place=""):
        self._place, self._ids = place, 0
        self.loading, self._modules = set(), len(sys.modules)
        self.node, self.cited = node, set()
        self._writes, self._always, self._displays, self._tail = 0, False, 0, ["", ""]
        self.shared.begin()
        self._active, self._interrupt = True, None

    def look(self):
        """Makes the next write look at the files."""
        for stream in STREAMS:
            stream.left = 0

    def descriptor_set(self, fd):
        """Makes the text of Python code follow a descriptor that the node points at another file for a while."""
        if fd in (1, 2):
            self._native[fd - 1].redirected()
            self.look()

    def child_starts(self):
        """Makes all writes of the node look at the files: from here on a child process may write to them."""
        self._always = True
        self.look()

    def write(self, stream, data):
        """Takes text of a stream, 0 or 1, if it is not enough to put it into the memory."""
        if self._forked or self._native[stream].elsewhere:
            while data:
                data = data[os.write(stream + 1, data) :]
            return
        if get_ident() != self._home or self._busy:
            self._native[stream].put(data)
            self.look()
            return
        if not self._active:
            return  # no node is running: a request of the engine triggered a __del__
        if len(sys.modules) != self._modules:
            self.loading.update(filter(None, (code_owner.imported_library(),)))
        self.look()
        self._busy = True  # a finalizer or a signal handler may print meanwhile
        try:
            self._take(stream, data)
        finally:
            self._busy = False
        self._writes += 1
        if not self._always and self._writes >= _LOOKED:
            STREAMS[stream].left = _UNLOOKED
        if self._interrupt is not None:
            interrupt, self._interrupt = self._interrupt, None
            interrupt()

    def interrupt(self, action):
        """Makes the next write call a function when it is done: an exception in the middle would lose text."""
        self._interrupt = action
        self.look()

    def _take(self, stream, data):
        if self._grown():
            self._always = True
            self._send_text()
            self._send_native(1 - stream)
            self._send_native(stream)
        if self.shared.stream != stream:
            self._send_text()
            self.shared.of(stream)
        if not self.shared.fits(data):
            self._send_text()
            self._send_long(data)

    def _grown(self):
        return any(native.size() != native.seen for native in self._native)

    def totals(self):
        """Returns measures of the output, which every output changes."""
        return self.shared.sent + self.shared.size(), [native.size() for native in self._native], self._displays

    def _send_text(self):
        size = self.shared.size()
        if size:
            self._send(self.shared.stream, self.shared.text(), True, self.shared.sent + size)
            self.shared.clear(size)

    def _send_long(self, data):
        """Takes text when the memory is empty, into which it may not fit."""
        at = 0
        while at < len(data):
            piece = _piece(data[at : at + 2 * _PIECE])
            at += len(piece)
            if not self.shared.fits(piece):
                self._send(self.shared.stream, piece, True, self.shared.sent + len(piece))
                self.shared.sent += len(piece)
                self.shared.of(self.shared.stream)

    def _send_native(self, stream):
        native = self._native[stream]
        while data := native.take():
            self._send(stream, data, False, native.seen)

    def _send(self, stream, data, shared, upto):
        if b"<" in data:
            text = self._tail[stream] + data.decode("utf-8", "replace")
            self.cited.update(PLACE.findall(text))
            self._tail[stream] = text[-_PLACE_CHARS:]
        self._channel.send(
            {"ev": "output", "node": self.node, "kind": _STREAMS[stream], "shared": shared, "upto": upto}, data
        )

    def _send_all(self):
        self.look()
        self._busy = True
        try:
            self._send_text()
            for stream in range(2):
                self._send_native(stream)
        finally:
            self._busy = False

    def rich(self, kind, bundle, display_id=None):
        """Sends display data: kind is "display", "update" or "result", bundle maps a media type to text (images in
        base64), and may have metadata."""
        if not bundle:
            return  # the value failed to show itself
        metadata = getattr(bundle, "metadata", None)
        if self.captured is not None:
            self.captured.take(kind, bundle, metadata or {}, display_id)
            return
        head = {"kind": kind}
        if display_id is not None:
            head["display_id"] = str(display_id)
        if metadata:
            head["metadata"] = {str(k): json.dumps(v, default=str) for k, v in metadata.items()}
        self._output(head, frames.encoded(bundle))

    def clear(self, wait):
        """Removes what the cell has shown, or with wait once there is something else to show."""
        if self.captured is None:
            self._output({"kind": "clear", "wait": bool(wait)}, b"")
        else:
            self.captured.clear(wait)

    def message(self, kind, content, only):
        """Sends a message of Jupyter about a widget. It is only shown ("show"), or only recorded ("record")."""
        if self._active and not self._forked:
            self._output({"kind": "comm", "only": only}, frames.encoded({kind: json.dumps(content)}))

    def _output(self, head, body):
        self._displays += 1
        if get_ident() == self._home and not self._busy:
            self._send_all()
        self._channel.send({"ev": "output", "node": self.node, **head}, body)

    def place(self):
        """A name for the node, which is the same in each run."""
        return self._place

    def display_id(self):
        """An id for a display, which is the same in each run of the node."""
        self._ids += 1
        return f"{self._place}-{self._ids}"

    def plain(self, document):
        """Sends the plain form of values."""
        self._channel.send({"ev": "plain"}, document)

    def end(self):
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass
        _end_characters()
        if self.ending is not None:
            self.ending()
        self._send_all()
        for native in self._native:
            native.clear()
            native.elsewhere = False
        self._active = False
        self.look()


_ERRORS = (getattr(sys.stdout, "errors", "strict"), "backslashreplace")  # as Python has them, for the locale


class Stream(io.TextIOBase):
    """sys.stdout or sys.stderr of the program."""

    __slots__ = ("_number", "buffer", "left")
    encoding = "utf-8"
    newlines = None
    line_buffering = False

    def __init__(self, number):
        self.left = 0  # writes of the main thread that only put the text into the memory, until one looks at the files
        self._number, self.buffer = number, _Bytes(self)

    @property
    def name(self):
        return f"<{_STREAMS[self._number]}>"

    @property
    def errors(self):
        return _ERRORS[self._number]

    mode = "w"

    def writable(self):
        return True

    def fileno(self):
        return self._number + 1

    def isatty(self):
        return False

    def write(self, text):
        if self.left and type(text) is str and _home == get_ident():
            try:
                _put(text.encode())
                self.left -= 1
                return len(text)
            except ValueError:  # it does not fit, or cannot be encoded
                pass
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if text:
            _recorder.write(self._number, text.encode("utf-8", _ERRORS[self._number]))
        return len(text)

    def flush(self):
        self.left = 0

    def reconfigure(self, **_):
        pass

    def detach(self):
        return self.buffer


class _Bytes(io.RawIOBase):
    raw = property(lambda self: self)

    def __init__(self, stream):
        self._stream = stream

    def writable(self):
        return True

    def fileno(self):
        return self._stream.fileno()

    def write(self, data):
        with memoryview(data) as view:
            self._stream.write(_begun[self._stream.name].decode(view.tobytes()))
            return view.nbytes


def _end_characters():
    """Shows what is left of a character that was written in part."""
    for stream in STREAMS:
        stream.write(_begun[stream.name].decode(b"", True))


# The bytes of a character may come in several writes: programs copy files in pieces. Bytes that wait for the rest are
# not in an attribute of a stream, for they are not part of a value that holds the stream.
_begun = {f"<{name}>": codecs.getincrementaldecoder("utf-8")("replace") for name in _STREAMS}
STREAMS = Stream(0), Stream(1)  # sys.stdout and sys.stderr of the program
# The targets of the streams. They are not attributes of the streams: all values that hold a stream would share them.
_recorder = _put = _home = None


def _attach(recorder):
    global _recorder, _put, _home
    _recorder, _put, _home = recorder, recorder.shared.put, get_ident()


kept_names.keep("streams", __name__, Stream, _Bytes)
