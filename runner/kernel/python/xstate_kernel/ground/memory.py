"""Digests of large arrays, at a cost proportional to the written memory and not to the size of the array.

Invariant: digest(a) is a function of the elements of a alone. The module hashes arrays of a megabyte and more in
chunks, and keeps the digest of a chunk until code writes to its memory. It finds writes by page protection. userfaultfd
in its asynchronous mode write-protects the pages: Linux permits a write at once and records it. The PAGEMAP_SCAN
request returns the written pages and protects them again (Linux 6.7; about 0.3 ms per gigabyte). See
Documentation/admin-guide/mm/userfaultfd.rst and pagemap.rst of Linux. On other systems, every digest hashes the whole
array.

The module watches only memory that an array owns. Memory of files, of other processes and of foreign buffers can change
without a write by this process. If a page belongs only partly to an array, the module compares the content.
"""

import bisect
import ctypes
import os
import struct
import sys
import threading
import weakref

from xstate_kernel import original as __builtins__

from . import atoms

LARGE = 1 << 20
_CHUNK = 2 << 20  # the store keeps arrays in parts of this size, each named by its digest
_PAGE = 4096 if not hasattr(os, "sysconf") else os.sysconf("SC_PAGE_SIZE")
_SYSCALL = {"x86_64": 323, "aarch64": 282, "riscv64": 282}  # userfaultfd
_USER_MODE_ONLY = 1  # an unprivileged process may request this
_API, _REGISTER, _PROTECT, _SCAN = 0xC018AA3F, 0xC020AA00, 0xC018AA06, 0xC0606610  # ioctl requests
_FEATURES = 1 << 15 | 1 << 13  # WP_ASYNC, WP_UNPOPULATED
_WRITTEN = 2  # PAGE_IS_WRITTEN
_PROTECT_FOUND, _FAIL_UNWATCHED = 1, 2  # PM_SCAN_WP_MATCHING, PM_SCAN_CHECK_WPASYNC
_REGIONS = 512  # written regions a scan returns at a time


