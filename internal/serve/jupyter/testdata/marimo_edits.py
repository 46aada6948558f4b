"""Six small edits, each after a run: whether marimo's cache of cells, and xstate, then serve what is no longer right.

marimo keeps the results of cells on disk where runtime.cache_cells is set. "marimo export ipynb --include-outputs" runs
a notebook without a browser, and takes cells from there. What cells print is not compared: marimo does not keep it.
"""

import os
import subprocess

import nbformat

from live import Fresh, book_of

SETTINGS = "[tool.marimo.runtime]\ncache_cells = true\n"

# Of each: the files and cells before, and those that the edit changes.
EDITS = {
    "a literal above": ({}, ["x = 2", "x * 10"], {}, {0: "x = 3"}),
    "a function above": ({}, ["def f(x):\n    return x + 1", "f(1)"], {}, {0: "def f(x):\n    return x + 2"}),
    "a file that a cell reads": (
        {"data.txt": "one"},
        ["text = open('data.txt').read()", "len(text)"],
        {"data.txt": "three"},
        {},
    ),
    "a module that a cell imports": (
        {"helper.py": "def f():\n    return 1\n"},
        ["import helper", "helper.f()"],
        {"helper.py": "def f():\n    return 22\n"},
        {},
    ),
    "the shape of an array, not its values": (
        {},
        ["import numpy", "grid = numpy.arange(12).reshape(2, 3, 2)", "grid.shape"],
        {},
        {1: "grid = numpy.arange(12).reshape(2, 2, 3)"},
    ),
    "an append by another name": ({}, ["a = [1]\nb = a", "b.append(2)", "sum(a)"], {}, {1: "b.append(3)"}),
}


def write(folder, files):
    os.makedirs(folder, exist_ok=True)
    for name, text in files.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)


def marimo(program, cells, folder):
    """What the cells show in marimo."""
    before, after = os.path.join(folder, "jupyter.ipynb"), os.path.join(folder, "out.ipynb")
    nbformat.write(book_of(cells), before)
    convert = [program, "--yes", "convert", before, "-o", "book.py"]
    export = [program, "export", "ipynb", "book.py", "-o", after, "--include-outputs", "--sort", "top-down", "--force"]
    for command in (convert, export):
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if ran.returncode:
            raise RuntimeError(ran.stdout + ran.stderr)
    found = nbformat.read(after, 4).cells[-len(cells) :]
    return [[dict(o["data"]) for o in c.outputs if o["output_type"] != "stream"] for c in found]


def jupyter(kernel, cells, folder):
    """What the cells show with a kernel of Jupyter."""
    run = Fresh(cells, kernel, folder)
    run.close()
    return run.shown()


def stale(show, show_fresh, name, work):
    """Whether a run after the edit shows something else than one without anything kept."""
    files, cells, new_files, new_cells = EDITS[name]
    kept, fresh = os.path.join(work, "kept"), os.path.join(work, "fresh")
    write(kept, {"pyproject.toml": SETTINGS, **files})
    show(cells, kept)
    edited = [new_cells.get(i, source) for i, source in enumerate(cells)]
    write(kept, new_files)
    write(fresh, {**files, **new_files})
    have, want = show(edited, kept), show_fresh(edited, fresh)
    return have != want


def measure(program, work):
    """Rows of (edit, whether marimo is stale, whether xstate is)."""
    for number, name in enumerate(EDITS):

        def by_marimo(cells, folder):
            return marimo(program, cells, folder)

        def by_xstate(cells, folder):
            return jupyter("xstate", cells, folder)

        def by_ipykernel(cells, folder):
            return jupyter("ipykernel", cells, folder)

        theirs = stale(by_marimo, by_marimo, name, os.path.join(work, f"marimo-{number}"))
        ours = stale(by_xstate, by_ipykernel, name, os.path.join(work, f"xstate-{number}"))
        yield name, theirs, ours
