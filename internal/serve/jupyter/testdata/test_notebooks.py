"""Notebooks through the clients of Jupyter, with the kernel of xstate."""

import json
import os
import re
import subprocess
import tempfile
import unittest

import nbformat
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from transport import configured, sockets

WAIT = 60  # seconds that no message takes


def command(*arguments, folder):
    """What the command line says about the session."""
    ran = subprocess.run([os.environ["XSTATE"], *arguments, "--json"], cwd=folder, capture_output=True, text=True)
    return json.loads(ran.stdout)


def notebook(*sources):
    cells = [nbformat.v4.new_code_cell(s) for s in sources]
    about = {"kernelspec": {"name": "xstate", "display_name": "x", "language": "python"}}
    return nbformat.v4.new_notebook(cells=cells, metadata=about)


def shown(cell):
    """What a cell shows, as text."""
    out = []
    for o in cell.outputs:
        if o.output_type == "stream":
            out.append(o.text)
        elif o.output_type == "error":
            out.append(f"{o.ename}: {o.evalue}")
        else:
            out.append(o.data.get("text/plain", ""))
    return "".join(out)


class Front:
    """Runs cells by their ids, as JupyterLab does, and keeps what a page would show."""

    def __init__(self, path, kernel="xstate"):
        self.path = path
        self.manager = KernelManager(kernel_name=kernel, **sockets())
        self.manager.start_kernel(cwd=os.path.dirname(path), env={**os.environ, "JPY_SESSION_NAME": path})
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=WAIT)
        self.displays = {}

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel()

    def restart(self):
        self.client.stop_channels()
        self.manager.restart_kernel()
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=WAIT)

    def send(self, id, code, **metadata):
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}}
        content["allow_stdin"] = metadata.pop("allow_stdin", False)
        message = self.client.session.msg("execute_request", content, metadata={"cellId": id, **metadata})
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def run(self, id, code, **metadata):
        """The messages of a cell: (type, content)."""
        return self.follow(self.send(id, code, **metadata))

    def follow(self, sent, until=None):
        messages = []
        while True:
            message = self.client.get_iopub_msg(timeout=WAIT)
            if message["parent_header"].get("msg_id") != sent:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return messages
            if kind in ("display_data", "update_display_data"):
                self.displays[content.get("transient", {}).get("display_id")] = content["data"].get("text/plain")
            if kind not in ("status", "execute_input"):
                messages.append((kind, content))
                if until is not None and until(kind, content):
                    return messages

    def text(self, id, code, **metadata):
        """What a cell shows, as text."""
        out = ""
        for kind, content in self.run(id, code, **metadata):
            if kind == "stream":
                out += content["text"]
            elif kind == "error":
                out += f"{content['ename']}: {content['evalue']}"
            elif kind in ("execute_result", "display_data"):
                out += content["data"]["text/plain"]
        return out


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        self.path = os.path.join(self.folder, "a.ipynb")

    def front(self):
        front = Front(self.path)
        self.addCleanup(front.close)
        return front

    def client(self, book, **options):
        return NotebookClient(book, resources={"metadata": {"path": self.folder}}, config=configured(), **options)

    def save(self, *cells):
        book = notebook(*(source for _, source in cells))
        for cell, (id, _) in zip(book.cells, cells):
            cell.id = id
        nbformat.write(book, self.path)


