"""Splits a source file into the parts that tests depend on separately: functions, and the top level of the module.

A *unit* is a function (also a method or a nested function), named by its qualified name, or the top level, named "".
The digest of a function covers its own text. Functions defined in it are separate units, so their bodies do not count.
Lambdas and comprehensions belong to the unit around them.

The digest of the top level covers everything except the bodies of functions: statements, class bodies, decorators,
defaults, annotations, docstrings, the bound names and their order. So if code may find another function under a name (a
new overriding method, a __getattr__), the top level differs. A digest is of the syntax tree: layout, comments and the
place in the file do not count.

The kernel identifies a line by its statement, and a statement by its number in the unit, in the order of the text. As
long as the digest is equal, so are the numbers, even if the text has moved."""

import ast

from xstate_kernel import original as __builtins__

from .. import sha256
from ..world import workspace_modules

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_IMPORTS = (ast.Import, ast.ImportFrom)
_SIMPLE = (
    ast.Expr,
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.Return,
    ast.Assert,
    ast.Raise,
    ast.Pass,
)  # these contain no statements


class Source:
    """A file split into units."""

    def __init__(self, units, imports, quiet):
        self.units = (
            units  # name → [digest, first line, last line, lines of its statements from the first on, as a text]
        )
        self.imports = imports  # name → modules that the unit imports, if any; see workspace_modules.imported
        self.quiet = quiet  # whether executing it does nothing to other modules, as far as the text shows
        self._by_line = {(unit[1], name.rpartition(".")[2].rstrip("'")): name for name, unit in units.items() if name}

    def unit_of(self, code, around):
        """Returns the name of the unit of a code object: a function is its own unit, other code belongs to around."""
        return self._by_line.get((code.co_firstlineno, code.co_name), around)


def cut(data, package, compiled=False):
    """Splits the source of a module in package into units. If compiled is true, the source is known to compile."""
    digest, lines = sha256(data).hexdigest(), data.count(b"\n") + 1
    try:
        if not compiled:
            compile(data, "<cut>", "exec", dont_inherit=True)  # compile detects more errors than the parser
        tree = ast.parse(data)
        found = _Cut(tree, data.splitlines(), lines, package)
        return Source(found.units, found.imports, quiet(tree))
    except (SyntaxError, ValueError, RecursionError):
        return Source({"": [digest, 1, lines, ""]}, {}, False)  # a source that does not compile is one unit


class _Cut:
    def __init__(self, tree, text, lines, package):
        self.units, self.statements, bodies, imports = {}, {"": []}, [], {"": []}
        self._walk(tree, bodies, imports)
        docs = [ast.get_docstring(f, False) for f, _ in bodies]
        kept = [(f, name, f.body) for f, name in bodies]
        lazy = [
            any(b"yield" in line for line in text[f.lineno - 1 : f.end_lineno]) and _generates(f) for f, _ in bodies
        ]
        for (f, _), generator in zip(bodies, lazy):
            # making a generator without starting it executes nothing
            f.body = [ast.Expr(ast.Yield())] if generator else []
        self.units = {"": [_digest(ast.dump(tree) + repr(docs)), 1, lines, self._starts("", 1)]}
        for f, name, body in kept:
            stub, f.body = f.body, body
            self.units[name] = [_digest(ast.dump(f)), _first(f), f.end_lineno, self._starts(name, _first(f))]
            f.body = stub
        self.imports = {
            name: sorted(workspace_modules.imported_by(nodes, package)) for name, nodes in imports.items() if nodes
        }

    def _walk(self, tree, bodies, imports):
        """Lists functions with their names, and imports by their unit. Both are statements, so it skips expressions."""
        todo = [(tree, "", "")]
        while todo:
            node, within, unit = todo.pop()
            for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                for child in getattr(node, field, ()):
                    if not isinstance(child, _UNTOLD) and not _is_docstring(child, node):
                        self.statements[unit].append(_first(child))
                    if isinstance(child, _FUNCTIONS):
                        name = self._name(within + child.name)
                        bodies.append((child, name))
                        imports[name], self.statements[name] = [], []
                        todo.append((child, name + ".<locals>.", name))
                    elif isinstance(child, ast.ClassDef):
                        todo.append((child, within + child.name + ".", unit))
                    elif isinstance(child, _IMPORTS):
                        imports[unit].append(child)
                    elif not isinstance(child, _SIMPLE):
                        todo.append((child, within, unit))

    def _starts(self, unit, first):
        """Returns the lines on which the statements of a unit begin. Each of several statements on one line counts,
        because another layout may separate them."""
        return " ".join([str(line - first) for line in sorted(self.statements[unit])])

    def _name(self, name):
        """Returns a distinct name for each of several functions with one name, such as a property and its setter."""
        found = name
        while found in self.units:
            found += "'"
        self.units[found] = None
        return found


