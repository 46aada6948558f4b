"""Runs tests with pytest, as a plugin of it. Pytest behaves as usual, but the plugin deselects some of the tests that
it collected."""

import json
import os
import sys

import pytest
from _pytest import fixtures, timing
from _pytest.assertion import rewrite

from xstate_kernel import original as __builtins__

from .. import sha256
from . import sources, tests

_REMEMBERING = (
    "lf",
    "failedfirst",
    "newfirst",
    "stepwise",
    "stepwise_skip",
)  # options that make the collection depend on earlier runs


class Plugin:
    def __init__(self, watched, options):
        self.suite, self.options = watched, options
        self.items, self.reports, self.index = [], [], {}
        self.errors, self.around, self.known = [], {}, 0
        self.blind = ""
        self.collected = False

    # configuration

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config):
        """Disables xdist: the kernel cannot observe its worker processes."""
        option = config.option
        if getattr(option, "numprocesses", None) or getattr(option, "tx", None):
            option.numprocesses, option.dist, option.tx, option.distload = None, "no", [], False
            self.suite.channel.send(
                {"ev": "talk", "text": "the tests run in one process, not with xdist: what its workers do is not seen"}
            )

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config):
        base = getattr(config.option, "basetemp", None)
        if base:
            self.suite.files.made[os.path.realpath(base)] = None

    def configuration(self, config):
        """Returns a digest of pytest's configuration and of its plugins."""
        plugins = sorted(f"{d.project_name} {d.version}" for _, d in config.pluginmanager.list_plugin_distinfo())
        inicfg = (
            config._inicfg if hasattr(config, "_inicfg") else config.inicfg
        )  # the latter warns from pytest 9 on, and warnings may be errors
        told = {
            "pytest": pytest.__version__,
            "plugins": plugins,
            "ini": sorted((k, str(getattr(v, "value", v))) for k, v in inicfg.items()),
            "packages": self.options["packages"],
            "root": os.path.relpath(str(config.rootpath), self.suite.folder),
        }
        return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    # collection

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector):
        watched = self.suite
        watched.begin()
        try:
            result = yield
        finally:
            phase = watched.end(merge=False).whole()
            if not phase.blank():
                collector._xstate = watched.tell(phase, watched.number())
        report = result.get_result()
        if report.failed:
            self.errors.append({"id": report.nodeid, "text": str(report.longrepr)})

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_collection_modifyitems(self, session, config, items):
        yield
        watched = self.suite
        self.items = list(items)
        self.index = {item: i for i, item in enumerate(items)}
        plugins = {m for m in (_file(p) for p in config.pluginmanager.get_plugins()) if m in watched.modules}
        self.plugins = {p for p in plugins if os.path.basename(p) != "conftest.py"}
        watched.remember_start({sources.real(str(item.path)) for item in items}, plugins)
        self.collected = True
        repeatable = not any(getattr(config.option, name, False) for name in _REMEMBERING)
        run = watched.choose(
            "pytest " + pytest.__version__,
            [{"id": item.nodeid, "kind": _kind(item)} for item in items],
            self.errors,
            self.configuration(config),
            repeatable,
        )
        chosen = set(run)
        left = [item for i, item in enumerate(self.items) if i not in chosen]
        items[:] = [item for i, item in enumerate(self.items) if i in chosen]
        if left:
            config.hook.pytest_deselected(items=left)

    # execution

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        n = self.index.get(item)
        if n is None:
            yield
            return
        self.reports = []
        self.suite.begin_test(n)
        for part in item.listchain():
            group = getattr(part, "_xstate", None)
            if group is not None:
                self.suite.stack[-1].groups.add(group)
        if self.blind:
            self.suite.stack[-1].marks.add(self.blind)
        yield
        self.suite.end_test(n, *self._around(item), _outcome(self.reports))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        if fixturedef.scope == "function":
            yield
            return
        watched = self.suite
        watched.begin()
        for name in fixturedef.argnames:
            group = getattr(request._get_active_fixturedef(name), "_xstate", None)
            if group is not None:
                watched.stack[-1].groups.add(group[0])
        yield
        phase, number = watched.end().whole(), watched.number()
        fixturedef._xstate = number, phase
        watched.fixture(phase, number)
        watched.stack[-1].groups.add(number)

    def pytest_runtest_logreport(self, report):
        self.reports.append(report)

    def _around(self, item):
        """Returns two collections of paths that an item depends on, whatever it executes.

        The first has its own module, plugins, and each conftest.py of its folders. The second has absent files that
        would configure the item if they existed, and the item's file if that is not Python."""
        path = sources.real(str(item.path))
        if len(self.suite.modules) != self.known:
            self.known, self.around = len(self.suite.modules), {}
        found = self.around.get(path)
        if found is None:
            root, at, absent = sources.real(str(item.config.rootpath)), os.path.dirname(path), []
            starts = (
                self.plugins
                | {path}
                | {
                    p
                    for p in self.suite.modules
                    if os.path.basename(p) == "conftest.py" and path.startswith(os.path.dirname(p) + os.sep)
                }
            )
            while True:
                absent += [os.path.join(at, name) for name in ("conftest.py", "__init__.py")]
                if at == root or not at.startswith(root):
                    break
                at = os.path.dirname(at)
            absent = [f for f in absent if f not in self.suite.modules] + ([] if path.endswith(".py") else [path])
            found = self.around[path] = starts, tuple(absent)
        return found