class Watch:
    """Finds the pages that were written since the last query."""

    def __init__(self):
        self._fd = self._map = None
        self._regions = (ctypes.c_uint64 * (3 * _REGIONS))()
        try:
            self._open()
            if not self._works():
                self._close()
        except (OSError, AttributeError, ImportError):
            self._close()

    @property
    def on(self):
        return self._fd is not None

    def _open(self):
        import fcntl

        self._ioctl = fcntl.ioctl
        number = _SYSCALL.get(os.uname().machine)
        if not sys.platform.startswith("linux") or number is None or sys.maxsize < 1 << 32:
            raise OSError
        fd = ctypes.CDLL(None, use_errno=True).syscall(number, os.O_CLOEXEC | _USER_MODE_ONLY)
        if fd < 0:
            raise OSError
        self._fd = fd
        self._ioctl(fd, _API, bytearray(struct.pack("QQQ", 0xAA, _FEATURES, 0)))
        self._map = os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)

    def _close(self):
        for fd in (self._fd, self._map):
            if fd is not None:
                os.close(fd)
        self._fd = self._map = None

    def _works(self):
        """Tests the mechanism on three pages: it must report one write once, and nothing else."""
        import mmap

        with mmap.mmap(-1, 4 * _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as m:
            m[_PAGE] = 1
            c = ctypes.c_char.from_buffer(m)
            lo = ctypes.addressof(c)
            del c
            if not self.watch(lo, lo + 4 * _PAGE) or self.written(lo, lo + 4 * _PAGE) != []:
                return False
            m[2 * _PAGE + 5] = 1
            return (
                self.written(lo, lo + 4 * _PAGE) == [(lo + 2 * _PAGE, lo + 3 * _PAGE)]
                and self.written(lo, lo + 4 * _PAGE) == []
            )

    def watch(self, lo, hi):
        """Watches whole pages from now on. Reports whether this is possible."""
        try:
            self._ioctl(self._fd, _REGISTER, bytearray(struct.pack("QQQQ", lo, hi - lo, 2, 0)))
            self._ioctl(self._fd, _PROTECT, bytearray(struct.pack("QQQ", lo, hi - lo, 1)))
        except OSError:
            return False
        return True

    def written(self, lo, hi):
        """Returns the regions written since the last call or watch, and forgets them; None if they were not watched."""
        found = []
        while lo < hi:
            request = bytearray(
                struct.pack(
                    "12Q",
                    96,
                    _PROTECT_FOUND | _FAIL_UNWATCHED,
                    lo,
                    hi,
                    0,
                    ctypes.addressof(self._regions),
                    _REGIONS,
                    0,
                    0,
                    _WRITTEN,
                    0,
                    _WRITTEN,
                )
            )
            try:
                n = self._ioctl(self._map, _SCAN, request)
            except OSError:
                return None
            found += [(self._regions[3 * i], self._regions[3 * i + 1]) for i in range(n)]
            end = struct.unpack_from("Q", request, 32)[0]
            if end <= lo:
                return None
            lo = end
        return found


class _Known:
    """The known digests of an array's memory: one per chunk, or None if the chunk was written since."""

    __slots__ = ("chunks", "digest", "edges", "hi", "lo", "owner")


def _pages(k):
    """Returns the begin and the end of the whole pages in an array's memory."""
    return -(-k.lo // _PAGE) * _PAGE, k.hi // _PAGE * _PAGE


class Arrays:
    """Digests of large arrays; see above."""

    LARGE = LARGE

    def __init__(self):
        self._watch = None  # made when first needed
        self._known = {}  # (address, shape, strides, type) → _Known
        self.handed = set()  # digests of chunks that the engine was given, or gave

    def forget(self):
        """Drops the known digests: they have weak references to arrays, and such an array cannot be resized."""
        self._known.clear()

    def digest(self, a, np):
        """Returns the digest of the elements of an array of LARGE bytes or more, and how many of its bytes the engine
        was given before. The digest is None if the array contains objects that are not atoms. The memory order is not
        part of the digest."""
        key = _key(a)
        known = self._known.get(key)
        if known is not None:
            self._look(known)
            if known.digest is not None:
                return known.digest, self.handed_bytes(known)
        else:
            known = self._begin(a, key)
        if a.dtype.hasobject:
            found = _of_objects(a)
        else:
            flat = a if a.flags.c_contiguous else np.ascontiguousarray(a)
            chunks = known.chunks if known is not None and flat is a else None
            found = of_bytes(memoryview(flat.reshape(-1).view(np.uint8)), chunks)
        if known is not None and found is not None:
            known.digest = found
        return found, self.handed_bytes(known)

    def handed_bytes(self, known):
        """Returns how many bytes of an array the engine was given, as far as the digests of its chunks show."""
        if known is None or known.chunks is None:
            return 0
        return sum(size for c, size in zip(known.chunks, _sizes(known.hi - known.lo)) if c in self.handed)

    def chunks(self, buffers):
        """Returns for each buffer its address and its parts: pairs of size and digest.

        The digest is None if it is not known. The parts of a watched array are its chunks. A buffer without watched
        arrays has no parts. The method does not look for writes since the value was fingerprinted: the digests belong
        to that fingerprint, under which the engine stores the value. It verifies what it is given by them."""
        inside = [k for k in self._known.values() if k.chunks is not None and None not in k.chunks]
        inside.sort(key=lambda k: k.lo)
        begins = [k.lo for k in inside]
        found = []
        for buffer in buffers if inside else ():
            begin = sys.modules["numpy"].frombuffer(buffer, "u1").__array_interface__["data"][0]
            at, end, parts = begin, begin + buffer.nbytes, []
            for k in inside[bisect.bisect_left(begins, begin) : bisect.bisect_left(begins, end)]:
                if k.lo < at or k.hi > end:
                    continue
                parts += [(n, None) for n in _sizes(k.lo - at)]
                parts += zip(_sizes(k.hi - k.lo), k.chunks)
                at = k.hi
            found.append((begin, parts and parts + [(n, None) for n in _sizes(end - at)]))
        return found or [(0, []) for _ in buffers]

    def live(self, wanted):
        """Returns the chunks that lie in watched memory now, of those with the digests in the set wanted: digest →
        array that keeps the memory alive, address, size."""
        found = {}
        for k in list(self._known.values()):
            owner = k.owner()
            if k.chunks is None or owner is None or wanted.isdisjoint(k.chunks):
                continue
            self._look(k)
            at = k.lo
            for size, digest in zip(_sizes(k.hi - k.lo), k.chunks):
                if digest in wanted:
                    found[digest] = owner, at, size
                at += size
        return found

    def copied(self, a, chunks):
        """Notes the digests of the chunks of a new array: its memory is a copy of chunks that were live."""
        if a.nbytes >= LARGE and a.flags.c_contiguous:
            known = self._begin(a, _key(a))
            if known is not None:
                known.chunks = list(chunks)

    def _begin(self, a, key):
        """Begins to watch an array's memory before it is hashed. Returns None if this is impossible."""
        owner = a
        while type(owner.base) is type(a):
            owner = owner.base
        if not owner.flags.owndata:
            return None
        if self._watch is None:
            self._watch = Watch()
        if not self._watch.on:
            return None
        k = _Known()
        k.lo = key[0] + sum(min(0, (n - 1) * s) for n, s in zip(a.shape, a.strides))
        k.hi = key[0] + sum(max(0, (n - 1) * s) for n, s in zip(a.shape, a.strides)) + a.itemsize
        lo, hi = _pages(k)
        # Protecting the pages again must not lose earlier writes to other arrays on them.
        others = self._overlapping(lo, hi)
        for other in others:
            self._look(other)
        if hi <= lo or not self._watch.watch(lo, hi):
            return None
        k.edges = k.digest = k.chunks = None
        if a.flags.c_contiguous:
            same = [x.chunks for x in others if x.chunks is not None and (x.lo, x.hi) == (k.lo, k.hi)]
            k.chunks = list(same[0]) if same else [None] * -(-a.nbytes // _CHUNK)
        k.edges = self._edges(k)
        k.owner = weakref.ref(owner, lambda _: self._known.pop(key, None))
        self._known[key] = k
        return k

    def _overlapping(self, lo, hi):
        return [k for k in list(self._known.values()) if k.lo < hi and lo < k.hi]

    def _edges(self, k):
        """Returns the bytes of an array on pages that belong to it only in part."""
        lo, hi = _pages(k)
        return ctypes.string_at(k.lo, lo - k.lo), ctypes.string_at(hi, k.hi - hi)

    def _look(self, k):
        """Records what was written to the memory of k."""
        lo, hi = _pages(k)
        regions = self._watch.written(lo, hi)
        if regions is None:
            regions = [(lo, hi)]
            self._watch.watch(lo, hi)
        edges = self._edges(k)
        if edges[0] != k.edges[0]:
            regions.append((k.lo, lo))
        if edges[1] != k.edges[1]:
            regions.append((hi, k.hi))
        k.edges = edges
        if regions:
            for other in self._overlapping(k.lo, k.hi):
                for lo, hi in regions:
                    if other.lo < hi and lo < other.hi:
                        other.digest = None
                        if other.chunks is not None:
                            first, last = max(0, lo - other.lo) // _CHUNK, min(hi, other.hi) - other.lo
                            for i in range(first, -(-last // _CHUNK)):
                                other.chunks[i] = None


def _key(a):
    return a.__array_interface__["data"][0], a.shape, a.strides, a.dtype.str


def _sizes(n):
    """Splits a length into those of chunks."""
    return [min(_CHUNK, n - i) for i in range(0, n, _CHUNK)]


def _of_objects(a):
    items = a.ravel().tolist()
    kinds = atoms.among(list(map(type, items)))
    if not kinds <= atoms.ATOMS:
        return None
    from hashlib import sha256

    h = sha256()
    for data in atoms.written(items, kinds):
        h.update(data)
    return h.digest()


def of_bytes(data, chunks=None):
    """Returns the digest of data from those of its chunks, and computes the chunks that are None."""
    from hashlib import sha256  # OpenSSL uses the processor's instructions for it

    if chunks is None:
        chunks = [None] * -(-len(data) // _CHUNK)
    todo = [i for i, c in enumerate(chunks) if c is None]
    workers = min(4, os.cpu_count() or 1, len(todo) // 4)

    def work(part):
        for i in part:
            chunks[i] = sha256(data[i * _CHUNK : (i + 1) * _CHUNK]).digest()

    threads = [threading.Thread(target=work, args=(todo[n::workers],)) for n in range(1, workers)]
    for t in threads:
        t.start()
    work(todo[::workers] if workers else todo)
    for t in threads:
        t.join()
    return sha256(b"".join(chunks)).digest()
