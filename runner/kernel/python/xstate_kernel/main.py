"""The kernel's loop: one request at a time, each answered by events and one reply."""

import _imp
import ast
import builtins
import gc
import importlib
import linecache
import os
import pickle
import signal
import sys
import traceback
import types
import warnings
import weakref

from xstate_kernel import original as __builtins__

from . import adapters, template
from .ground import callers, code_owner, disk, frames, hidden_variable, presence, sandbox, shutdown, started
from .node import execution, lines
from .node import imports as node_imports
from .node import run as node_run
from .observe import audit_events, calls, draws, guard, layout, libraries, library_caches, os_functions, proxy
from .observe import clocks as observe_clocks
from .observe import environ as observe_environ
from .observe import files as observe_files
from .observe import names as observe_names
from .show import display, magic, shell, streams
from .value import bindings, fingerprint, groups, sets, spill, values, writes
from .world import hidden, interpreter_state, modules, workspace_modules

# requests that leave hidden state as the last node did, see also do_forget
_NEUTRAL = frozenset(("run", "store", "compile", "sources", "forget"))
_RESTORING = frozenset(("load", "import", "hidden_put"))  # requests that may import libraries
# Files of the kernel that an interrupt must not stop halfway: half a frame or half an observation is useless. Adapters
# belong to them, but not while they draw a figure, which may take long.
_UNINTERRUPTED = frozenset(
    module.__file__
    for module in (
        streams,
        frames,
        presence,
        observe_names,
        observe_files,
        audit_events,
        os_functions,
        observe_clocks,
        draws,
        observe_environ,
        guard,
        hidden,
        hidden_variable,
        interpreter_state,
    )
)
_ADAPTERS = os.path.join(code_owner.FOLDER, "adapters")
_THROUGH = frozenset(  # run code outside the kernel
    ("import_module", "exec_module", "_png", "bundle", "show_figures", "put_out", "show")
)


