"""Executes nodes that are parts of a function's body, see Part in package depgraph.

The variable v of a function f is the name "f.v" of the namespace: no code can spell that name. A part is compiled as a
function with the name of f. It takes the variables that its text uses out of the namespace, so that they are fast
locals, and returns them at its end. Its line numbers are those of the file. Nothing is stored when it fails, because
a failed node defines nothing."""

import ast
import builtins
import types
import warnings

from xstate_kernel import original as __builtins__

from ..value import code_digest

# Parameters of the function that is compiled. No program can spell them.
_VALUES, _LOCALS, _RETURNED, _BIND = ".values", ".locals", ".returned", ".bind"
_GONE = object()


class _Returned:
    """The value that a return statement of the function returned, and the variables of the function then."""

    __slots__ = ("found", "value")

    def __init__(self, value, found):
        self.value, self.found = value, found


class FunctionPart:
    """A node of a function's body, of a guarded suite, or of a call of such a function."""

    def __init__(self, namespace, names, source, filename, request, flags):
        part = request["part"]
        self.ns, self.names = namespace, names
        self.function, self.coroutine = part["function"], part["async"]
        self.locals = part["locals"] or ()
        self.sites = part["calls"] or ()
        self.call, self.header, self.flags = part["call"], part["header"], flags
        self.results = part["results"] or ()
        self.certain, self.uses = frozenset(request.get("certain") or ()), frozenset(request["uses"])
        self.asked = part["returned"] or ()
        self.ended = any(n in namespace for n in self.asked)  # the function has returned before
        self.left = self.ended  # the part may not have bound what its text binds
        self.code = self.tail = None
        body = [] if self.ended else self._parsed(source, filename, request["line"])
        # what other variables had before does not matter: the text binds them, or leaves them as they are
        deletes = frozenset(part["deletes"] or ())
        needed = [n for n in self.locals if n in deletes or self.name(n) in self.uses]
        self.bound = [n for n in needed if self.name(n) in namespace]
        if self.function:
            self._compile_function(body, filename, part["globals"])
        else:
            self._compile_statements(body, filename, request)

    def name(self, local):
        return f"{self.function}.{local}"

    # compiling

    def _parsed(self, source, filename, line):
        """Returns the statements of the text, which may be indented, with the line numbers of the file."""
        indented = source[:1] in (" ", "\t", "\f")
        text = "if 1:\n" + source if indented else source
        tree = compile(text, filename, "exec", self.flags | ast.PyCF_ONLY_AST, dont_inherit=True)
        ast.increment_lineno(tree, line - 1 - indented)
        body = tree.body[0].body if indented else tree.body
        if self.call and self.header:
            call = next(n for n in ast.walk(tree) if _calls(n, self.call))
            call.func = ast.copy_location(ast.Name(_BIND, ast.Load()), call.func)
            return [ast.copy_location(ast.Expr(call), call)]
        if self.call:
            result = self.call + ".return"
            self.asked = (*self.asked, result, *self.results)
            if result not in self.ns:
                value = ast.Constant(None)
            elif self.results:
                value = ast.Tuple([ast.Name(n, ast.Load()) for n in self.results], ast.Load())
            else:
                value = ast.Name(result, ast.Load())
            return [_Uncalled(self.call, value).visit(s) for s in body]
        return body

    def _compile_statements(self, body, filename, request):
        if request.get("expr") and body and isinstance(body[-1], ast.Expr):
            tail = ast.fix_missing_locations(ast.Expression(body.pop().value))
            self.tail = compile(tail, filename, "eval", self.flags, dont_inherit=True)
        tree = ast.fix_missing_locations(ast.Module(body, []))
        self.code = self._compiled(tree, filename)
        self.names.add_node(self.code)
        if self.tail is not None:
            self.names.add_node(self.tail)

    def _compile_function(self, body, filename, declared):
        place = body[0] if body else ast.Pass(lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)

        def at(node):
            return ast.fix_missing_locations(ast.copy_location(node, place))

        def load(name):
            return ast.Name(name, ast.Load())

        begin = [ast.Global(list(declared))] if declared else []
        for n in self.locals:
            pop = ast.Call(ast.Attribute(load(_VALUES), "pop", ast.Load()), [ast.Constant(n)], [])
            assign = ast.Assign([ast.Name(n, ast.Store())], pop)
            begin.append(assign if n in self.bound else ast.If(ast.Constant(False), [assign], []))
        end = ast.Return(ast.Call(load(_LOCALS), [], []))
        body = [*map(at, begin), *map(_Returns().visit, body), at(end)]
        parameters = [ast.arg(n) for n in (_VALUES, _LOCALS, _RETURNED, _BIND)]
        make = ast.AsyncFunctionDef if self.coroutine else ast.FunctionDef
        function = make(self.function, ast.arguments([], parameters, None, [], [], None, []), body, [])
        function.type_params = []
        tree = ast.fix_missing_locations(ast.Module([at(function)], []))
        self.code = self._compiled(tree, filename, self.function)
        self.names.add(self.code)

    def _compiled(self, tree, filename, function=None):
        """Compiles a tree, which is of no use then. Returns the code of the function of that name in it, or else of
        the tree."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            code = whole = compile(tree, filename, "exec", self.flags, dont_inherit=True)
            if function:
                code = next(k for k in _codes(whole) if k.co_name == function)
            if _codes(code):
                code_digest.flatten_tree(whole, tree, "exec", self.flags)
        return code

    # executing

    def run(self, evaluate, await_):
        """Executes the part and stores what it bound. Returns the value of its last expression.

        evaluate executes a code object, and await_ a coroutine."""
        for name in self.asked:
            self.names.note(name)
        if self.ended:
            return None
        if not self.function:
            if self.call and self.header:
                self.ns[_BIND] = self.bind
            try:
                evaluate(self.code)
                return evaluate(self.tail) if self.tail is not None else None
            finally:
                self.ns.pop(_BIND, None)
        for n in self.locals:
            if self.name(n) in self.uses:
                self.names.note(self.name(n))
        before, values = {}, {}
        for n in self.bound:
            values[n] = self.ns[self.name(n)]
            before[n] = id(values[n])
            self.ns[self.name(n)] = _GONE  # the program may observe when a value is freed
        function = types.FunctionType(self.code, self.ns, self.function)
        result = function(values, builtins.locals, _Returned, self.bind)
        if self.coroutine:
            result = await_(result)
        if type(result) is _Returned:
            self.left, self.certain = True, frozenset()
            value, result = result.value, result.found
            for name, element in zip(self.results, value if self.results else ()):
                self.ns[name] = element
                self.names.store(name)
            self.store("return", None if self.results else value)
        self._store_all(result, before)
        return None

    def store(self, local, value):
        self.ns[self.name(local)] = value
        self.names.store(self.name(local))

    def _store_all(self, found, before):
        for n in self.locals:
            name = self.name(n)
            if n not in found:
                if n in before:
                    del self.ns[name]
                    self.names.store(name)
                continue
            value = self.ns[name] = found[n]
            if id(value) != before.get(n) or name in self.certain:
                self.names.store(name)

    def bind(self, *args, **kwargs):
        """Binds the parameters of the function that the text calls to arguments."""
        tree = ast.parse(self.header + "\n pass")
        function = tree.body[0]
        for a in ast.walk(function.args):
            if isinstance(a, ast.arg):
                a.annotation = None
        end = ast.Return(ast.Call(ast.Name(_LOCALS, ast.Load()), [], []))
        plain = ast.FunctionDef(function.name, function.args, [end], [])
        plain.type_params = []
        tree.body[0] = ast.copy_location(plain, function)
        scratch = {_LOCALS: builtins.locals}
        exec(compile(ast.fix_missing_locations(tree), __file__, "exec", dont_inherit=True), scratch)
        for n, value in scratch[function.name](*args, **kwargs).items():
            name = f"{self.call}.{n}"
            self.ns[name] = value
            self.names.store(name)


def _codes(code):
    return [k for k in code.co_consts if isinstance(k, types.CodeType)]


def _calls(node, name):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


class _Uncalled(ast.NodeTransformer):
    """Replaces the call of a function by what it returned, also if it is awaited or given to asyncio.run."""

    def __init__(self, name, value):
        self.name, self.value = name, value

    def visit_Await(self, node):
        return self.placed(node) if _calls(node.value, self.name) else self.generic_visit(node)

    def visit_Call(self, node):
        run = isinstance(node.func, ast.Attribute) and node.func.attr == "run" and len(node.args) == 1
        if _calls(node, self.name) or (run and _calls(node.args[0], self.name)):
            return self.placed(node)
        return self.generic_visit(node)

    def placed(self, node):
        return ast.fix_missing_locations(ast.copy_location(self.value, node))


class _Returns(ast.NodeTransformer):
    """Marks what the return statements of a function return, and not those of functions in it."""

    def visit_FunctionDef(self, node):
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef

    def visit_Return(self, node):
        value = node.value or ast.copy_location(ast.Constant(None), node)
        variables = ast.Call(ast.Name(_LOCALS, ast.Load()), [], [])
        returned = ast.Call(ast.Name(_RETURNED, ast.Load()), [value, variables], [])
        return ast.fix_missing_locations(ast.copy_location(ast.Return(returned), node))
