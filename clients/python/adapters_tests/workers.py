"""What the tests of launchers share: a caller and a worker, each with a home and a key, and a program."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

XSTATE = shutil.which(os.environ.get("XSTATE", "xstate"))

PROGRAM = """\
# %% data
data = list(range(1000))

def score(k):
    return sum(k * x for x in data)

# %% one
one = score(1)

# %% two
two = score(2)
print("two", two)

# %% three
three = score(3)
print("three", three)

# %% end
print(one + two + three)
"""


class Workers(unittest.TestCase):
    """A test whose environment is that of workers: processes that it starts have their home."""

    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = Path(made.name).resolve()
        self.callers, workers = self.home("caller"), self.home("worker")
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        os.environ.update(HOME=str(workers), XSTATE_PYTHON=sys.executable, XDG_CONFIG_HOME="")
        os.environ["PATH"] = f"{Path(XSTATE).parent}:{os.environ['PATH']}"

    def home(self, name):
        home = self.folder / name
        key = home / ".config/xstate/key.pem"
        key.parent.mkdir(parents=True)
        key.touch(mode=0o600)
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
        with (home / "key.pub").open("w") as public:
            subprocess.run(["openssl", "pkey", "-in", key, "-pubout"], check=True, stdout=public)
        return home

    def run_with(self, *launcher):
        """Runs the program with a launcher, a module of the client, and checks that workers executed its blocks."""
        settings = {
            "cache": str(self.folder / "cache"),
            "trust": [str(self.folder / "worker/key.pub")],
            "launcher": [sys.executable, "-m", *launcher, "{action}", "{cache}"],
        }
        lines = ["[remote]", *(f"{name} = {json.dumps(value)}" for name, value in settings.items())]
        (self.callers / ".config/xstate/xstate.toml").write_text("\n".join(lines))
        work = self.folder / "work"
        work.mkdir()
        (work / "p.py").write_text(PROGRAM)
        done = subprocess.run(
            [XSTATE, "run", "p.py", "--jobs", "remote=2", "--no-server"],
            cwd=work, env={**os.environ, "HOME": str(self.callers)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("two 999000\n", done.stdout)
        self.assertIn("\n2997000\n", done.stdout)
        self.assertNotIn("did not do its work", done.stderr)
        self.assertEqual(re.findall(r"workers executed (\d) node", done.stderr), ["2"], done.stderr)
