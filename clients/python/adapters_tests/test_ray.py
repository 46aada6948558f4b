"""A cluster of Ray as the launcher of workers."""

import subprocess
import sys
from pathlib import Path

from workers import Workers


class TestRay(Workers):
    def test_workers_execute_blocks(self):
        ray = Path(sys.executable).with_name("ray")
        port = "6397"
        subprocess.run(
            [ray, "start", "--head", f"--port={port}", "--num-cpus=2", "--include-dashboard=false",
             f"--temp-dir={self.folder}/ray", "--disable-usage-stats"],
            check=True, capture_output=True,
        )  # fmt: skip
        self.addCleanup(subprocess.run, [ray, "stop", "--force"], capture_output=True, check=False)
        self.run_with("xstate_engine.adapters.ray", f"127.0.0.1:{port}")
