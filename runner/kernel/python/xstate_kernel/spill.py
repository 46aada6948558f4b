"""Bytes of a stored group: kept in memory while they are few, then in a file."""

import io
import os

from xstate_kernel import original as __builtins__

INLINE = 32 << 10  # bytes of a stored group that travel in the frame; more goes to a file


class Spill(io.RawIOBase):
    """Bytes kept in memory while they are few, then in a file."""

    def __init__(self, path):
        self._path, self._file, self._memory, self._size = path, None, bytearray(), 0

    def writable(self):
        return True

    def tell(self):
        return self._size

    def write(self, data):
        view = memoryview(data).cast("B") if not isinstance(data, (bytes, bytearray)) else data
        n = len(view)
        self._size += n
        if self._file is None and self._size <= INLINE:
            self._memory += view
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