def _generates(f):
    todo = list(f.body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, (*_FUNCTIONS, ast.Lambda, ast.ClassDef)):
            todo.extend(ast.iter_child_nodes(node))
    return False


_UNTOLD = (ast.Global, ast.Nonlocal)  # these execute nothing


def _is_docstring(statement, within):
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
        and isinstance(within, (*_FUNCTIONS, ast.ClassDef, ast.Module))
        and statement is within.body[0]
    )


def _first(node):
    """Returns the line on which a statement begins, decorators included. A case begins at its pattern."""
    return min([getattr(node, "pattern", node).lineno] + [d.lineno for d in getattr(node, "decorator_list", ())])


def _digest(text):
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# Calls at the top level of a module that do not affect other modules. A call that executes a function of the workspace
# makes the module loud, whatever its name: see tests.Suite.
_HARMLESS = frozenset(
    (
        "object",
        "set",
        "frozenset",
        "dict",
        "list",
        "tuple",
        "range",
        "len",
        "sorted",
        "sum",
        "min",
        "max",
        "str",
        "int",
        "float",
        "bytes",
        "bool",
        "abs",
        "round",
        "zip",
        "map",
        "filter",
        "enumerate",
        "reversed",
        "isinstance",
        "issubclass",
        "hasattr",
        "getattr",
        "type",
        "property",
        "partial",
        "wraps",
        "lru_cache",
        "cache",
        "cached_property",
        "namedtuple",
        "dataclass",
        "field",
        "TypeVar",
        "ParamSpec",
        "NewType",
        "cast",
        "getLogger",
        "itemgetter",
        "attrgetter",
        "OrderedDict",
        "defaultdict",
        "Counter",
        "deque",
        "Decimal",
        "Fraction",
        "Path",
        "join",
        "dirname",
        "abspath",
        "format",
        "split",
        "strip",
        "lower",
        "upper",
        "replace",
        "keys",
        "values",
        "items",
        "compile",
        "array",
        "parametrize",
        "skip",
        "skipif",
        "skipIf",
        "skipUnless",
        "expectedFailure",
        "xfail",
        "usefixtures",
        "fixture",
        "param",
        "chain",
        "repeat",
        "count",
        "product",
        "auto",
    )
)


def quiet(tree):
    """Reports whether executing a module only imports, and defines and binds its own names.

    A module that calls, or assigns to attributes and items, may change something that other modules read: a registry,
    sys.path, a random generator."""
    return all(_quiet(s) for s in tree.body)


def _quiet(s):
    if isinstance(s, _FUNCTIONS):
        a = s.args
        return all(map(_still, s.decorator_list + a.defaults + [d for d in a.kw_defaults if d]))
    if isinstance(s, ast.ClassDef):
        return all(map(_still, s.decorator_list + s.bases + [k.value for k in s.keywords])) and all(map(_quiet, s.body))
    if isinstance(s, (ast.Assign, ast.AnnAssign)):
        targets = s.targets if isinstance(s, ast.Assign) else [s.target]
        return all(map(_own, targets)) and (s.value is None or _still(s.value))
    if isinstance(s, ast.If):
        if isinstance(s.test, ast.Compare) and isinstance(s.test.left, ast.Name) and s.test.left.id == "__name__":
            return True  # the part of a script
        return _still(s.test) and all(map(_quiet, s.body + s.orelse))
    if isinstance(s, ast.Try):
        return all(map(_quiet, s.body + s.orelse + s.finalbody + [x for h in s.handlers for x in h.body]))
    if isinstance(s, ast.Expr):
        return _still(s.value)
    return isinstance(s, (ast.Import, ast.ImportFrom, ast.Pass, ast.Raise))


def _own(target):
    return isinstance(target, ast.Name) or (isinstance(target, (ast.Tuple, ast.List)) and all(map(_own, target.elts)))


def _still(expression):
    for node in ast.walk(expression):
        if isinstance(node, ast.Call):
            f = node.func
            name = f.attr if isinstance(f, ast.Attribute) else f.id if isinstance(f, ast.Name) else ""
            if name not in _HARMLESS:
                return False
        elif isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom)):
            return False
    return True
