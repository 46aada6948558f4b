"""__xstate__: what the translated magics and shell escapes of notebooks call."""
import os
import shlex
import subprocess
import sys
import time


class Magic:
    def __init__(self, recorder, namespace, mark):
        self._recorder, self._namespace, self._mark = recorder, namespace, mark
        self._cell_start = None

    def magic(self, name, args=""):
        """Line magics that only configure a front end: nothing to do here."""
        if name == "matplotlib" and args and "inline" not in args and args not in ("agg", "notebook", "widget", "ipympl"):
            sys.stderr.write("figures are captured, not shown in a window\n")
        if name == "pylab":
            exec("import numpy\nimport matplotlib\nfrom matplotlib import pylab, mlab, pyplot\nnp = numpy\nplt = pyplot\n"
                 "from pylab import *\nfrom numpy import *", self._namespace)

    def time(self):
        self._mark("clock")
        return _Timer()

    def cell_time(self):
        self._mark("clock")
        self._cell_start = (time.perf_counter(), time.process_time())

    def end_cell(self):
        start, self._cell_start = self._cell_start, None
        if start is not None:
            _report(*start)

    def timeit(self, what, *args, **kwargs):
        import timeit
        self._mark("clock")
        timer = timeit.Timer(what, globals=self._namespace) if isinstance(what, str) else timeit.Timer(what)
        number, taken = timer.autorange()
        best = min([taken] + timer.repeat(2, number)) / number
        unit, scale = next((u, s) for u, s in (("s", 1), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)) if best * s >= 1 or u == "ns")
        print("%.3g %s per loop (best of 3, %d loops each)" % (best * scale, unit, number))

    def capture(self, name, source):
        import contextlib
        import io
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            exec(compile(source, "<captured>", "exec"), self._namespace)
        if name:
            self._namespace[name] = Captured(out.getvalue(), err.getvalue())

    def bash(self, source, *_):
        self._run(["bash", "-c", source])

    sh = bash

    def writefile(self, args, text):
        append = args.startswith("-a ")
        path = args[3:].strip() if append else args.strip()
        existed = os.path.exists(path)
        with open(path, "a" if append else "w") as f:
            f.write(text)
        print("%s %s" % ("Appending to" if append else "Overwriting" if existed else "Writing", path))

    def html(self, text):
        self._recorder.rich("display", {"text/plain": "<HTML>", "text/html": text})

    def javascript(self, text):
        self._recorder.rich("display", {"text/plain": "<Javascript>", "application/javascript": text})

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
        print("env: %s=%s" % (name.strip(), value.strip()))

    def cd(self, folder=""):
        folder = folder.strip().strip("'\"")
        os.chdir(os.path.expanduser(folder or "~"))
        print(os.getcwd())

    def pwd(self):
        return os.getcwd()

    def who(self, *_):
        print("  ".join(sorted(n for n in self._namespace if not n.startswith("_"))))

    def reset(self, *_):
        for name in [n for n in self._namespace if not n.startswith("__")]:
            del self._namespace[name]

    def system(self, command):
        self._run(["sh", "-c", command])

    def getoutput(self, command):
        done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.stdout.decode("utf-8", "replace").splitlines()

    def _run(self, argv):
        code = subprocess.run(argv, stdin=subprocess.DEVNULL).returncode
        if code:
            sys.stderr.write("[exit status %d]\n" % code)

    def pinfo(self, name, *_):
        value = self._namespace.get(name.split(".")[0])
        for part in name.split(".")[1:]:
            value = getattr(value, part, None)
        print("Type: %s\nDocstring: %s" % (type(value).__name__, getattr(value, "__doc__", None) or "<no docstring>"))


class Captured:
    """What %%capture kept."""

    def __init__(self, stdout, stderr):
        self.stdout, self.stderr = stdout, stderr

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)

    def __str__(self):
        return self.stdout


def _report(wall, cpu):
    print("CPU times: %.3g s\nWall time: %.3g s" % (time.process_time() - cpu, time.perf_counter() - wall))


class _Timer:
    def __enter__(self):
        self._start = (time.perf_counter(), time.process_time())

    def __exit__(self, *exc):
        _report(*self._start)
        return False


def quote(text):
    return shlex.quote(str(text))
