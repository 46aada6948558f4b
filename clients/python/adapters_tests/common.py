"""What every adapter must do. A test of a framework adds `answers`, which runs an agent with a model that follows a
script, and the framework's own ways."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from support import BINARY, Folder  # noqa: E402

PAGE = HERE.parents[2] / "docs/adapters.md"

PICTURE = """# %% picture
import base64


class Picture:
    def _repr_png_(self):
        return base64.b64decode(
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        )


Picture()"""


class Page:
    """Runs what docs/adapters.md prints."""

    def run_page(self, heading, model="", **environ):
        """Runs the block of Python in a section of docs/adapters.md, as printed, and returns its last line.

        model is the source of script.py, beside the tests of the framework, and environ are more variables.
        """
        section = PAGE.read_text("utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
        (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
        self.assertLessEqual(len(code.splitlines()), 20)
        (self.folder / "script.py").write_text(model)
        (self.folder / "page.py").write_text(code)
        (self.folder / ".xstate").mkdir()  # where the server is sought to be ended
        done = subprocess.run(
            [sys.executable, "page.py"],
            cwd=self.folder,
            env={
                **os.environ,
                "XSTATE": BINARY,
                "PATH": os.pathsep.join([str(Path(BINARY).parent), os.environ["PATH"]]),
                "PYTHONPATH": os.pathsep.join([str(HERE), os.environ["PYTHONPATH"]]),
                **environ,
            },
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()[-1]


class Answer(NamedTuple):
    """The message that a model gets for its call."""

    text: str
    images: list[bytes] = []
    failed: bool = False  # the framework marks it as an error


class Adapter(Page):
    """The tests. model is the name of the scripted model, tokens are what one of its answers spends, and call_ids says
    whether the framework gives a call its id. None: the framework does not say. pictures: it shows the model images."""

    model: "str | None" = "script-1"
    tokens: "tuple[int, int] | None" = (10, 4)
    call_ids = True
    pictures = True
    changed = "var:prices"  # what the engine names as changed, when the prices are corrected

    def answers(self, codes, *, session="main", agent="coder", ids=None, **options) -> list[Answer]:
        """Runs an agent whose model sends these codes, in calls with these ids, and returns what it gets for each."""
        raise NotImplementedError

    def steps(self, session="main"):
        """The steps of a session, the first one first."""
        return self.engine.session(session).history(limit=0)["steps"][::-1]

    def origins(self, session="main"):
        """The origins of the edits by agents."""
        return [s["origin"] for s in self.steps(session) if s["kind"] != "run" and s["origin"].get("agent")]

    def test_define_use_correct(self):
        codes = [
            "# %% prices\nprices = [3, 5, 4]",
            "# %% total\nprint('total', sum(prices))",
            "# %% prices\nprices = [3, 5, 40]",
        ]
        first, second, third = self.answers(codes)
        self.assertEqual(first.images, [])
        self.assertIn("no output", first.text)
        self.assertIn("total 12\n", second.text)
        self.assertIn(
            f"block total ran because of it (input-changed: {self.changed} by prices)\ntotal 48\n", third.text
        )

    def test_an_error(self):
        (told,) = self.answers(["# %% load\nx = 1\nimport no_such_module_here"])
        self.assertIn('Block "load", line 2', told.text)
        self.assertIn("ModuleNotFoundError: No module named 'no_such_module_here'\nhint: the interpreter is", told.text)
        self.assertFalse(told.failed)

    def test_a_mistake_is_replaced(self):
        """The framework lets the model try again: its code takes the place of the code that failed."""
        _, told, well = self.answers(["n = 20", "print(n / zero)", "zero = 4\nprint(n / zero)"])
        self.assertIn("NameError", told.text)
        self.assertIn("5.0\n", well.text)
        self.assertEqual(self.engine.session("main").query(failed=True)["blocks"], [])

    def test_a_picture(self):
        if self.pictures:
            (told,) = self.answers([PICTURE])
            self.assertEqual([image[:4] for image in told.images], [b"\x89PNG"])
        off = {"pictures": False} if self.pictures else {}
        (told,) = self.answers(["# again\n" + PICTURE], session="blind", **off)
        self.assertEqual(told.images, [])
        (file,) = re.findall(r"\[image/png 70 B: (.*)\]", told.text)
        self.assertEqual(Path(file).read_bytes()[:4], b"\x89PNG")

    def test_origin(self):
        self.answers(["x = 1", "y = 2"], ids=["call-a", "call-b"])
        tokens_in, tokens_out = self.tokens or (None, None)
        want = {"agent": "coder", "model": self.model, "tokens_in": tokens_in, "tokens_out": tokens_out}
        names = (*want, "call_id")
        found = [{name: o.get(name) for name in names} for o in self.origins()]
        ids = ("call-a", "call-b") if self.call_ids else (None, None)
        self.assertEqual(found, [{**want, "call_id": id} for id in ids])
        log = subprocess.run(
            [BINARY, "log", "--session", "main", "--json"], cwd=self.folder, capture_output=True, text=True, check=True
        )
        self.assertIn('"agent":"coder"', log.stdout.replace('": "', '":"'))

    def test_a_repeated_call_is_one_submission(self):
        if not self.call_ids:
            self.skipTest("the framework gives calls no ids")
        first = self.answers(["print('once')"], ids=["call-a"])
        before = len(self.steps())
        again = self.answers(["print('once')"], ids=["call-a"])
        self.assertEqual((again, len(self.steps())), (first, before))

    def test_two_agents(self):
        self.answers(["x = 1"], session="one", agent="first")
        (told,) = self.answers(["print('x' in globals())"], session="two", agent="second")
        self.assertIn("False\n", told.text)
        self.assertEqual({o["agent"] for o in self.origins("one")}, {"first"})
        self.assertEqual({o["agent"] for o in self.origins("two")}, {"second"})

    def test_what_waits(self):
        """A call of the program that a person must decide about: the model reads it, and a later run has the answer."""
        ask = "# %% ask\nimport xstate\nway = xstate.ask('sell?', choices=['yes', 'no'])"
        (told,) = self.answers([ask])
        self.assertIn("waits for a decision: sell?", told.text)
        session = self.engine.session("main")
        session.approve(session.calls(waiting=True)["calls"][0]["call"], choice="no")
        (told,) = self.answers(["# %% use\nprint('way', way)"])
        self.assertIn("way no\n", told.text)


__all__ = ["BINARY", "PICTURE", "Adapter", "Answer", "Folder", "Page"]