class Clients(Folder):
    def execute(self, book):
        self.client(book, timeout=WAIT).execute()
        return [shown(c) for c in book.cells]

    def executed(self):
        """How many blocks each run of the session executed, the last one first."""
        steps = command("log", "--limit", "0", folder=self.folder)["steps"]
        return [s["run"]["blocks"]["ran"] for s in steps if s["kind"] == "run"]

    def test_second_run_executes_nothing(self):
        sources = ["x = 1\nprint(x)", "xs = [x]\nxs.append(2)", "xs"]
        first = self.execute(notebook(*sources))
        self.assertEqual(first, ["1\n", "", "[1, 2]"])
        runs = len(self.executed())
        self.assertEqual(self.execute(notebook(*sources)), first)
        self.assertEqual(self.executed()[: len(self.executed()) - runs], [0, 0, 0])

    def test_edited_cell_runs_with_what_it_affects(self):
        self.execute(notebook("x = 1", "y = 5", "print(x + y)"))
        self.assertEqual(self.execute(notebook("x = 2", "y = 5", "print(x + y)")), ["", "", "7\n"])
        self.assertEqual(self.executed()[:3], [1, 0, 1])

    def test_inserted_cell(self):
        self.execute(notebook("x = 1", "print(x)"))
        self.assertEqual(self.execute(notebook("x = 1", "x += 1", "print(x)", "x")), ["", "", "2\n", "2"])

    def test_error(self):
        book = notebook("1/0", "2")
        with self.assertRaisesRegex(Exception, "ZeroDivisionError"):
            self.execute(book)

    def test_displays_with_ids(self):
        book = notebook(
            "from IPython.display import clear_output, display, update_display\nhandle = display('a', display_id=True)",
            "print(1)\nclear_output()\nprint(2)\nclear_output(wait=True)\nprint(3)",
            "display('x', display_id='mine')\nupdate_display('y', display_id='mine')",
            "handle.update('b')",
            "display('never', display_id=handle.display_id)\nclear_output(wait=True)",
        )
        want = ["'b'", "3\n", "'y'", "", "'never'"]
        want[0] = "'never'"  # nbclient knows one display of an id
        for _ in range(2):
            self.assertEqual(self.execute(book), want)

    def test_papermill(self):
        import papermill

        book = notebook("n = 1", "print(n * 2)")
        book.cells[0].metadata["tags"] = ["parameters"]
        nbformat.write(book, self.path)
        out = os.path.join(self.folder, "out.ipynb")
        options = {"cwd": self.folder, "progress_bar": False, "config": configured()}
        papermill.execute_notebook(self.path, out, parameters={"n": 21}, **options)
        self.assertEqual(shown(nbformat.read(out, 4).cells[-1]), "42\n")

    def test_nbconvert(self):
        nbformat.write(notebook("x = 20", "x + 1"), self.path)
        by = [f"--KernelManager.{name}={value}" for name, value in sockets().items()]
        subprocess.run(
            "jupyter nbconvert --execute --to notebook --inplace".split() + [self.path, *by],
            check=True,
            capture_output=True,
            env={**os.environ, "PATH": os.path.dirname(os.environ["XSTATE_TEST_PYTHON"]) + ":" + os.environ["PATH"]},
        )
        self.assertEqual(shown(nbformat.read(self.path, 4).cells[-1]), "21")


