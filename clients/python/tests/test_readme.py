import os
import re
import subprocess
import sys
from pathlib import Path

from support import BINARY, Folder

README = Path(__file__).resolve().parent.parent / "README.md"


class TestReadme(Folder):
    def test_the_example(self):
        (code,) = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
        (self.folder / ".xstate").mkdir()  # where the server is sought to be ended
        (self.folder / "work").mkdir()
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=self.folder,
            env={**os.environ, "XSTATE": BINARY},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        self.assertEqual(
            done.stdout,
            "12\n Counts(ran=1, reused=1, failed=0, blocked=0, not_reached=0)\n48\n\nZeroDivisionError  []\n",
        )
