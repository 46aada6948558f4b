"""Has a worker of a Dask cluster execute an action of xstate: `remote.launcher` calls this module.

    launcher = ["python3", "-m", "xstate_engine.adapters.dask", "tcp://scheduler:8786", "{action}", "{cache}"]

The workers need the program `xstate`, and neither this package nor the packages of the caller. They are handed the
digest of the action and the address of the cache alone.
"""

import subprocess
import sys
import uuid

from distributed import Client, Event  # pyright: ignore[reportMissingImports]


def execute(action: str, cache: str, began: str) -> tuple[int, str]:
    """Runs on a worker. Returns the exit code of `xstate execute`, and what it wrote to stderr."""
    Event(began).set()
    done = subprocess.run(["xstate", "execute", action, "--cas", cache], capture_output=True, text=True)
    return done.returncode, done.stderr


def main() -> int:
    scheduler, action, cache = sys.argv[1:]
    with Client(scheduler, set_as_default=False) as client:
        began = uuid.uuid4().hex
        future = client.submit(execute, action, cache, began, pure=False)
        Event(began, client).wait()
        print("xstate: a worker has begun", flush=True)
        code, stderr = future.result()
    sys.stderr.write(stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
