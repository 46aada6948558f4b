"""Length-prefixed frames on two separate descriptors, so that output of the program cannot break them.

A frame is: 4 bytes header length, 8 bytes body length (both big-endian), a JSON header, a body of raw bytes.
"""

import _thread
import os
import struct
from json import decoder, encoder, scanner

from xstate_kernel import original as __builtins__

# The parts of json, not its public functions and classes: the program may change those.
if encoder.c_make_encoder is not None:
    _pieces = encoder.c_make_encoder(
        None, None, encoder.c_encode_basestring_ascii, None, ": ", ", ", False, False, True
    )
else:
    _pieces = encoder.JSONEncoder().iterencode
_scan = scanner.make_scanner(decoder.JSONDecoder())
_PREFIX = struct.Struct(">IQ")


def encoded(value):
    """Returns a value as JSON."""
    return "".join(_pieces(value, 0)).encode()


class Channel:
    def __init__(self, read_fd, write_fd):
        self._in = os.fdopen(read_fd, "rb", buffering=1 << 16)
        self._out = write_fd
        os.set_inheritable(read_fd, False)
        os.set_inheritable(write_fd, False)
        self._pid = os.getpid()
        self._lock = _thread.RLock()  # threads of the program print
        self._posted = []  # events
        self._write, self._getpid = os.write, os.getpid
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self):
        """Closes the pipes in a forked child process, which must not keep them open."""
        if self._pid is not None:  # not in a child of a child
            self._pid = None
            os.close(self._in.fileno())
            os.close(self._out)

    def adopt(self, read_fd, write_fd):
        """Continues with other pipes, in an interpreter that was forked from a template."""
        for new, fd in ((read_fd, self._in.fileno()), (write_fd, self._out)):
            os.dup2(new, fd, False)
            os.close(new)
        self._pid = os.getpid()

    def receive(self):
        """Returns (header, body), or (None, b"") when the engine is gone."""
        prefix = self._in.read(_PREFIX.size)
        if len(prefix) < _PREFIX.size:
            return None, b""
        n_header, n_body = _PREFIX.unpack(prefix)
        header, _ = _scan(self._in.read(n_header).decode(), 0)
        return header, self._in.read(n_body) if n_body else b""

    def send(self, header, body=b""):
        if self._getpid() != self._pid:  # a forked child must not speak for the kernel
            return
        with self._lock:
            self.flush()
            text = encoded(header)
            view = memoryview(_PREFIX.pack(len(text), len(body)) + text + bytes(body))
            while view:
                view = view[self._write(self._out, view) :]

    def post(self, header):
        """Queues an event. The channel sends it before the next frame, or at a flush."""
        self._posted.append(header)

    def flush(self):
        if self._posted and self._getpid() == self._pid:
            posted, self._posted = self._posted, []
            self.send({"ev": "bunch", "events": posted})
