"""__xstate__: what the translated magics and shell escapes of notebooks call."""

import ast
import builtins
import importlib
import io
import json
import os
import re
import shlex
import sys
import time

from xstate_kernel import original as __builtins__

from .. import adapters
from ..ground import kept_names, shutdown
from . import display, formatters, plain
from .shell import UsageError

# Line magics that configure a front end, or show its own state: nothing to do here.
_FRONT_END = frozenset(
    """matplotlib autoreload config gui colors xmode pdb pprint doctest_mode automagic alias unalias
    history hist notebook lsmagic magic quickref page tb logstart logstop logon logoff logstate store macro save edit
    load loadpy recall rep rerun debug psearch pdoc pdef pfile psource pinfo pinfo2 dirs pushd popd dhist bookmark
    rehashx killbgscripts lprun mprun watermark reload sql tensorboard config_profile conda_env code_wrap subshell
    pycat profile unload_ext reload_ext xstate""".split()
)
# Extensions that only configure a front end.
_NO_EFFECT = frozenset(
    """autoreload IPython.extensions.autoreload storemagic IPython.extensions.storemagic tensorboard
    tensorboard.notebook google.colab.data_table nb_black lab_black jupyter_black memory_profiler line_profiler
    watermark sql autotime""".split()
)

_TIMED = """def inner(_it, _timer):
    pass
    _t0 = _timer()
    for _i in _it:
        pass
    return _timer() - _t0
"""


