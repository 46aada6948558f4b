"""The magics %%xstate and %xstate of the Python client, in ordinary kernels and in IPython."""

import os
import subprocess
import sys
import unittest

from nbclient.exceptions import CellExecutionError
from test_notebooks import Folder, Front, command, notebook, shown

LOAD = "%load_ext xstate_engine"


class Cells(Front):
    """Cells of an ordinary kernel, which are blocks."""

    def __init__(self, path):
        super().__init__(path, "python3")
        self.text("load", LOAD)

    def restart(self):
        super().restart()
        self.text("load", LOAD)

    def block(self, id, code, **metadata):
        return self.text(id, "%%xstate\n" + code, **metadata)


class Magic(Folder):
    def setUp(self):
        super().setUp()
        self.addCleanup(subprocess.run, [os.environ["XSTATE"], "serve", "--stop"], cwd=self.folder, capture_output=True)

    def front(self, path=None):
        front = Cells(path or self.path)
        self.addCleanup(front.close)
        return front

    def last(self, session="a"):
        """What the last run of a session did."""
        return command("log", "--session", session, "--limit", "1", folder=self.folder)["steps"][0]["run"]["blocks"]

    def execute(self, *sources):
        """Runs a notebook without ids, as nbclient does, in a kernel of its own."""
        book = notebook(LOAD, *sources)
        client = self.client(book, kernel_name="python3")
        try:
            client.execute()
        except CellExecutionError as e:
            return book.cells[1:], e
        return book.cells[1:], None


