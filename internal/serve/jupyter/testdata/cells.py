"""Runs public notebooks, and edits of them, with xstate and with ipykernel, and prints what that shows as Markdown.

usage: python cells.py NOTEBOOKS WORK EDITS MARIMO

NOTEBOOKS is a folder of them; WORK a new one for copies; EDITS how many edits of each; MARIMO its program, which small
edits are also given to. The variable XSTATE names the program; its kernel and ipykernel's must be installed. What is
wrong is also printed to stderr, with both outputs. The exit code is 1 then.
"""

import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import traceback
from collections import Counter
from dataclasses import dataclass, field
from importlib import metadata

import nbformat

import marimo_edits
from live import Fresh, Page
from shown import Differences
from test_notebooks import command

NAMES = """
02.01-Understanding-Data-Types
02.02-The-Basics-Of-NumPy-Arrays
02.05-Computation-on-arrays-broadcasting
02.08-Sorting
03.01-Introducing-Pandas-Objects
03.02-Data-Indexing-and-Selection
03.03-Operations-in-Pandas
03.05-Hierarchical-Indexing
03.06-Concat-And-Append
03.07-Merge-and-Join
04.00-Introduction-To-Matplotlib
04.01-Simple-Line-Plots
04.02-Simple-Scatter-Plots
04.04-Density-and-Contour-Plots
04.05-Histograms-and-Binnings
04.08-Multiple-Subplots
04.11-Settings-and-Stylesheets
04.12-Three-Dimensional-Plotting
05.03-Hyperparameters-and-Model-Validation
05.04-Feature-Engineering
""".split()

AGAIN = 2  # further runs in which a cell of ipykernel may show something else, if it varies


def sources(path):
    """The code cells of a notebook. matplotlib 3.8 gave the styles that these name another name."""
    book = nbformat.read(path, 4)
    found = [c.source for c in book.cells if c.cell_type == "code" and c.source.strip()]
    return [re.sub(r"seaborn-(white|whitegrid)\b", r"seaborn-v0_8-\1", s) for s in found]


def edited(rng, source):
    """A cell with one number changed, or a line deleted, or a line more."""
    numbers = list(re.finditer(r"(?<![\w.])\d+(?![\w.])", source))
    if numbers and rng.random() < 0.8:
        at = rng.choice(numbers)
        other = rng.choice([n for n in range(1, 12) if str(n) != at[0]])
        return f"{source[: at.start()]}{other}{source[at.end() :]}"
    lines = source.split("\n")
    if len(lines) > 1:
        del lines[rng.randrange(len(lines))]
        return "\n".join(lines)
    return source + "\n0"


class Varying:
    """Whether a cell shows something else in another run of ipykernel from the top. They are made when asked for."""

    def __init__(self, cells, want, run):
        self._cells, self._want, self._run = cells, want, run
        self._others = []

    def __call__(self, index):
        for n in range(AGAIN):
            if n == len(self._others):
                self._others.append(self._run(self._cells))
            if self._others[n][index] != self._want[index]:
                return True
        return False


@dataclass
class Row:
    """What was measured of one notebook, or of all."""

    cells: int = 0
    wrong: int = 0  # cells of the first run of xstate that show something else than those of ipykernel
    explained: int = 0
    again: int = 0  # cells that the second run executed
    needless: int = 0  # of them those whose result does not vary
    seconds: list = field(default_factory=lambda: [0, 0, 0])  # ipykernel, xstate, xstate again
    edits: int = 0
    edits_wrong: int = 0  # edits after which a cell of xstate shows something else than a run from the top
    edits_explained: int = 0
    left_wrong: int = 0  # edits after which one of ipykernel does, where the edited cell alone ran again
    executed: int = 0  # cells that xstate executed after edits
    could: int = 0  # cells that runs from the top executed
    edit_seconds: list = field(default_factory=list)
    scratch_seconds: list = field(default_factory=list)

    def add(self, other):
        """Adds what is counted, and takes the median of a notebook as one of its own."""
        self.seconds = [a + b for a, b in zip(self.seconds, other.seconds)]
        for name, value in vars(other).items():
            if isinstance(value, int):
                setattr(self, name, getattr(self, name) + value)
            elif name != "seconds" and value:
                getattr(self, name).append(statistics.median(value))

    def columns(self):
        yield from (self.cells, self.wrong, self.explained, f"{self.again} ({self.needless})")
        yield from (f"{s:.1f}" for s in self.seconds)
        yield from (self.edits, self.edits_wrong, self.edits_explained, self.left_wrong)
        yield f"{100 * self.executed / self.could:.0f}%" if self.could else ""
        for seconds in (self.edit_seconds, self.scratch_seconds):
            yield f"{statistics.median(seconds):.2f}" if seconds else ""