class Page(Folder):
    """The extension of JupyterLab, by the messages that it sends."""

    def setUp(self):
        super().setUp()
        self.cells = {"a": "x = 1", "b": "print(x)", "c": "5"}
        self.save(*self.cells.items())
        self.open = self.front()
        self.comm("comm_open", target_name="xstate")

    def listed(self):
        return [{"id": id, "source": source} for id, source in self.cells.items()]

    def comm(self, kind, **more):
        content = {"comm_id": "1", "data": {"cells": self.listed()}, **more}
        self.open.client.shell_channel.send(self.open.client.session.msg(kind, content))

    def says(self, key, wanted=lambda value: True):
        """The next message to the page that says something of this kind."""
        while True:
            message = self.open.client.get_iopub_msg(timeout=WAIT)
            data = message["content"].get("data", {}) if message["msg_type"] == "comm_msg" else {}
            if key in data and wanted(data[key]):
                return data

    def run_cell(self, id, source):
        self.cells[id] = source
        self.open.send(id, source, xstate={"cells": self.listed()})

    def states(self, wanted):
        self.says("marks", lambda marks: {id: m["state"] for id, m in marks.items()} == wanted)

    def test_marks(self):
        self.run_cell("b", "print(x)")
        self.states({"a": "fresh", "b": "fresh"})
        self.run_cell("a", "x = 2")
        data = self.says("marks", lambda marks: marks.get("b", {}).get("state") == "stale")
        self.assertRegex(data["marks"]["b"]["why"], r"\Ax changed, which the cell a writes \(\w{8}, now \w{8}\)\Z")
        self.assertRegex(data["summary"], r"\Axstate: 1 stale · run them: \d+\.\d s · the last run executed 1, reused \d\Z")
        self.run_cell("a", "x = 1/0")
        self.says("marks", lambda marks: marks.get("b", {}).get("state") == "blocked")

    def test_cells_above_show_what_they_put_out(self):
        self.run_cell("c", "x")
        self.assertEqual(self.says("outputs", lambda shown: "b" in shown)["outputs"]["b"][0]["text"], "1\n")

    def test_equal_cells_and_taken_back_edits_are_shown(self):
        self.cells = {"a": "x = 1", "b": "print(x)", "b2": "print(x)", "c": "5"}
        self.run_cell("m", "%xstate mode auto")
        self.run_cell("c", "5")
        shown = self.says("outputs", lambda shown: "b2" in shown)["outputs"]
        self.assertEqual((shown["b"][0]["text"], shown["b2"][0]["text"]), ("1\n", "1\n"))
        for n in (2, 1):  # what the second run shows is recorded
            self.run_cell("a", f"x = {n}")
            self.assertEqual(self.says("outputs", lambda shown: "b" in shown)["outputs"]["b2"][0]["text"], f"{n}\n")

    def test_taken_back_edits_make_cells_below_stale(self):
        for n in (1, 2):
            self.run_cell("a", f"x = {n}")
            self.run_cell("b", "print(x)")
            self.states({"a": "fresh", "b": "fresh"})
        self.run_cell("a", "x = 1")
        self.states({"a": "fresh", "b": "stale"})

    def test_after_the_page_is_closed_the_file_counts(self):
        self.run_cell("b", "print(x)")
        self.states({"a": "fresh", "b": "fresh"})
        self.comm("comm_close")
        self.save(("a", "x = 2"), ("b", "print(x)"))
        self.assertRegex(self.open.text("b", "print(x)"), "\\A2\n")

    def test_moved_cell(self):
        self.run_cell("b", "print(x)")
        self.states({"a": "fresh", "b": "fresh"})
        self.cells = {"b": "print(x)", "a": "x = 1", "c": "5"}
        self.comm("comm_msg")
        self.states({"a": "fresh", "b": "stale"})

    def test_edit_of_an_agent(self):
        self.run_cell("b", "print(x)")
        self.states({"a": "fresh", "b": "fresh"})
        command("exec", "--session", "a.ipynb", "--replace", "a", "-c", "x = 3", folder=self.folder)
        self.says("edited")
        self.assertEqual(nbformat.read(self.path, 4).cells[0].source, "x = 3")
        self.cells["a"] = "x = 3"
        self.comm("comm_msg")
        self.states({"a": "fresh", "b": "fresh", "c": "fresh"})

    def test_run_by_others(self):
        self.run_cell("b", "print(x)")
        self.states({"a": "fresh", "b": "fresh"})
        self.run_cell("a", "x = 4")
        self.states({"a": "fresh", "b": "stale"})
        self.save(*self.cells.items())
        command("run", "a.ipynb", folder=self.folder)
        self.assertEqual(self.says("outputs", lambda shown: "b" in shown)["outputs"]["b"][0]["text"], "4\n")

    def test_a_saved_notebook_knows_what_is_fresh(self):
        self.run_cell("b", "print(x)")
        self.states({"a": "fresh", "b": "fresh"})
        self.open.restart()
        self.comm("comm_open", target_name="xstate")
        self.states({"a": "fresh", "b": "fresh"})


