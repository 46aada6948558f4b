"""Notebooks in live kernels, and what their cells show: with nbclient, and as JupyterLab's extension has them."""

import os
import time

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionComplete

from shown import shown
from test_notebooks import Front

LONGEST = 30  # seconds after which a cell is interrupted: an edited cell may run on what a later one left


def book_of(sources):
    cells = [nbformat.v4.new_code_cell(s, id=f"c{i}") for i, s in enumerate(sources)]
    return nbformat.v4.new_notebook(cells=cells)


class Fresh:
    """A notebook that nbclient ran from the top in a new kernel, which lives on until it is closed."""

    def __init__(self, sources, kernel, folder):
        self.folder = folder
        self.book = book_of(sources)
        self._client = NotebookClient(
            self.book,
            kernel_name=kernel,
            timeout=LONGEST,
            interrupt_on_timeout=True,
            allow_errors=True,
            resources={"metadata": {"path": folder}},
        )
        began = time.perf_counter()
        self._client.reset_execution_trackers()
        self._open = self._client.setup_kernel()
        self._open.__enter__()
        for i in range(len(sources)):
            self._client.execute_cell(self.book.cells[i], i)
        self.seconds = time.perf_counter() - began

    def shown(self):
        return [shown(c.outputs, self.folder) for c in self.book.cells]

    def edit(self, index, source):
        """Runs one cell again, with another text."""
        self.book.cells[index].source = source
        self._client.execute_cell(self.book.cells[index], index)

    def close(self):
        self._open.__exit__(None, None, None)


class Page:
    """An open notebook of xstate in mode auto, with the messages of JupyterLab's extension."""

    def __init__(self, sources, folder):
        self.folder = folder
        self.book = book_of(sources)
        path = os.path.join(folder, "page.ipynb")
        nbformat.write(self.book, path)
        self.front = Front(path)
        self.marks = {}
        self._client = NotebookClient(self.book, record_timing=False)  # follows clear_output and displays with ids
        content = {"comm_id": "1", "target_name": "xstate", "data": {"cells": self._listed()}}
        self.front.client.shell_channel.send(self.front.client.session.msg("comm_open", content))
        self.front.run("mode", "%xstate mode auto")
        self._run(len(sources) - 1)

    def shown(self):
        return [shown(c.outputs, self.folder) for c in self.book.cells]

    def state(self, index):
        """What the margin says of a cell."""
        return self.marks.get(self.book.cells[index].id, {}).get("state")

    def edit(self, index, source):
        """Seconds until the notebook shows what follows from an edit of a cell."""
        self.book.cells[index].source = source
        began = time.perf_counter()
        self._run(index)
        return time.perf_counter() - began

    def close(self):
        self.front.close()

    def _listed(self):
        return [{"id": c.id, "source": c.source} for c in self.book.cells]

    def _run(self, index):
        cell = self.book.cells[index]
        cell.outputs = []
        self._client.clear_display_id_mapping(index)
        self._client.clear_before_next_output = False
        sent = self.front.send(cell.id, cell.source, xstate={"cells": self._listed()})
        while True:
            message = self.front.client.get_iopub_msg(timeout=10 * LONGEST)
            if message["msg_type"] == "comm_msg":
                self._take(message["content"]["data"])
            elif message["parent_header"].get("msg_id") == sent:
                try:
                    self._client.process_message(message, cell, index)
                except CellExecutionComplete:
                    return

    def _take(self, data):
        self.marks = data.get("marks", self.marks)
        for id, outputs in data.get("outputs", {}).items():
            index = next(i for i, c in enumerate(self.book.cells) if c.id == id)
            self.book.cells[index].outputs = [nbformat.from_dict(o) for o in outputs]
            self._client.clear_display_id_mapping(index)
