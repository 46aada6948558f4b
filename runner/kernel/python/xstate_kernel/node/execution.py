"""Compiles and executes the code of a node, and describes the exception that it raised."""

import ast
import importlib.machinery
import os
import re
import sys
import threading
import traceback
import warnings

from xstate_kernel import original as __builtins__

from .. import adapters
from ..ground import atoms, bytecode, code_owner, disk, shutdown
from ..show import display, magic, streams
from ..value import code_digest
from . import function_part

_COROUTINE = 0x80  # code flag, see inspect.CO_COROUTINE
_NESTS = re.compile(r"\b(def|lambda|class|for)\b")  # words that may begin a nested code object
_UNPICKLED = re.compile(r"Can't get attribute '(\w+)' on <module '__main__'")


_TURNS = 100  # turns of the event loop at the end of a cell: tasks may never wait for anything


class Execution:
    """The code of the running node."""

    def __init__(self, bindings, names, recorder, hidden, process):
        self._bindings, self.ns, self.names, self.recorder = bindings, bindings.ns, names, recorder
        self._hidden, self._process = hidden, process
        self.pid = os.getpid()
        self.executing = False
        self.own = ()  # code objects of the running node
        self.part = None  # the part of a function, that the running node is
        self.made = []  # code that the node made at run time
        self.shown = False  # the value of the node's last expression was put out
        self.ending = None  # how the node ended the program
        self.loop = None  # asyncio's loop, once the program needs one
        self.in_cell = False  # the node is in a notebook's cell, where the loop always runs
        self.interrupted = False  # the engine interrupted the node
        self.disk_full = False  # the last node failed because the disk is full
        self.import_error = ""  # what failed of an import that made the last node fail: "module" or "shared library"

    def compiled(self, source, name, request):
        flags = compiler_flags(request.get("future")) | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self.part = None
        if request.get("part"):
            self.part = function_part.FunctionPart(self.ns, self.names, source, name, request, flags)
            self.own = (self.part.code, self.part.tail)
            return self.own
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            code = self._compiled_whole(source, name, request, flags)
            if code is not None:
                self.names.add_node(code)
                self.own = (code, None)
                return self.own
            tree = compile(source, name, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
            if request["line"] > 1:
                ast.increment_lineno(tree, request["line"] - 1)
            if _NESTS.search(source):
                code_digest.flatten(compile(tree, name, "exec", flags, dont_inherit=True), source, flags)
            if "__xstate__.capture(" in source:
                magic.show_captured(tree)
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

    def _compiled_whole(self, source, name, request, flags):
        """Compiles a node of which nothing is changed first, as of most: without a tree this takes half the time.
        Returns None for any other."""
        if request.get("expr") or request["line"] > 1 or "__xstate__.capture(" in source or _NESTS.search(source):
            return None
        try:
            code = compile(source, name, "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError):
            return None  # the tree says the same
        return None if "__doc__" in code.co_names else code

    def execute(self, code, tail, request, name):
        self.executing, self.interrupted, self.ending, self.shown = True, False, None, False
        self.in_cell = request.get("dialect") == "ipython"
        kept, error, line = [], None, tail.co_firstlineno if tail is not None else 1
        try:
            try:
                self._hidden.collector.resume()
                self._process.resume()
                if self.part is not None:
                    value = self.part.run(self.evaluate, self.awaited)
                else:
                    self.evaluate(code)
                    value = self.evaluate(tail) if tail is not None else None
                if value is not None and not request.get("quiet"):
                    self.shown = True
                    if not self.in_cell or not display.shows_itself(value):
                        self.recorder.rich("result", display.bundle(value, display.text_of(request)))
                    self.keep(value, request.get("keeps") or ())
                kept.append(value)
                del value
                if request.get("last"):
                    self.go_on()
                    adapters.show_figures(self.recorder)
            except (Exception, SystemExit) as e:
                if not (shutdown.script and isinstance(e, SystemExit)):  # a script that ends shows none
                    self.show_begun()
                raise
            except KeyboardInterrupt:
                adapters.close_figures()  # drawing may be what takes so long
                raise
            finally:
                self._process.suspend()
                self._hidden.collector.pause()
                self.executing = False
        except SystemExit as e:
            self.ending = shutdown.ending(e)
            if os.getpid() != self.pid:
                shutdown.run(self.ending["code"])
            kept.append(e)
            if shutdown.left():
                error = self.end(name)
        except BaseException as e:
            if os.getpid() != self.pid:
                self.child_failed(e)
            error = self.error(e, name)
            kept.append(e)
        self.release(kept, name, error["line"] if error else line)
        return error

    def keep(self, value, names):
        """Binds the value of a cell as IPython does: to "_", which "__" was before, and to "_3" for cell 3."""
        for name, newer in (("___", "__"), ("__", "_")):
            if name in names:
                self.names.note(newer)
                self.names.store(name)
                self.ns[name] = self.ns.get(newer, "")
        for name in names:
            if name not in ("__", "___"):
                self.names.store(name)
                self.ns[name] = value

    def end(self, name):
        """Runs what the program has left for its end, which is here. Returns what interrupted it."""
        self.executing = True
        self._hidden.collector.resume()
        try:
            shutdown.end()
        except KeyboardInterrupt as e:
            return self.error(e, name)
        finally:
            self._hidden.collector.pause()
            self.executing = False

    def show_begun(self):
        """Shows the figures of a node that failed or ended the program, as Jupyter does after an error."""
        if os.getpid() == self.pid:
            try:
                adapters.show_figures(self.recorder)
            except Exception:  # they may be why it failed
                adapters.close_figures()

    def child_failed(self, e):
        """Ends a forked child with an exception, as the interpreter does."""
        e.__traceback__ = _of_program(e.__traceback__)
        try:
            sys.excepthook(type(e), e, e.__traceback__)
        finally:
            shutdown.run(1)

    def release(self, kept, name, line):
        """Drops values on a line of the program, so that a warning of a finalizer cites that line."""
        if all(type(value) in atoms.ATOMS for value in kept):
            return
        tree = ast.increment_lineno(ast.parse("kept.clear()", mode="eval"), max(line - 1, 0))
        code = compile(tree, name, "eval")
        self.own = (*self.own, code)
        eval(code, self.ns, {"kept": kept})

    def evaluate(self, code):
        if code.co_flags & _COROUTINE:
            return self.awaited(eval(code, self.ns))
        if not self.in_cell or "asyncio.events" not in sys.modules:
            return eval(code, self.ns)
        events, loop = sys.modules["asyncio.events"], self.own_loop()
        parts = getattr(loop, "__dict__", {})
        if "_thread_id" not in parts or loop.is_closed():
            return eval(code, self.ns)
        events._set_running_loop(loop)  # the code finds the loop running, and it continues with the next await
        parts["_thread_id"] = threading.get_ident()
        try:
            return eval(code, self.ns)
        finally:
            parts["_thread_id"] = None
            events._set_running_loop(None)

    def awaited(self, coroutine):
        return self.own_loop().run_until_complete(coroutine)

    def own_loop(self):
        if self.loop is None:
            import asyncio

            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        return self.loop

    def go_on(self):
        """Lets the tasks of a notebook continue at the end of a cell, as far as they wait for nothing."""
        for _ in range(_TURNS):
            if not self.in_cell or self.loop is None or self.loop.is_closed() or not getattr(self.loop, "_ready", ()):
                return
            self.loop.run_until_complete(_turn())

    def error(self, e, name):
        """Describes an exception in terms of blocks and lines; frames of the kernel are left out."""
        tb = _of_program(e.__traceback__)
        frames = []
        try:
            shown = traceback.TracebackException(type(e), e, tb, compact=True)
            _strip(shown)
            if self.part is not None and shown.stack:
                shown.stack[:0] = [
                    traceback.FrameSummary(c["filename"], c["line"], c["function"] or "<module>", lookup_line=False)
                    for c in self.part.sites
                ]
            frames = [line[:10000] for part in shown.format() for line in part.rstrip("\n").split("\n")]
            message = str(e)
        except BaseException as broken:  # the exception's own __str__ failed
            frames, message = [], f"<{type(broken).__name__} in __str__>"
        line = 0
        while tb is not None:
            if tb.tb_frame.f_code.co_filename == name:
                line = tb.tb_lineno
            tb = tb.tb_next
        if isinstance(e, SyntaxError) and e.filename == name:
            line = e.lineno or 0
        self.import_error, self.disk_full = _import_error(e), disk.filled(e)
        found = {
            "type": type(e).__name__,
            "message": message[:10000],
            "traceback": frames[-200:],
            "line": line,
            "frames": sorted(set(streams.PLACE.findall("\n".join(frames)))),
        }
        if isinstance(e, NameError):
            found["name"] = getattr(e, "name", None)
        elif isinstance(e, AttributeError):
            unpickled = _UNPICKLED.match(message)
            found["name"] = unpickled and unpickled.group(1)
        return found

    def code_run(self, code):
        """Records code that is about to be executed: the code of a module, or code made at run time."""
        self.recorder.look()  # a library that prints while it is imported
        if any(code is c for c in self.own):
            return
        caller = sys._getframe(1)
        while caller is not None and caller.f_code.co_filename.startswith(code_owner.FOLDER):
            caller = caller.f_back
        if (
            caller is not None
            and caller.f_globals is not self.ns
            and code_owner.is_library_path(caller.f_code.co_filename)
        ):
            if self.given(caller):  # an annotation that is text, as typing and inspect look at it
                for name in bytecode.loads(code):
                    self.names.note(name)
            return  # code that it made: namedtuple, dataclass
        path = code.co_filename
        if path.startswith("<frozen ") or (not path.startswith("<") and code_owner.is_library_path(path)):
            return
        if not path.startswith("<") and code_owner.importing():
            self.names.add_module(code)
        elif self.executing:
            self.names.add(code)
            self.made.append(code)

    def given(self, frame):
        """Reports whether the library of a frame got the program's namespace as an argument or from a function."""
        while (
            frame is not None
            and frame.f_globals is not self.ns
            and code_owner.is_library_path(frame.f_code.co_filename)
        ):
            if any(v is self.ns for v in list(frame.f_locals.values())):
                return True
            frame = frame.f_back
        return False


async def _turn():
    """Waits for nothing."""


def compiler_flags(future):
    import __future__

    flags = 0
    for name in future or ():
        feature = getattr(__future__, name, None)
        if feature is not None:
            flags |= feature.compiler_flag
    return flags


def _import_error(e):
    """Returns which part of an import failed, if that is the reason of an exception, else ""."""
    seen = []
    while e is not None and not any(e is s for s in seen):
        seen.append(e)
        if isinstance(e, ImportError):
            path = getattr(e, "path", None)
            native = isinstance(path, str) and path.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES))
            return "shared library" if native and not isinstance(e, ModuleNotFoundError) else "module"
        e = e.__cause__ or e.__context__
    return ""


def _of_program(tb):
    """Returns a traceback without the frames of the kernel that called the program."""
    while tb is not None and tb.tb_frame.f_code.co_filename.startswith(code_owner.FOLDER):
        tb = tb.tb_next
    return tb


def _strip(shown):
    """Removes the frames of the kernel and of the import system from a traceback and from its causes."""
    while shown is not None:
        shown.stack[:] = [f for f in shown.stack if not f.filename.startswith((code_owner.FOLDER, "<frozen importlib"))]
        if isinstance(getattr(shown, "_str", None), str) and (shown._str or "").startswith("name "):
            shown._str = shown._str.partition(". Did you mean: ")[0]  # that depends on what else is bound
        for group in getattr(shown, "exceptions", None) or ():
            _strip(group)
        shown = shown.__cause__ or (None if shown.__suppress_context__ else shown.__context__)