class TestCells(Magic):
    def test_an_edit_runs_what_it_affects(self):
        front = self.front()
        cells = {"a": "x = 1", "b": "print(x)", "c": "print('other')"}
        self.assertEqual([front.block(*c) for c in cells.items()], ["", "1\n", "other\n"])
        self.assertRegex(front.block("a", "x = 2"), r"\Axstate: stale: b \(\d+\.\d s; %xstate run\)\Z")
        self.assertEqual(self.last()["ran"], 1)
        self.assertEqual(front.block("b", cells["b"]), "2\n")
        self.assertEqual(front.block("c", cells["c"]), "other\n")
        self.assertEqual(self.last()["ran"], 0)
        self.assertIn("stale: b", front.block("a", "x = 1"))  # it shows 2

    def test_output_is_that_of_ipykernel(self):
        code = (
            "import sys\n"
            "import matplotlib.pyplot as plt\n"
            "import pandas as pd\n"
            "from IPython.display import HTML, display\n"
            "print('out')\n"
            "print('err', file=sys.stderr)\n"
            "display(HTML('<b>x</b>'))\n"
            "plt.plot([1, 2])\n"
            "plt.show()\n"
            "pd.DataFrame({'a': [1, 2]})"
        )
        front = self.front()
        plain = sorted(self.kinds(front.run("p", code)))
        self.assertEqual(
            [kind for kind, _ in plain], ["display_data", "display_data", "execute_result", "stream", "stream"]
        )
        for _ in range(2):  # executed, and reused
            self.assertEqual(sorted(self.kinds(front.run("a", "%%xstate\n" + code))), plain)
        self.assertEqual(self.last()["ran"], 0)

    def kinds(self, messages):
        for kind, content in messages:
            data = {**content.get("data", {})}
            if "image/png" in data:
                data["image/png"] = data["image/png"][:8]  # another font, another picture
            yield kind, repr(sorted(data.items())) + content.get("name", "") + content.get("text", "")

    def test_an_error_stops_the_notebook(self):
        cells, failed = self.execute("%%xstate\nprint('before')\n1/0", "print('never')")
        self.assertEqual([o.output_type for o in cells[0].outputs], ["stream", "error"])
        self.assertEqual(cells[0].outputs[1].ename, "ZeroDivisionError")
        self.assertEqual(str(failed).count("Traceback"), 1)
        self.assertIn('File "<b1>", line 2', str(failed))
        self.assertNotIn("_magic.py", str(failed))
        self.assertEqual(cells[1].outputs, [])

    def test_a_cell_that_needs_a_failed_one_says_so(self):
        front = self.front()
        front.block("a", "x = 1/0")
        self.assertRegex(front.block("b", "print(x)"), r"NotExecuted: .* cell a, .*ZeroDivisionError")

    def test_interrupt(self):
        front = self.front()
        for again in (False, True):  # in a new session, and in one that has a program
            sent = front.send("b", "%%xstate\nprint('begun', flush=True)\nwhile True:\n    pass")
            front.follow(sent, until=lambda kind, content: kind == "stream")
            front.manager.interrupt_kernel()
            errors = [content for kind, content in front.follow(sent) if kind == "error"]
            self.assertEqual([e["traceback"] for e in errors], [["KeyboardInterrupt"]])
            self.assertIn(": 1 blocks" if again else ": 0 blocks", front.text("c", "%xstate"))
            self.assertEqual(front.block("a", "x = 1\nx"), "1")

    def test_commands(self):
        front = self.front()
        self.assertIn("session a in ", front.text("c", "%xstate"))
        front.block("a", "x = 1")
        self.assertIn("up to date", front.text("c", "%xstate why a"))
        self.assertEqual(front.text("c", "%xstate value x"), "1\n")
        self.assertIn("reuse 1", front.text("c", "%xstate plan"))
        front.block("b", "x + 1")
        front.block("a", "x = 5")
        self.assertIn("6\n", front.text("c", "%xstate run"))
        self.assertIn("UsageError", front.text("c", '%xstate why "'))
        self.assertIn("UsageError", front.text("c", "%%xstate --other\n1"))

    def test_errors_of_xstate_are_one_line(self):
        front = self.front()
        front.text("c", "import os; os.environ['XSTATE'] = 'no-such-program'")
        messages = front.run("a", "%%xstate\n1")
        ((kind, error),) = messages
        self.assertEqual((kind, len(error["traceback"])), ("error", 1))
        self.assertRegex(error["traceback"][0], r"\Ano-xstate: .*install it")

    def test_notebooks_of_a_folder_have_their_sessions(self):
        other = self.front(os.path.join(self.folder, "b.ipynb"))
        front = self.front()
        front.block("a", "x = 1\nx")
        self.assertEqual(other.block("a", "x = 2\nx"), "2")
        self.assertEqual(front.block("b", "x"), "1")
        self.assertEqual(front.text("c", "%%xstate --session b\nx"), "2")
        self.assertEqual(sorted(s["session"] for s in command(folder=self.folder)["sessions"]), ["a", "b"])

    def test_restart_loses_nothing(self):
        front = self.front()
        front.block("a", "x = 1\nprint('ran')")
        front.block("b", "x + 1")
        front.restart()
        self.assertEqual(front.block("b", "x + 1"), "2")
        self.assertEqual(self.last()["ran"], 0)

    def test_without_ids_the_cells_are_the_program(self):
        cells = ["%%xstate\nxs = [1]", "%%xstate\nxs.append(2)", "%%xstate\nxs.append(2)", "%%xstate\nprint(xs)"]
        session = os.path.basename(self.folder)
        for ran in (1, 0):
            done, failed = self.execute(*cells)
            self.assertIsNone(failed)
            self.assertEqual([shown(c) for c in done], ["", "", "", "[1, 2, 2]\n"])
            self.assertEqual(self.last(session)["ran"], ran)
        self.assertEqual(shown(self.execute(cells[0], cells[3])[0][1]), "[1]\n")

    def test_new_cells(self):
        front = self.front()
        for id, code in (("a", "x = 1"), ("b", "print(x)"), ("a", "x = 1")):
            front.block(id, code)
        front.block("new", "x = 7")
        self.assertEqual(front.block("b", "print(x)"), "7\n")
        self.assertIn("NameError", front.block("b", "print(x)", deletedCells=["a", "new"]))

    def test_the_order_is_that_of_the_file(self):
        front = self.front()
        front.block("b", "print(1)")
        self.save(("top", "%%xstate\nx = 3"), ("b", "%%xstate\nprint(x)"))
        front.block("top", "x = 3")
        self.assertEqual(front.block("b", "print(x)"), "3\n")

    def test_ids_that_no_file_has(self):
        front = self.front()
        first, second = (f"vscode-notebook-cell:{self.path}#W{n}sZmlsZQ%3D%3D" for n in range(2))
        front.block(first, "x = 1")
        self.assertEqual(front.block(second, "x + 1"), "2")
        self.assertIn("stale: b2", front.block(first, "x = 2"))
        self.assertEqual(front.block(second, "x + 1"), "3")
        self.assertIn("block b2:", front.text("c", "%xstate why b2"))

    def test_edits_of_others(self):
        front = self.front()
        front.block("a", "x = 1")
        front.block("b", "print(x)")
        command("exec", "--session", "a", "-c", "# %% mine\ny = x + 1", folder=self.folder)
        patch = '{"cell_id": "a", "new_source": "x = 9\\nprint(\'nine\')"}'
        subprocess.run([os.environ["XSTATE"], "patch", "a"], input=patch, text=True, cwd=self.folder, capture_output=True)
        self.assertRegex(front.block("b", "print(x)"), r"\A9\nxstate: a ran: nine; stale: mine \(")
        front.text("c", "%xstate run")
        self.assertEqual(front.text("c", "%xstate value y"), "10\n")

    def test_input(self):
        front = self.front()
        sent = front.send("a", "%%xstate\nname = input('Who? ')\nprint('hello', name)", allow_stdin=True)
        self.assertEqual(front.client.get_stdin_msg(timeout=60)["content"]["prompt"], "Who? ")
        front.client.input("Ada")
        self.assertIn(("stream", {"name": "stdout", "text": "hello Ada\n"}), front.follow(sent))


class TestTerminal(Magic):
    def test_ipython(self):
        code = (
            "from IPython.core.interactiveshell import InteractiveShell\n"
            "shell = InteractiveShell.instance()\n"
            f"for cell in [{LOAD!r}, '%%xstate\\nprint(1)\\n2', '%%xstate\\n1/0']:\n"
            "    shell.run_cell(cell, store_history=True)\n"
        )
        ran = subprocess.run([sys.executable, "-c", code], cwd=self.folder, capture_output=True, text=True)
        self.assertRegex(ran.stdout, r"\A1\n.*2\n(.|\n)*ZeroDivisionError")
        self.assertEqual(ran.stderr, "")


if __name__ == "__main__":
    unittest.main()
