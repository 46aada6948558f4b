"""marimo: the kernel of "marimo edit", sent each version as the editor sends it, with runtime.on_cell_change at "autorun": removed cells
are deleted, new and changed ones run, and marimo runs what depends on either.

A program that marimo refuses (a name bound in two cells, a cycle, "import *") is reported as refused. The output of a cell is the
repr of its last expression: marimo makes a table or a tree of it.
"""
import peer

import asyncio
import copy
import queue

from marimo._ast.app_config import _AppConfig
from marimo._config.config import DEFAULT_CONFIG
from marimo._messaging.types import KernelStreams, NoopStream, Stderr, Stdout
from marimo._runtime.commands import AppMetadata, DeleteCellCommand, ExecuteCellCommand
from marimo._runtime.kernel_lifecycle import KernelArgs, create_kernel
from marimo._session.model import SessionMode

shown = {}  # id of a cell → what it put out when it ran last


class Console(Stdout):
    def _write_with_mimetype(self, data, mimetype):
        if stream.cell_id in shown:
            peer.put(shown[stream.cell_id], data)
        return len(data)


class Unseen(Stderr):
    def _write_with_mimetype(self, data, mimetype):
        return len(data)


config = copy.deepcopy(DEFAULT_CONFIG)
config["runtime"]["on_cell_change"] = "autorun"
stream = NoopStream()
peer.seed()
kernel, context = create_kernel(KernelArgs(
    streams=KernelStreams(stream=stream, stdout=Console(), stderr=Unseen(), stdin=None), debugger=None, configs={},
    app_metadata=AppMetadata({}, {}, _AppConfig(), argv=[], filename=peer.options["file"] or None), user_config=config, mode=SessionMode.EDIT,
    control_queue=queue.Queue(), set_ui_element_queue=queue.Queue(), virtual_file_storage=None))
before = dict(kernel.globals)
ran, failed, sources = set(), {}, {}


def starts(cell, _):
    ran.add(cell.cell_id)
    shown[cell.cell_id], failed[cell.cell_id] = [], ""


def ends(cell, _, outcome):
    if outcome.exception is not None:
        e = outcome.exception
        failed[cell.cell_id] = peer.message(type(e).__name__, str(e))
    elif outcome.output is not None:
        peer.show(shown[cell.cell_id], repr(outcome.output))


kernel._hooks.add_pre_execution(starts)
kernel._hooks.add_post_execution(ends)


def run(blocks):
    now = {b["id"]: b["source"] for b in blocks}
    changed = [ExecuteCellCommand(cell_id=i, code=now[i]) for i in now if sources.get(i) != now[i]]
    gone = [DeleteCellCommand(cell_id=i) for i in sources if i not in now]
    sources.clear()
    sources.update(now)
    ran.clear()
    for deletion in gone:
        loop.run_until_complete(kernel.delete_cell(deletion))
    if changed:
        loop.run_until_complete(kernel.run(changed))
    refused = sorted({type(e).__name__ for some in kernel.errors.values() for e in some})
    return ", ".join(refused), [{"ran": i in ran, "outputs": shown.get(i, []), "error": failed.get(i, "")} for i in now]


loop = asyncio.new_event_loop()
peer.serve(run, lambda: peer.values(kernel.globals, before))
