"""Judges digests of watched arrays by digests that read everything, through views that overlap and writes of all
kinds."""

import ctypes
import hashlib
import os
import random
import sys

import numpy as np

from xstate_kernel.ground import memory


def whole(a):
    judge = memory.Arrays()
    judge._begin = lambda a, key: None
    return judge.digest(a, np)


seed = int(sys.argv[1])
rng = random.Random(seed)
base = np.arange(3_000_000, dtype=np.int32)
views = [
    base,
    base[10:],
    base[:2_000_000].reshape(1000, 2000),
    base[:2_000_000].reshape(1000, 2000).T,
    base[::-1],
    base[::3],
    base.view(np.uint8),
    base[1_000_001:2_000_003],
    base[:2_000_000].view(np.float64),
    np.zeros(2_000_000),
    np.array([str(i) for i in range(200_000)], dtype=object),
]
arrays, found = memory.Arrays(), 0
with open("/dev/zero", "rb") as zero:
    for turn in range(100):
        for _ in range(rng.randrange(3)):
            v = rng.choice(views)
            how = rng.randrange(5)
            if how == 0 and v.dtype != object and v.flags.c_contiguous:  # a write by the system
                at = rng.randrange(v.nbytes - 10_000)
                zero.readinto(memoryview(v.reshape(-1).view(np.uint8))[at : at + rng.randrange(10_000)])
            elif how == 1 and v.dtype != object:
                v += 1
            elif how == 2 and v.dtype != object:
                v.sort(axis=0)
            else:
                v[tuple(rng.randrange(n) for n in v.shape)] = rng.randrange(100)
        if rng.randrange(10) == 0:
            if os.fork() == 0:  # pages are copied on write then
                base[rng.randrange(len(base))] += 1
                os._exit(0)
            os.wait()
        v = rng.choice(views)
        if arrays.digest(v, np) != whole(v):
            sys.exit("turn %d: %r %r" % (turn, v.shape, v.dtype))
        if v.dtype != object and v.flags.c_contiguous and v.nbytes >= memory.LARGE:
            rng.choice(views[:2])[rng.randrange(1_000_000)] = turn  # what is live is as it is now
            data = v.reshape(-1).view(np.uint8)
            chunks = [hashlib.sha256(data[i : i + memory._CHUNK]).digest() for i in range(0, v.nbytes, memory._CHUNK)]
            live = arrays.live(set(chunks))
            for digest, (owner, address, size) in live.items():
                if hashlib.sha256(ctypes.string_at(address, size)).digest() != digest:
                    sys.exit("turn %d: a live chunk has another content" % turn)
            if len(live) == len(set(chunks)):
                found += 1
                copy = np.copy(v, "C")
                arrays.copied(copy, chunks)
                copy.reshape(-1)[rng.randrange(copy.size)] += rng.randrange(2)
                for x in (copy, copy.reshape(-1), copy.reshape(-1)[10:]):
                    if arrays.digest(x, np) != whole(x):
                        sys.exit("turn %d: copy of %r %r" % (turn, v.shape, v.dtype))
                del copy, x
if arrays._watch.on and not found:
    sys.exit("no array was live: that shows nothing")
del views[:], v, base, data, live, owner
if arrays._known:
    sys.exit("known after the arrays were gone: %d" % len(arrays._known))
print("watched" if arrays._watch.on else "not watched")
