"""Widgets: what a page sees of them, and what it does with them."""


import os

import nbformat
from test_notebooks import WAIT, Folder, command, notebook, shown

SLIDER = "import ipywidgets as w\ns = w.IntSlider(value=3, max=9)\ns"


class Page(Folder):
    """Keeps the widgets of a page, as that of JupyterLab does."""

    def setUp(self):
        super().setUp()
        self.open = self.front()
        self.states = {}  # id of a widget → its state
        self.opened = 0

    def follow(self, sent):
        """What is put out for a request: (type, content)."""
        messages = []
        while True:
            message = self.open.client.get_iopub_msg(timeout=WAIT)
            kind, content = message["msg_type"], message["content"]
            if kind == "comm_open":
                if content["target_name"] == "jupyter.widget":
                    self.assertEqual(message["metadata"]["version"][0], "2")
                self.states[content["comm_id"]] = dict(content["data"]["state"])
                self.opened += 1
            elif kind == "comm_msg" and "state" in content["data"]:
                self.states[content["comm_id"]].update(content["data"]["state"])
            elif kind == "comm_close":
                del self.states[content["comm_id"]]
            if message["parent_header"].get("msg_id") != sent:
                continue
            if kind == "status" and content["execution_state"] == "idle":
                return messages
            if kind not in ("status", "execute_input"):
                messages.append((kind, content))

    def run_cell(self, id, code):
        """What a cell shows, as text."""
        texts = []
        for kind, content in self.follow(self.open.send(id, code)):
            if kind == "stream":
                texts.append(content["text"])
            elif kind == "error":
                texts.append(f"{content['ename']}: {content['evalue']}")
            elif kind in ("execute_result", "display_data"):
                texts.append(content["data"]["text/plain"])
        return "".join(texts)

    def tell(self, kind, **content):
        client = self.open.client
        message = client.session.msg(kind, content)
        client.shell_channel.send(message)
        return self.follow(message["header"]["msg_id"])

    def widget(self, name):
        """The id of the last widget of a kind."""
        return [id for id, state in self.states.items() if state["_model_name"] == name + "Model"][-1]

    def move(self, value, id=None):
        data = {"method": "update", "state": {"value": value}, "buffer_paths": []}
        return self.tell("comm_msg", comm_id=id or self.widget("IntSlider"), data=data)

    def click(self):
        data = {"method": "custom", "content": {"event": "click"}}
        return self.tell("comm_msg", comm_id=self.widget("Button"), data=data)

    def outputs(self):
        return self.states[self.widget("Output")]["outputs"]

    def ran(self):
        """The names of the blocks that the last run executed."""
        step = command("log", "--limit", "1", folder=self.folder)["steps"][0]
        return step["run"]["blocks"]["ran"]

    def test_moved_slider(self):
        self.assertEqual(self.run_cell("a", SLIDER), "IntSlider(value=3, max=9)")
        self.assertEqual(self.run_cell("b", "print(s.value)"), "3\n")
        self.move(7)
        self.assertEqual(self.states[self.widget("IntSlider")]["value"], 7)
        self.assertEqual(self.run_cell("b", "print(s.value)"), "7\n")
        self.assertEqual(self.run_cell("c", "s.value += 1\nprint(s.value)"), "8\n")
        self.assertEqual(self.states[self.widget("IntSlider")]["value"], 8)
        self.assertEqual(self.run_cell("c", "s.value += 2\nprint(s.value)"), "9\n")

    def test_same_cell_again_keeps_what_was_said(self):
        self.run_cell("a", SLIDER)
        self.move(7)
        opened = self.opened
        self.run_cell("a", SLIDER)
        self.assertEqual(self.run_cell("b", "print(s.value)"), "7\n")
        self.assertEqual(self.opened, opened)

    def test_edited_cell_forgets_what_was_said(self):
        self.run_cell("a", SLIDER)
        self.move(7)
        self.run_cell("a", SLIDER.replace("3", "4"))
        self.assertEqual(self.states[self.widget("IntSlider")]["value"], 4)
        self.assertEqual(self.run_cell("b", "print(s.value)"), "4\n")

    def test_deleted_cell_closes_its_widgets(self):
        self.run_cell("a", SLIDER)
        self.run_cell("b", "1")
        self.follow(self.open.send("b", "2", deletedCells=["a"]))
        self.assertEqual(self.states, {})

    def test_callbacks_of_later_cells(self):
        self.run_cell("a", "import ipywidgets as w\nb = w.Button()\nb")
        self.run_cell("b", "n = 0\ndef go(_):\n    global n\n    n += 1\n    print('click', n)\nb.on_click(go)")
        self.assertEqual(self.click(), [("stream", {"name": "stdout", "text": "click 1\n"})])
        self.click()
        self.assertEqual(self.run_cell("c", "n"), "2")
        self.run_cell("b", "n = 10\ndef go(_):\n    global n\n    n += 5\nb.on_click(go)")
        self.assertEqual(self.run_cell("c", "n"), "20")

    def test_widgets_that_a_callback_makes(self):
        self.run_cell("a", "import ipywidgets as w\nb = w.Button()\nmade = []\ndef go(_):\n    made.append(w.IntSlider())")
        self.run_cell("b", "b.on_click(go)")
        self.click()
        self.move(5)
        self.assertEqual(self.run_cell("c", "made[0].value"), "5")
        self.run_cell("a", "import ipywidgets as w\nb = w.Button()\nmade = []\ndef go(_):\n    pass")
        self.assertEqual(self.run_cell("c", "made"), "[]")

    def test_edited_observer(self):
        self.run_cell("a", "import ipywidgets as w\ns = w.IntSlider(3)\nl = w.Label('-')\nlog = []")
        observer = "s.observe(lambda c: (setattr(l, 'value', 'one %d' % c['new']), log.append(c['new'])), 'value')"
        self.run_cell("b", observer)
        self.assertEqual(self.run_cell("c", "s.value = 5\nprint(l.value, log)"), "one 5 [5]\n")
        self.run_cell("b", observer.replace("one", "two"))
        self.assertEqual(self.run_cell("c", "s.value = 5\nprint(l.value, log)"), "two 5 [5]\n")
        self.run_cell("b", "1")
        self.assertEqual(self.run_cell("c", "s.value = 5\nprint(l.value, log)"), "- []\n")

    def test_moved_after_a_callback_changed_it(self):
        self.run_cell("a", SLIDER)
        self.run_cell("b", "r = w.Button()\nr.on_click(lambda _: setattr(s, 'value', 0))")
        self.click()
        self.move(8)
        self.assertEqual(self.run_cell("c", "s.value"), "8")

    def test_message_while_a_cell_runs(self):
        self.run_cell("a", SLIDER)
        waits = "print(1, flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint(2)"
        sent = self.open.send("b", "import os, time\n" + waits)
        client, parents, idle = self.open.client, [], set()
        data = {"method": "update", "state": {"value": 5}, "buffer_paths": []}
        move = client.session.msg("comm_msg", {"comm_id": self.widget("IntSlider"), "data": data})
        while len(idle) < 2:
            message = client.get_iopub_msg(timeout=WAIT)
            if message["msg_type"] == "stream":
                if not parents:
                    client.shell_channel.send(move)
                parents.append(message["parent_header"]["msg_id"])
            elif message["msg_type"] == "status":
                about = message["parent_header"]["msg_id"]
                if message["content"]["execution_state"] == "idle":
                    idle.add(about)
                elif about == move["header"]["msg_id"]:
                    open(os.path.join(self.folder, "go"), "w").close()
        self.assertEqual(parents, [sent, sent])
        self.assertEqual(idle, {sent, move["header"]["msg_id"]})
        self.assertEqual(self.run_cell("c", "s.value"), "5")

    def test_interrupted_callback(self):
        callback = "lambda _: (print('on', flush=True), time.sleep(600))"
        self.run_cell("a", f"import ipywidgets as w, time\nb = w.Button()\nb.on_click({callback})")
        client, data = self.open.client, {"method": "custom", "content": {"event": "click"}}
        message = client.session.msg("comm_msg", {"comm_id": self.widget("Button"), "data": data})
        client.shell_channel.send(message)
        while client.get_iopub_msg(timeout=WAIT)["msg_type"] != "stream":
            pass
        self.open.manager.interrupt_kernel()
        self.follow(message["header"]["msg_id"])
        self.assertEqual(self.run_cell("b", "1 + 1"), "2")

    def test_burst(self):
        self.run_cell("a", "import ipywidgets as w\np = w.IntProgress(max=5000)\nfor i in range(5001):\n    p.value = i")
        self.assertEqual(self.states[self.widget("IntProgress")]["value"], 5000)

    def test_widget_of_a_failed_cell(self):
        self.run_cell("a", "import ipywidgets as w\nt = w.IntSlider()\n1 / 0")
        ((_, said),) = self.move(5)
        self.assertIn("failed", said["text"])

    def test_callback_fails(self):
        self.run_cell("a", "import ipywidgets as w\nb = w.Button()\nb.on_click(lambda _: 1 / 0)\nb")
        self.assertIn("ZeroDivisionError", str(self.click()))
        self.assertEqual(self.run_cell("b", "1 + 1"), "2")

    def test_only_readers_of_a_moved_slider_run(self):
        self.run_cell("a", SLIDER + "\nt = w.IntSlider()")
        self.run_cell("b", "print(s.value)")
        self.run_cell("c", "print(t.value)")
        self.move(5, next(id for id, state in self.states.items() if state.get("max") == 9))
        text = self.run_cell("c", "print(t.value)")
        self.assertEqual(text, "0\nxstate: the cell b shows something else now")
        self.assertEqual(self.ran(), 1)  # the cell b

    def test_interact(self):
        self.run_cell("a", "import ipywidgets as w\n@w.interact(x=(0, 10))\ndef f(x=4):\n    print(x * x)\n    return x")
        for x in (5, 6):
            self.move(x)
            text, value = self.outputs()
            self.assertEqual(text["text"], f"{x * x}\n")
            self.assertEqual(value["data"]["text/plain"], str(x))

    def test_output_widget(self):
        self.run_cell("a", "import ipywidgets as w\no = w.Output()\no")
        code = "from IPython.display import clear_output, display\nprint('cell')\nwith o:\n    print('one')\n    display(2)"
        self.assertEqual(self.run_cell("b", code), "cell\n")
        self.assertEqual([x.get("text") or x["data"]["text/plain"] for x in self.outputs()], ["one\n", "2"])
        self.run_cell("c", "with o:\n    clear_output(wait=True)\n    1 / 0")
        self.assertEqual([x["ename"] for x in self.outputs()], ["ZeroDivisionError"])
        self.assertEqual(self.run_cell("d", "o.clear_output()\nprint('after')"), "after\n")
        self.assertEqual(self.outputs(), [])

    def test_bytes(self):
        self.run_cell("a", "import ipywidgets as w\ni = w.Image(value=b'abc', format='png')\ni")
        (id,) = [id for id, state in self.states.items() if state["_model_name"] == "ImageModel"]
        self.tell("comm_open", comm_id="c", target_name="jupyter.widget.control", data={})
        ((_, answer),) = self.tell("comm_msg", comm_id="c", data={"method": "request_states"})
        self.assertEqual(answer["data"]["buffer_paths"], [[id, "value"]])
        self.assertEqual(answer["data"]["states"][id]["model_name"], "ImageModel")

    def test_progress_bar(self):
        self.run_cell("a", "from tqdm.notebook import tqdm\nfor _ in tqdm(range(3)):\n    pass")
        self.assertEqual(self.states[self.widget("FloatProgress")]["value"], 3)

    def test_after_a_restart(self):
        self.run_cell("a", SLIDER)
        self.move(7)
        self.open.restart()
        self.states.clear()
        self.run_cell("a", SLIDER)
        self.assertEqual(self.ran(), 0)
        self.assertEqual(self.states[self.widget("IntSlider")]["value"], 3)
        self.move(8)
        self.assertEqual(self.run_cell("b", "print(s.value)"), "8\n")

    def test_edit_of_an_agent(self):
        cells = [("a", SLIDER), ("b", "s.value"), ("c", "1")]
        self.save(*cells)
        for id, source in cells:
            self.run_cell(id, source)
        self.move(7)
        done = command("exec", "--session", "a.ipynb", "--replace", "c", "-c", "2", folder=self.folder)
        self.assertEqual(done["result"], "2")
        self.assertEqual([c.source for c in nbformat.read(self.path, 4).cells], [SLIDER, "s.value", "2"])
        self.assertEqual(self.run_cell("b", "s.value"), "7xstate: the cell c is stale (0.0 s to run)")

    def test_mode_auto(self):
        self.run_cell("a", SLIDER)
        self.run_cell("b", "display(s.value * 2)")
        self.run_cell("m", "%xstate mode auto")
        said = [c["data"]["text/plain"] for kind, c in self.move(4) if kind == "update_display_data"]
        self.assertEqual(said, ["8"])

    def test_comms_of_other_targets(self):
        self.run_cell(
            "a",
            "import comm\nc = comm.create_comm(target_name='mine', data={'state': {}})\n"
            "got = []\nc.on_msg(lambda m: (got.append(m['content']['data']), c.send({'n': len(got)})))",
        )
        (id,) = self.states
        answers = self.tell("comm_msg", comm_id=id, data={"x": 1})
        self.assertEqual([c["data"] for kind, c in answers if kind == "comm_msg"], [{"n": 1}])
        self.assertEqual(self.run_cell("b", "got"), "[{'x': 1}]")


