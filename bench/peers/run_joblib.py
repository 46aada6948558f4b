"""joblib.Memory: the program as a script that is run again in a fresh process, its functions decorated with memory.cache. Their results are
kept on disk, by their own code and their arguments.

The documentation asks for functions without side effects. Here these are the functions at the top of a block that return something,
have parameters and no decorator, and neither print, open, yield nor declare globals. A program without one is reported as refused.
"""
import peer

import ast
import io
import os
import sys
import types

from joblib import Memory

path = os.path.join(peer.options["scratch"], "program.py")
main = sys.modules["__main__"] = types.ModuleType("__main__")
ns = main.__dict__
ns.update(__builtins__=__builtins__, __file__=peer.options["file"] or path, memory=Memory(os.path.join(peer.options["scratch"], "cache"), verbose=0))
before = dict(ns)
peer.seed()


def suits(f):
    inside = list(ast.walk(f))
    called = {n.func.id for n in inside if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    return not (f.decorator_list or called & {"print", "open", "display"} or any(isinstance(n, (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom)) for n in inside)) \
        and any(isinstance(n, ast.Return) and n.value for n in inside) and bool(f.args.args)


def decorated(source):
    """The source with the decorators, and how many they are."""
    lines, functions = source.splitlines(), [s for s in ast.parse(source).body if isinstance(s, ast.FunctionDef) and suits(s)]
    for f in reversed(functions):
        lines.insert(f.lineno - 1, "@memory.cache")
    return "\n".join(lines) + "\n", len(functions)


def execute(source, line, outputs):
    """Executes a block that begins at a line of the script."""
    tree = ast.parse("\n" * line + source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    sys.stdout = io.StringIO()
    try:
        exec(compile(tree, path, "exec"), ns)
        value = None if last is None else eval(compile(ast.Expression(last.value), path, "eval"), ns)
    finally:
        if sys.stdout.getvalue():
            peer.put(outputs, sys.stdout.getvalue())
    if value is not None:
        peer.show(outputs, repr(value))


def run(blocks):
    try:
        sources, counts = zip(*(decorated(b["source"]) for b in blocks))
    except SyntaxError:
        return "not a script", []
    if not sum(counts):
        return "no function to cache", []
    with open(path, "w") as script:
        script.write("".join(sources))
    found, line = [{"ran": False, "outputs": [], "error": ""} for _ in blocks], 0
    for source, one in zip(sources, found):
        one["ran"] = True
        try:
            execute(source, line, one["outputs"])
        except Exception as e:
            one["error"] = peer.message(type(e).__name__, str(e))
            break
        line += source.count("\n")
    return None, found


peer.serve(run, lambda: peer.values(ns, before))
