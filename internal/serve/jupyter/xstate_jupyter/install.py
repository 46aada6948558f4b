"""Writes specifications of kernels where Jupyter looks for them."""

from __future__ import annotations

import argparse
import json
import os
import shutil
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

    _install_extension(asked.prefix)
    for language in asked.languages:
        name = asked.name if language == "python" else f"{asked.name}-{language}"
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "kernel.json"), "w", encoding="utf-8") as file:
                json.dump(specification(language), file, indent=1)
            os.chmod(folder, 0o755)
            where = {"prefix": asked.prefix} if asked.prefix else {"user": True}
            print(KernelSpecManager().install_kernel_spec(folder, name, **where))


def _install_extension(prefix: str) -> None:
    """Puts the extension where JupyterLab looks for it."""
    from jupyter_core.paths import jupyter_data_dir

    root = os.path.join(prefix, "share", "jupyter") if prefix else jupyter_data_dir()
    target = os.path.join(root, "labextensions", "xstate-engine")
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(os.path.join(os.path.dirname(os.path.dirname(__file__)), "labextension"), target)
    print(target)


def specification(language: str) -> dict[str, object]:
    argv = [os.environ["XSTATE"], "kernel", "-f", "{connection_file}", "--language", language]
    return {
        "argv": [*argv, "--python", sys.executable],
        "display_name": f"{TITLES[language]} (xstate)",
        "language": language,
        "interrupt_mode": "message",
        "metadata": {"debugger": False},
    }
