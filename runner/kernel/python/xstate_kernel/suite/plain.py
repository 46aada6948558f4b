"""Runs tests where pytest is not installed.

This runner finds functions test_* and cases of unittest in the files test_*.py and *_test.py, and doctests of these
and of the modules that a caller names. It has no fixtures: a function with arguments fails with the advice to install
pytest.
"""

import doctest
import importlib.util
import io
import json
import os
import sys
import time
import traceback
import types
import unittest
from contextlib import redirect_stderr, redirect_stdout
from itertools import dropwhile

from xstate_kernel import original as __builtins__

from .. import sha256
from ..ground import code_owner

_SKIPPED_FOLDERS = ("__pycache__", "node_modules", "build", "dist", "venv")


def run(suite, options):
    items, errors = [], []
    for path, test in _files(options):
        suite.begin()
        try:
            items += _collect(path, test, _load(path))
        except (Exception, SystemExit) as e:
            errors.append({"id": os.path.relpath(path), "text": _told(e)})
        finally:
            suite.end(merge=False)
    suite.remember_start({os.path.realpath(i["path"]) for i in items})
    told = json.dumps({"packages": options["packages"]}, sort_keys=True)
    chosen = set(
        suite.choose(
            "unittest", [{"id": i["id"], "kind": i["kind"]} for i in items], errors, sha256(told.encode()).hexdigest()
        )
    )
    for n, item in enumerate(items):
        if n in chosen:
            suite.begin_test(n)
            outcome = _run(item["call"])
            suite.end_test(n, {os.path.realpath(item["path"])}, (), outcome)
    return 0


def _files(options):
    """Yields each file with tests, and the name of the requested test, or ""."""
    for given in options["paths"] or ["."]:
        path, _, test = given.partition("::")
        if not os.path.isdir(path):
            yield os.path.abspath(path), test
            continue
        for folder, folders, files in os.walk(path):
            folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _SKIPPED_FOLDERS)
            for name in sorted(files):
                if name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py")):
                    yield os.path.abspath(os.path.join(folder, name)), ""


def _load(path):
    """Imports a file as a module relative to the nearest parent folder that is not a package, as pytest does."""
    folder, name = os.path.split(path[:-3])
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        name = package + "." + name
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module = importlib.import_module(name)
    if os.path.realpath(module.__file__ or "") != os.path.realpath(path):
        raise ImportError(f"{module.__file__} is another module than {path}: give test files names of their own")
    return module


def _collect(path, wanted, module):
    found, prefix = [], os.path.relpath(path) + "::"

    def add(name, kind, call):
        if not wanted or name == wanted or name.startswith(wanted + "::"):
            found.append({"id": prefix + name, "kind": kind, "call": call, "path": path})

    for name, value in list(vars(module).items()):
        if name.startswith("test") and isinstance(value, types.FunctionType):
            add(name, "function", value)
        elif isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ == module.__name__:
            for method in unittest.TestLoader().getTestCaseNames(value):
                add(f"{name}::{method}", "unittest", _case(value, method))
        elif name.startswith("Test") and isinstance(value, type):
            for method in [m for m in dir(value) if m.startswith("test")]:
                add(f"{name}::{method}", "function", lambda value=value, method=method: getattr(value(), method)())
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        if test.examples:
            add(test.name, "doctest", _doctest(test))
    return found


def _case(kind, method):
    """Returns a function that runs one case alone, with the set-up of its module and class."""

    def call():
        result = unittest.TestResult()
        unittest.TestSuite([unittest.TestSuite([kind(method)])]).run(result)
        if result.skipped:
            raise unittest.SkipTest(result.skipped[0][1])
        if result.failures or result.errors:
            raise _Failed((result.failures or result.errors)[0][1], bool(result.failures))
        if result.unexpectedSuccesses:
            raise _Failed("unexpected success", True)
        return "xfailed" if result.expectedFailures else "passed"

    return call


def _doctest(test):
    def call():
        out = io.StringIO()
        if doctest.DocTestRunner(verbose=False).run(test, out=out.write, clear_globs=False).failed:
            raise _Failed(out.getvalue(), True)

    return call


_AROUND = (code_owner.FOLDER + os.sep, os.path.dirname(importlib.__file__) + os.sep, "<frozen importlib")


def _told(error):
    """Returns the text of a traceback, without the leading frames of the kernel and of importlib."""
    told = traceback.TracebackException.from_exception(error)
    told.stack[:] = dropwhile(lambda f: f.filename.startswith(_AROUND), told.stack)
    return "".join(told.format())


class _Failed(Exception):
    def __init__(self, text, failed):
        super().__init__(text)
        self.failed = failed


def _run(call):
    out, began, outcome, text = io.StringIO(), time.perf_counter(), "passed", ""
    try:
        with redirect_stdout(out), redirect_stderr(out):
            wants = call.__code__.co_argcount - len(call.__defaults__ or ())
            if wants > 0:
                raise _Failed("it takes arguments: install pytest, whose fixtures they are", False)
            outcome = call() or outcome
    except unittest.SkipTest as e:
        return {"outcome": "skipped", "seconds": time.perf_counter() - began, "text": "", "message": str(e)}
    except _Failed as e:
        outcome, text = "failed" if e.failed else "error", str(e)
    except BaseException as e:
        outcome, text = "failed", _told(e)
    if text and out.getvalue():
        text += "\n--- output ---\n" + out.getvalue()
    lines = [line for line in text.partition("\n--- output ---")[0].strip().split("\n") if line.strip()]
    return {
        "outcome": outcome if outcome in ("passed", "xfailed", "failed", "error") else "passed",
        "seconds": time.perf_counter() - began,
        "text": text,
        "message": lines[-1].strip() if lines else "",
    }