class Kernel:
    def __init__(self, channel, options, outputs):
        self.channel = channel
        self.main = observe_names.Main("__main__")
        sys.modules["__main__"] = self.main
        namespace = self.main.__dict__
        namespace["__builtins__"] = builtins
        if options.get("file"):
            namespace["__file__"] = options["file"]
        if options.get("package"):
            namespace["__package__"] = options["package"]
        if options.get("ipython"):
            namespace["get_ipython"] = shell.get_ipython
            display.pretty(())  # imports what it needs before the program can observe that
        weakref.finalize(self, int).detach()  # the first call registers with atexit, and the program did not do that
        preset = {k: namespace[k] for k in bindings.PRESET if k in namespace}
        self.execution = None
        self.recorder = streams.Recorder(channel, outputs)
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = streams.STREAMS
        shutdown.script = bool(options.get("script"))
        adapters.begin(self.recorder, shutdown.script)
        builtins.__xstate__ = magic.Magic(
            self.recorder,
            namespace,
            lambda mark: self.files.marks.add(mark),  # noqa: PLW0108 - files is set later
        )
        if options.get("ipython"):
            builtins.display, builtins.get_ipython = self.display, shell.get_ipython
            setattr(builtins, "__IPYTHON__", True)  # noqa: B010 - as libraries ask
            if not options.get("stdin"):
                builtins.input = shell.ask
        # before the first snapshot of hidden state
        started.start(started.name_of(options), options.get("arguments") or (), options.get("stdin"))
        sys.path.insert(0, options["imports"])
        guard.protect(options.get("engines") or ())
        code_owner.keep_bytecode(os.path.join(options["store"], "pycache"), sets.survives)
        library_caches.start(options["caches"])
        libraries.workspace = os.path.realpath(options["folder"]) + os.sep
        os.chdir(options["folder"])
        signal.signal(signal.SIGINT, self.interrupted)
        self.workspace = workspace_modules.Workspace()
        self.names = observe_names.names(namespace, options.get("observe") != "static")
        observe_names.watch_imports(self.names)
        observe_names.watch_contexts(self.names)
        shutdown.watch()
        callers.hide()
        self.printer = fingerprint.Fingerprinter(namespace, self.workspace)
        self.groups = groups.Groups(self.printer.called)
        self.bindings = bindings.Bindings(namespace, preset, self.printer, self.groups)
        self.writes = writes.Writes(self.bindings)
        self.lines = lines.Lines()
        self.modules = modules.Modules(namespace, self.printer, self.workspace, self.groups, self.effects)
        self.proves, self.writes.verifies = options.get("check") != "all", options.get("check") == "proofs"
        self.dropped_earlier = False  # values may be left that the program has replaced
        self.spool, disk.channel = options["spool"], self.channel
        self.lent = None  # memory that the engine may read
        self.pickled = 0  # groups, in files there: the engine takes them while the next node runs
        self.hidden = hidden.Hidden(options["seed"], self.names)
        self.state = self.hidden.snapshot()  # the state of the hidden variables; None: not known
        self.execution = execution.Execution(
            self.bindings, self.names, self.recorder, self.hidden, self.modules.process
        )
        self.files = observe_files.Files(
            self.spool, options["store"], options["folder"], self.execution.code_run, options.get("guard")
        )
        if options.get("recorded"):
            self.files.proxy = proxy.address(os.environ)
        self.files.on_child = self.recorder.child_starts
        self.files.on_descriptor = self.recorder.descriptor_set
        self.hidden.quietly = self.files.quietly
        started.running, started.looked = lambda: self.files.active, libraries.looked
        self.imports = node_imports.NodeImports(self.bindings, self.workspace, self.modules, self.files)
        calls.offer(self)
        self.blocks = set()  # what tracebacks call the blocks
        layout.watch(self.text_read)

    def text_read(self, filename):
        if self.files.active and filename in self.blocks:
            self.recorder.cited.add(filename)

    def interrupted(self, _, frame):
        if self.execution is None or not self.execution.executing:
            return
        while frame is not None and (
            not frame.f_code.co_filename.startswith(code_owner.FOLDER) or frame.f_code.co_name in _THROUGH
        ):
            frame = frame.f_back
        path = frame.f_code.co_filename if frame is not None else ""
        if path in _UNINTERRUPTED or os.path.dirname(path) == _ADAPTERS:
            self.recorder.interrupt(self.raise_interrupt)  # if this prints; else the engine tries again
            return
        self.raise_interrupt()

    def raise_interrupt(self):
        self.execution.interrupted = True
        raise KeyboardInterrupt

    def display(self, *objects, **options):
        return display.show(self.recorder, objects, **options)

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
            self.lent = None
            if request["op"] not in _NEUTRAL:
                self.state = None
            self.files.restoring = request["op"] in _RESTORING
            try:
                reply, data = getattr(self, "do_" + request["op"])(request, body)
            except values.NeedClass as e:
                reply, data = {"ok": False, "need": [e.name, e.digest]}, b""
            except Exception as e:
                reply, data = (
                    {
                        "ok": False,
                        "error": f"{type(e).__name__}: {e!s}",
                        "trace": traceback.format_exc(),
                    },
                    b"",
                )
            reply.setdefault("ok", True)
            self.channel.send({"ev": "reply", **reply}, data)
            if request["op"] == "template" and reply.get("able"):
                template.fork(self)

    def do_bind(self, request, _):
        """Parks and unbinds names, drops parked groups and binds parked groups again."""
        parked = set()
        self.dropped_earlier = self.dropped_earlier or bool(request.get("park") or request.get("unbind"))
        for joint, names in request.get("park") or ():
            self.bindings.park(joint, names)
            parked.update(names)
        for name in request.get("unbind") or ():
            if name not in parked:
                self.bindings.keep_alive(self.bindings.ns.get(name), self.groups.prints.get(name))
            self.bindings.unbind(name)
        for joint in request.get("drop") or ():
            self.bindings.forget(joint)
        for joint in request.get("unpark") or ():
            self.bindings.restore(joint)
        self.bindings.close_detached(self.files.handles)
        return {}, b""

    def do_forget(self, _, __):
        if self.bindings.parked or len(sys._current_frames()) > 1:
            self.state = None  # finalizers may run, and threads may have
        self.bindings.forget_all()
        importlib.invalidate_caches()
        hidden.forget_answers(
            {c for fp in self.groups.prints.values() for c in fp.soft.values() if code_owner.is_a(c, type)}
        )
        if self.workspace.shadowed():
            return {"stale": True}, b""
        return self.unload(self.workspace.edited()), b""

    def do_unload(self, request, _):
        """Unloads workspace modules that differ from those at the next position, with all that import them."""
        return self.unload(self.workspace.importers(request["modules"])), b""

    def unload(self, gone):
        """Unloads modules, unbinds the names that depend on them, and forgets all parked groups, which may depend on
        them."""
        dropped, classes = [], []
        if gone:
            self.state = None
            self.bindings.forget_all()
            dropped = [n for n, fp in self.groups.prints.items() if not fp.files.isdisjoint(gone)]
            for name in dropped:
                self.bindings.unbind(name)
            classes = self.printer.forget_classes(lambda fp: not fp.files.isdisjoint(gone))
            for d in classes:
                self.writes.old_classes.pop(d, None)
            self.workspace.unload(gone)
            self.modules.module_state.forget(gone)
        return {"unloaded": sorted(gone), "dropped": sorted(dropped), "classes": classes}

    def effects(self):
        """Returns the effects of the node so far. The caller compares the result before and after the load of a
        module."""
        f = self.files
        return (
            sum(not p.endswith(".py") for p in f.reads),
            len(f.listings),
            len(f.environ),
            len(f.writes),
            sorted(f.marks),
            self.recorder.totals(),
            {k: v[0] for k, v in self.hidden.snapshot().items() if v[0]},
            dict(os.environ._data),
            started.NAME.touched,
            started.ARGUMENTS.touched,
            {k: v if type(v) is tuple else id(v) for k, v in self.modules.process.registered().items()},
        )

    def do_load(self, request, body):
        """Binds a stored group. Without the path of a part, its memory is that of an array that the process has. Where
        there is none with that content, the reply names the part, and nothing is bound."""
        foreign = request.get("foreign", False)
        parts = [(bytes.fromhex(p["digest"]), p["path"]) for p in request.get("parts") or ()]
        live = self.printer.arrays.live({digest for digest, path in parts if not path})
        absent = {digest.hex() for digest, path in parts if not path and digest not in live}
        if absent:
            return {"absent": sorted(absent)}, b""
        given = {digest for digest, path in parts if path}
        parts = [path or values.Live(digest, *live[digest]) for digest, path in parts]
        if request.get("path"):
            with open(request["path"], "rb") as f:
                found, classes = values.load(f, parts, self.printer, self.loaded_code, foreign)
        else:
            found, classes = values.load(body, parts, self.printer, self.loaded_code, foreign)
        self.printer.arrays.handed.update(given)
        for name, value in zip(request["names"], found):
            self.bindings.bind(name, value)
        prints = {n: self.groups.prints[n] for n in request["names"]}
        pairs = self.groups.pairs(prints)
        return {
            "digests": {n: fp.digest for n, fp in prints.items() if not fp.opaque},
            "unparked": self.bindings.unpark(classes),
            "shares": [[a, b, d] for (a, b), d in pairs.items()],
        }, b""

    def do_import(self, request, _):
        """Imports modules of libraries that the program has imported, ahead of what needs them."""
        for name in request["modules"]:
            importlib.import_module(name)
        return {}, b""

    def do_store(self, request, _):
        """Pickles the named values as one group into the reply. Large parts go into files of the spool.

        A part that the engine was given before is only named, unless the engine lost it. Of the others, the engine
        reads the memory of arrays in this process, before its next request: as many bytes as "lend" says. Of an outline
        all parts are only named, and all are chunks of arrays."""
        prints = [self.groups.prints[n] for n in request["names"]]
        if any(fp.in_modules for fp in prints):
            return {"stored": False, "why": "a workspace module holds a part of it"}, b""
        if any(fp.among(self.modules.containers.ids) for fp in prints):
            return {"stored": False, "why": "a library holds a part of it"}, b""
        self.pickled += 1
        name = os.path.join(self.spool, "value-%d" % self.pickled)
        outline = request.get("outline", False)
        out = spill.Spill(None if outline else name)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                needs, memory = values.dump([self.bindings.ns[n] for n in request["names"]], prints, self.printer, out)
        except values.Unstorable as e:
            out.discard()
            return {"stored": False, "why": str(e)}, b""
        path, data, size = out.finish()
        if outline:
            chunks = [{"digest": digest.hex(), "size": part.nbytes} for digest, _, part in memory if digest]
            if not chunks or len(chunks) < len(memory):
                return {"stored": False, "why": "it is not made of chunks"}, b""
            return {"stored": True, "size": size, "parts": chunks, "needs": sorted(needs.items())}, data
        handed, parts, lend = self.printer.arrays.handed, [], request.get("lend", 0)
        handed.difference_update(map(bytes.fromhex, request.get("lost") or ()))
        self.lent = memory  # until the next request
        for digest, address, part in memory:
            described = {"digest": digest and digest.hex(), "size": part.nbytes}
            parts.append(described)
            if digest in handed:
                continue
            if address is not None and part.nbytes <= lend:
                described["address"], lend = address, lend - part.nbytes
            else:
                described["path"] = "%s-%d" % (name, len(parts))
                with open(described["path"], "wb", buffering=0) as f:
                    while part:
                        part = part[f.write(part) :]
            if digest is not None:
                handed.add(digest)
        return {"stored": True, "path": path, "size": size, "parts": parts, "needs": sorted(needs.items())}, data

    def do_show(self, request, _):
        """Returns the display form of a value, and if a place in it is given, what is there."""
        value = self.bindings.ns[request["name"]]
        if request.get("at") is None:
            return {"repr": repr(value)}, b""
        from .look import description  # few requests need it

        text, found = description.show(value, request["at"], request["most"])
        return {"repr": text, "description": found}, b""

    def do_run(self, request, body):
        """Runs one node and reports what it did, see node/run.py."""
        return node_run.NodeRun(self, request, body.decode()).run()

    def do_hidden_get(self, request, _):
        try:
            return {}, pickle.dumps(self.hidden.by_key[request["key"]].get(), 4)
        except Exception:  # an option that is an object of the program
            return {}, b""

    def do_hidden_put(self, request, body):
        self.hidden.restore(request["key"], None if request.get("pristine") else body, request["digest"])
        return {}, b""

    def do_detach(self, request, _):
        return {"paths": self.files.handles.detach(set(request["files"]))}, b""

    def do_flush(self, _, __):
        shutdown.flush()
        return {}, b""

    def do_close_figures(self, _, __):
        adapters.close_figures()
        return {}, b""

    def do_template(self, _, __):
        """Makes this interpreter a template, if it can be one."""
        found = template.prepare(self)
        return {"able": found is not None, **(found or {})}, b""

    def do_environ(self, request, _):
        self.imports.first.told(request.get("first") or {})
        for name, value in request["set"].items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        return {}, b""

    def do_sources(self, request, _):
        """Stores the texts of the blocks that have changed, for tracebacks and inspect."""
        self.blocks.update(request["texts"])
        futures = request.get("futures") or {}
        if self.lines.update(
            {name: (text, execution.compiler_flags(futures.get(name))) for name, text in request["texts"].items()},
            request.get("gone") or (),
        ):
            prints = list(self.groups.prints.values()) + [
                fp for _, group in self.bindings.parked.values() for fp in group.values() if fp is not None
            ]
            for code in self.lines.renew(
                {f for fp in prints for f in fp.soft.values() if isinstance(f, types.FunctionType)}
            ):
                self.names.add(code)
        return {}, b""

    def loaded_code(self, code):
        """Returns the code of a stored function with its present line numbers."""
        code = self.lines.current(code)
        self.names.add(code)
        return code

    def do_compile(self, request, body):
        """Reports for each block whether CPython accepts it as a whole."""
        verdicts, at = [], 0
        for block in request["blocks"]:
            verdicts.append(self.verdict(body[at : at + block["bytes"]].decode(), block))
            at += block["bytes"]
        return {"verdicts": verdicts}, b""

    def verdict(self, text, block):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(
                    text,
                    block["filename"],
                    "exec",
                    execution.compiler_flags(block["future"]) | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
                    dont_inherit=True,
                )
        except (SyntaxError, ValueError) as e:
            return {
                "valid": False,
                "line": getattr(e, "lineno", 0) or 0,
                "column": getattr(e, "offset", 0) or 0,
                "type": type(e).__name__,
                "message": getattr(e, "msg", None) or str(e),
            }
        return {"valid": True}


def start():
    # The frame that called is one of the kernel, see callers.py.
    _imp._fix_co_filename(sys._getframe(1).f_code, code_owner.FOLDER + "/start")
    linecache.cache.pop("<string>", None)  # the command that started the kernel does not belong to the program
    read_fd, write_fd, *outputs = map(int, os.environ.pop("XSTATE_KERNEL_FDS").split(","))
    channel = frames.Channel(read_fd, write_fd)
    calls.start()
    template.start()
    options, _ = channel.receive()
    if options is None:
        return
    kernel = Kernel(channel, options, outputs)
    gc.freeze()  # see hidden.Collector
    sandbox.watch_imports()
    code_owner.look_quietly()
    sandbox.mark("begin", 0)  # what came before is of no node, such as the processes of a launcher
    sandbox.mark("end", 0)
    template.ready(kernel)
    channel.send({"ev": "hello"})
    kernel.serve()
    shutdown.run()
