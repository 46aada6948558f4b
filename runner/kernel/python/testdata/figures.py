"""Judges what figures share: one with its axes, and two nothing but what matplotlib itself holds."""

import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib.figure import Figure

from xstate_kernel.value import fingerprint


class NoModules:
    def loaded(self):
        return []


def drawn(marker):
    figure = Figure()
    axes = figure.add_subplot()
    axes.plot([1, 2, 3], marker=marker, label="line")
    axes.scatter([1, 2], [3, 4], c=[0.1, 0.9], cmap="viridis")
    axes.set_title("title")
    return figure, axes


fingers = fingerprint.Fingerprinter({}, NoModules())
kept, prints = [], []
for marker in "oos":
    kept.append(drawn(marker))
    prints.append([fingers.of(value) for value in kept[-1]])
for n, (figure, axes) in enumerate(prints):
    if figure.ids.keys().isdisjoint(axes.ids):
        sys.exit("a figure and its axes share nothing")
    for other in prints[:n]:
        for a in (figure, axes):
            for b in other:
                if not a.ids.keys().isdisjoint(b.ids):
                    sys.exit("two figures share %d objects" % len(a.ids.keys() & b.ids))
print("%d objects in a figure" % len(prints[0][0].ids))
