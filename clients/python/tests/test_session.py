import copy
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

from support import BINARY, Folder
from xstate_engine import Counts, Engine, ExecResult, ExecutionError, XStateError

LONG = "# %% long\nimport time\nprint('began', flush=True)\ntime.sleep(600)"


def until(condition, seconds=30.0):
    """Waits until something another process does is visible."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not come true")
        time.sleep(0.02)


class TestExec(Folder):
    def test_results(self):
        s = self.engine.session("main", origin={"agent": "tester", "model": "m"})
        first = s.exec("# %% data\nx = 20\nprint('hello')\nx + 1").check()
        self.assertEqual((first.text, first.result, first.block), ("hello\n21\n", "21", "data"))
        self.assertEqual((first.action, first.status, first.ok, first.error), ("append", "ran", True, None))
        s.exec("# %% double\ny = x * 2\nprint(y)")
        again = s.exec("# %% data\nx = 21\nx + 1", origin={"call_id": "c7"})
        self.assertEqual(again.counts, Counts(ran=2, reused=0, failed=0, blocked=0, not_reached=0))
        self.assertEqual([(b["block"], b["text"]) for b in again.others], [("double", "42\n")])
        step = s.query(at_step=again.step - 1)["step"]
        self.assertEqual((step["origin"]["agent"], step["origin"]["call_id"]), ("tester", "c7"))
        retry = s.exec("# %% data\nx = 21\nx + 1", origin={"call_id": "c7"})
        self.assertEqual((retry.repeated, retry.step, retry.text), (True, again.step, again.text))
        same = s.exec("# %% data\nx = 21\nx + 1")
        self.assertEqual((same.action, same.status, same.counts.ran, same.text), ("unchanged", "reused", 0, "22\n"))

    def test_code_that_fails(self):
        s = self.engine.session()
        self.assertEqual(s.name, "main")
        s.exec("# %% x\nx = 1\n# %% use\nx + 1").check()
        r = s.exec("# %% x\nx = 1 / 0")
        e = r.error
        self.assertEqual(
            (r.ok, e.type, e.message, e.block, r.stale), (False, "ZeroDivisionError", "division by zero", "x", ["use"])
        )
        self.assertIn("ZeroDivisionError: division by zero", e.traceback)
        self.assertIn("ZeroDivisionError", r.text)
        with self.assertRaises(ExecutionError) as caught:
            r.check()
        self.assertEqual(str(caught.exception), "ZeroDivisionError: division by zero")
        r = s.exec("import no_such_module_here")
        self.assertEqual(r.error.type, "ModuleNotFoundError")
        self.assertIn("pip", r.error.hint)
        with self.assertRaises(ExecutionError):
            s.exec("print(").check()

    def test_a_block_that_breaks_because_of_an_edit(self):
        s = self.engine.session()
        quiet = s.exec("# %% a\nx = 1")
        self.assertEqual((str(quiet), quiet.ok), ("no output\n", True))
        s.exec("# %% b\ny = 1 / x\n# %% c\nprint(y)").check()
        r = s.exec("# %% a\nx = 0")
        self.assertEqual((r.status, r.ok, [b["block"] for b in r.broken]), ("ran", False, ["b", "c"]))
        self.assertIn("block b failed because of it (input-changed: var:x by a)\nTraceback", str(r))
        self.assertIn("ZeroDivisionError: division by zero", str(r))
        self.assertIn("block c blocked because of it (", str(r))
        with self.assertRaises(ExecutionError) as caught:
            r.check()
        self.assertEqual((caught.exception.type, caught.exception.block), ("ZeroDivisionError", "b"))
        unrelated = s.exec("# %% d\nz = 5", append=True)
        self.assertTrue(unrelated.check().ok)
        mended = s.exec("# %% a\nx = 2").check()
        self.assertEqual((mended.broken, str(mended).endswith("0.5\n")), ([], True))

    def test_a_failure_that_stays_is_not_because_of_the_call(self):
        s = self.engine.session()
        s.exec("# %% lost\nraise TimeoutError('gone')")
        r = s.exec("# %% d\nz = 5", append=True)  # the failure is tried again, and stays
        self.assertEqual((r.broken, r.ok), ([], True))

    def test_results_can_be_kept(self):
        r = self.engine.session().exec("# %% a\nprint('hello')\n7")
        for again in (
            ExecResult(json.loads(json.dumps(r))),
            pickle.loads(pickle.dumps(r)),
            copy.deepcopy(r),
        ):
            self.assertEqual((again.text, again.result, again.counts), (r.text, r.result, r.counts))
            self.assertEqual((again.document, str(again)), (r.document, str(r)))
        self.assertIs(type(r.document), dict)

    def test_undo_takes_back_the_last_edit(self):
        s = self.engine.session()
        s.exec("# %% a\nx = 1")
        s.exec("# %% b\ny = x + 1\ny")
        s.exec("x = 5", replace="[1]")  # as show numbers it
        self.assertEqual(len(s.undo()["undone"]), 1)
        self.assertEqual([b["source"] for b in s.show()["blocks"]], ["x = 1", "y = x + 1\ny"])
        s.undo()
        self.assertEqual([b["id"] for b in s.show()["blocks"]], ["a"])

    def test_events(self):
        events = []
        r = self.engine.session().exec(
            "print('one')\nimport sys\nprint('two', file=sys.stderr)", on_event=events.append
        )
        kinds = [e["event"] for e in events]
        self.assertEqual((kinds[0], kinds[1], kinds[-1]), ("started", "begin", "end"))
        text = [(e["output"]["kind"], e["output"]["text"]) for e in events if e["event"] == "output"]
        self.assertEqual(text, [("stdout", "one\n"), ("stderr", "two\n")])
        self.assertTrue(all(e["block"] == r.block for e in events[1:]))

    def test_an_event_that_raises_ends_the_run(self):
        def refuse(event):
            if event["event"] == "output":
                raise KeyError("enough")

        s = self.engine.session()
        with self.assertRaises(KeyError):
            s.exec(LONG, on_event=refuse)
        until(lambda: self.engine.runs() == [])
        self.assertEqual(s.exec("1 + 1").result, "2")

    def test_images(self):
        code = """import base64
