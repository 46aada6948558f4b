"""Has a worker of a Ray cluster execute an action of xstate: `remote.launcher` calls this module.

    launcher = ["python3", "-m", "xstate_engine.adapters.ray", "HEAD:6379", "{action}", "{cache}"]

The workers need the program `xstate`, and neither this package nor the packages of the caller. They are handed the
digest of the action and the address of the cache alone.
"""

import subprocess
import sys
from collections.abc import Iterator

import ray  # pyright: ignore[reportMissingImports]


@ray.remote
def execute(action: str, cache: str) -> Iterator[tuple[int, str]]:
    """Runs on a worker. Yields nothing of use when it begins, then the exit code of `xstate execute` and its stderr."""
    yield 0, ""
    done = subprocess.run(["xstate", "execute", action, "--cas", cache], capture_output=True, text=True)
    yield done.returncode, done.stderr


def main() -> int:
    address, action, cache = sys.argv[1:]
    ray.init(address, log_to_driver=False, logging_level="error")
    results = iter(execute.remote(action, cache))
    ray.get(next(results))
    print("xstate: a worker has begun", flush=True)
    code, stderr = ray.get(next(results))
    sys.stderr.write(stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
