"""ipyflow: its kernel in reactive mode (%flow mode reactive), with what its JupyterLab extension does.

The extension sends the kernel the cells of the notebook. With an executed cell it executes those that the kernel's graph connects to it:
those that depend on it, and before them those that it needs and that are out of date. Cells that are then out of date are executed as
"Execute Ready Cells" does. The first run is "run all".
"""
import peer
import peer_kernel

import uuid

from jupyter_client import KernelManager

most_rounds = 10  # rounds of executing what is out of date: a cell may put another out of date again and again


class Notebook:
    def __init__(self):
        peer_kernel.settings()
        self.manager = KernelManager(kernel_name="ipyflow")
        self.manager.start_kernel(cwd=peer.options["folder"])
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready()
        self.sources, self.done, self.shown = {}, {}, {}  # by cell; done: the source that was executed without failure
        self.graph = {}
        self.comm = uuid.uuid4().hex
        self.send("execute_request", {"code": "%flow mode reactive", "silent": True, "store_history": False})

    def send(self, kind, content, metadata=None):
        """Sends a request and returns the messages that answer it."""
        message = self.client.session.msg(kind, content, metadata=metadata)
        self.client.shell_channel.send(message)
        answers = []
        while True:
            answer = self.client.get_iopub_msg()
            if answer["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                continue
            if answer["msg_type"] == "status" and answer["content"]["execution_state"] == "idle":
                return answers
            answers.append(answer)

    def tell(self, **data):
        """Sends data to the extension's counterpart in the kernel, and takes the graph in the answer."""
        cells = {i: {"index": n, "content": s, "type": "code"} for n, (i, s) in enumerate(self.sources.items())}
        kind = "comm_msg"
        if not self.graph:
            kind, data = "comm_open", {"interface": "jupyterlab", "exec_mode": "reactive"}
        for answer in self.send(kind, {"comm_id": self.comm, "target_name": "ipyflow", "data": {**data, "cell_metadata_by_id": cells}}):
            told = answer["content"].get("data", {})
            if told.get("type") in ("establish", "compute_exec_schedule") and told["success"]:
                self.graph = {**self.graph, **told}

    def execute(self, cell):
        outputs, error = self.shown[cell] = [], []
        self.done.pop(cell, None)
        request = {"code": self.sources[cell], "silent": False, "store_history": True, "allow_stdin": False, "stop_on_error": True}
        for answer in self.send("execute_request", request, {"cellId": cell}):
            peer_kernel.add(outputs, answer["msg_type"], answer["content"])
            if answer["msg_type"] == "error":
                error.append(peer.message(answer["content"]["ename"], answer["content"]["evalue"]))
        if not error:
            self.done[cell] = self.sources[cell]
        return not error

    def old(self):
        """The cells that are new, another, failed, or out of date as the kernel says."""
        told = set(self.graph.get("ready_cells", ())) | set(self.graph.get("waiting_cells", ()))
        return [i for i in self.sources if i in told or self.done.get(i) != self.sources[i]]

    def related(self, cells):
        """Returns the cells that are executed with cells, in the order of the notebook."""
        found, old = set(cells), set(self.old())
        children = self.graph.get("cell_children", {})
        parents = {i: set(above) for i, above in self.graph.get("cell_parents", {}).items()}
        while True:
            size = len(found)
            for i in list(found):
                found.update(children.get(i, ()))
            for i in list(found):
                self.pull(i, parents, old, found)
            if len(found) == size:
                return [i for i in self.sources if i in found]

    def pull(self, cell, parents, old, found):
        """Adds the cells above one that have to be executed again for it: those out of date, and those whose values it needs as they
        were (stale parents)."""
        seen, todo = set(), [cell]
        while todo:
            i = todo.pop()
            if i in seen:
                continue
            seen.add(i)
            todo.extend(parents.get(i, ()))
            if i in old:
                found.add(i)
            if i in found:
                stale = set(self.graph.get("stale_parents", {}).get(i, ()))
                for executed, some in self.graph.get("stale_parents_by_executed_cell_by_child", {}).get(i, {}).items():
                    stale.update(parents.get(i, set()) & set(some) if executed in found else ())
                found.update(stale)
                todo.extend(stale)


def run(blocks):
    first = not book.sources
    book.sources = {b["id"]: b["source"] for b in blocks}
    for i in [i for i in book.done if i not in book.sources]:
        del book.done[i]
    ran = set()
    if first:
        book.tell()
    book.tell(type="notify_content_changed")
    for _ in range(most_rounds):
        cells = book.old()
        if not cells:
            break
        for cell in (cells if first else book.related(cells)):
            ran.add(cell)
            if not book.execute(cell):
                cells = None
                break
        first = False
        book.tell(type="compute_exec_schedule", is_reactively_executing=False)
        if cells is None:
            break
    book.tell(type="reactivity_cleanup")
    found = []
    for i in book.sources:
        outputs, error = book.shown.get(i, ([], []))
        found.append({"ran": i in ran, "outputs": outputs, "error": "".join(error)})
    return None, found


book = Notebook()
try:
    peer.serve(run, lambda: peer_kernel.values(book.client))
finally:
    book.client.stop_channels()
    book.manager.shutdown_kernel(now=True)
