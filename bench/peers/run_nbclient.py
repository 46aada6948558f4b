"""nbclient, which "jupyter execute" and nbconvert use: run all, in a fresh kernel each time."""
import peer
import peer_kernel

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

last = None  # the client, whose kernel waits to be asked for values


def run(blocks):
    global last
    stop()
    cells = [nbformat.v4.new_code_cell(b["source"]) for b in blocks]
    last = NotebookClient(nbformat.v4.new_notebook(cells=cells), timeout=None, kernel_name="python3", resources={"metadata": {"path": peer.options["folder"]}})
    peer_kernel.settings()
    try:
        last.execute(cleanup_kc=False)
    except CellExecutionError:
        pass
    found = []
    for cell in cells:
        one = {"ran": cell.execution_count is not None, "outputs": [], "error": ""}
        for o in cell.outputs:
            peer_kernel.add(one["outputs"], o.output_type, o)
            if o.output_type == "error":
                one["error"] = peer.message(o.ename, o.evalue)
        found.append(one)
    return None, found


def values():
    try:
        return peer_kernel.values(last.kc)
    finally:
        stop()


def stop():
    global last
    if last is not None:
        last._cleanup_kernel()
    last = None


peer.serve(run, values)
stop()