class Saved(Folder):
    def test_nbclient_keeps_the_states(self):
        for _ in range(2):
            book = notebook(SLIDER, "s.value")
            self.client(book, timeout=WAIT).execute()
            self.assertEqual(shown(book.cells[1]), "3")
            (saved,) = book.metadata["widgets"].values()
            self.assertIn(3, [x["state"].get("value") for x in saved["state"].values()])
            view = book.cells[0].outputs[0].data["application/vnd.jupyter.widget-view+json"]
            self.assertIn(view["model_id"], saved["state"])

    def test_media(self):
        book = notebook(
            "class A:\n    def _ipython_display_(self):\n        print('me')\nA()",
            "from IPython.display import display\ndisplay({'text/html': 'x', 'application/x+json': 'y'}, raw=True)",
            "class B:\n    def _repr_html_(self):\n        return '<b>', {'isolated': True}\nB()",
            "from IPython import get_ipython\nget_ipython().__class__.__name__",
            "  x = 1\n  print(x)",
        )
        self.client(book, timeout=WAIT).execute()
        outputs = [c.outputs[0] for c in book.cells]
        self.assertEqual(outputs[0].text, "me\n")
        self.assertEqual(outputs[1].data, {"text/html": "x", "application/x+json": "y"})
        self.assertEqual(outputs[2].metadata, {"text/html": {"isolated": True}})
        self.assertEqual(shown(book.cells[3]), "'ZMQInteractiveShell'")
        self.assertEqual(outputs[4].text, "1\n")