class Picture:
    def _repr_png_(self):
        return base64.b64decode(
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        )
Picture()"""
        s = self.engine.session()
        (image,) = s.exec(code).images
        self.assertEqual((image.media, image.data[:4]), ("image/png", b"\x89PNG"))
        drawn = s.exec("# %% size\nn = 1\n").check() and s.exec("# %% chart\nn += 0\nPicture()").check()
        self.assertEqual([x.block for x in drawn.images], ["chart"])
        again = s.exec("# %% size\nn = 2\n").check()  # the chart, which depends on it, was drawn again and lost
        self.assertEqual([(x.block, x.data[:4]) for x in again.images], [("chart", b"\x89PNG")])
        self.assertIn(str(again.images[0].file), again.others[0]["text"])
        self.assertEqual(s.exec("# %% other\nm = 1\n").check().images, [])

    def test_budget_and_files(self):
        r = self.engine.session().exec("for i in range(5000): print('line', i)", budget=2000)
        self.assertTrue(r.document["clipped"])
        self.assertLess(len(r.text), 2500)
        (file,) = r.files
        self.assertEqual(Path(file["file"]).read_text().count("\n"), 5000)

    def test_replace_and_append(self):
        s = self.engine.session()
        first = s.exec("x = 1")
        self.assertEqual(s.exec("z = 5", replace=first.block).action, "replace")
        self.assertEqual(s.exec("z = 5", append=True).action, "append")
        with self.assertRaises(XStateError) as caught:
            s.exec("z = 5", replace="nothing")
        self.assertEqual(caught.exception.code, "patch-no-target")

    def test_timeout_of_code(self):
        r = self.engine.session().exec("while True: pass", timeout=0.3)
        self.assertIn("Timeout", r.error.type)

    def test_environment_within_bounds(self):
        with mock.patch.dict(os.environ, {"SOME_TOKEN": "s3cret"}):
            r = self.engine.session().exec("import os\nprint(os.environ.get('SOME_TOKEN'))")
            self.assertIn("None", r.text)
            given = self.new_engine(environ=os.environ)  # the caller's own choice
            self.assertIn("s3cret", given.session("given").exec("import os\nprint(os.environ['SOME_TOKEN'])").text)

    def test_environment_and_interpreter(self):
        engine = self.new_engine(environ={**os.environ, "COLOUR": "red", "BYTES": os.fsdecode(b"\xff")})
        r = engine.session().exec("import os, sys\nprint(os.environ['COLOUR'], sys.executable)")
        self.assertIn("red", r.text)
        engine.close()
        with Engine(self.folder, binary=BINARY, python="/nowhere/python") as broken:
            with self.assertRaises(XStateError) as caught:
                broken.session("other").exec("1")
        self.assertEqual(caught.exception.code, "no-python")


class TestQuestions(Folder):
    def setUp(self):
        super().setUp()
        self.s = self.engine.session("work")
        self.s.exec("# %% data\nx = [1, 2, 3]\n# %% total\ntotal = sum(x)\nprint(total)").check()

    def test_answers(self):
        s = self.s
        self.assertEqual(s.value("total")["text"], "6")
        self.assertEqual(s.query(block="total")["block"]["outputs"][0]["text"], "6\n")
        self.assertEqual([b["id"] for b in s.query(at_step=1)["blocks"]], ["data"])
        self.assertEqual(s.query(symbol="x")["writers"][0]["node"], "data")
        self.assertEqual([b["block"] for b in s.query(affected_by="data")["blocks"]], ["data", "total"])
        self.assertEqual(s.query(path=("data", "total"))["path"], ["data", "total"])
        self.assertEqual(s.query(failed=True)["blocks"], [])
        self.assertEqual(s.query(where='block.id == "total"')["blocks"][0]["id"], "total")
        self.assertEqual(s.why("total")["status"], "ran")
        self.assertEqual(len(s.show()["blocks"]), 2)
        self.assertEqual(s.show("data")["block"]["id"], "data")
        self.assertEqual([x["step"] for x in s.history(limit=2)["steps"]], [3, 2])
        self.assertEqual(s.history(limit=2, after=2)["steps"][0]["step"], 1)
        self.assertEqual([x["session"] for x in self.engine.sessions()["sessions"]], ["work"])
        with self.assertRaises(XStateError) as caught:
            s.query(block="nothing")
        self.assertEqual(caught.exception.code, "no-block")
        self.assertIn("data, total", caught.exception.hint)

    def test_edits(self):
        s = self.s
        done = s.edit("# %% data\nx = [1, 2, 30]\n", run=True, expect=3)
        self.assertEqual([b["status"] for b in done["run"]["blocks"]], ["ran", "ran"])
        with self.assertRaises(XStateError) as caught:
            s.edit("# %% data\nx = []\n", expect=1)
        self.assertEqual(caught.exception.code, "conflict")
        self.assertEqual(s.value("total")["text"], "33")
        other = s.fork("copy", at_step=3)
        self.assertEqual(other.exec("total").result, "6")
        alone = s.fork("alone", at_step=3, private=True)
        self.assertEqual(alone.exec("import os\nos.getcwd()").check().result, repr(alone.folder))
        self.assertIsNone(other.folder)
        self.assertEqual(s.undo(done["step"])["undone"] or s.undo(4)["undone"], [4])
        self.assertEqual(s.rollback(1)["to"], 1)
        self.assertEqual(len(s.show()["blocks"]), 1)
        self.assertEqual([b["op"] for b in s.diff(3, 1)["blocks"]], ["", "delete"])

    def test_files(self):
        (self.folder / "p.py").write_text("# %% a\na = 1\n# %% b\nprint(a)\n")
        s = self.engine.session("p")
        self.assertEqual(s.plan("p.py")["run"], 2)
        events = []
        done = s.run("p.py", on_event=events.append)
        self.assertEqual((done["ran"], events[0]["event"]), (2, "started"))
        (self.folder / "p.py").write_text("# %% a\na = 1\n# %% b\nprint(a + 1)\n")
        plan = s.plan("p.py")
        self.assertEqual((plan["run"], plan["reuse"]), (1, 1))
        self.assertEqual(s.run("p.py", expect=done["step"])["ran"], 1)
        with self.assertRaises(XStateError) as caught:
            s.run("missing.py")
        self.assertEqual(caught.exception.code, "no-file")

    def test_run_of_a_session_without_a_file(self):
        self.assertEqual(self.s.plan()["reuse"], 2)
        self.assertEqual(self.s.run()["reused"], 2)
        self.assertEqual(self.s.run(fresh=True)["ran"], 2)

    def test_any_method(self):
        done = self.engine.call("AuditService/Replay", {"session": "work"}, executes=True)
        self.assertEqual(done["result"], "equal")


class TestServer(Folder):
    def test_one_server_for_all(self):
        self.engine.session().exec("x = 1")
        info = json.loads((self.folder / ".xstate" / "server.json").read_text())
        with self.new_engine() as other:
            self.assertEqual(other.session().exec("x").result, "1")
        below = self.folder / "a" / "b"
        below.mkdir(parents=True)
        with Engine(below, binary=BINARY) as other:
            self.assertEqual(other.store, self.engine.store)
            self.assertEqual(other.session().value("x")["text"], "1")
        self.assertEqual(json.loads((self.folder / ".xstate" / "server.json").read_text()), info)
        self.engine.stop()
        until(lambda: not (self.folder / ".xstate" / "server.json").exists())
        self.assertEqual(self.engine.session().exec("x + 1").result, "2")  # of a new server

    def test_threads(self):
        engine, results, errors = self.engine, {}, []

        def work(i):
            try:
                s = engine.session(f"s{i % 4}")
                for k in range(3):
                    results[i, k] = s.exec(f"# %% t{i}\nprint({i} * 100 + {k})").text
                    s.history(limit=1)
            except Exception as e:
                errors.append(e)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(errors, [])
        self.assertEqual(results, {(i, k): f"{i * 100 + k}\n" for i in range(8) for k in range(3)})

    def test_interrupt(self):
        s = self.engine.session()
        s.exec("x = 5")
        began = threading.Event()
        results = []

        def work():
            try:
                results.append(s.exec(LONG, on_event=lambda e: e["event"] == "output" and began.set()))
            except XStateError as e:
                results.append(e)

        self.assertFalse(s.interrupt())
        t = threading.Thread(target=work)
        t.start()
        self.assertTrue(began.wait(60))
        self.assertEqual([r["session"] for r in self.engine.runs()], ["main"])
        self.assertEqual(s.value("x")["text"], "5")  # questions are answered meanwhile
        self.assertTrue(s.interrupt())
        t.join(30)
        (r,) = results
        self.assertEqual((r.ok, r.document["stopped"], r.taken_back), (False, "interrupted", True))
        self.assertEqual(self.engine.runs(), [])
        self.assertEqual(s.exec("x").result, "5")

    def test_turns(self):
        s = self.engine.session()
        began, results, waiting = threading.Event(), [], []
        long = threading.Thread(
            target=lambda: results.append(
                s.exec("# %% a\nprint(1)\nimport time; time.sleep(6)", on_event=lambda e: "output" in e and began.set())
            )
        )
        long.start()
        self.assertTrue(began.wait(60))
        with self.new_engine(wait=0) as impatient:  # the server gives a call 5 seconds
            second = threading.Thread(target=lambda: waiting.append(s.exec("# %% b\n2").result))
            second.start()
            with self.assertRaises(XStateError) as caught:
                impatient.session().exec("# %% c\n3")
        self.assertEqual(caught.exception.code, "store-busy")
        second.join(60)
        long.join(60)
        self.assertEqual((results[0].text, waiting), ("1\n", ["2"]))

    def test_a_server_that_is_killed(self):
        s = self.engine.session()
        s.exec("x = 5")

        def kill(event):
            if event["event"] == "output":
                os.kill(json.loads((self.folder / ".xstate" / "server.json").read_text())["pid"], signal.SIGKILL)

        with self.assertRaises(XStateError) as caught:
            s.exec(LONG, on_event=kill)
        self.assertEqual(caught.exception.code, "server-gone")
        self.assertIn("call again", caught.exception.hint)
        self.assertEqual(s.exec("x", replace="long").result, "5")  # of a new server

    def test_a_client_that_is_killed(self):
        self.engine.session().exec("x = 5")
        code = (
            "import sys; from xstate_engine import Engine; from support import BINARY, PYTHON\n"
            f"Engine({str(self.folder)!r}, binary=BINARY, python=PYTHON).session().exec({LONG!r},"
            " on_event=lambda e: print(e['event'], flush=True))"
        )
        client = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent
        )
        for line in client.stdout:
            if line == "output\n":
                break
        client.kill()
        client.wait()
        client.stdout.close()
        until(lambda: self.engine.runs() == [])
        self.assertEqual(self.engine.session().exec("x").result, "5")

    def test_a_detached_run(self):
        s = self.engine.session()
        s.exec("x = 5")

        def leave(event):
            if event["event"] == "output":
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            s.exec("import time\nprint('began', flush=True)\ntime.sleep(1)\nz = 8", on_event=leave, detach=True)
        until(lambda: self.engine.runs() == [])
        self.assertEqual(s.value("z")["text"], "8")

    def test_the_server_ends_when_idle(self):
        with Engine(self.folder, binary=BINARY, idle="1s") as engine:
            engine.session().exec("x = 5")
        until(lambda: not (self.folder / ".xstate" / "server.json").exists())

    def test_tcp(self):
        subprocess.run(
            [BINARY, "serve", "--background", "--store", self.folder / ".xstate", "--listen", "127.0.0.1:0"],
            check=True, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        url = json.loads((self.folder / ".xstate" / "server.json").read_text())["http"]
        with self.new_engine(url=url) as engine:
            self.assertEqual(engine.session().exec("1 + 1").result, "2")
        with self.new_engine(url=url, token="wrong") as engine:
            with self.assertRaises(XStateError) as caught:
                engine.sessions()
        self.assertEqual(caught.exception.code, "forbidden")
        self.engine.stop()
        with self.assertRaises(XStateError) as caught:
            self.new_engine(url=url, token="t").sessions()
        self.assertEqual(caught.exception.code, "no-server")


class TestWithoutServer(Folder):
    def test_no_program(self):
        with self.assertRaises(XStateError) as caught:
            Engine(self.folder, binary="no-such-xstate").session().exec("1")
        self.assertEqual(caught.exception.code, "no-xstate")
        self.assertIn("pip install", caught.exception.hint)

    def test_a_program_that_fails(self):
        with self.assertRaises(XStateError) as caught:
            Engine(self.folder, binary="false").session().exec("1")
        self.assertEqual(caught.exception.code, "no-server")

    def test_flags_are_arguments(self):
        with self.assertRaises(XStateError) as caught:
            Engine(self.folder, binary=BINARY, idle="soon").session().exec("1")
        self.assertEqual(caught.exception.code, "usage")
        self.assertIn("idle='5s'", caught.exception.hint)
        self.assertNotIn("--", str(caught.exception))

    def test_none_is_to_be_started(self):
        with self.assertRaises(XStateError) as caught:
            self.new_engine(start=False).sessions()
        self.assertEqual(caught.exception.code, "no-server")
        self.assertIn("xstate serve", caught.exception.hint)

    def test_no_folder(self):
        with self.assertRaises(XStateError) as caught:
            Engine(self.folder / "none")
        self.assertEqual(caught.exception.code, "no-workspace")

    def test_a_server_that_says_nothing(self):
        import socket

        (self.folder / ".xstate").mkdir()
        path = str(self.folder / ".xstate" / "s")
        with socket.socket(socket.AF_UNIX) as silent:
            silent.bind(path)
            silent.listen()
            (self.folder / ".xstate" / "server.json").write_text(json.dumps({"socket": path}))
            with self.assertRaises(XStateError) as caught, Engine(self.folder, timeout=0.2) as engine:
                engine.sessions()
        self.assertEqual(caught.exception.code, "timeout")
        (self.folder / ".xstate" / "server.json").unlink()


if __name__ == "__main__":
    unittest.main()
