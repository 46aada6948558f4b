"""The kernel's loop: one request at a time, each answered by events and one reply."""
from . import original as __builtins__
import ast
import builtins
import gc
import importlib
import io
import itertools
import linecache
import operator
import os
import re
import signal
import sys
import time
import traceback
import types
import warnings
import weakref

from . import (
    bytecode, code_owner, display, fingerprint, frames, groups, hidden, layout, libraries, line_coverage, lines,
    magic, modules, observe, sets, shutdown, streams, values, volatility, workspace_modules
)

_PRESET = ("__name__", "__doc__", "__file__")  # names like others, that have a value before the program
_SPECIAL = frozenset((
    "__package__", "__loader__", "__spec__", "__builtins__", "__annotations__",
    "__warningregistry__", "__conditional_annotations__", "__annotate__", "__cached__", "__xstate__"))
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_INLINE = 32 << 10  # bytes of a stored group that travel in the frame; more goes to a file
_COROUTINE = 0x80  # code flag, see inspect.CO_COROUTINE
_NESTS = re.compile(r"\b(def|lambda|class|for)\b")  # what may hold a code object of its own
_NEUTRAL = frozenset(("run", "store", "compile", "sources"))  # requests that leave hidden state as the last node did
_RESTORING = frozenset(("load", "hidden_put"))  # requests that may import libraries
_UNINTERRUPTED = frozenset(("streams.py", "frames.py", "observe.py", "hidden.py"))
_THROUGH = frozenset(("import_module", "exec_module"))  # these run a module's code
_UNPICKLED = re.compile(r"Can't get attribute '(\w+)' on <module '__main__'")
_GONE = object()