HEAD = """notebook|cells|wrong|explained|executed again (in vain)|ipykernel, s|xstate, s|xstate again, s|edits
|edits wrong|edits explained|ipykernel wrong|executed|edit, s|run all, s"""

NOTES = """
- Left: the notebook by nbclient, with ipykernel, with xstate, and with xstate once more. Cells are wrong that show
  something else than with ipykernel, or than the first time. The second run executes cells whose result may vary; in
  vain are others.
- Right: random edits of one cell. xstate runs it in mode auto, as JupyterLab does. ipykernel runs the edited cell
  alone, after a run from the top. An edit is wrong after which a cell shows something else than a run of the edited
  notebook from the top. "executed" is the share of all cells that xstate executed. Seconds are medians.
- Compared is the richest form of each output: pictures by their pixels, errors by type and message. Addresses, paths of
  temporary files, colours of terminals and scikit-learn's numbers of displays are left out.
- Explained are {rules}."""

SMALL = """
marimo keeps what cells return on disk (`runtime.cache_cells`; run by `marimo export ipynb --include-outputs`), xstate
runs by nbclient. The last four edits are of kinds that marimo's keys leave out.
"""

RULES = {
    "blocked": "cells below one that fails, which xstate does not execute",
    "file": "names of cells in warnings",
    "terminal": "commands of the shell, whose lines IPython ends in another way",
    "error": "cells that fail: ipykernel shows the error before the figures of a cell, or twice",
    "syntax": "messages of syntax errors, which IPython words itself",
    "varies": "cells that show something else in another run of ipykernel, too",
    "volatile": "cells that xstate marks as such whose result may vary",
}


def executed(steps):
    """How many cells these steps executed. A step counts failed cells apart: here those of a step that took time."""
    runs = [s["run"] for s in steps if s["kind"] == "run"]
    return sum(r["blocks"]["ran"] + (r["blocks"]["failed"] if r["seconds"] else 0) for r in runs)