class Magic:
    def __init__(self, recorder, namespace, mark):
        self._recorder, self.names, self.mark = recorder, namespace, mark
        self._cell_start = None
        self.taken = {}  # values from another language, by name

    def give(self, values):
        """Sends values to a block in another language."""
        self._recorder.plain(plain.document(values))

    def take(self, name):
        """Returns a value from a block in another language."""
        return self.taken.pop(name)

    def end(self):
        """Runs what the program has left for its end."""
        shutdown.end()

    def magic(self, name, args=""):
        """Line magics that only the driver handles."""
        if (
            name == "matplotlib"
            and args
            and "inline" not in args
            and args not in ("agg", "notebook", "widget", "ipympl")
        ):
            sys.stderr.write("figures are captured, not shown in a window\n")
        if name in ("who", "who_ls", "whos"):
            return self.who()
        if name == "precision":
            formatters.plain.float_precision = args.strip()
            return formatters.plain.float_format
        if name == "reset":
            return self.reset()
        if name == "reset_selective":
            return self.reset(" ".join(w for w in args.split() if w != "-f"))
        if name == "run":
            return self.run_file(args)
        if name == "load_ext":
            return self.load_extension(args)
        if name == "ls":
            return self.system("ls " + args)
        if name == "pylab":
            exec(
                "import numpy\nimport matplotlib\nfrom matplotlib import pylab, mlab, pyplot\n"
                "np = numpy\nplt = pyplot\n"
                "from pylab import *\nfrom numpy import *",
                self.names,
            )
        elif name not in _FRONT_END:
            raise UsageError(f"Line magic function `%{name}` not found.")

    def load_extension(self, name):
        """%load_ext: an extension has no shell to extend. One that is not installed is an error."""
        name = name.strip().strip("'\"")
        if name not in _NO_EFFECT:
            importlib.import_module(name)

    def execute(self, code):
        exec(code, self.names)

    def evaluate(self, code):
        return eval(code, self.names)

    def bind(self, names, value):
        self.names.update(dict.fromkeys(names, value))

    def cell_magic(self, name, args, body):
        """Cell magics whose body is not Python and that only show something."""
        media = {
            "html": "text/html",
            "HTML": "text/html",
            "javascript": "application/javascript",
            "js": "application/javascript",
            "latex": "text/latex",
            "markdown": "text/markdown",
            "svg": "image/svg+xml",
            "SVG": "image/svg+xml",
        }.get(name)
        if media is not None:
            self._recorder.rich("display", {"text/plain": f"<{name}>", media: body})
        elif name in ("python", "python3"):
            self._run([sys.executable, "-c", body])
        elif name in ("perl", "ruby", "script"):
            self._run((args.split() if name == "script" else [name]) + ["-e" if name != "script" else "-c", body])
        else:
            raise UsageError(f"Cell magic `%%{name}` not found.")

    def clock(self):
        return time.perf_counter(), time.process_time()

    def timed(self, start, value):
        self.mark("clock")
        _report(*start)
        return value

    def time(self):
        self.mark("clock")
        return _Timer()

    def cell_time(self):
        self.mark("clock")
        self._cell_start = self.clock()

    def end_cell(self):
        start, self._cell_start = self._cell_start, None
        if start is not None:
            _report(*start)

    def timeit(self, code, opts="", setup="pass"):
        import timeit

        self.mark("clock")
        timer = timeit.Timer(code if callable(code) else "pass", globals=self.names)
        if not callable(code):
            timer.inner = self._timed_function(code, setup)
        options = opts.split() if isinstance(opts, str) else list(opts)
        number = _option(options, "-n")
        repeat = _option(options, "-r") or 3
        if number is None:
            number, _ = timer.autorange()
        best = min(timer.repeat(repeat, number)) / number
        unit, scale = next(
            (u, s) for u, s in (("s", 1), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)) if best * s >= 1 or u == "ns"
        )
        print("%.3g %s per loop (best of %d, %d loops each)" % (best * scale, unit, repeat, number))

    def _timed_function(self, code, setup):
        """Makes the function that timeit calls. Timer makes it itself, out of sight of the kernel."""
        tree, made = ast.parse(_TIMED), {}
        function = tree.body[0]
        function.body[2].body = ast.parse(code).body or [ast.Pass()]
        function.body[:1] = ast.parse(setup).body
        exec(compile(ast.fix_missing_locations(tree), "<timeit>", "exec", dont_inherit=True), self.names, made)
        return made["inner"]

    def capture(self, options=""):
        return _Capturing(self._recorder, options.split())

    def value(self, value):
        """The value of the last line under %%capture."""
        if value is not None and not display.shows_itself(value):
            self._recorder.rich("result", display.bundle(value, display.pretty))

    def var(self, text, get):
        """A field of a shell command: its value, or the text as it is if the name is not bound."""
        try:
            return str(get())
        except NameError:
            return text

    def bash(self, source, options=""):
        words = shlex.split(options)
        if words and words[0] != "-s":
            raise UsageError(f"%%bash takes -s and arguments here, and not {words[0]}; %%capture takes what it prints")
        self._run(["bash", "-c", _with_interpreter(source), "bash", *words[1:]])

    sh = bash

    def writefile(self, args, text):
        words = args.split()
        append = not {"-a", "--append"}.isdisjoint(words)
        path = " ".join(w for w in words if w not in ("-a", "--append")) if append else args.strip()
        path = os.path.expanduser(path[1:-1] if path[:1] in ("'", '"') and path[:1] == path[-1:] else path)
        existed = os.path.exists(path)
        with open(path, "a" if append else "w", encoding="utf-8") as f:
            f.write(text)
        print(f"{'Appending to' if append else 'Overwriting' if existed else 'Writing'} {path}")

    def html(self, text):
        self._recorder.rich("display", {"text/plain": "<HTML>", "text/html": text})

    def env(self, args=""):
        args = args.strip()
        if not args:
            return dict(os.environ)
        name, sep, value = args.partition("=")
        if not sep:
            name, _, value = args.partition(" ")
            if not value:
                return os.environ[name]
        os.environ[name.strip()] = value.strip()
        print(f"env: {name.strip()}={value.strip()}")

    def cd(self, folder=""):
        folder = folder.strip()
        quiet = folder.split()[:1] == ["-q"]
        os.chdir(os.path.expanduser((folder[2:] if quiet else folder).strip().strip("'\"") or "~"))
        if not quiet:
            print(os.getcwd())

    def pwd(self):
        return os.getcwd()

    def who(self, *_):
        print("  ".join(sorted(n for n in self.names if not n.startswith("_") and n != "get_ipython")))

    def reset(self, pattern=""):
        """%reset, and %reset_selective, which deletes the names that a pattern is found in."""
        for name in [n for n in self.names if not n.startswith("__") and n != "get_ipython"]:
            if re.search(pattern, name):
                del self.names[name]

    def run_file(self, args):
        """%run: executes a script in a new namespace, then binds here what it defined. -i: it sees the names bound
        here, -n: its __name__ is not __main__, -e: its exit is not an error, -t: its time is shown."""
        import runpy

        words = shlex.split(args)
        options = set()
        while words and words[0].startswith("-") and not os.path.exists(words[0]):
            options.add(words.pop(0))
        if not words:
            raise UsageError("%%run needs the name of a file: %run " + args)
        unknown = options - {"-i", "-n", "-e", "-t", "-G"}
        if unknown:
            raise UsageError(f"%run does not take {' '.join(sorted(unknown))} here")
        path = words[0]
        if not os.path.exists(path) and os.path.exists(path + ".py"):
            path += ".py"
        if not os.path.exists(path):
            raise OSError(f"File `{path!r}` not found.")
        names = {k: v for k, v in self.names.items() if not k.startswith("__")} if "-i" in options else None
        own_name = os.path.splitext(os.path.basename(path))[0] if "-n" in options else "__main__"
        began, before = self.clock(), sys.argv
        sys.argv = [path, *words[1:]]
        try:
            found = runpy.run_path(path, names, own_name)
        except SystemExit:
            if "-e" not in options:
                raise
            found = {}
        finally:
            sys.argv = before
        self.names.update((k, v) for k, v in found.items() if not k.startswith("__"))
        if "-t" in options:
            self.timed(began, None)

    def system(self, command):
        self._run(["sh", "-c", _with_interpreter(command)])

    def getoutput(self, command):
        import subprocess

        done = subprocess.run(
            ["sh", "-c", _with_interpreter(command)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        importlib.invalidate_caches()
        return done.stdout.decode("utf-8", "replace").splitlines()

    def _run(self, argv):
        import subprocess

        code = subprocess.run(argv, stdin=subprocess.DEVNULL).returncode
        importlib.invalidate_caches()  # the command may have installed a package
        if code:
            sys.stderr.write("[exit status %d]\n" % code)

    def message(self, comms, id, text):
        """Gives a widget a message that a page sent. comms is the variable that has it."""
        comm = comms.get(id)
        if comm is not None:
            comm.receive(comms, json.loads(text))

    def pinfo(self, text, get):
        try:
            value = get()
        except (NameError, AttributeError):
            print(f"Object `{text}` not found.")
            return
        print(f"Type: {type(value).__name__}\nDocstring: {getattr(value, '__doc__', None) or '<no docstring>'}")


class _Capturing:
    """%%capture: a context manager that takes what its body puts out. Options say what goes through."""

    def __init__(self, recorder, options):
        self._recorder, self._options = recorder, options
        self._before = sys.stdout, sys.stderr, recorder.captured

    def __enter__(self):
        self._held = Captured()
        self._streams = io.StringIO(), io.StringIO()
        if "--no-stdout" not in self._options:
            sys.stdout = self._streams[0]
        if "--no-stderr" not in self._options:
            sys.stderr = self._streams[1]
        if "--no-display" not in self._options:
            self._recorder.captured = self._held
        return self._held

    def __exit__(self, *_):
        try:
            adapters.show_figures(self._recorder)
        finally:
            sys.stdout, sys.stderr, self._recorder.captured = self._before
            self._held.stdout, self._held.stderr = (s.getvalue() for s in self._streams)
        return False


class Captured:
    """The outputs that %%capture took: text, and display data as media type → text."""

    def __init__(self):
        self.stdout, self.stderr, self._outputs = "", "", []

    def take(self, kind, bundle, metadata, display_id):
        """Takes display data from the recorder."""
        self._outputs.append(bundle)

    def clear(self, wait):
        """Nothing is shown yet."""

    @property
    def outputs(self):
        return [RichOutput(data) for data in self._outputs]

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for output in self.outputs:
            output.display()

    __call__ = show

    def __str__(self):
        return self.stdout


class RichOutput:
    """Display data that %%capture took."""

    def __init__(self, data):
        self.data, self.metadata = data, getattr(data, "metadata", {})

    def display(self):
        builtins.__xstate__._recorder.rich("display", self.data)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.data, self.metadata


def show_captured(tree):
    """Has the value of the last line under %%capture displayed, as IPython does."""
    for node in tree.body:
        if isinstance(node, ast.With) and ast.unparse(node.items[0].context_expr).startswith("__xstate__.capture("):
            last = node.body[-1]
            if isinstance(last, ast.Expr):
                shown = ast.parse("__xstate__.value(0)").body[0]
                shown.value.args[0] = last.value
                node.body[-1] = ast.fix_missing_locations(ast.copy_location(shown, last))


def _with_interpreter(command):
    """Returns a shell command in which python and pip are those of the session, whatever PATH holds."""
    python, pip = ('%s() { "$__python" "$@"; }; ', '%s() { "$__python" -m pip "$@"; }; ')
    functions = python % "python" + python % "python3" + pip % "pip" + pip % "pip3"
    return f"__python={shlex.quote(sys.executable)}; {functions}{command}"


def _option(options, name):
    for i, o in enumerate(options):
        if o.startswith(name):
            return int(o[len(name) :] or options[i + 1])
    return None


def _report(wall, cpu):
    print(f"CPU times: {time.process_time() - cpu:.3g} s\nWall time: {time.perf_counter() - wall:.3g} s")


class _Timer:
    def __enter__(self):
        self._start = (time.perf_counter(), time.process_time())

    def __exit__(self, *exc):
        _report(*self._start)
        return False


kept_names.keep("magic", __name__, Magic, Captured, RichOutput)
