"""Observes what each test executes and reads.

There are three nouns. A *unit* is a function or the top level of a module (see units). A *phase* is a stretch of
execution that the kernel observes separately: the import of a module, the set-up of a fixture, the collection of a
file, or a test. Phases nest, and an outer phase includes what its inner phases observed. A *group* is what a phase
observed, if several tests depend on it. The group of a module has its top level, the functions that ran during its
import, and the files and variables read then. The group of a fixture covers its set-up and its finalization.

A test depends on what its own phase observed. It also depends on the groups of its file, of the fixtures that it uses,
and of all modules that these import, directly or indirectly. Finally, it depends on every module that is not quiet,
because such a module may have changed another one.

The kernel observes functions by local events of sys.monitoring, which it sets only on code of the workspace. Each event
is disabled at its first hit. The kernel enables it again for the next phase, which takes a microsecond. Lines work in
the same way, if the engine requests them. Restarting all events would instrument every function of the interpreter
again for each test. Before Python 3.12, a trace function runs for every call."""

import importlib._bootstrap_external as external
import os
import random
import sys
import threading
import types
from time import monotonic as _clock
from time import time as time  # pytest.py gives this one to pytest

from xstate_kernel import original as __builtins__

from .. import adapters, sha256
from ..ground import builtin_function, bytecode, code_owner
from ..observe import layout, volatility
from . import leftovers, reads, sources, start, units
from .observe import MONITORING, TOOL, Phases
from .phases import Module, Phase

_LINES = layout._NUMBERS | {"lineno"}  # code that names one of these may read line numbers
_OF_CLASSES = frozenset(("__firstlineno__",))  # from 3.13 on the body of every class sets it
_BUNCH = 0.2  # seconds: results of tests that end within this time are sent together
_MARKS = frozenset(("clock", "entropy", "network", "subprocess", "thread", reads.DURATION))