class Measurement:
    """Of one notebook: each kernel has its own copy of the files."""

    def __init__(self, name, notebooks, work, edits):
        self.name, self.notebooks, self.work, self.edits = name, notebooks, os.path.join(work, name), edits
        self.cells = sources(os.path.join(notebooks, name + ".ipynb"))
        self.row = Row(cells=len(self.cells))
        self.rules = Counter()

    def folder(self, name):
        folder = os.path.join(self.work, name)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.notebooks, folder, ignore=shutil.ignore_patterns("*.ipynb", ".git", ".xstate", "figures"))
        return folder

    def scratch(self, cells, folder="ipykernel"):
        return Fresh(cells, "ipykernel", self.folder(folder))

    def another(self, cells):
        """What another run from the top shows, while the kernel of the first may live in its folder."""
        run = self.scratch(cells, "another")
        run.close()
        return run.shown()

    def measure(self):
        first = self.scratch(self.cells)
        self.runs(first)
        if self.edits:
            self.edit(first)
        else:
            first.close()
        return self.row

    def runs(self, first):
        """The notebook as it is, and once more."""
        want = first.shown()
        folder = self.folder("xstate")
        mine = Fresh(self.cells, "xstate", folder)
        mine.close()
        before = command("log", "--limit", "0", folder=folder)["steps"]
        again = Fresh(self.cells, "xstate", folder)
        again.close()
        steps = command("log", "--limit", "0", folder=folder)["steps"]
        volatile = {b["block"] for b in command("query", "--volatile", "--limit", "0", folder=folder)["blocks"]}
        self.count_again(steps[: len(steps) - len(before)], volatile)
        varies = Varying(self.cells, want, self.another)

        def state(index):
            return "volatile" if f"cell-{index + 1}" in volatile else ""

        found = Differences(mine.shown(), want, varies, state)
        later = Differences(again.shown(), mine.shown(), varies, state)
        explained = {**later.explained, **found.explained}
        self.row.wrong, self.row.explained = len({*found.wrong, *later.wrong}), len(explained)
        self.rules.update(explained.values())
        self.tell("first run", self.cells, found, mine.shown(), want)
        self.tell("second run", self.cells, later, again.shown(), mine.shown())
        self.row.seconds = [first.seconds, mine.seconds, again.seconds]

    def count_again(self, steps, volatile):
        """What the second run executed. Only the cell that is run may be, and only if its result may vary."""
        cell = None
        for step in reversed(steps):
            if step["kind"] == "run":
                count = executed([step])
                self.row.again += count
                self.row.needless += count - (count > 0 and cell in volatile)
            else:
                cell = step.get("block")

    def edit(self, before):
        """Edits of a live notebook of xstate, and of one of ipykernel that was run from the top before each."""
        rng = random.Random(self.name)
        cells = list(self.cells)
        folder = self.folder("page")
        page = Page(cells, folder)
        for n in range(self.edits):
            known = len(command("log", "--limit", "0", folder=folder)["steps"])
            at = rng.randrange(len(cells))
            cells[at] = edited(rng, cells[at])
            self.row.edit_seconds.append(page.edit(at, cells[at]))
            steps = command("log", "--limit", "0", folder=folder)["steps"]
            self.row.executed += executed(steps[: len(steps) - known])
            before.edit(at, cells[at])
            before.close()
            left = before.shown()
            before = self.scratch(cells)
            want = before.shown()
            self.row.scratch_seconds.append(before.seconds)
            self.row.edits += 1
            self.row.could += len(cells)
            varies = Varying(list(cells), want, self.another)
            found = Differences(page.shown(), want, varies, page.state)
            self.row.edits_wrong += bool(found.wrong)
            self.row.edits_explained += bool(found.explained)
            self.rules.update(found.explained.values())
            self.row.left_wrong += bool(Differences(left, want, varies, page.state).wrong)
            self.tell(f"edit {n}, of cell {at} to\n{cells[at]}\nthen", cells, found, page.shown(), want)
        before.close()
        page.close()

    def tell(self, when, cells, found, have, want):
        for i in found.wrong:
            print(f"WRONG {self.name}, {when}, cell {i}\n{cells[i]}", file=sys.stderr)
            for title, outputs in (("xstate", have[i]), ("wanted", want[i])):
                for kind, content in outputs or [("nothing", "")]:
                    text = content if isinstance(content, str) else f"{len(content)} bytes"
                    print(f"--- {title}: {kind}\n{text[:600]}", file=sys.stderr)
        sys.stderr.flush()


def line(columns):
    return "| " + " | ".join(map(str, columns)) + " |"


def print_notebooks(notebooks, work, edits):
    """The table of notebooks. Returns whether something is wrong."""
    heads = HEAD.replace("\n", "").split("|")
    print(line(heads), line("---" for _ in heads), sep="\n", flush=True)
    total, rules, stopped = Row(), Counter(), False
    for name in NAMES:
        measurement = Measurement(name, notebooks, work, edits)
        try:
            row = measurement.measure()
        except Exception:
            print(f"WRONG {name} could not be measured\n{traceback.format_exc()}", file=sys.stderr, flush=True)
            stopped = True
            continue
        total.add(row)
        rules.update(measurement.rules)
        print(line([name[:5], *row.columns()]), flush=True)
    print(line(["all", *total.columns()]))
    print(NOTES.format(rules=", ".join(f"{RULES[rule]} ({n})" for rule, n in rules.most_common()) or "none"))
    return stopped or total.wrong + total.needless + total.edits_wrong > 0


def print_small_edits(program, work):
    """The table of edits that marimo's cache of cells also gets. Returns whether xstate is wrong."""
    print(SMALL)
    print(line(["edit between two runs", "marimo", "xstate"]), line(["---"] * 3), sep="\n")
    wrong = False
    for name, theirs, ours in marimo_edits.measure(program, work):
        print(line([name, *("stale" if stale else "right" for stale in (theirs, ours))]), flush=True)
        wrong |= ours
    return wrong


def main(notebooks, work, edits, marimo):
    wrong = print_notebooks(notebooks, work, int(edits))
    wrong |= print_small_edits(marimo, os.path.join(work, "marimo"))
    used = ("ipykernel", "nbclient", "numpy", "pandas", "matplotlib", "scikit-learn")
    version = subprocess.run([marimo, "--version"], capture_output=True, text=True).stdout.split()[-1]
    print("\n" + ", ".join([f"marimo {version}"] + [f"{name} {metadata.version(name)}" for name in used]) + ".")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
