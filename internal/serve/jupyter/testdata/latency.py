"""Times kernels of Jupyter from the outside, in turn: the start, and a trivial cell from request to reply.

usage: python latency.py KERNEL...
"""

import statistics
import sys
import time

from jupyter_client.manager import start_new_kernel

STARTS, CELLS = 7, 40


def times(name):
    began = time.perf_counter()
    manager, client = start_new_kernel(kernel_name=name)
    start = time.perf_counter() - began
    cells = []
    for n in range(CELLS):
        began = time.perf_counter()
        client.execute(f"x = {n}", reply=True, timeout=60)
        cells.append(time.perf_counter() - began)
    client.stop_channels()
    manager.shutdown_kernel()
    return start, cells[0], statistics.median(cells[1:])


found = {name: [] for name in sys.argv[1:]}
for _ in range(STARTS):
    for name in found:
        found[name].append(times(name))
print(f"{'kernel':12} {'start':>8} {'first cell':>11} {'cell':>9}   medians of {STARTS} starts, ms")
for name, rows in found.items():
    start, first, cell = (1000 * statistics.median(column) for column in zip(*rows))
    print(f"{name:12} {start:8.0f} {first:11.1f} {cell:9.1f}")
