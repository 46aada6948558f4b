"""Lists edits of functions that change what they do, one a function: an operator, a constant, a condition, what is returned.

usage: mutate.py SEED NUMBER FILE...    prints a list of {"file", "function", "line", "what", "text"}, text being the whole file.
"""
import ast
import json
import random
import sys

_SWAPS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt,
          ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
          ast.And: ast.Or, ast.Or: ast.And}


def edits(function):
    """Yields (node, its replacement, what that is)."""
    for node in ast.walk(function):
        if isinstance(node, ast.BinOp) and type(node.op) in _SWAPS:
            yield node, ast.BinOp(node.left, _SWAPS[type(node.op)](), node.right), "operator"
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPS:
            yield node, ast.Compare(node.left, [_SWAPS[type(node.ops[0])](), *node.ops[1:]], node.comparators), "comparison"
        elif isinstance(node, ast.BoolOp):
            yield node, ast.BoolOp(_SWAPS[type(node.op)](), node.values), "and, or"
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield node, ast.Constant(node.value + 1), "constant"
        elif isinstance(node, ast.Return) and node.value is not None:
            yield node, ast.Return(ast.Constant(None)), "return"
        elif isinstance(node, (ast.If, ast.While)):
            yield node.test, ast.UnaryOp(ast.Not(), node.test), "condition"


def apply(text, node, new):
    lines = text.encode().split(b"\n")
    first, last = node.lineno - 1, node.end_lineno - 1
    new = ast.unparse(ast.fix_missing_locations(new))
    if not isinstance(node, ast.Return):
        new = "(%s)" % new
    head, tail = lines[first][:node.col_offset], lines[last][node.end_col_offset:]
    lines[first:last + 1] = [head + new.encode() + tail] + [b""] * (last - first)
    return b"\n".join(lines).decode()


def main():
    rng, number = random.Random(int(sys.argv[1])), int(sys.argv[2])
    found = []
    for file in sys.argv[3:]:
        with open(file) as f:
            text = f.read()
        tree = ast.parse(text)
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef):
                continue
            body = ast.Module([s for s in function.body if not isinstance(s, ast.FunctionDef)], [])
            inside = list(edits(body))
            if inside:
                found.append((file, text, function, inside))
    rng.shuffle(found)
    chosen = []
    for file, text, function, inside in found:
        node, new, what = rng.choice(inside)
        edited = apply(text, node, new)
        try:
            compile(edited, file, "exec")
        except SyntaxError:  # a part of an f-string, say
            continue
        chosen.append({"file": file, "function": function.name, "line": node.lineno, "what": what, "text": edited})
        if len(chosen) == number:
            break
    json.dump(chosen, sys.stdout)


main()
