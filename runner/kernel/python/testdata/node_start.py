"""Judges what a node changed of the namespace, as the kernel finds it, by a comparison of name with name: random nodes
bind, delete and bind again, and random requests do so between them."""

import random
import sys

from xstate_kernel.ground import native
from xstate_kernel.node import start as node_start
from xstate_kernel.value import bindings, fingerprint, groups
from xstate_kernel.world import workspace_modules

rng = random.Random(int(sys.argv[1]))
FEW = [[] for _ in range(4)]


def begun():
    namespace = {"__name__": "__main__", "__builtins__": {}, "__doc__": None}
    preset = {"__name__": namespace["__name__"], "__doc__": None}
    printer = fingerprint.Fingerprinter(namespace, workspace_modules.Workspace())
    return bindings.Bindings(namespace, preset, printer, groups.Groups())


def change(ns, names):
    for _ in range(rng.randrange(4)):
        name = rng.choice(names)
        act = rng.randrange(4)
        if act == 0:
            ns.pop(name, None)
        elif act == 1 and name in ns:
            ns[str(name)] = ns.pop(name)
        else:
            ns["".join(name)] = rng.choice(FEW) if act == 2 else object()  # an equal key may be another object
    if rng.random() < 0.1:
        ns["__warningregistry__"] = {}
    if rng.random() < 0.05:
        ns["__name__"] = rng.choice(["__main__", "other"])
    if rng.random() < 0.05:
        ns["__doc__"] = rng.choice([None, "text"])


def bound(b):
    return {
        k: v
        for k, v in b.ns.items()
        if k not in bindings.SPECIAL and not (k in b.preset and b.preset[k] is v)
    }


def born(before, now):
    """Returns the new names: from the first on that is not where the names before lead to."""
    names, rest = list(now), iter(before)
    at = next((i for i, n in enumerate(names) if n not in rest), len(names))
    new = names[at:]
    if not set(before).intersection(new) and sorted(new) == new:
        return []
    return ["-" + n if n in before else n for n in new]


def judge(turn):
    b = begun()
    names = ["n%d" % i for i in range(rng.choice((5, 200)))]
    for n in rng.sample(names, len(names) // 2):
        b.ns[n] = rng.choice(FEW)
    for node in range(20):
        keeps = rng.random() < 0.8
        start, before = node_start.Start(b, keeps), bound(b)
        kept = list(before.values())  # so that no id is used twice
        if start.names() != list(before):
            sys.exit("turn %d: %s, want %s" % (turn, start.names(), list(before)))
        change(b.ns, names)
        now = bound(b)
        want = (
            {k for k, v in now.items() if k not in before or before[k] is not v},
            before.keys() - now.keys(),
            born(before, now),
        )
        found = start.changes(b)
        if found != want:
            sys.exit("turn %d, node %d: %s, want %s" % (turn, node, found, want))
        for n in (*names, "__name__", "__doc__"):
            if (n in start) != (n in before):
                sys.exit("turn %d: %s was bound: %s" % (turn, n, n in start))
            if n in before and start.same(n) != (b.ns.get(n, start) is before[n]):
                sys.exit("turn %d: %s is the same: %s" % (turn, n, start.same(n)))
        if rng.random() < 0.8:
            start.end(b, rng.random() < 0.8)
        del kept
        for _ in range(rng.randrange(3)):
            n = rng.choice(names)
            b.unbind(n) if rng.random() < 0.5 else b.bind(n, rng.choice(FEW))
        if rng.random() < 0.2:
            change(b.ns, names)  # as a thread does
        if rng.random() < 0.1:
            b.order(rng.sample(names, 3))


for in_c in (True, False):
    if not in_c:
        native.differing = None
    for turn in range(100):
        judge(turn)
print("equal")
