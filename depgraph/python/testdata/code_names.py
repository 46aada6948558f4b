"""Answers, for each node of a program, which names of the module its compiled code reads, binds and deletes.

Reads lines of JSON {"nodes": [text, ...], "annotations": bool}; prints, for each line, a list with, for each node, an
object of sorted lists: reads, binds and deletes at once, what nested functions do later,
and what class bodies read that bind the name themselves.
"""
import __future__
import ast
import dis
import json
import sys
import types
import warnings

warnings.simplefilter("ignore")
AT_ONCE = {"<listcomp>", "<setcomp>", "<dictcomp>"}


def walk(code, at_once, kind, out):
    own = {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_NAME"} if kind == "class" else set()
    for i in dis.get_instructions(code):
        name = i.argval
        if i.opname in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"):
            if name not in own:
                out["reads" if at_once else "reads_later"].add(name)
            else:  # the module's, where the class body has not bound it yet
                out["perhaps"].add(name)
        elif i.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") or i.opname in ("STORE_NAME", "DELETE_NAME") and kind == "module":
            what = "deletes" if i.opname.startswith("DELETE") else "binds"
            out[what if at_once else "rebinds"].add(name)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            is_function = bool(inner.co_flags & 2)  # CO_NEWLOCALS: not a class body
            if not is_function:
                walk(inner, at_once, "class", out)
            elif inner.co_name.startswith("<generic parameters"):
                walk(inner, at_once, "function", out)
            else:
                walk(inner, at_once and inner.co_name in AT_ONCE, "function", out)


for line in sys.stdin:
    question = json.loads(line)
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    if question["annotations"]:
        flags |= __future__.annotations.compiler_flag
    answers = []
    for text in question["nodes"]:
        out = {k: set() for k in ("reads", "binds", "deletes", "reads_later", "rebinds", "perhaps")}
        walk(compile(text, "node", "exec", flags, True), True, "module", out)
        answers.append({k: sorted(v) for k, v in out.items()})
    print(json.dumps(answers), flush=True)
