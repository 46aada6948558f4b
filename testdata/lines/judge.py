"""Tells which statements tests execute, by the trace module of the standard library. usage: judge.py TEST_FILE FILE…"""
import ast
import importlib
import json
import os
import sys
import trace


def statements(path):
    """Maps each line to the first one of the innermost statement that it is in, and tells which are in functions."""
    first, within = {}, {}

    def walk(node, function):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
                at = getattr(child, "pattern", child)
                begin = min([at.lineno] + [d.lineno for d in getattr(child, "decorator_list", ())])
                last = child.body[-1].end_lineno if isinstance(child, ast.match_case) else child.end_lineno
                for line in range(begin, last + 1):
                    first[line] = begin
                    within[line] = function
            walk(child, function or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)))

    with open(path) as f:
        walk(ast.parse(f.read()), False)
    return first, within


def executed(counts, files, function):
    found = {}
    for path in files:
        first, within = statements(path)
        lines = {line for name, line in counts if os.path.realpath(name) == os.path.realpath(path)}
        found[os.path.basename(path)] = sorted({first[line] for line in lines if line in first and within[line] == function})
    return found


def starts(path):
    """The first lines of statements for which something is executed: not of docstrings and declarations."""
    with open(path) as f:
        tree = ast.parse(f.read())
    nothing = {n.lineno for n in ast.walk(tree) if isinstance(n, (ast.Global, ast.Nonlocal))}
    nothing |= {n.body[0].lineno for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(n) is not None}
    return sorted(set(statements(path)[0].values()) - nothing)


def traced(function, *args):
    tracer = trace.Trace(count=1, trace=0)
    result = tracer.runfunc(function, *args)
    return result, tracer.results().counts


test_file, *files = sys.argv[1:]
told, sys.stdout = sys.stdout, sys.stderr
sys.path.insert(0, os.getcwd())
module, level = traced(importlib.import_module, test_file[:-3])
calls = {name: executed(traced(test)[1], files, True) for name, test in vars(module).items() if name.startswith("test_")}
json.dump({"level": executed(level, files, False), "calls": calls, "starts": {os.path.basename(path): starts(path) for path in files}}, told)