class Suite(Phases):
    def __init__(self, channel, options):
        super().__init__(options["lines"])
        self.channel = channel
        self.timed = options["timed"]  # the engine needs a message when a test begins
        self.folder = os.path.realpath(options["folder"])
        self.unarmed = []  # codes that were hit and whose events are not enabled again yet
        self.paths = {}  # id of code → path of its module
        self.importing = {}  # id of code → modules that its unit imports
        self.lined = set()  # ids of codes that may read line numbers
        self.levels = set()  # numbers of units that are top levels of modules
        self.modules = {}  # path → Module
        self.count = 0  # units sent to the engine
        self.first = {}  # path → {unit: number}
        self.groups = 0
        self._needs = {}  # paths → group of these modules and of all that they import
        self._facts = {}  # id of code → see _look
        self._plain = set()  # ids of codes without such facts
        self.leaks = {}  # test → names that it changed and did not restore
        self.current = None
        self.loading = []  # modules that are being executed
        self.bindings = leftovers.ModuleBindings()
        self._now = start.shared_note(os.path.join(options["spool"], "now"))
        self._sent = _clock()
        self.files = reads.SuiteReads(
            options["spool"], options["store"], self.folder, self.executed, lambda: self.current
        )
        layout.watch(self.text_read)
        self._started = {n.partition(".")[0] for n in sys.modules}  # loaded before: no new file can shadow these
        self._watch()
        self.wrap_loader(external._LoaderBasics)

    def executed(self, code):
        """Records a module whose code is about to be executed. Other code made at run time depends on its maker."""
        path = code.co_filename
        if (
            code.co_name != "<module>"
            or not os.path.isabs(path)
            or code_owner.is_library_path(path)
            or path.startswith("<")
        ):
            return
        active, self.files.active = self.files.active, False
        try:
            self._execute(os.path.realpath(path), code)
        finally:
            self.files.active = active

    def _execute(self, path, code):
        try:
            with open(path, "rb") as f:
                data = f.read()
        except OSError:
            return
        frame = sys._getframe(2)
        while frame is not None and not (frame.f_code.co_name == "exec_module" and "module" in frame.f_locals):
            frame = frame.f_back
        module = frame.f_locals["module"] if frame is not None else None
        if sources.real(getattr(getattr(module, "__spec__", None), "origin", None) or "") != path:
            module = None  # a script that is run
        name = getattr(module, "__name__", None) or os.path.basename(path)[:-3]
        package = name if hasattr(module, "__path__") else name.rpartition(".")[0]
        record = Module(path, name, self.source(path, data, package), code, vars(module) if module is not None else {})
        record.loud = record.loud or module is None
        self.modules[path] = record
        self._needs.clear()
        self.stack[-1].modules.add(path)
        for outer in self.loading:
            if outer is not None:
                outer.loads.add(path)
        if self.loading and self.loading[-1] is None and module is not None:
            self.loading[-1] = record
        if self.by_line:
            self.units[id(code)] = self.first[path][""]
            if MONITORING is not None:
                MONITORING.set_local_events(TOOL, code, MONITORING.events.LINE)
        self._register(code, record, "")

    def _register(self, code, module, around):
        numbers = self.first[module.path]
        imports = module.source.imports
        for c in code.co_consts:
            if isinstance(c, types.CodeType):
                name = module.source.unit_of(c, around)
                self.units[id(c)] = numbers[name]
                self.paths[id(c)] = module.path
                if name and name in imports:
                    self.importing[id(c)] = imports[name]
                self.watched[id(c)] = (c, module)
                if not _LINES.isdisjoint(c.co_names) and (
                    c.co_flags & bytecode.FUNCTION or not _LINES.isdisjoint({*c.co_names} - _OF_CLASSES)
                ):
                    self.lined.add(id(c))
                if MONITORING is not None:
                    MONITORING.set_local_events(TOOL, c, self._events)
                else:
                    self.armed.add(id(c))
                self._register(c, module, name)

    def source(self, path, data, package):
        """Splits a file into units and sends them to the engine."""
        digest = sha256(data).hexdigest()
        self.channel.send({"ev": "cut", "path": path, "digest": digest, "package": package, "first": self.count})
        known, _ = self.channel.receive()
        if known["units"]:
            source = units.Source(known["units"], known["imports"], known["quiet"])
        else:
            source = units.cut(data, package, True)
            self.channel.send({"ev": "source", "units": source.units, "imports": source.imports, "quiet": source.quiet})
        names = sorted(source.units)
        self.first[path] = {n: self.count + i for i, n in enumerate(names)}
        self.levels.add(self.first[path][""])
        self.count += len(names)
        return source

    def wrap_loader(self, loader):
        suite, original = self, loader.exec_module

        def exec_module(self, module):
            __tracebackhide__ = True
            path = getattr(module.__spec__, "origin", None)
            if not path or code_owner.is_library_path(path):
                original(self, module)
                if module.__name__ in adapters.GENERATORS:
                    adapters.GENERATORS[module.__name__](module, 0)
                return None
            sources.drop_stale(path, module.__spec__)
            return suite._load(original, self, module)

        loader.exec_module = builtin_function.named(exec_module, original)

    def _load(self, execute, loader, module):
        __tracebackhide__ = True
        self.begin()
        self.loading.append(None)
        try:
            return execute(loader, module)
        finally:
            record = self.loading.pop()
            phase = self.end()
            self._arm()
            if record is not None:
                record.loud = record.loud or any(self.units[i] not in self.levels for i in phase.codes)
                record.loads |= self._used(phase)
                record.group = self.tell(phase.whole(), self.number(), record)

    def number(self):
        self.groups += 1
        return self.groups - 1

    def tell(self, phase, n, level=None, fixture=False):
        """Sends the contents of a group to the engine. A later call for the same number replaces them."""
        active, self.files.active = self.files.active, False
        self._report({"ev": "group", "n": n, "fixture": fixture, **self.content(phase, level)}, phase)
        self.files.active = active
        return n

    def _report(self, event, phase):
        """Queues a report. If it names files, sends it and waits: the engine must read them before they change."""
        if phase.looked():
            self.channel.send({**event, "sync": True})
            if self.channel.receive()[0] is None:
                os._exit(1)
        else:
            self.channel.post(event)

    def content(self, phase, level=None):
        """Returns the contents of a group or test. level is the module that the phase imported, if it did."""
        marks, absent = set(phase.marks), set(phase.absent)
        numbers = {self.first[p][""] for p in phase.modules}.union(map(self.units.__getitem__, phase.codes))
        texts = phase.texts | phase.asked - {p for p, _ in phase.lines}
        for told, imports in self._told(phase):
            marks.update(told)
            if imports:
                absent |= self._sought(imports)
        if not self.lined.isdisjoint(phase.codes):  # line numbers of any function that it can reach
            texts.update(self.closure(phase.modules.union(map(self.paths.__getitem__, phase.codes))))
        if level is not None:
            absent |= self._sought(level.source.imports.get("", ()))
            marks |= volatility.volatile([level.code], level.namespace)
        found = {
            "units": numbers,
            "groups": phase.groups,
            "texts": texts,
            "lines": phase.lines,
            "dirs": phase.dirs,
            "env": phase.env,
            "modes": phase.modes,
            "absent": absent,
            "marks": [m for m in marks if m in _MARKS or m.startswith("unobserved")],
        }
        found = {name: sorted(seen) for name, seen in found.items() if seen}
        if phase.files:
            found["files"] = phase.files
        if phase.hits:
            executed = {}
            for code, number in phase.hits:
                executed.setdefault(self.units[id(code)], set()).add(number)
            found["hit"] = [[unit, sorted(numbers)] for unit, numbers in executed.items()]
        return found

    def _told(self, phase):
        """Lists the facts about the code of a phase, without empty ones: few functions read a clock or import."""
        found = []
        for i in set(phase.codes) - self._plain:
            facts = self._facts.get(i) or self._look(i)
            if any(facts):
                found.append(facts)
            else:
                self._plain.add(i)
        return found

    def _look(self, i):
        """Returns the facts about a code object: its marks, and what its unit imports."""
        code, module = self.watched[i]
        telling = module.telling
        if telling is None:
            telling = module.telling = {"id"}.union(
                name for name, value in list(module.namespace.items()) if _tells(value)
            )
        quiet = telling.isdisjoint(code.co_names) and volatility.TELLING.isdisjoint(code.co_names)
        marks = () if quiet else tuple(volatility.volatile([code], module.namespace))
        found = self._facts[i] = marks, self.importing.get(i, ())
        return found

    def _sought(self, names):
        """Returns the absent files that would take precedence over what the imports found."""
        found = set()
        folders = [
            p or self.folder
            for p in sys.path
            if isinstance(p, str) and not code_owner.is_library_path(os.path.join(os.path.abspath(p or "."), "x"))
        ]
        for top in {name.partition(".")[0] for name in names} - self._started:
            have = getattr(sys.modules.get(top), "__file__", None)
            have = os.path.realpath(have) if have else None
            for folder in folders:
                stem = os.path.join(os.path.realpath(folder), top)
                for file in (os.path.join(stem, "__init__.py"), stem + ".py"):
                    if file == have:
                        break
                    found.add(file)
                else:
                    continue
                break
        return {f for f in found if not os.path.exists(f)}

    def _used(self, phase):
        """Returns the modules whose functions were executed, and the modules that these functions import."""
        paths = phase.modules.union(map(self.paths.__getitem__, phase.codes))
        for _, imports in self._told(phase):
            for name in imports:
                path = sources.file_of(name)
                if path in self.modules:
                    paths.add(path)
        return paths

    def needs(self, used, starts=(), absent=()):
        """Returns the group of the modules that a phase used, of all that they import, and of absent files."""
        key = frozenset(used.union(starts)), absent
        found = self._needs.get(key)
        if found is None:
            whole = Phase()
            whole.absent.update(absent)
            whole.modules = self.closure(key[0])
            whole.groups = {self.modules[p].group for p in whole.modules if self.modules[p].group is not None}
            found = self._needs[key] = self.tell(whole, self.number())
        return found

    def fixture(self, phase, n):
        """Sends the group of a fixture if its phase observed anything. A later call replaces it."""
        if not phase.blank():
            phase.groups.add(self.needs(self._used(phase)))
            self.tell(phase, n, fixture=True)

    def closure(self, paths):
        """Returns the given and the loud modules, and all that these import, directly or indirectly."""
        todo = list(paths) + [p for p, m in self.modules.items() if m.loud]
        seen = set()
        while todo:
            p = todo.pop()
            if p in seen or p not in self.modules:
                continue
            seen.add(p)
            module = self.modules[p]
            todo.extend(module.loads)
            names = set(module.source.imports.get("", ()))
            names.add(module.name.rpartition(".")[0])
            for value in list(module.namespace.values()):
                if type(value) is types.ModuleType:
                    if not value.__name__.startswith(
                        module.name + "."
                    ):  # without its own import, a module has a submodule because other code imported it
                        names.add(value.__name__)
                else:
                    names.add(
                        getattr(value, "__module__", None)
                        if isinstance(value, (types.FunctionType, type))
                        else type(value).__module__
                    )
            todo.extend(map(sources.file_of, names))
        return seen

    def remember_start(self, files, plugins=()):
        """Stores the bindings of modules and the state of random generators, after the collection.

        Each test begins with these. files are the files with tests; plugins are the files of the test runner's plugins.
        """
        self.generators = random.getstate()
        self._draws = start.draws()
        self._drawn = self._draws()
        self.library_generators = adapters.random_states()
        self.tests, self.plugins = files, plugins
        self.bindings.hold(self.modules.values())
        self._around = leftovers.around(self.files)

    def collect(self):
        """Begins the phase of the collection, which may depend on what hooks read."""
        self.collecting = True
        self.begin()

    def choose(self, runner, items, errors, configuration, repeatable=True):
        """Queries the engine which tests must run.

        The query has the inputs of the collection besides the groups: what hooks executed and read, and what the test
        runner looked up and listed. A collection that is not repeatable has further inputs."""
        hooks = self.end(merge=False).whole()
        self.collecting = False
        self.tell(hooks, self.number())
        looked, self.files.runner = self.files.runner, None
        folders = sorted({os.path.realpath(p) for p in sys.path if isinstance(p, str) and os.path.isdir(p)})
        listed = self.files.listed.union(
            p for p in folders if not code_owner.is_library_path(os.path.join(p, "x"))
        )  # a later import may find a module there
        self.channel.send(
            {
                "ev": "collected",
                "runner": runner,
                "items": items,
                "errors": errors,
                "configuration": configuration,
                "repeatable": repeatable and not self.files.effects,
                "looked": sorted(looked),
                "listed": sorted(listed),
                "folders": folders,
            }
        )
        while True:
            reply, _ = self.channel.receive()
            if reply is None:
                os._exit(1)
            if "run" in reply:
                return reply["run"]
            for path, package in reply["cut"]:
                try:
                    with open(path, "rb") as f:
                        source = units.cut(f.read(), package)
                except OSError:
                    source = None
                self.channel.send(
                    {
                        "ev": "source",
                        "units": source and source.units,
                        "imports": source and source.imports,
                        "quiet": source and source.quiet,
                    }
                )

    def begin_test(self, n):
        if self.timed:
            self.channel.send({"ev": "begin", "n": n})
        self._now[:] = (
            b"%-9d" % n
        )  # if the process dies, the engine reads here which test was running; queued reports are lost then
        self.current = n
        self._reset()
        self._threads = threading.active_count()
        self._children = leftovers.children()
        self.begin()

    def _reset(self):
        if self._draws() != self._drawn or random._inst.gauss_next != self.generators[2]:
            random.setstate(self.generators)
        for adapter, state in self.library_generators.items():
            adapter.set_random_state(state)
            if state is None:
                self.library_generators[adapter] = adapter.random_state()

    def end_test(self, n, starts, absent, outcome):
        phase = self.end(merge=False).whole()
        self.current = None
        if threading.active_count() > self._threads:
            phase.marks.add("thread")
        if leftovers.children() != self._children:
            phase.marks.add("subprocess")
        if not self.watching():
            phase.marks.add("unobserved functions")
            sys.settrace(self._called)
        used = self._used(phase)
        phase.groups.add(self.needs(used, starts, absent))
        event = {"ev": "end", "n": n, **outcome}
        if self.leaks:
            self._follow(phase)
        left = self._left(n, phase, used)
        if left:
            event["leaves"] = sorted(left)
        phase.after.discard(n)
        if phase.after:
            event["after"] = sorted(phase.after)
        event.update(self.content(phase))
        self._report(event, phase)
        now = _clock()
        if self.timed or now - self._sent > _BUNCH:
            self._sent = now
            self.channel.flush()

    def _follow(self, phase):
        """Orders a test after every earlier one whose leftover changes it may read."""
        names = _names(phase) | {"env:" + e.lstrip("=") for e in phase.env}
        if phase.cwd:
            names.add("cwd")
        if phase.modules:
            names.add("sys.path")
        for test, left in self.leaks.items():
            if not names.isdisjoint(left) or ("env:*" in names and any(x.startswith("env:") for x in left)):
                phase.after.add(test)

    def _left(self, n, phase, used):
        """Returns the names of what a test changed and did not restore, in workspace modules and in the process."""
        left = set()
        if len(self.bindings) != len(self.modules):  # the test imported modules
            self.bindings.hold(self.modules.values())
        for m, changed in self.bindings.changes(used - self.tests):
            if m.path in self.plugins:
                changed &= _names(phase)  # the test did not cause what only the plugin's reports change
            left |= changed
        if not leftovers.stayed(self._around, self.files):
            now = leftovers.around(self.files)
            left |= leftovers.moved(self._around, now)
            self._around = now
        if left:
            self.leaks.setdefault(n, set()).update(left)
        return left


_TELLING = (
    frozenset(
        ("uuid", "os", "posix", "secrets", "random", "resource", "gc", "tracemalloc", "sys", "_thread", "threading")
    )
    | adapters.VOLATILE_PACKAGES
)


def _tells(value):
    """Reports whether volatility.volatile may find marks in code that uses a value. Decoding all code takes longer."""
    if type(value) is types.ModuleType:
        return value.__name__.partition(".")[0] in _TELLING
    return (
        isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type))
        and str(value.__module__).partition(".")[0] in _TELLING
    )


_REPORTS = frozenset(
    (
        "pytest_runtest_logreport",
        "pytest_runtest_logstart",
        "pytest_runtest_logfinish",
        "pytest_runtest_makereport",
        "pytest_report_teststatus",
        "pytest_exception_interact",
        "pytest_warning_recorded",
    )
)


def _names(phase):
    """Returns the names that the code of a phase mentions. It leaves out code that only reports."""
    return {name for c in phase.codes.values() if c.co_name not in _REPORTS for name in c.co_names}