def _kind(item):
    names = {c.__name__ for c in type(item).__mro__}
    return "unittest" if "TestCaseFunction" in names else "doctest" if "DoctestItem" in names else "pytest"


def _file(plugin):
    module = plugin if isinstance(plugin, type(sys)) else sys.modules.get(type(plugin).__module__)
    path = getattr(module, "__file__", None)
    return os.path.realpath(path) if path else ""


def _outcome(reports):
    """Returns the outcome of a test, with the text of its report if it failed."""
    outcome, seconds, texts, message = "passed", 0.0, [], ""
    for r in reports:
        seconds += getattr(r, "duration", 0.0)
        if r.failed:
            now = "failed" if r.when == "call" else "error"
            outcome = "failed" if "failed" in (now, outcome) else "error"
            texts.append(r.longreprtext)
            texts += [f"{title.center(60, '-')}\n{text}" for title, text in r.sections if text.strip()]
            crash = getattr(r.longrepr, "reprcrash", None)
            message = message or (crash.message if crash else r.longreprtext.strip().rpartition("\n")[2])
        elif outcome in ("failed", "error"):
            pass
        elif r.skipped:
            outcome = "xfailed" if hasattr(r, "wasxfail") else "skipped"
            if isinstance(r.longrepr, tuple):
                message = r.longrepr[2]
        elif hasattr(r, "wasxfail") and r.when == "call":
            outcome = "xpassed"
    found = {"outcome": outcome, "seconds": seconds}
    if texts or message:
        found.update(text="\n".join(texts), message=message.partition("\n")[0])
    return found


def _follow_fixtures(watched):
    """Makes tests that use a fixture depend on all that its set-up and finalization executed.

    Reports whether the kernel can observe fixtures in this version of pytest."""
    finish, execute = fixtures.FixtureDef.finish, fixtures.FixtureDef.execute
    active = getattr(fixtures.FixtureRequest, "_get_active_fixturedef", None)

    def observed_active(request, name):
        __tracebackhide__ = True
        found = active(request, name)
        group = getattr(found, "_xstate", None)
        if group is not None:
            watched.stack[-1].groups.add(group[0])
        return found

    def observed_execute(fixture, request):
        """Records the group also for a fixture whose set-up failed: pytest raises the same exception again."""
        __tracebackhide__ = True
        group = getattr(fixture, "_xstate", None)
        if group is not None:
            watched.stack[-1].groups.add(group[0])
        return execute(fixture, request)

    def observed_finish(fixture, request):
        __tracebackhide__ = True
        group = getattr(fixture, "_xstate", None)
        if group is None or fixture.cached_result is None:
            return finish(fixture, request)
        watched.begin()
        try:
            return finish(fixture, request)
        finally:
            group[1].inner.append(watched.end(merge=False))
            watched.fixture(group[1].whole(), group[0])
            fixture._xstate = None

    if active is not None:
        fixtures.FixtureRequest._get_active_fixturedef = observed_active
    fixtures.FixtureDef.finish, fixtures.FixtureDef.execute = observed_finish, observed_execute
    return active is not None


def run(watched, options):
    plugin = Plugin(watched, options)
    watched.wrap_loader(rewrite.AssertionRewritingHook)
    if hasattr(timing, "time"):
        timing.time = tests.time  # pytest's own reading of the clock does not affect a test
    plugin.blind = "" if _follow_fixtures(watched) else "unobserved fixtures"
    return int(pytest.main(["--continue-on-collection-errors", *options["args"]], plugins=[plugin]))
