"""A kernel that only executes blocks in one namespace, one after another. It observes nothing and restores nothing.

Package bench uses it to measure a program without xstate, and simpler methods to re-run the program. It describes
outputs and values as main.py does, so that bench can compare them.
"""

import __future__

import ast
import builtins
import importlib.util
import json
import os
import pickle
import random
import signal
import sys
import traceback
import types
import warnings

from xstate_kernel import original as __builtins__

from . import adapters
from .ground import frames, shutdown, started
from .show import display, magic, shell, streams

_PRESET = ("__name__", "__doc__", "__file__", "get_ipython")
_SPECIAL = frozenset(
    (
        "__package__",
        "__loader__",
        "__spec__",
        "__builtins__",
        "__annotations__",
        "__warningregistry__",
        "__conditional_annotations__",
        "__annotate__",
        "__cached__",
    )
)


class Baseline:
    def __init__(self, channel, options, outputs):
        self.channel, self.spool = channel, options["spool"]
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        self.ns = main.__dict__
        self.ns["__builtins__"] = builtins
        if options.get("file"):
            self.ns["__file__"] = options["file"]
        if options.get("ipython"):
            self.ns["get_ipython"] = shell.get_ipython
            display.pretty(())
        self.preset = {k: self.ns[k] for k in _PRESET if k in self.ns}
        self.nested = []  # code with nested code, each with its tree and flags
        self.recorder = streams.Recorder(channel, outputs)
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = streams.STREAMS
        sys.stdin = sys.__stdin__ = open(os.devnull)
        showing = adapters.begin(self.recorder, False)
        builtins.__xstate__ = magic.Magic(self.recorder, self.ns, lambda why: None)
        if options.get("ipython"):
            builtins.get_ipython = shell.get_ipython
            builtins.display = lambda *objects, **options: display.show(self.recorder, objects, **options)
        sys.argv = [started.name_of(options)]
        sys.path.insert(0, options["folder"])
        os.chdir(options["folder"])
        seed(options["seed"], showing)
        self.executing = False
        self.saved = {}  # number of a snapshot → ({name: value} that does not pickle, objects that pickles refer to)
        signal.signal(signal.SIGINT, self.interrupted)

    def interrupted(self, _, __):
        if self.executing:
            raise KeyboardInterrupt

    def serve(self):
        while True:
            request, body = self.channel.receive()
            if request is None:
                return
            try:
                reply = getattr(self, "do_" + request["op"])(request, body)
            except Exception as e:
                reply = {"ok": False, "error": f"{type(e).__name__}: {e!s}", "trace": traceback.format_exc()}
            self.channel.send({"ev": "reply", "ok": True, **reply})

    def do_run(self, request, body):
        (
            warnings._filters_mutated() if hasattr(warnings, "_filters_mutated") else None
        )  # each block shows its warnings, as with main.py
        self.ns.pop("__warningregistry__", None)
        self.recorder.begin(request["filename"], request["filename"].strip("<>"))
        self.executing = True
        error = None
        try:
            try:
                self.execute(body.decode(), request)
                adapters.show_figures(self.recorder)
                builtins.__xstate__.end_cell()
            finally:
                self.executing = False
        except SystemExit as e:
            error = {"type": "SystemExit", "message": str(shutdown.ending(e)["code"])}
        except BaseException as e:
            try:
                error = {"type": type(e).__name__, "message": str(e).partition(". Did you mean: ")[0][:10000]}
            except BaseException as broken:
                error = {"type": type(e).__name__, "message": f"<{type(broken).__name__} in __str__>"}
        self.recorder.end()
        return {"failure": error}

    def execute(self, source, request):
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        for name in request.get("future") or ():
            flags |= getattr(__future__, name).compiler_flag
        name = request["filename"]
        parts = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = compile(source, name, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
            for s in tree.body:
                if s is tree.body[-1] and isinstance(s, ast.Expr):
                    part, mode = ast.Expression(s.value), "eval"
                else:
                    part, mode = ast.Module([s], []), "exec"
                if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) and isinstance(s.value.value, str):
                    if s is tree.body[0] and request.get("first"):
                        self.ns["__doc__"] = s.value.value
                    elif mode == "exec":
                        continue  # alone, it would be taken for __doc__
                code = compile(part, name, mode, flags, dont_inherit=True)
                if any(isinstance(k, types.CodeType) for k in code.co_consts):
                    self.nested.append((code, part, mode, flags))
                parts.append((code, mode == "eval"))
        for code, shown in parts:
            value = eval(code, self.ns)
            if code.co_flags & 0x80:  # inspect.CO_COROUTINE
                import asyncio

                value = asyncio.get_event_loop_policy().get_event_loop().run_until_complete(value)
            if shown and value is not None and not request.get("quiet"):
                if request.get("dialect") != "ipython" or not display.shows_itself(value):
                    self.recorder.rich("result", display.bundle(value, display.text_of(request)))

    def bound(self):
        return bound(self.ns, self.preset)

    def do_values(self, request, body):
        def look():
            from .value import code_digest

            for code, tree, mode, flags in self.nested:
                code_digest.flatten_tree(code, tree, mode, flags)
            return digests(self.ns, self.bound())

        return {"values": in_child(look)}

    def do_unbind(self, request, body):
        for name in request["names"]:
            self.ns.pop(name, None)
        return {}

    # snapshots

    def do_save(self, request, body):
        """Pickles the whole namespace at once, so that its values still share objects. Modules, functions and classes,
        and values that do not pickle, are kept as they are: a restore does not undo changes in them."""
        path, bound = os.path.join(self.spool, "snapshot-%d" % request["number"]), self.bound()
        held, objects = {}, []
        try:
            with open(path, "wb") as out:
                _Pickler(out, objects).dump(bound)
        except Exception:
            for name, value in list(bound.items()):
                try:
                    with open(os.devnull, "wb") as out:
                        _Pickler(out, []).dump(value)
                except Exception:
                    held[name] = bound.pop(name)
            objects = []
            with open(path, "wb") as out:
                _Pickler(out, objects).dump(bound)
        self.saved[request["number"]] = held, objects
        return {"bytes": os.path.getsize(path)}

    def do_restore(self, request, body):
        held, objects = self.saved[request["number"]]
        with open(os.path.join(self.spool, "snapshot-%d" % request["number"]), "rb") as source:
            bound = _Unpickler(source, objects).load()
        for name in self.bound():
            del self.ns[name]
        self.ns.update(bound)
        self.ns.update(held)
        return {}


