# Graph search, memoised recursion and a puzzle: deep calls, caches, heaps, sets.

# %% graph
import heapq
import random

random.seed(4)
n = 8000
edges = {i: [] for i in range(n)}
for i in range(n):
    for _ in range(6):
        j, w = random.randrange(n), random.randint(1, 100)
        edges[i].append((j, w))
        edges[j].append((i, w))


# %% shortest
def shortest(start):
    best, heap = {start: 0}, [(0, start)]
    while heap:
        d, at = heapq.heappop(heap)
        if d > best[at]:
            continue
        for to, w in edges[at]:
            if d + w < best.get(to, 1 << 30):
                best[to] = d + w
                heapq.heappush(heap, (d + w, to))
    return best


furthest = [max(shortest(s).values()) for s in range(0, 400, 3)]
furthest


# %% queens
def queens(size, row=0, columns=frozenset(), left=frozenset(), right=frozenset()):
    if row == size:
        return 1
    return sum(
        queens(size, row + 1, columns | {c}, left | {row - c}, right | {row + c})
        for c in range(size)
        if c not in columns and row - c not in left and row + c not in right
    )


print(queens(9))

# %% partitions
from functools import lru_cache


@lru_cache(maxsize=None)
def partitions(total, largest):
    if total == 0:
        return 1
    return sum(partitions(total - k, min(k, total - k)) for k in range(1, largest + 1))


print(partitions(180, 180))

# %% sieve
limit = 8_000_000
sieve = bytearray([1]) * limit
for i in range(2, int(limit ** 0.5) + 1):
    if sieve[i]:
        sieve[i * i::i] = bytes(len(range(i * i, limit, i)))
sum(sieve) - 2
