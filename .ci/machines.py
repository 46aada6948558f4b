"""Machines of the measurements: homes with keys of their own, and a bazel-remote."""

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Machine:
    """A home with a key and settings, and a folder to work in."""

    def __init__(self, work: pathlib.Path, settings: str, python: str):
        self.home = pathlib.Path(tempfile.mkdtemp(dir=work))
        config = self.home / ".config/xstate"
        config.mkdir(parents=True)
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", config / "key.pem"], check=True)
        (config / "key.pem").chmod(0o600)
        self.public = self.home / "key.pub"
        with self.public.open("w") as public:
            subprocess.run(["openssl", "pkey", "-in", config / "key.pem", "-pubout"], check=True, stdout=public)
        (config / "xstate.toml").write_text(settings)
        self.folder = self.home / "work"
        self.folder.mkdir()
        self.env = {**os.environ, "HOME": str(self.home), "XSTATE_PYTHON": python, "XDG_CONFIG_HOME": ""}

    def trust(self, other: "Machine") -> None:
        """Adds the key of another machine to those that this one trusts."""
        path = self.home / ".config/xstate/xstate.toml"
        path.write_text(path.read_text() + f'trust = ["{other.public}"]\n')

    def run(self, *command: str, check: bool = True) -> tuple[float, subprocess.CompletedProcess[str]]:
        """Runs a command in the folder, and returns its seconds and what it printed."""
        began = time.perf_counter()
        done = subprocess.run(command, cwd=self.folder, env=self.env, capture_output=True, text=True)
        seconds = time.perf_counter() - began
        if check and done.returncode != 0:
            sys.exit(f"{command}: {done.stdout}{done.stderr}")
        return seconds, done


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def bazel_remote(folder: pathlib.Path):
    """Has a bazel-remote serve a folder, and gives its port."""
    program = subprocess.run(
        [ROOT / ".ci/bazel-remote", ROOT / "build/remote"], check=True, capture_output=True, text=True
    )
    port = free_port()
    server = subprocess.Popen(
        [program.stdout.strip(), "--dir", folder, "--max_size", "5", "--http_address", f"unix://{folder}.http",
         "--grpc_address", f"127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while socket.socket().connect_ex(("127.0.0.1", port)):
        time.sleep(0.05)
    try:
        yield port
    finally:
        server.terminate()
        server.wait()
