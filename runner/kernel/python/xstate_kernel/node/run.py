"""One run of a node, in phases: prepare, execute, observe names, modules and files, fingerprint, observe hidden state.

The order of the phases matters: an earlier phase must not change what a later one observes. The kernel keeps no
reference to the program's values while the node runs, because the node may observe when a value is freed.
"""

import builtins
import os
import sys
import time
import types
import warnings
from gc import disable as _stop_collecting
from gc import enable as _collect
from gc import isenabled as _collects

from xstate_kernel import original as __builtins__

from .. import adapters
from ..ground import bytecode, code_owner, hidden_variable, shutdown, started
from ..observe import calls, layout, libraries, pure_readers, volatility
from ..observe import names as observe_names
from ..show import plain
from ..value.bindings import SPECIAL
from . import line_coverage
from .observation import Observation
from .start import Start


class NodeRun:
    """The state that the phases of a run share."""

    def __init__(self, kernel, request, source):
        self.kernel, self.request, self.source, self.filename = kernel, request, source, request["filename"]
        self.bindings, self.files, self.modules, self.names = (
            kernel.bindings,
            kernel.files,
            kernel.modules,
            kernel.names,
        )
        self.writes, self.imports, self.execution = kernel.writes, kernel.imports, kernel.execution
        self.prints, self.ns = kernel.groups.prints, kernel.bindings.ns
        self.fresh = request.get("fresh")  # the interpreter is new: nothing in it can be stale
        self.imported = request.get("imported") or ()  # libraries that the program has imported before
        self.observation = Observation()

    def run(self):
        """Runs the node. Sends output events and a result event, and returns the later observations as the reply."""
        refusal = self.prepare()
        if refusal is not None:
            return refusal, b""
        self.begin()
        self.execute()
        self.observe_names()
        self.observe_modules()
        self.fingerprint()
        self.observe_hidden_state()
        self.observe_imports()
        self.observe_files()
        self.observe_marks()
        self.start.end(self.bindings, not self.writes.lifetime_sensitive())
        return self.observation.reply(), b""

    def prepare(self):
        """Records the state before the node, and compiles it. Returns why the node cannot run here, or None."""
        kernel, request = self.kernel, self.request
        layout.forget()
        self.imports.attach(request, kernel)
        self.observation.restored = sorted(libraries.newly_loaded())
        self.writes.reach_of = request.get("reach") or {}
        self.bindings.order(request.get("order") or ())
        self.ns.pop("__warningregistry__", None)
        self.start = Start(self.bindings, not self.writes.lifetime_sensitive())
        self.writes.values_before = self.start.values
        self.before, kernel.state = kernel.state or kernel.hidden.snapshot(), None
        for v in kernel.hidden.variables:
            v.begin(self.before[v.key][2] if v.key in self.before else None)
        self.filters = list(warnings.filters) if request.get("library_import") else None
        self.environ = dict(os.environ._data)
        self.threads = set(sys._current_frames())
        adapters.before_node()
        self.had_figures = adapters.open_figures()
        self.compile()
        if not self.fresh and libraries.outdated(self._imports_of_code, self.imported):
            return {"stale": True}
        self.workspace_codes = self.imports.module_codes(self.codes, request["uses"])
        self.modules.begin(self.codes, self.workspace_codes)
        if self.modules.lists_subclasses and not request.get("lists"):
            return {"lists": True}
        self.lingering = self.modules.lists_subclasses and self.writes.lingering(request.get("order") or ())
        if self.lingering and not self.fresh:
            return {"stale": True}
        return None

    def compile(self):
        try:
            if self.request.get("end"):
                self.source = "__xstate__.end()"
            elif self.request.get("dialect") == "xstate/give":
                self.source = plain.give(self.source)
            elif self.request.get("dialect") == "xstate/take":
                self.source, builtins.__xstate__.taken = plain.take(self.source)
            self.code, self.tail = self.execution.compiled(self.source, self.filename, self.request)
        except (SyntaxError, ValueError, plain.NoPlainForm) as e:
            self.code, self.tail, self.error = None, None, self.execution.error(e, self.filename)
        else:
            self.error = None
        self.codes = list(self.imports.codes(self.request, self.code, self.tail))

    def _imports_of_code(self):
        return self.kernel.workspace.imported().union(*(bytecode.code_facts(c)[1] for c in self.codes))

    def begin(self):
        """Begins to observe names, output and files."""
        request, process = self.request, self.modules.process
        self.registered_names = set() if request.get("definition") else process.names()
        part = self.execution.part
        uses = part.asked if part is not None and part.ended else request["uses"]
        request["uses"] = sorted(self.registered_names.union(uses))
        self.handles = self.look_at_handles()
        adapters.unseeded()
        hidden_variable.marks.clear()
        self.names.begin(request["uses"], self.bindings.deps, self.start)
        self.execution.made = []
        observe_names.watch_main(self.names)
        wanted = request.get("lined") and hasattr(sys, "monitoring")
        self.lines = line_coverage.LineCoverage(self.codes, self.kernel.blocks) if wanted else None
        self.kernel.recorder.begin(request["node"], f"{self.filename.strip('<>')}-{request['line']}")
        self.files.begin(process.files(), request.get("observed", 0), request.get("draws") or ())
        started.stdin.buffer.begin()
        if self.modules.attaches_databases:
            self.files.attached(self.codes + self.workspace_codes)
        if any("resize" in c.co_names for c in self.codes + self.workspace_codes):
            self.kernel.printer.arrays.forget()

    def execute(self):
        """Executes the code, ends the observation, and reports the result at once: the other phases take time."""
        kernel, request = self.kernel, self.request
        began, cpu = time.perf_counter(), time.process_time()
        calls.begin(self.filename, self.codes)
        if self.error is None:
            if self.lines:
                self.lines.begin()
            self.error = self.execution.execute(self.code, self.tail, request, self.filename)
        if os.getpid() != self.execution.pid:
            shutdown.run(int(self.error is not None))  # a forked child must not continue the kernel's loop
        if request.get("last") or self.error is not None:
            builtins.__xstate__.end_cell()
        kernel.recorder.end()
        seconds = time.perf_counter() - began
        self.observation.lined = self.lines.end() if self.lines and self.code is not None else None
        self.files.end()
        self.unseeded = adapters.unseeded()
        self.files.marks |= hidden_variable.marks
        self.modules.stop()
        observe_names.watch_main(None)
        self.reads, self.imports_read = self.names.end()
        self.reads |= self.files.names
        self.imports_read |= self.modules.named | self.files.unpickled
        if not self.names.exact:
            self.imports_read |= set(request.get("imports") or ())
        kernel.printer.dotted.update(n for n in self.imports_read if "." in n)
        kernel.channel.send(
            {
                "ev": "result",
                "node": request["node"],
                "seconds": seconds,
                "cpu": time.process_time() - cpu,
                "error": self.error,
                "interrupted": self.execution.interrupted,
                "ending": self.execution.ending,
                "unbound": bool(self.unbound_reads()),
            }
        )
        if self.filters is not None:
            adapters.warnings.adapter.library_imported(self.filters)

    def unbound_reads(self):
        """Returns the names that the node read, as far as that is known, and whose values the engine did not load."""
        unbound = set(self.request.get("unbound") or ())
        return unbound if self.names.everything else unbound & self.reads

    def observe_names(self):
        """Adds the reads that the node made through the whole namespace, open files, hooks and handlers."""
        start, prints, reads, process = self.start, self.prints, self.reads, self.modules.process
        reach = self.bindings.reach
        self.certain, maybe = self.stored()
        if self.error is None:
            reads |= {n for n in maybe - self.certain if n in start and start.same(n)}
        if not self.names.exact:
            modules = self.imports.modules_of(self.imports_read, reads)
            if any(getattr(sys.modules.get(m), "__file__", None) in self.names.spaces for m in modules):
                self.names.everything = True
        if self.names.everything:
            reads.update(start.names())
        if any(prints[n].shuffled for n in reads if n in prints):
            self.files.marks.add("process")
        self.process_changed = process.changed(lambda: {n for n in start.names() if not start.same(n)})
        if self.process_changed:
            reads |= process.sharing()
        if adapters.logging.adapter.levels.touched:
            reads |= process.logged_to()
        if self.files.forked:
            reads |= start.among(reach(reads | set(self.request["uses"])))
        if process.traced:  # a trace function raises no events
            reads |= start.among(reach(self.registered_names | process.names()))
        if self.modules.lists_subclasses:
            reads |= {n for n in start.names() if n in prints and prints[n].soft}
            if self.lingering:
                self.files.marks.add("unobserved __subclasses__")
        if self.modules.reads_sys_modules:  # the presence of a module depends on which code imported it
            reads |= {
                n
                for n in start.names()
                if (n in prints and prints[n].files) or code_owner.is_a(self.ns.get(n), types.ModuleType)
            }

    def stored(self):
        """Returns the names that the node certainly bound, and those that it may have bound.

        If one of the latter is bound to the same object as before, the kernel counts it as read: it may be unchanged.
        """
        request, names = self.request, self.names
        if names.exact:
            return names.stored, set()
        maybe = set(names.stored)
        part = self.execution.part
        if self.execution.ending or (part is not None and part.left):  # maybe before it bound them
            request = {**request, "certain": ()}
        if request.get("definition"):
            return set(request.get("certain") or ()), maybe
        for c in (self.code, self.tail):
            if c is not None:
                maybe |= bytecode.stores(c, True)
                names.stars.update(module for _, module in bytecode.star_imports(c))
        maybe = maybe.union(*map(bytecode.star_names, names.stars))
        for name in self.bindings.reach(request["uses"]):
            for f in self.prints[name].soft.values():
                if isinstance(f, types.FunctionType):
                    maybe |= bytecode.stores(f.__code__)
        return set(request.get("certain") or ()), maybe

    def observe_modules(self):
        """Checks the workspace modules that the node may have reached, and whether it must re-run elsewhere."""
        start, kernel = self.start, self.kernel
        self.reached = self.imports.modules_of(self.imports_read, self.reads)
        while not self.names.exact:  # what the program put into modules may be called by what they hold
            used = self.bindings.reach(self.modules.module_state.names(self.reached))
            more = start.among(used) - self.reads
            if not more:
                break
            self.reads |= more
            self.reached = self.imports.modules_of(self.imports_read, self.reads)
        self.changed, self.quiet, self.loud = self.modules.end(self.reached)
        again = self.unbound_reads()

        def outdated():
            return self.imports_read | kernel.workspace.imported()

        stale = not self.fresh and (
            (self.files.objects and kernel.dropped_earlier) or libraries.outdated(outdated, self.imported)
        )
        elsewhere = not self.files.writes.keys().isdisjoint(self.request.get("open_elsewhere") or ())
        self.failed = self.error is not None or again or stale or elsewhere
        self.observation.take({"unbound_read": sorted(again), "everything": self.names.everything, "stale": stale})

    def fingerprint(self):
        """Computes digests of what the node bound or may have changed."""
        printer, see = self.kernel.printer, self.observation
        parts = self.bindings.parts(self.changed, self.modules.others)
        proven = self.kernel.proves and not parts and pure_readers.proven(self)
        collects = _collects()
        _stop_collecting()  # what a walk makes would have all objects of the program looked at again and again
        printer.begin()
        self.kernel.groups.checked.clear()
        try:
            found = self.writes.fingerprint_writes(
                self.start, self.start.among(self.reads), self.certain, self.failed, parts, proven
            )
            self.writes.values_before = {}
            altered = {*found.pop("altered", ()), *self.modules.module_state.altered}
            see.take(found)
            see.unparked, see.classes = self.writes.obsolete()
        finally:
            printer.end()
            if collects:
                _collect()
        see.altered = sorted(altered | {"*"} if self.modules.lists_subclasses else altered)
        see.absent = sorted(n for n in self.reads if n not in self.start and n not in SPECIAL)

    def observe_hidden_state(self):
        see, process = self.observation, self.modules.process
        adapters.note_attributes(self.codes + self.workspace_codes)
        see.hidden, see.hidden_reads = self.hidden_changes()
        see.stdin = started.stdin.buffer.seen()
        see.modules = self.modules.changed() + ["process"] * self.process_changed
        if see.modules:
            process.begin()  # so that the names below refer to the present registrations
        see.pristine = bool(see.modules) and self.modules.pristine()
        see.registered_names = sorted(n for n in self.bindings.reach(process.names()) if n in self.ns)

    def hidden_changes(self):
        """Returns which variables of hidden state the node changed, with their digests, and which ones it read."""
        before, after = self.before, self.kernel.hidden.snapshot()
        self.kernel.state = after
        changed, read = {}, []
        for v in self.kernel.hidden.variables:
            was = before.get(v.key, ("",))[0]
            now = after.get(v.key, ("",))[0]
            if was != now or v.set_by_node or (v.key == "cwd" and self.files.moved):
                changed[v.key] = now
            if v.key.startswith("rng:"):
                if v.touched or ((was != now or v.set_by_node) and not v.fresh):
                    read.append(v.key)
            elif v.key == "cwd":
                if self.files.cwd_read or was != now:
                    read.append(v.key)
            elif v.touched or not v.precise or was != now:
                read.append(v.key)
        return changed, read

    def observe_imports(self):
        """Finds what the imports depend on, and the present state of modules. After a failure, unloads changed
        modules."""
        see, modules, workspace = self.observation, self.modules, self.kernel.workspace
        for top in self.kernel.recorder.loading:
            libraries.printed(top)
        see.restored = sorted({*see.restored, *self.imports.first.restored})
        bound = [w["name"] for w in see.writes]
        see.imports = self.imports.imported(self.imports_read, self.reads, self.reached, bound, self.imported)
        if self.error is not None and self.execution.import_error:
            self.imports.failed()
        if self.failed:
            gone = self.kernel.unload(workspace.importers(self.changed | self.quiet | self.loud))
            see.unloaded, see.dropped = gone["unloaded"], sorted({*see.dropped, *gone["dropped"]})
        else:
            see.module_state = {n: modules.state(n) for n in self.changed | self.loud}
            see.quiet = {n: [workspace.path(n), modules.state(n)] for n in self.quiet}

    def observe_files(self):
        """Reports files and the environment."""
        see, f = self.observation, self.files
        self.codes = list(self.imports.codes({**self.request, "uses": self.reads}, self.code, self.tail))
        self.workspace_codes = self.imports.module_codes(self.codes, self.reads)
        f.times_asked(self.codes + self.workspace_codes)
        deleted = set().union(*map(bytecode.deletes, self.codes), *map(bytecode.deletes, self.execution.made))
        see.deleted = sorted(n for n in deleted if n not in self.start and n not in self.ns)
        told = self.error is not None and f.folder_in(self.error["message"])  # as errors of imports do
        if f.folder_read or told or volatility.tells_folder(self.codes):
            see.hidden_reads.append("conf:folder")
        used, located = self.observe_handles()
        see.files = {
            "reads": f.reads,
            "used": used,
            "open": located,
            "listings": sorted(f.listings),
            "writes": f.writes,
            "modes": sorted(f.modes),
            "chmods": f.chmods,
            "times": sorted(f.times),
            "disregarded": sorted(f.caches | f.cached),
            "observed": f.observed,
        }
        see.environ = _environ_changes(self.environ, os.environ._data, f.put)
        see.library_environ = sorted(map(os.fsdecode, f.put.keys() - f.put_by_program))
        see.environ_reads = sorted(f.environ)

    def look_at_handles(self):
        """Finds the files that are open. Returns the handles that names reach, also those of parked groups."""
        opaque = {n: fp for n, fp in self.kernel.groups.noted.items() if fp.opaque}
        for joint, (_, prints) in self.bindings.parked.items():
            opaque.update({(joint, n): fp for n, fp in prints.items() if fp is not None and fp.opaque})
        self.files.look_at_handles({fp.opaque for fp in opaque.values()}, self.modules.process.files())
        return {n: fp.handles for n, fp in opaque.items() if fp.handles}

    def observe_handles(self):
        """Returns the names of the open files that the node used, and where the files are now that names reach.

        The node used the files of names that it read or wrote. Code that uses a handle or a map reads its file. No name
        reaches what a failed node opened: such files are returned as well."""
        handles, before = self.files.handles, self.handles
        read = handles.used(_joined(before, self.reads), _joined(before, before))
        self.files.count_as_read(filter(None, map(handles.paths.get, read)))
        used, opened = handles.names(read), set()
        after = self.look_at_handles()
        claimed = _joined(after, after)
        for w in self.observation.writes:
            held = handles.names(handles.used(after.get(w["name"], ()), claimed))
            w["handles"] = sorted(held)
            used |= held
        if self.failed:
            opened = self.files.opened_by_node()
        return sorted(used), handles.located(handles.used(claimed, claimed) | opened)

    def observe_marks(self):
        """Collects why the result may vary, and which blocks the output cites."""
        see, kernel = self.observation, self.kernel
        if "__annotations__" in self.request["uses"]:
            self.files.marks.add("unobserved __annotations__")
        marks = self.files.marks | volatility.volatile(self.codes, self.ns, kernel.groups.dotted)
        if self.unseeded or any(v.unseeded for v in kernel.hidden.variables):
            marks.add("entropy")
        if set(sys._current_frames()) - self.threads:
            marks.add("thread")
        if self.error is not None and self.execution.disk_full:
            marks.add("unobserved disk space")
        if self.error is not None and self.execution.import_error == "shared library":
            marks.add("unobserved shared library")  # that it needs: the system searches its own folders for it
        see.marks, see.exact = sorted(marks), self.names.exact
        see.figures, see.had_figures = bool(adapters.open_figures()), bool(self.had_figures)
        cited = {f for w in see.writes if w["name"] in self.prints for f in self.prints[w["name"]].cites}
        if not self.request.get("definition"):
            cited |= layout.numbered(self.codes, self.workspace_codes)
        see.cites = sorted(kernel.recorder.cited | set((self.error or {}).get("frames", ())) | cited)


def _joined(sets, names):
    return set().union(*(sets[n] for n in names if n in sets))


def _environ_changes(before, after, put):
    """Returns the variables that the node set, even to the same value, with their values; None for a removed one."""
    if before == after and not put:
        return {}

    def text(raw):
        return os.fsdecode(raw) if isinstance(raw, bytes) else raw  # bytes on POSIX

    return {
        text(k): text(after.get(k))
        for k in before.keys() | after.keys() | put.keys()
        if k in put or before.get(k) != after.get(k)
    }
