"""Writes specifications of kernels where Jupyter looks for them."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile

TITLES = {"python": "Python", "javascript": "JavaScript", "typescript": "TypeScript", "bash": "Bash"}


def install(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True)
    parser.add_argument("--prefix", default="")
    parser.add_argument("languages", nargs="*")
    asked = parser.parse_args(arguments)
    from jupyter_client.kernelspec import KernelSpecManager

    for language in asked.languages:
        name = asked.name if language == "python" else f"{asked.name}-{language}"
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "kernel.json"), "w", encoding="utf-8") as file:
                json.dump(specification(language), file, indent=1)
            os.chmod(folder, 0o755)
            where = {"prefix": asked.prefix} if asked.prefix else {"user": True}
            print(KernelSpecManager().install_kernel_spec(folder, name, **where))


def specification(language: str) -> dict[str, object]:
    argv = [os.environ["XSTATE"], "kernel", "-f", "{connection_file}", "--language", language]
    return {
        "argv": [*argv, "--python", sys.executable],
        "display_name": f"{TITLES[language]} (xstate)",
        "language": language,
        "interrupt_mode": "message",
        "metadata": {"debugger": False},
    }