def bound(ns, preset):
    """Returns what a program has bound in the namespace ns, which was equal to preset at the start."""
    return {k: v for k, v in ns.items() if k not in _SPECIAL and preset.get(k, ns) is not v}


def in_child(look):
    """Returns the result of look() in a child process, because inspecting a value may change it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = look()
            with os.fdopen(write, "w") as out:
                json.dump(found, out)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as source:
        text = source.read()
    os.waitpid(child, 0)
    return json.loads(text)


def digests(ns, bound):
    """Returns name → digest for values of the namespace ns, or "" for a value without a digest of its content."""
    from .value import fingerprint
    from .world import workspace_modules

    printer, found = fingerprint.Fingerprinter(ns, workspace_modules.Workspace()), {}
    for name, value in bound.items():
        fp = printer.of(value)
        found[name] = "" if fp.opaque else fp.digest
    return found


def seed(number, showing):
    """Seeds the random generators of random and of loaded libraries. showing is what adapters.begin returned."""
    random.seed(number)
    sys.meta_path.insert(0, _Seeding(number, showing))


class _Seeding:
    """Seeds the generator of a library at its import, which may be in the statement that seeds it."""

    def __init__(self, seed, showing):
        self.busy = False
        self.then = {name: lambda module, put=put: put(module, seed) for name, put in adapters.GENERATORS.items()}
        self.then.update({name: lambda module, watch=watch: watch(None, module) for name, watch in showing.items()})

    def find_spec(self, name, path=None, target=None):
        if name not in self.then or self.busy:
            return None
        self.busy = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.busy = False
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            self.then[name](module)

        spec.loader.exec_module = exec_module
        return spec


class _Pickler(pickle.Pickler):
    def __init__(self, out, objects):
        super().__init__(out, 5)
        self.objects = objects

    def persistent_id(self, o):
        if isinstance(o, (types.ModuleType, types.FunctionType, type)):
            self.objects.append(o)
            return len(self.objects) - 1
        return None


class _Unpickler(pickle.Unpickler):
    def __init__(self, source, objects):
        super().__init__(source)
        self.objects = objects

    def persistent_load(self, number):
        return self.objects[number]


def start():
    read_fd, write_fd, *outputs = map(int, os.environ.pop("XSTATE_KERNEL_FDS").split(","))
    channel = frames.Channel(read_fd, write_fd)
    options, _ = channel.receive()
    if options is None:
        return
    kernel = Baseline(channel, options, outputs)
    channel.send({"ev": "hello"})
    kernel.serve()
    os._exit(0)
