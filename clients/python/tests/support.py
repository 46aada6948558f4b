"""What the tests share: a folder and a store for each, the binary to test, and the end of the server."""

import faulthandler
import os
import tempfile
import time
import unittest
from pathlib import Path

import xstate_engine

BINARY = os.environ.get("XSTATE", "xstate")
faulthandler.dump_traceback_later(float(os.environ.get("LATE", "300")), exit=True)  # a test that hangs says where

PYTHON = os.environ.get("XSTATE_PYTHON")  # executes the code


class Folder(unittest.TestCase):
    """A test with a folder of its own. The server of its store ends with it."""

    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="xse")  # short: it holds a socket
        self.addCleanup(made.cleanup)
        self.folder = Path(made.name).resolve()
        self.engine = self.new_engine()
        self.addCleanup(self.stop)

    def new_engine(self, kind=xstate_engine.Engine, **options):
        return kind(self.folder, binary=BINARY, python=PYTHON, idle="1m", **options)

    def stop(self):
        if (self.folder / ".xstate" / "server.json").exists():
            self.engine.stop()
        self.engine.close()
        end = time.monotonic() + 20
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(left, [], "processes are left")

    def processes(self):
        """The processes that name the folder or work in it: servers, and interpreters of sessions. Linux shows them."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes().decode("utf-8", "replace")
                at = os.readlink(process / "cwd")
            except OSError:  # it ended, or is another user's
                continue
            if process.name != str(os.getpid()) and (str(self.folder) in command or at.startswith(str(self.folder))):
                found.append(command.replace("\0", " "))
        return found
