"""A plugin of pytest: writes what became of each test that ran to $OUTCOMES, and bounds what an edit can make a test take."""
import json
import os
import resource

resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
_found = {}


def pytest_runtest_logreport(report):
    before = _found.get(report.nodeid, "passed")
    if report.failed:
        _found[report.nodeid] = "failed"
    elif before != "failed" and report.skipped:
        _found[report.nodeid] = "skipped"
    else:
        _found.setdefault(report.nodeid, "passed")


def pytest_sessionfinish():
    if os.environ.get("OUTCOMES"):
        with open(os.environ["OUTCOMES"], "w") as f:
            json.dump(_found, f)
