"""get_ipython(): what exported notebooks call, and what programs ask in order to learn whether they are notebooks."""

import ast
import builtins
import re

from xstate_kernel import original as __builtins__

from ..ground import kept_names
from . import formatters

_FIELD = re.compile(r"\$\$|\{\{|\}\}|\$([A-Za-z_]\w*)|\{([^{}]+)\}")
_ESCAPE = re.compile(r"(?m)^([ \t]*)(?:([\w.]+[ \t]*=)[ \t]*)?([%!])(.*)$")
_VALUED = {"timeit": "nrp", "prun": "lsTD", "memit": "rt"}  # options that have a value
_SHELL = frozenset(
    "ls ll la lx lf lk ldir mkdir rmdir rm cp mv cat less more man pip conda mamba micromamba uv".split()
)
_DYNAMIC = frozenset("who who_ls whos reset reset_selective run pylab".split())  # no text shows what these read


class UsageError(Exception):
    """A magic that does not exist, or that does not take these arguments."""

    __module__ = "builtins"  # tracebacks name it as IPython does


class Events:
    """The type of get_ipython().events. No code of the program runs between cells: an event calls nothing."""

    def register(self, event, function):
        """Takes a function, as IPython does."""

    unregister = trigger = register


class ZMQInteractiveShell:
    """The part of IPython's shell that exported notebooks use. Its name is the one by which programs know Jupyter."""

    config = {"IPKernelApp": {}}
    colors = "neutral"
    display_formatter = formatters.formatter
    parent = None
    execution_count = 1  # each cell is one of a run from the top, whose number no text shows

    def __init__(self):
        self.events = Events()

    @property
    def user_ns(self):
        return builtins.__xstate__.names

    def run_line_magic(self, name, line, _stack_depth=1):
        kernel, line = builtins.__xstate__, _expanded(line)
        if name in ("time", "prun", "memit"):
            start = kernel.clock()
            return kernel.timed(start, _evaluated(_options(name, line)[1]))
        if name == "timeit":
            options, code = _options(name, line)
            return kernel.timeit(code, options)
        if name in ("env", "set_env", "cd", "pwd"):
            return getattr(kernel, "env" if name == "set_env" else name)(*[line] * (name != "pwd"))
        if name in ("sx", "system"):
            return kernel.getoutput(line)
        if name in _SHELL:
            return kernel.system(f"{name} {line}")
        if name in _DYNAMIC:
            kernel.mark("unobserved %" + name)
        return kernel.magic(name, line)

    def register_magics(self, *classes):
        """Takes magics of a library. Cells are translated before the library is there, so they are not found."""

    def magic(self, line):
        name, _, rest = line.partition(" ")
        return self.run_line_magic(name.lstrip("%"), rest.strip())

    def run_cell_magic(self, name, line, cell):
        kernel = builtins.__xstate__
        if name in ("time", "prun", "memit"):
            start = kernel.clock()
            return kernel.timed(start, _evaluated(_options(name, line)[1] + "\n" + cell))
        if name == "timeit":
            options, setup = _options(name, line)
            return kernel.timeit(_plain(cell), options, setup or "pass")
        if name == "capture":
            target = [word for word in line.split() if not word.startswith("-")]
            with kernel.capture(line) as captured:
                kernel.value(_evaluated(cell))
            kernel.bind(target[:1], captured)
            return None
        if name in ("bash", "sh"):
            return kernel.bash(cell)
        if name in ("writefile", "file"):
            return kernel.writefile(_expanded(line), cell)
        return kernel.cell_magic(name, line, cell)

    def system(self, command):
        return builtins.__xstate__.system(_expanded(command))

    def getoutput(self, command, split=True, depth=0):
        lines = builtins.__xstate__.getoutput(_expanded(command))
        return lines if split else "\n".join(lines)

    def __reduce__(self):
        return get_ipython, ()


# plotly asks for the module, too.
_shell = type("ZMQInteractiveShell", (ZMQInteractiveShell,), {"__module__": "ipykernel.zmqshell"})()


def get_ipython():
    return _shell


def _options(name, line):
    """Splits the options from the code that follows them."""
    words, rest = [], line.lstrip()
    while re.match(r"-[A-Za-z]", rest):
        word, _, rest = rest.partition(" ")
        words.append(word)
        if len(word) == 2 and word[1] in _VALUED.get(name, ""):
            word, _, rest = rest.lstrip().partition(" ")
            words.append(word)
        rest = rest.lstrip()
    return words, rest


def _expanded(text):
    """Replaces $name and {expression} by their values. A field without a value stays as it is."""

    def value(field):
        name = field[1] or field[2]
        if name is None:
            return field[0][0]
        try:
            return str(builtins.__xstate__.evaluate(name))
        except Exception:
            return field[0]

    return _FIELD.sub(value, text)


def _plain(code):
    """Turns the magics and shell commands in the code of a cell magic into calls."""
    try:
        ast.parse(code)
        return code
    except SyntaxError:
        return _ESCAPE.sub(_call, code)


def _call(line):
    indent, target, mark, text = line[1], line[2], line[3], line[4]
    if mark == "!":
        call = f"{'getoutput' if target or text.startswith('!') else 'system'}({text.lstrip('!').strip()!r})"
    else:
        name, _, rest = text.partition(" ")
        call = f"run_line_magic({name!r}, {rest.strip()!r})"
    return f"{indent}{target} get_ipython().{call}" if target else f"{indent}get_ipython().{call}"


def _evaluated(code):
    """Executes code in the program's namespace. Returns the value of its last line, if that is an expression."""
    tree = ast.parse(_plain(code))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    builtins.__xstate__.execute(compile(tree, "<string>", "exec", dont_inherit=True))
    if last is not None:
        return builtins.__xstate__.evaluate(compile(ast.Expression(last.value), "<string>", "eval", dont_inherit=True))


kept_names.keep("shell", __name__, get_ipython, ZMQInteractiveShell, Events)


def ask(prompt="", /):
    """Takes the place of input in a notebook that has no standard input: the question and the answer are a call."""
    import xstate

    return xstate.ask(str(prompt))
