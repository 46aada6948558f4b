"""Bytes of a stored group: kept in memory while they are few, then in a file."""

import io
import os

from xstate_kernel import original as __builtins__

from ..ground.unsupported import Unstorable

INLINE = 32 << 10  # bytes of a stored group that travel in the frame; more goes to a file
OUTLINE = 256 << 10  # bytes of an outline, which has no file


class Spill(io.RawIOBase):
    """Bytes kept in memory while they are few, then in a file. Without a path, more than a few are Unstorable."""

    def __init__(self, path):
        self._inline = INLINE if path else OUTLINE
        self._path, self._file, self._memory, self._size = path, None, bytearray(), 0

    def writable(self):
        return True

    def tell(self):
        return self._size

    def write(self, data):
        view = memoryview(data).cast("B") if not isinstance(data, (bytes, bytearray)) else data
        n = len(view)
        self._size += n
        if self._file is None and self._size <= self._inline:
            self._memory += view
        elif not self._path:
            raise Unstorable("its outline is large")
        else:
            if self._file is None:
                self._file = open(self._path, "wb", buffering=0)
                self._file.write(self._memory)
            left = memoryview(view)
            while left:
                left = left[self._file.write(left) :]
        return n

    def finish(self):
        if self._file is None:
            return None, bytes(self._memory), self._size
        self._file.close()
        return self._path, b"", self._size

    def discard(self):
        if self._file is not None:
            self._file.close()
            os.unlink(self._path)