class Lab(Folder):
    def test_cells_above_run_first(self):
        self.save(("a", "x = 1"), ("b", "y = x + 1"), ("c", "print(y)"))
        self.assertEqual(self.front().text("c", "print(y)"), "2\n")

    def test_edit_above(self):
        self.save(("a", "x = 1"), ("b", "y = x + 1"), ("c", "print(y)"))
        front = self.front()
        front.text("c", "print(y)")
        self.assertIn("c", front.text("a", "x = 10"))
        self.assertRegex(front.text("c", "print(y)"), r"\A11\n")

    def test_stale_cells_are_named(self):
        self.save(("a", "x = 1"), ("b", "x + 1"))
        front = self.front()
        front.text("a", "x = 1")
        self.assertEqual(front.text("b", "x + 1"), "2")
        self.assertRegex(front.text("a", "x = 2"), r"\Axstate: the cell b is stale \(\d+\.\d s to run\)\Z")

    def test_a_taken_back_edit_makes_cells_below_stale(self):
        self.save(("a", "x = 1"), ("b", "x + 1"))
        front = self.front()
        for n in (1, 2):
            front.text("a", f"x = {n}")
            self.assertEqual(front.text("b", "x + 1"), str(n + 1))
        self.assertRegex(front.text("a", "x = 1"), r"\Axstate: the cell b is stale")
        self.assertEqual(front.text("b", "x + 1"), "2")

    def test_mutation_is_not_repeated(self):
        self.save(("a", "xs = []"), ("b", "xs.append(1)"), ("c", "print(xs)"))
        front = self.front()
        front.text("b", "xs.append(1)")
        front.text("b", "xs.append(1)")
        self.assertEqual(front.text("c", "print(xs)"), "[1]\n")

    def test_deleted_cell_takes_its_names_away(self):
        self.save(("a", "x = 1"), ("b", "print(x)"))
        front = self.front()
        self.assertEqual(front.text("b", "print(x)"), "1\n")
        self.assertIn("NameError", front.text("b", "print(x)", deletedCells=["a"]))

    def test_the_file_counts_whatever_its_time_is(self):
        self.save(("a", "x = 1"), ("b", "print(x)"))
        front = self.front()
        self.assertEqual(front.text("b", "print(x)"), "1\n")
        self.save(("a", "x = 2"), ("b", "print(x)"))
        os.utime(self.path, (1e9, 1e9))
        self.assertRegex(front.text("b", "print(x)"), r"\A2\n")

    def test_ids_of_vs_code(self):
        front = self.front()
        first, second = (f"vscode-notebook-cell:{self.path}#W{n}sZmlsZQ%3D%3D" for n in range(2))
        front.text(first, "x = 1")
        self.assertEqual(front.text(second, "x + 1"), "2")
        front.text(first, "x = 2")
        self.assertEqual(front.text(second, "x + 1"), "3")
        self.assertIn("block W1sZmlsZQ%3D%3D:", front.text("c", "%xstate why W1sZmlsZQ%3D%3D"))

    def test_cells_that_no_file_has_follow_each_other(self):
        front = self.front()
        for id, code in (("a", "x = 1"), ("b", "y = 2"), ("c", "print(y)"), ("a", "x = 1")):
            front.text(id, code)
        self.assertEqual(front.text("d", "print(y)"), "2\n")

    def test_open_file(self):
        cells = (("a", "f = open('g.txt', 'w')"), ("b", "f.write('a');"), ("c", "f.close()"), ("d", "open('g.txt').read()"))
        self.save(*cells)
        front = self.front()
        self.assertEqual([front.text(*cell) for cell in cells], ["", "", "", "'a'"])

    def test_commands(self):
        self.save(("a", "x = 1"))
        front = self.front()
        front.text("a", "x = 1")
        self.assertIn("up to date", front.text("c", "%xstate why a"))
        self.assertIn("reuse", front.text("c", "%xstate plan"))
        self.assertIn("UsageError", front.text("c", '%xstate why "'))
        self.assertEqual([s["session"] for s in command(folder=self.folder)["sessions"]], ["a.ipynb"])

    def test_every_request_has_a_reply(self):
        self.save(("a", "x = 1"))
        front = self.front()
        with open(os.path.join(self.folder, "xstate.toml"), "w") as file:
            file.write("[sandbox\n")
        reply = front.client.execute("x?", reply=True, timeout=WAIT)
        self.assertEqual(reply["content"]["status"], "error")

    def test_cells_that_are_not_saved(self):
        self.save(("a", "x = 1"))
        front = self.front()
        front.text("a", "x = 1")
        front.text("new", "x += 1")
        self.assertEqual(front.text("newer", "print(x)"), "2\n")

    def test_volatile_cell_runs_again(self):
        self.save(("a", "import time\ntime.time_ns()"))
        front = self.front()
        self.assertNotEqual(front.text("a", "import time\ntime.time_ns()"), front.text("a", "import time\ntime.time_ns()"))

    def test_auto_refreshes_displays(self):
        draw = "display(x * 2)"
        self.save(("a", "x = 1"), ("b", draw))
        front = self.front()
        front.text("a", "%xstate mode auto")
        front.text("b", draw)
        self.assertEqual(list(front.displays.values()), ["2"])
        self.assertIn("the cell b shows something else now", front.text("a", "x = 5"))
        self.assertIn("10", front.displays.values())

    def test_blocked_cell(self):
        self.save(("a", "x = 1/0"), ("b", "print(x)"))
        self.assertRegex(self.front().text("b", "print(x)"), r"NotExecuted: .* cell a, .*ZeroDivisionError")

    def test_interrupt(self):
        self.save(("a", "x = 1"), ("b", ""))
        front = self.front()
        front.text("a", "x = 1")
        sent = front.send("b", "print('begun', flush=True)\nwhile True:\n    pass")
        front.follow(sent, until=lambda kind, content: kind == "stream")
        front.manager.interrupt_kernel()
        self.assertIn("error", [kind for kind, _ in front.follow(sent)])
        self.assertEqual(front.text("b", "x + 1"), "2")

    def test_input(self):
        code = "print('before')\nname = input('Who? ')\nprint('hello', name)"
        self.save(("a", code))
        front = self.front()
        sent = front.send("a", code, allow_stdin=True)
        asked = front.client.get_stdin_msg(timeout=WAIT)
        self.assertEqual(asked["content"], {"prompt": "Who? ", "password": False})
        front.client.input("Ada")
        front.follow(sent)
        self.assertEqual(front.text("a", code), "before\nhello Ada\n")  # the answer is recorded

    def test_input_without_a_person(self):
        self.assertRegex(self.front().text("a", "input('Who? ')"), r"Waiting: .*Who\?")

    def test_input_is_interrupted(self):
        front = self.front()
        sent = front.send("a", "input('Who? ')", allow_stdin=True)
        front.client.get_stdin_msg(timeout=WAIT)
        front.manager.interrupt_kernel()
        self.assertIn("error", [kind for kind, _ in front.follow(sent)])
        self.assertEqual(front.text("b", "1 + 1"), "2")

    def test_restart_loses_nothing(self):
        self.save(("a", "x = 1\nprint('ran')"), ("b", "x + 1"))
        front = self.front()
        front.text("b", "x + 1")
        front.restart()
        self.assertEqual(front.text("b", "x + 1"), "2")
        steps = command("log", "--limit", "1", folder=self.folder)["steps"]
        self.assertEqual(steps[0]["run"]["blocks"]["ran"], 0)

    def test_the_command_line_has_the_same_session(self):
        self.save(("a", "x = 1"), ("b", "x + 1"))
        front = self.front()
        front.text("b", "x + 1")
        found = command("query", "--session", "a.ipynb", "--value", "x", folder=self.folder)
        self.assertEqual(found["text"], "1")
        self.assertIn("block b:", front.text("c", "%xstate why b"))

    def test_two_kernels_on_one_notebook(self):
        self.save(("a", "x = 1"), ("b", "x + 1"))
        one, two = self.front(), self.front()
        self.assertEqual(one.text("b", "x + 1"), "2")
        self.assertEqual(two.text("b", "x + 1"), "2")
        one.text("a", "x = 5")
        self.assertEqual(one.text("b", "x + 1"), "6")

    def test_code_of_the_front_end_is_not_shown(self):
        self.save(("a", "x = 1"),)
        front = self.front()
        front.text("a", "x = 1")
        front.client.execute("hidden = x + 1", silent=True, reply=True, timeout=WAIT)
        reply = front.client.execute(
            "", silent=True, user_expressions={"v": "hidden * 10"}, reply=True, timeout=WAIT
        )
        self.assertEqual(reply["content"]["user_expressions"]["v"]["data"]["text/plain"], "20")

    def test_an_error_of_xstate(self):
        self.save(("a", "x = 1"))
        front = self.front()
        front.text("a", "x = 1")
        with open(os.path.join(self.folder, "xstate.toml"), "w") as file:
            file.write("[sandbox\n")
        said = front.text("a", "x = 2")
        self.assertTrue(re.search("xstate.toml", said), said)


if __name__ == "__main__":
    unittest.main()