class Kernel:
    def __init__(self, channel, options, outputs):
        self.channel = channel
        self.pid = os.getpid()
        self.main = observe.Main("__main__")
        sys.modules["__main__"] = self.main
        self.ns = self.main.__dict__
        self.ns["__builtins__"] = builtins
        if options.get("file"):
            self.ns["__file__"] = options["file"]
        weakref.finalize(self, int).detach()  # the first one registers with atexit: that is not the program's
        self.preset = {k: self.ns[k] for k in _PRESET if k in self.ns}
        self.executing = False
        self.recorder = streams.Recorder(channel, outputs)
        sys.stdout = sys.__stdout__ = streams.Stream(self.recorder, "stdout")
        sys.stderr = sys.__stderr__ = streams.Stream(self.recorder, "stderr")
        sys.stdin = sys.__stdin__ = open(os.devnull)
        builtins.__xstate__ = magic.Magic(self.recorder, self.ns, lambda why: self.files.marks.add(why))
        if options.get("ipython"):
            builtins.display = self.display
        sys.argv = [options.get("file") or ""]  # before hidden state is first looked at
        sys.path.insert(0, options["folder"])
        code_owner.keep_bytecode(os.path.join(options["store"], "pycache"), sets.survives)
        libraries.workspace = os.path.realpath(options["folder"]) + os.sep
        os.chdir(options["folder"])
        signal.signal(signal.SIGINT, self.interrupted)
        self.workspace = workspace_modules.Workspace()
        self.names = observe.names(self.ns, options.get("observe") != "static")
        observe.watch_imports(self.names)
        observe.watch_contexts(self.names)
        shutdown.watch()
        self.printer = fingerprint.Fingerprinter(self.ns, self.workspace)
        self.groups = groups.Groups(self.printer.called)
        self.lines = lines.Lines()
        self.modules = modules.Modules(self.ns, self.printer, self.workspace, self.groups, self.effects)
        self.values_before = {}    # name → value when the node began, unless it may matter to the node that a value goes
        self.kept_alive = []    # values that are no longer bound, and whose going would be noticed
        self.earlier = False  # values may be left that the program has put others in place of
        self.parked = {}  # joint digest → ({name: value}, {name: Fingerprint})
        self.spool = options["spool"]
        self.pickled = 0  # groups, in files there: the engine takes them while the next node runs
        self.hidden = hidden.Hidden(options["seed"], self.names)
        self.state = self.hidden.snapshot()  # of the hidden variables; None: not known
        self.files = observe.Files(self.spool, options["store"], options["folder"], self.code_run, options.get("guard"))
        self.blocks = set()  # what tracebacks call the blocks
        layout.watch(self.text_read)
        self.own = ()  # code objects of the node under way
        self.loop = None
        self.reach_of = {}  # class → names that reach it where the node is
        self.redefined = {}  # class → itself, that the node made
        self.defined_as = {}  # id of a class that a node made → weak reference to it, its digest then
        self.altered = set()  # names of classes and functions that the node changed in place
        self.old_classes = {}  # digest → the class object that instances may be of

    def text_read(self, filename):
        if self.files.active and filename in self.blocks:
            self.recorder.cited.add(filename)

    def interrupted(self, _, frame):
        if not self.executing:
            return
        while frame is not None and (not frame.f_code.co_filename.startswith(_FOLDER) or frame.f_code.co_name in _THROUGH):
            frame = frame.f_back
        if frame is not None and os.path.basename(frame.f_code.co_filename) in _UNINTERRUPTED:
            signal.raise_signal(signal.SIGINT)  # again in a moment: half a frame sent, or half an observation, is none
            return
        raise KeyboardInterrupt

    def display(self, *objects, **_):
        for o in objects:
            self.recorder.rich("display", display.bundle(o))

    def serve(self):
        while True:
            going_on = len(sys._current_frames()) > 1  # threads of the program
            if going_on:
                self.hidden.collector.resume()
            request, body = self.channel.receive()
            if going_on:
                self.hidden.collector.pause()
            if request is None:
                return
            if request["op"] not in _NEUTRAL:
                self.state = None
            self.files.restoring = request["op"] in _RESTORING
            try:
                reply, data = getattr(self, "do_" + request["op"])(request, body)
            except values.NeedClass as e:
                reply, data = {"ok": False, "need": [e.name, e.digest]}, b""
            except Exception as e:
                reply, data = {"ok": False, "error": "%s: %s" % (type(e).__name__, e), "trace": traceback.format_exc()}, b""
            reply.setdefault("ok", True)
            self.channel.send({"ev": "reply", **reply}, data)

    # the namespace

    def do_bind(self, request, _):
        """Parks and unbinds names, forgets and brings back parked groups."""
        parked = set()
        self.earlier = self.earlier or bool(request.get("park") or request.get("unbind"))
        for joint, names in request.get("park") or ():
            self.parked[joint] = ({n: self.ns[n] for n in names}, {n: self.groups.prints.get(n) for n in names})
            parked.update(names)
        for name in request.get("unbind") or ():
            if name not in parked:
                self.keep_alive(self.ns.get(name), self.groups.prints.get(name))
            self.unbind(name)
        for joint in request.get("drop") or ():
            self.forget(joint)
        for joint in request.get("unpark") or ():
            bound, prints = self.parked.pop(joint)
            for name, value in bound.items():
                self.bind(name, value, prints[name])
        return {}, b""

    def do_forget(self, _, __):
        for joint in list(self.parked):
            self.forget(joint)
        importlib.invalidate_caches()
        hidden.renew_answers({c for fp in self.groups.prints.values() for c in fp.soft.values() if code_owner.is_a(c, type)})
        if self.workspace.shadowed():
            return {"stale": True}, b""
        return self.unload(self.workspace.edited()), b""

    def do_unload(self, request, _):
        """Unloads workspace modules that are not as they are at the position to come, with all that import them."""
        return self.unload(self.workspace.importers(request["modules"])), b""

    def unload(self, gone):
        """Unloads modules and unbinds the names that rest on them. Parked groups may, and are dropped."""
        dropped, classes = [], []
        if gone:
            for joint in list(self.parked):
                self.forget(joint)
            dropped = [n for n, fp in self.groups.prints.items() if not fp.files.isdisjoint(gone)]
            for name in dropped:
                self.unbind(name)
            classes = [d for d, c in self.printer.classes.items() if not self.printer.of(c).files.isdisjoint(gone)]
            for d in classes:
                del self.printer.classes[d]
                self.old_classes.pop(d, None)
            self.workspace.unload(gone)
            self.modules.module_state.forget(gone)
        return {"unloaded": sorted(gone), "dropped": sorted(dropped), "classes": classes}

    def effects(self):
        """What the node did so far that is more than executing code: compared before and after a module is loaded."""
        f = self.files
        return (sum(not p.endswith(".py") for p in f.reads), len(f.listings), len(f.environ), len(f.writes), sorted(f.marks),
                self.recorder.left(), {k: v[0] for k, v in self.hidden.snapshot().items() if v[0]}, dict(os.environ._data),
                {k: v if type(v) is tuple else id(v) for k, v in self.modules.process.registered().items()})

    def names_bound(self):
        """What the program has bound."""
        bound = dict(self.ns)  # and not name by name: every node asks
        for k in _SPECIAL & bound.keys():
            del bound[k]
        for k, v in self.preset.items():
            if bound.get(k, _GONE) is v:
                del bound[k]
        return bound

    def order(self, names):
        """Puts names in the order in which the program has bound them."""
        names = [n for n in names if n in self.ns and n not in self.preset and n not in _SPECIAL]
        if names != list(filter(set(names).__contains__, self.ns)):
            for n in names:
                self.ns[n] = self.ns.pop(n)

    def unbind(self, name):
        self.clear(name)
        self.groups.drop(name)

    def clear(self, name):
        self.ns.pop(name, None)
        if name in self.preset:
            self.ns[name] = self.preset[name]

    def forget(self, joint):
        bound, prints = self.parked.pop(joint)
        for name, value in bound.items():
            self.keep_alive(value, prints[name])

    def keep_alive(self, value, fp):
        """Holds on to a value that the engine drops, and not the program, if its going would have effects."""
        if fp is not None and fp.lifetime_sensitive:
            self.kept_alive.append(value)

    def bind(self, name, value, fp=None):
        self.ns[name] = value
        self.groups.put(name, fp or self.printer.of(value))

    def do_load(self, request, body):
        """Binds a stored group."""
        if request.get("path"):
            with open(request["path"], "rb") as f:
                found, classes = values.load(f, request.get("first"), self.printer, self.loaded_code)
        else:
            found, classes = values.load(body, None, self.printer, self.loaded_code)
        for name, value in zip(request["names"], found):
            self.bind(name, value)
        prints = {n: self.groups.prints[n] for n in request["names"]}
        pairs = self.groups.pairs(prints)
        return {"digests": {n: fp.digest for n, fp in prints.items() if not fp.opaque}, "unparked": self.unpark(classes),
                "shares": [[a, b, d] for (a, b), d in pairs.items()]}, b""

    def unpark(self, classes):
        """Drops the parked groups that hold what hangs on one of the classes: that is bound now."""
        ids = {i for c in classes for i in self.printer.of(c).ids}
        return self.forget_those(lambda fp: not ids.isdisjoint(fp.ids))

    def obsolete(self):
        """Drops what rests on a class or function that the node changed, or on a class that it made anew: parked groups, and other classes that
        are kept for what is loaded or defined again. Returns the names of the groups, and the digests of the classes."""
        changed, self.groups.changed = self.groups.changed, set()
        made = self.redefined

        def rests(fp):
            return not changed.isdisjoint(fp.soft) or any(
                code_owner.is_a(c, type) and self.again(c, made.get(self.printer.called(c), c)) for c in fp.soft.values())

        if not (changed or made):
            return [], []
        gone = [d for d, c in self.printer.classes.items() if made and rests(self.printer.of(c))]
        for d in gone:
            del self.printer.classes[d]
        for d in [d for d, c in self.old_classes.items() if made and rests(self.printer.of(c))]:
            del self.old_classes[d]
        return self.forget_those(rests), gone

    def again(self, c, new):
        """Reports whether new is what a class is since it was made again. Another version leaves it as it is."""
        if c is new:
            return False
        of, was = self.defined_as.get(id(c), (None, None))
        return of is None or of() is not c or was == self.defined_as[id(new)][1]

    def forget_those(self, which):
        """Forgets the parked groups of which a value's fingerprint is one of those."""
        gone = [j for j, (_, prints) in self.parked.items() if any(fp is not None and which(fp) for fp in prints.values())]
        for joint in gone:
            self.forget(joint)
        return gone

    def do_store(self, request, _):
        """Pickles the named values as one group, into the reply or, when large, into a file of the spool."""
        prints = [self.groups.prints[n] for n in request["names"]]
        if any(fp.in_modules for fp in prints):
            return {"stored": False, "why": "a workspace module holds a part of it"}, b""
        if any(not self.modules.containers.ids.isdisjoint(fp.ids) for fp in prints):
            return {"stored": False, "why": "a library holds a part of it"}, b""
        self.pickled += 1
        out = _Spill(os.path.join(self.spool, "value-%d" % self.pickled))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                needs, parts = values.dump([self.ns[n] for n in request["names"]], prints, self.printer, out)
        except values.Unstorable as e:
            out.discard()
            return {"stored": False, "why": str(e)}, b""
        path, data, size = out.finish()
        return {"stored": True, "path": path, "size": size, "parts": parts, "needs": sorted(needs.items())}, data

    def do_show(self, request, _):
        """Returns how a value presents itself."""
        return {"repr": repr(self.ns[request["name"]])}, b""

    def do_hidden_get(self, request, _):
        import pickle
        try:
            return {}, pickle.dumps(self.hidden.by_key[request["key"]].get(), 4)
        except Exception:  # an option that is an object of the program
            return {}, b""

    def do_hidden_put(self, request, body):
        self.hidden.restore(request["key"], None if request.get("pristine") else body)
        return {}, b""

    def do_close_figures(self, _, __):
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close("all")
        return {}, b""

    def do_environ(self, request, _):
        for name, value in request["set"].items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        return {}, b""

    def code_run(self, code):
        """Code is about to be executed: that of a module, or if it is not the node's own, one that was made at run time."""
        if any(code is c for c in self.own):
            return
        caller = sys._getframe(1)
        while caller is not None and caller.f_code.co_filename.startswith(_FOLDER):
            caller = caller.f_back
        if caller is not None and caller.f_globals is not self.ns and code_owner.is_library_path(caller.f_code.co_filename):
            if self.given(caller):  # an annotation that is text, as typing and inspect look at it
                for name in bytecode.loads(code):
                    self.names.note(name)
            return  # code that it made: namedtuple, dataclass
        path = code.co_filename
        if path.startswith("<frozen ") or not path.startswith("<") and code_owner.is_library_path(path):
            return
        if not path.startswith("<") and code_owner.importing():
            self.names.add_module(code)
        elif self.executing:
            self.names.add(code)
            self.made.append(code)

    def given(self, frame):
        """Reports whether a library, of which a frame is, was given the program's namespace, or took it from a function."""
        while frame is not None and frame.f_globals is not self.ns and code_owner.is_library_path(frame.f_code.co_filename):
            if any(v is self.ns for v in list(frame.f_locals.values())):
                return True
            frame = frame.f_back
        return False

    def do_sources(self, request, _):
        """The text of every block, for tracebacks and inspect."""
        self.blocks.update(request["texts"])
        futures = request.get("futures") or {}
        if self.lines.update({name: (text, _flags(futures.get(name))) for name, text in request["texts"].items()}):
            prints = list(self.groups.prints.values()) + [fp for _, group in self.parked.values() for fp in group.values() if fp is not None]
            for code in self.lines.renew({f for fp in prints for f in fp.soft.values() if isinstance(f, types.FunctionType)}):
                self.names.add(code)
        return {}, b""

    def loaded_code(self, code):
        """The code of a stored function, with the lines that it has now."""
        code = self.lines.current(code)
        self.names.add(code)
        return code

    def do_compile(self, request, body):
        """Says of each block whether CPython accepts it as a whole."""
        verdicts, at = [], 0
        for block in request["blocks"]:
            verdicts.append(self.verdict(body[at:at + block["bytes"]].decode(), block))
            at += block["bytes"]
        return {"verdicts": verdicts}, b""

    def verdict(self, text, block):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(text, block["filename"], "exec", _flags(block["future"]) | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except (SyntaxError, ValueError) as e:
            return {"valid": False, "line": getattr(e, "lineno", 0) or 0, "column": getattr(e, "offset", 0) or 0,
                    "type": type(e).__name__, "message": getattr(e, "msg", None) or str(e)}
        return {"valid": True}

    # execution

    def do_run(self, request, body):
        """Runs one node. Sends output events and a result event, then observes; the reply holds what was observed."""
        source = body.decode()
        name = request["filename"]
        layout.forget()
        self.attach(request)
        restored = libraries.newly_loaded()
        self.reach_of = request.get("reach") or {}
        self.order(request.get("order") or ())
        start = _ids(self.names_bound())
        self.values_before = {} if self.lifetime_sensitive() else dict(self.ns)
        before, self.state = self.state or self.hidden.snapshot(), None
        for v in self.hidden.variables:
            v.begin(before[v.key][2] if v.key in before else None)
        filters = list(warnings.filters) if request.get("library_import") else None
        environ = dict(os.environ._data)
        threads = set(sys._current_frames())
        hidden.renew_warnings()
        hidden.renew_types()
        self.ns.pop("__warningregistry__", None)
        figures = display.open_figures()
        try:
            code, tail = self.compiled(source, name, request)
        except (SyntaxError, ValueError) as e:
            code, tail, error = None, None, self.error(e, name)
        else:
            error = None
        codes, imported = list(self.codes(request, code, tail)), request.get("imported") or ()
        fresh = request.get("fresh")
        if not fresh and libraries.outdated(lambda: self.workspace.imported().union(*(bytecode.code_facts(c)[1] for c in codes)), imported):
            return {"stale": True}, b""
        theirs = self.module_codes(codes, request["uses"])
        self.modules.begin(codes, theirs)
        if self.modules.lists_subclasses and not request.get("lists"):
            return {"lists": True}, b""
        lingering = self.modules.lists_subclasses and self.lingering(request.get("order") or ())
        if lingering and not fresh:
            return {"stale": True}, b""
        placed = set() if request.get("definition") else self.modules.process.names()
        request["uses"] = sorted(placed.union(request["uses"]))
        held = self.files.open_files({fp.opaque for fp in self.groups.noted.values() if fp.opaque})
        hidden.left_unseeded()
        hidden.marks.clear()
        self.names.begin(request["uses"], self.deps, {**start, **{k: id(self.ns[k]) for k in (*_SPECIAL, *_PRESET) if k in self.ns}})
        self.made = []  # code that the node makes and runs
        observe.watch_main(self.names)
        lined = line_coverage.LineCoverage(codes, self.blocks) if request.get("lined") and hasattr(sys, "monitoring") else None
        self.recorder.begin(request["node"])
        self.files.begin(held | self.modules.process.files())
        if self.modules.attaches_databases:
            self.files.attached(codes + theirs)
        if any("resize" in c.co_names for c in codes + theirs):
            self.printer.arrays.forget()
        began, cpu = time.perf_counter(), time.process_time()
        if error is None:
            if lined:
                lined.begin()
            error = self.execute(code, tail, request, name)
        if os.getpid() != self.pid:
            shutdown.run(int(error is not None))  # a forked child does not go on where its parent does
        if request.get("last"):
            builtins.__xstate__.end_cell()
        self.recorder.end()
        seconds = time.perf_counter() - began
        hit = lined.end() if lined and code is not None else None
        self.files.end()
        unseeded = hidden.left_unseeded()
        self.files.marks |= hidden.marks
        self.modules.stop()
        observe.watch_main(None)
        reads, imports = self.names.end()
        reads |= self.files.names
        imports |= self.modules.named | self.files.unpickled
        if not self.names.exact:
            imports |= set(request.get("imports") or ())
        self.printer.dotted.update(n for n in imports if "." in n)
        self.channel.send({"ev": "result", "node": request["node"], "seconds": seconds, "cpu": time.process_time() - cpu, "error": error})
        if filters is not None:
            hidden.library_import(filters)
        certain, maybe = self.stored(request, code, tail)
        if error is None:
            reads |= {n for n in maybe - certain if n in start and id(self.ns.get(n, _GONE)) == start[n]}
        if not self.names.exact and any(getattr(sys.modules.get(m), "__file__", None) in self.names.spaces for m in self.modules_of(imports, reads)):
            self.names.everything = True
        if self.names.everything:
            reads |= start.keys()
        opaque = {self.groups.prints[n].opaque for n in reads if n in self.groups.prints and self.groups.prints[n].opaque}
        if any(self.groups.prints[n].shuffled for n in reads if n in self.groups.prints):
            self.files.marks.add("process")
        if opaque:
            self.files.count_as_read(held | self.files.open_files(opaque))
        registered = self.modules.process.changed(lambda: {n for n, i in start.items() if id(self.ns.get(n, _GONE)) != i})
        if registered:
            reads |= self.modules.process.sharing()
        if self.hidden.by_key["conf:logging"].touched:
            reads |= self.modules.process.logged_to()
        if self.files.forked:
            reads |= {n for n in self.reach(reads | set(request["uses"])) if n in start}
        if self.modules.process.traced:  # what a trace function does raises no event
            reads |= {n for n in self.reach(placed | self.modules.process.names()) if n in start}
        if self.modules.lists_subclasses:
            reads |= {n for n in start if n in self.groups.prints and self.groups.prints[n].soft}
            if lingering:
                self.files.marks.add("unobserved __subclasses__")
        if self.modules.reads_sys_modules:  # whether a module is there depends on who imported it
            reads |= {n for n in start if n in self.groups.prints and self.groups.prints[n].files or code_owner.is_a(self.ns.get(n), types.ModuleType)}
        reached = self.modules_of(imports, reads)
        while not self.names.exact:  # what the program put into modules may be called by what they hold
            more = {n for n in self.reach(self.modules.module_state.names(reached)) if n in start} - reads
            if not more:
                break
            reads |= more
            reached = self.modules_of(imports, reads)
        changed, quiet, loud = self.modules.end(reached)
        unbound = set(request.get("unbound") or ())  # names that have a value, which the namespace was not given
        again = unbound if self.names.everything else unbound & reads
        stale = not fresh and (self.files.objects and self.earlier or libraries.outdated(lambda: imports | self.workspace.imported(), imported))
        self.printer.reached = {}
        try:
            reply = self.fingerprint_writes(start, reads & start.keys(), certain, error is not None or again or stale, self.parts(changed, self.modules.others))
        finally:
            self.printer.reached = None
        self.values_before = {}
        reply["unparked"], reply["classes"] = self.obsolete()
        reply["altered"] = sorted({*reply.get("altered", ()), *self.modules.module_state.altered, *(("*",) if self.modules.lists_subclasses else ())})
        reply["again"], reply["everything"], reply["stale"] = sorted(again), self.names.everything, stale
        reply["absent"] = sorted(n for n in reads if n not in start and n not in _SPECIAL)
        self.hidden.levels_asked(codes + theirs)
        reply["hidden"], reply["hidden_reads"] = self.hidden_changes(before, reads, figures)
        reply["modules"] = self.modules.changed() + ["process"] * registered
        if reply["modules"]:
            self.modules.process.begin()  # so that names below are those of what is registered now
        reply["pristine"] = bool(reply["modules"]) and self.modules.pristine()
        reply["planted"] = sorted(n for n in self.reach(self.modules.process.names()) if n in self.ns)
        for top in self.recorder.loading:
            libraries.printed(top)
        reply["imports"] = self.imported(imports, reads, reached, [w["name"] for w in reply["writes"]], imported)
        if error is not None or again or stale:
            gone = self.unload(self.workspace.importers(changed | quiet | loud))
            reply["unloaded"], reply["dropped"] = gone["unloaded"], sorted({*reply["dropped"], *gone["dropped"]})
        else:
            reply["held"] = {n: self.modules.state(n) for n in changed | loud}
            reply["quiet"] = {n: [self.workspace.path(n), self.modules.state(n)] for n in quiet}
        reply["restored"] = sorted(restored)
        codes = list(self.codes({**request, "uses": reads}, code, tail))
        theirs = self.module_codes(codes, reads)
        self.files.times_asked(codes + theirs)
        deleted = set().union(*map(bytecode.deletes, codes), *(map(bytecode.deletes, self.made)))
        reply["deleted"] = sorted(n for n in deleted if n not in start and n not in self.ns)
        if self.files.folder_read or volatility.tells_folder(codes):
            reply["hidden_reads"].append("conf:folder")
        reply["files"] = self.file_changes()
        reply["environ"] = _environ_changes(environ, os.environ._data, self.files.put)
        reply["environ_reads"] = sorted(self.files.environ)
        if "__annotations__" in request["uses"]:
            self.files.marks.add("unobserved __annotations__")
        marks = self.files.marks | volatility.volatile(codes, self.ns)
        if unseeded or any(v.unseeded for v in self.hidden.variables):
            marks.add("entropy")
        if set(sys._current_frames()) - threads:
            marks.add("thread")
        reply["marks"] = sorted(marks)
        reply["exact"], reply["lined"] = self.names.exact, hit
        reply["figures"] = bool(display.open_figures())
        reply["had_figures"] = bool(figures)
        cited = {f for w in reply["writes"] if w["name"] in self.groups.prints for f in self.groups.prints[w["name"]].cites}
        if not request.get("definition"):
            cited |= layout.numbered(codes, theirs)
        reply["cites"] = sorted(self.recorder.cited | set((error or {}).get("frames", ())) | cited)
        return reply, b""

    def attach(self, request):
        """Imports the submodules that nodes before have imported of packages that the node uses, in an interpreter that was only given the
        packages: they are attributes of these."""
        todo = [n for n in request.get("submodules") or () if n not in sys.modules and n.partition(".")[0] in sys.modules
                and code_owner.kind_of(n.partition(".")[0]) == code_owner.LIBRARY and not _has(n)]
        if not todo:
            return
        used = (self.ns.get(name) for name in self.reach(request["uses"]))
        used = {m.__name__ for m in used if code_owner.is_a(m, types.ModuleType) and code_owner.kind_of(m.__name__) == code_owner.LIBRARY}
        self.files.restoring = True
        for n in todo:
            if any(n.startswith(m + ".") for m in used):
                self.state = None  # what the import sets is not the node's doing
                try:
                    importlib.import_module(n)
                except Exception:
                    pass  # it was a name in the package, or failed then, too
        self.files.restoring = False

    def compiled(self, source, name, request):
        flags = _flags(request.get("future")) | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = compile(source, name, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
            if request["line"] > 1:
                ast.increment_lineno(tree, request["line"] - 1)
            if _NESTS.search(source):
                fingerprint.flatten(compile(tree, name, "exec", flags, dont_inherit=True), source, flags)
            tail = None
            doc = ast.get_docstring(tree, clean=False) is not None
            if doc and not request.get("first"):  # a string like any other
                tree.body.insert(0, ast.copy_location(ast.Pass(), tree.body[0]))
            if request.get("expr") and tree.body and isinstance(tree.body[-1], ast.Expr):
                tail = ast.Expression(tree.body[-1].value)
                if not doc or len(tree.body) > 1:
                    tree.body.pop()
                tail = compile(tail, name, "eval", flags, dont_inherit=True)
            code = compile(tree, name, "exec", flags, dont_inherit=True)
        self.names.add_node(code)
        if tail is not None:
            self.names.add_node(tail)
        self.own = (code, tail)
        return code, tail

    def execute(self, code, tail, request, name):
        self.executing = True
        kept, error, line = [], None, tail.co_firstlineno if tail is not None else 1
        try:
            try:
                self.hidden.collector.resume()
                self.modules.process.resume()
                self.evaluate(code)
                value = self.evaluate(tail) if tail is not None else None
                if value is not None and not request.get("quiet"):
                    self.recorder.rich("result", display.bundle(value))
                kept.append(value)
                del value
                if request.get("last"):
                    display.flush_figures(self.recorder)
            finally:
                self.modules.process.suspend()
                self.hidden.collector.pause()
                self.executing = False
        except SystemExit as e:
            if os.getpid() != self.pid:
                shutdown.run(e.code if type(e.code) is int else int(e.code is not None))
            error = self.error(e, name)
            kept.append(e)
        except BaseException as e:
            error = self.error(e, name)
            kept.append(e)
        self.release(kept, name, error["line"] if error else line)
        return error

    def release(self, kept, name, line):
        """Lets values go in a line of the program's: who warns then cites it."""
        if all(type(value) in fingerprint.ATOMS for value in kept):
            return
        tree = ast.increment_lineno(ast.parse("kept.clear()", mode="eval"), max(line - 1, 0))
        code = compile(tree, name, "eval")
        self.own = (*self.own, code)
        eval(code, self.ns, {"kept": kept})

    def evaluate(self, code):
        if not code.co_flags & _COROUTINE:
            return eval(code, self.ns)
        if self.loop is None:
            import asyncio
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        return self.loop.run_until_complete(eval(code, self.ns))

    def error(self, e, name):
        """Describes an exception in terms of blocks and lines; frames of the kernel are left out."""
        tb = e.__traceback__
        frames = []
        while tb is not None:
            if not tb.tb_frame.f_code.co_filename.startswith(_FOLDER):
                break
            tb = tb.tb_next
        try:
            shown = traceback.TracebackException(type(e), e, tb, compact=True)
            _strip(shown)
            frames = [line[:10000] for part in shown.format() for line in part.rstrip("\n").split("\n")]
            message = str(e)
        except BaseException as broken:  # the exception's own __str__ failed
            frames, message = [], "<%s in __str__>" % type(broken).__name__
        line = 0
        while tb is not None:
            if tb.tb_frame.f_code.co_filename == name:
                line = tb.tb_lineno
            tb = tb.tb_next
        if isinstance(e, SyntaxError) and e.filename == name:
            line = e.lineno or 0
        found = {"type": type(e).__name__, "message": message[:10000], "traceback": frames[-200:], "line": line,
                 "frames": sorted(set(streams.PLACE.findall("\n".join(frames))))}
        if isinstance(e, NameError):
            found["name"] = getattr(e, "name", None)
        elif isinstance(e, AttributeError):
            unpickled = _UNPICKLED.match(message)
            found["name"] = unpickled and unpickled.group(1)
        return found

    # what is seen after a node

    def deps(self, name):
        fp = self.groups.prints.get(name)
        return (fp.deps, fp.imports) if fp is not None else ((), set())

    def stored(self, request, code, tail):
        """Returns the names that the node certainly bound, and those that it may have: of these, one that is bound to the
        same object as before may or may not have been bound anew, and counts as read."""
        if self.names.exact:
            return self.names.stored, set()
        maybe = set(self.names.stored)
        if request.get("definition"):
            return set(request.get("certain") or ()), maybe
        for c in (code, tail):
            if c is not None:
                maybe |= bytecode.stores(c, True)
                self.names.stars.update(module for _, module in bytecode.star_imports(c))
        maybe = maybe.union(*map(bytecode.star_names, self.names.stars))
        for name in self.reach(request["uses"]):
            for f in self.groups.prints[name].soft.values():
                if isinstance(f, types.FunctionType):
                    maybe |= bytecode.stores(f.__code__)
        return set(request.get("certain") or ()), maybe

    def fingerprint_writes(self, start, reads, certain, failed, parts):
        """Fingerprints what the node bound or may have changed; returns the writes and the sharing. See the engine."""
        old, noted = dict(self.groups.prints), dict(self.groups.noted)
        self.altered, self.redefined = set(), {}
        now = self.names_bound()
        ids = _ids(now)
        rebound = {*itertools.compress(ids, map(operator.ne, ids.values(), map(start.get, ids))), *(certain & now.keys())}
        deleted = sorted(start.keys() - now.keys())
        reads = reads | {n for n in rebound | set(deleted) if n in old and n in start and old[n].lifetime_sensitive}
        if failed:
            return self.undo(start, now, {k for k in rebound if start.get(k) != id(now[k])}, reads)
        weak = self.weak(rebound | set(deleted), old, noted)
        changed, near = self.changed_before(reads & (rebound | set(deleted)), old)
        candidates = ((reads | parts) - rebound) | near | weak
        for name in deleted:
            self.groups.drop(name)
        for name in rebound:
            self.made_class(now[name], rebound.union(deleted))
            fp = self.printer.of(now[name])
            if code_owner.is_a(now[name], type) and not fp.opaque and code_owner.kind_of(now[name].__module__) == code_owner.PROGRAM:
                kept = self.same_class(name, now[name], fp)
                if kept is not now[name]:
                    now[name], fp = kept, self.printer.of(kept)
                else:
                    self.redefined[self.printer.called(kept)] = kept
                    self.defined_as[id(kept)] = weakref.ref(kept), fp.digest
            self.groups.put(name, fp)
        mutated = self.rehash(candidates, old, now, rebound, parts)
        written = rebound | mutated | set(deleted)
        after = self.groups.pairs(written)
        touched = mutated | changed | weak | {n for n in rebound & start.keys() if start[n] == id(now[n]) and n in old and old[n].reached()}
        touched |= self.sources(after, written, touched, reads, old)
        touched = {n for n in touched if n in start and n in old}
        after.update(self.groups.pairs(touched))
        return {
            "reads": sorted(reads),
            "comembers": sorted((mutated | weak) - reads),
            "altered": sorted(self.altered),
            "writes": [self.write(n, now) for n in sorted(written)],
            "touched": sorted(touched),
            "after": [[a, b, d] for (a, b), d in sorted(after.items())],
            "born": _bind_order(list(start), list(now)),
        }

    def sources(self, after, written, touched, reads, old):
        """Returns the names from which the written ones have what they newly share with names that were not written:
        names that the node read, and where none explains it, those not written themselves."""
        found, prints = set(), self.groups.prints
        for pair in after:
            for w, other in (pair, pair[::-1]):
                if w in written and other not in written:
                    new = groups.shared(prints[w], prints[other])
                    if w in touched:
                        new -= groups.shared(old.get(w), old.get(other))
                    for r in sorted(reads) if new else ():
                        if r in old and not new.isdisjoint(old[r].reached()):
                            found.add(r)
                            new -= old[r].reached()
                    if new:
                        found.add(other)
        return found

    def changed_before(self, names, old):
        """Returns the names of values that the node read, may have changed, and then bound anew, and who overlaps with one:
        "f(); f = None", where f appends to a list that others hold, too."""
        changed, near = set(), set()
        for name in names & old.keys():
            was = old[name]
            if was.ids or was.soft or was.opaque:
                if name in self.values_before and self.printer.unchanged(self.values_before[name], was):
                    continue
                fp = self.printer.of(self.values_before[name]) if name in self.values_before else None
                if fp is None or fp.differs(was):
                    self.altered |= self.groups.altered(was)
                    changed.add(name)
                    near |= self.groups.neighbours(name, soft=True)
        return changed, near

    def weak(self, names, old, noted):
        """Returns who refers weakly to what the names were bound to, which may be gone now."""
        if not any(fp.weak for fp in noted.values()):
            return set()
        return {n for name in names for n in self.groups.neighbours(name) if old[n].weak}

    def lingering(self, order):
        """Reports whether a class has subclasses of the program's that no name reaches, as earlier versions are, or has them in another
        order than the program bound them in."""
        at = {name: i for i, name in enumerate(order)}
        todo, seen = [object], set()
        for c in todo:
            inner = type.__subclasses__(c)
            todo += [s for s in inner if s not in seen]
            seen.update(inner)
            ours = [s for s in inner if vars(s).get("__module__") == "__main__"]
            places = [at[s.__name__] for s in ours if s.__name__ in at]
            if places != sorted(places) or not all(map(self.groups.reached, ours)):
                return True
        return False

    def lifetime_sensitive(self):
        """Reports whether something bound may notice that an object goes. Then nothing may be held while a node runs."""
        return any(fp.lifetime_sensitive or fp.opaque for fp in self.groups.noted.values())

    def rehash(self, candidates, old, now, rebound, parts=()):
        """Fingerprints again what the node read and, from what turns out changed, everything that overlaps with it."""
        mutated, done, todo = set(), set(), list(candidates)
        while todo:
            name = todo.pop()
            if name in done or name in rebound or name not in now or name not in old:
                continue
            done.add(name)
            was = old[name]
            if not (was.ids or was.soft or was.opaque or name in parts):
                continue  # immutable through and through
            if self.printer.unchanged(now[name], was):
                continue
            near = self.groups.neighbours(name, soft=True)
            fp = self.printer.of(now[name])
            self.altered |= self.groups.altered(was)
            self.groups.put(name, fp)
            if fp.differs(was):
                mutated.add(name)
                todo.extend(near | self.groups.neighbours(name, soft=True))
                prints = self.groups.prints
                todo.extend(prints if fp.partial else [n for n in prints if prints[n].partial])
        return mutated

    def made_class(self, value, names):
        """Tells a class that the node has made from others of its name that are in use, by names that the node did not bind:
        equal classes are two."""
        if not code_owner.is_a(value, type) or code_owner.kind_of(value.__module__) != code_owner.PROGRAM or self.groups.reached(value) or id(value) in self.printer.twins:
            return
        name = self.printer.called(value)
        self.altered.add(name)
        used, n = {k for k, who in self.reach_of.items() if not names.issuperset(who)}, 0
        while "%s#%d" % (name, n) in used or n == 0 and name in used:
            n += 1
        if n:
            self.printer.twins[id(value)] = value, n

    def same_class(self, name, value, fp):
        """A class defined again to the same effect stays the old object, so that isinstance holds for old instances. One
        that holds what can change does not: it is in one group with its instances, and what it holds may be shared."""
        if fp.ids:
            return value
        kept = self.old_classes.setdefault(fp.digest, value)
        if kept is not value:
            if self.printer.of(kept).digest != fp.digest:  # it was changed since
                kept = self.old_classes[fp.digest] = value
            self.ns[name] = kept
            self.printer.classes[fp.digest] = kept
        return kept

    def write(self, name, now):
        fp = self.groups.prints.get(name)
        if fp is None or name not in now:
            return {"name": name, "deleted": True}
        return {"name": name, "digest": "" if fp.opaque else fp.digest, "opaque": fp.opaque, "size": fp.size,
                "deps": sorted(d for d in fp.deps if not hasattr(builtins, d)), "imports": sorted(fp.imports),
                "info": display.describe(now[name]), "class": code_owner.is_a(now[name], (type, types.FunctionType, types.ModuleType)),
                "code": self.groups.code(fp), "fragile": fp.lifetime_sensitive, "rests": bool(fp.files), "held": sorted("%s.%s" % (m, k) for m, names in fp.in_modules.items() for k in names)}

    def undo(self, start, now, rebound, reads):
        """A failed node defines nothing: bindings are put back, values it changed in place are unbound."""
        if not self.values_before:
            self.kept_alive.extend(now[name] for name in rebound)  # its going would change what other names are bound to
        old = dict(self.groups.prints)
        near = set().union(*(self.groups.neighbours(name, soft=True) for name in reads if id(now.get(name, _GONE)) != start.get(name)))
        for name in rebound:
            self.clear(name)
        gone = set()
        for name, i in start.items():
            if name in self.values_before:
                self.ns[name] = self.values_before[name]
            elif id(self.ns.get(name, _GONE)) != i:
                gone.add(name)
        dropped = self.rehash(reads | near, old, self.ns, gone) | gone
        for name in dropped:
            if name in self.ns:
                self.keep_alive(self.ns[name], old.get(name))
            self.unbind(name)
        return {"reads": sorted(reads), "dropped": sorted(dropped), "writes": [], "comembers": [], "touched": [], "after": []}

    def hidden_changes(self, before, reads, figures):
        after = self.state = self.hidden.snapshot()
        changed, read = {}, []
        for v in self.hidden.variables:
            was = before.get(v.key, ("",))[0]
            now = after.get(v.key, ("",))[0]
            if was != now or v.put_anew or v.key == "cwd" and self.files.moved:
                changed[v.key] = now
            if v.key.startswith("rng:"):
                if v.touched or (was != now or v.put_anew) and not v.fresh:
                    read.append(v.key)
            elif v.key == "cwd":
                if self.files.cwd_read or was != now:
                    read.append(v.key)
            elif v.touched or not v.precise or was != now:
                read.append(v.key)
        return changed, read

    def modules_of(self, imports, reads):
        """Returns the workspace modules that the node can have come to: those it imports or read something of, and theirs."""
        loaded = [name for name, _ in self.workspace.loaded()]
        if not loaded:
            return set()
        found = self.rest_on(reads) | self.modules.process.modules()
        for n in imports:
            top = n.partition(".")[0]
            if top in sys.modules and code_owner.kind_of(top) == code_owner.WORKSPACE:
                found.update([m for m in loaded if m == n or m.startswith(n + ".") or n.startswith(m + ".")] or [top])
        if self.modules.reads_sys_modules or "__import__" in reads:  # raises no event for what is loaded already
            found.update(loaded)
        return {m for n in found for m in self.workspace.closure(n)}

    def parts(self, changed, others):
        """Returns the names of which a changed module held a part, and those that rest on modules that are others now."""
        if not (changed or others):
            return set()
        return {n for n, fp in self.groups.prints.items() if not (changed.isdisjoint(fp.in_modules) and others.isdisjoint(fp.files))}

    def rest_on(self, names):
        """The workspace modules that the values of the names rest on."""
        prints = self.groups.prints
        return {m for n in names if n in prints for m in prints[n].files}

    def imported(self, imports, reads, reached, made, before):
        """Returns what the node's imports rest on: library packages with their witness, those that looked at something with what
        they saw, workspace modules and their files."""
        packages, held = {}, reached.union(self.modules.others, *map(self.workspace.closure, self.rest_on(made)))  # from an import that no text shows
        todo = set(imports)
        for n in reads:
            value = self.ns.get(n)
            if code_owner.is_a(value, types.ModuleType) and code_owner.kind_of(value.__name__) == code_owner.LIBRARY:
                todo.add(value.__name__)
            elif n in self.groups.prints:
                todo |= self.groups.prints[n].libraries
        for m in held & sys.modules.keys():
            todo |= self.workspace.imports(m)
        for n in todo:
            top = n.partition(".")[0]
            if top in sys.modules and top != "__main__" and code_owner.kind_of(top) == code_owner.LIBRARY:
                witness = code_owner.witness(top)
                if witness or libraries.nested_in(top):
                    packages[top] = list(witness)
        for path in self.modules.sought(imports):
            if code_owner.is_library_path(path):
                self.files.reads.setdefault(path, "presence")
            else:
                self.files.seen(path)
        loads = libraries.newly_loaded()
        for top in {n.partition(".")[0] for n in imports}:
            for t in libraries.nested_in(top):
                loads[top], loads[t] = libraries.loaded(top), libraries.loaded(t)
                if t not in before:
                    self.files.look_again(libraries.looks_of(t))
        return {"libraries": packages, "loads": loads, "files": sorted(filter(None, map(self.workspace.path, held))),
                "held": sorted(held)}

    def codes(self, request, code, tail):
        """Yields the code objects that the node runs or may run: its own and those of the functions it can reach."""
        for c in (code, tail):
            if c is not None:
                yield from (c,) if request.get("definition") else bytecode.nested(c)
        for name in self.reach(request["uses"]):
            for f in self.groups.prints[name].soft.values():
                if isinstance(f, types.FunctionType):
                    yield from bytecode.nested(f.__code__)

    def module_codes(self, codes, names):
        """The code objects of modules of the workspace that the code objects, which use names, may come to."""
        if not self.workspace.loaded():
            return []
        modules = self.modules_of(set().union(*(bytecode.code_facts(c)[1] for c in codes)), self.reach(names))
        return self.workspace.codes(modules, codes)

    def reach(self, names):
        """The bound names among names and those that the code of their values loads, closed."""
        seen, todo = set(), list(names)
        while todo:
            name = todo.pop()
            fp = self.groups.prints.get(name)
            if fp is not None and name not in seen:
                seen.add(name)
                todo.extend(fp.deps)
        return seen

    def file_changes(self):
        f = self.files
        return {"reads": f.reads, "listings": sorted(f.listings), "writes": f.writes, "modes": sorted(f.modes), "chmods": f.chmods,
                "times": sorted(f.times)}


class _Spill(io.RawIOBase):
    """Bytes kept in memory while they are few, then in a file."""

    def __init__(self, path):
        self._path, self._file, self._memory, self._size = path, None, bytearray(), 0

    def writable(self):
        return True

    def tell(self):
        return self._size

    def write(self, data):
        view = memoryview(data).cast("B") if not isinstance(data, (bytes, bytearray)) else data
        n = len(view)
        self._size += n
        if self._file is None and self._size <= _INLINE:
            self._memory += view
        else:
            if self._file is None:
                self._file = open(self._path, "wb", buffering=0)
                self._file.write(self._memory)
            left = memoryview(view)
            while left:
                left = left[self._file.write(left):]
        return n

    def finish(self):
        if self._file is None:
            return None, bytes(self._memory), self._size
        self._file.close()
        return self._path, b"", self._size

    def discard(self):
        if self._file is not None:
            self._file.close()
            os.unlink(self._path)


def _has(dotted):
    """Reports whether the last part of a dotted name is an attribute of the module that the others name, without asking that."""
    module, _, name = dotted.rpartition(".")
    return name in getattr(sys.modules.get(module), "__dict__", ())


def _ids(bound):
    return dict(zip(bound, map(id, bound.values())))


def _bind_order(before, after):
    """Returns the names that stand behind those that were there before, in order: "-" tells one that was there, and was
    deleted meanwhile. Nothing where they are new, and sorted."""
    new = after[len(before):]
    if after[:len(before)] != before:
        rest, new = iter(before), []
        for at, name in enumerate(after):
            if name not in rest:  # which takes from it what comes before
                new = after[at:]
                break
    was = set(before)
    return [] if was.isdisjoint(new) and sorted(new) == new else ["-" + n if n in was else n for n in new]


def _environ_changes(before, after, put):
    """Returns what the variables set, perhaps to what they were, or (None) removed are now."""
    if before == after and not put:
        return {}
    text = lambda raw: os.fsdecode(raw) if isinstance(raw, bytes) else raw  # bytes on POSIX
    return {text(k): text(after.get(k)) for k in before.keys() | after.keys() | put.keys() if k in put or before.get(k) != after.get(k)}


def _flags(future):
    import __future__
    flags = 0
    for name in future or ():
        feature = getattr(__future__, name, None)
        if feature is not None:
            flags |= feature.compiler_flag
    return flags


def _strip(shown):
    """Leaves the kernel's own frames out of a traceback, also of its causes."""
    while shown is not None:
        shown.stack[:] = [f for f in shown.stack if not f.filename.startswith(_FOLDER)]
        if isinstance(getattr(shown, "_str", None), str) and (shown._str or "").startswith("name "):
            shown._str = shown._str.partition(". Did you mean: ")[0]  # that depends on what else is bound
        for group in getattr(shown, "exceptions", None) or ():
            _strip(group)
        shown = shown.__cause__ or (None if shown.__suppress_context__ else shown.__context__)


def start():
    linecache.cache.pop("<string>", None)  # the command that started the kernel is no line of the program
    read_fd, write_fd, *outputs = map(int, os.environ.pop("XSTATE_KERNEL_FDS").split(","))
    channel = frames.Channel(read_fd, write_fd)
    options, _ = channel.receive()
    if options is None:
        return
    kernel = Kernel(channel, options, outputs)
    gc.freeze()  # see hidden.Collector
    channel.send({"ev": "hello"})
    kernel.serve()
    shutdown.run()
