"""Prints what CPython's own symbol table says about files of its library.

A line of JSON a file: {"file": path, "error": null or text, "undecodable": the file has no valid encoding,
"source": text where the file is not plain UTF-8,
"scopes": [line, ...]}. A scope is one line: path|type|name|line|symbols, the symbols sorted, each name:marks:scope.
"""
import _symtable
import io
import json
import os
import sys
import sysconfig
import tokenize
import warnings
import zlib

warnings.simplefilter("ignore")

TYPES = {}
for attribute, text in [
    ("TYPE_MODULE", "module"), ("TYPE_CLASS", "class"), ("TYPE_FUNCTION", "function"),
    ("TYPE_TYPE_VAR_BOUND", "bound"), ("TYPE_TYPE_VARIABLE", "bound"), ("TYPE_TYPE_ALIAS", "alias"),
    ("TYPE_TYPE_PARAM", "params"), ("TYPE_TYPE_PARAMETERS", "params"), ("TYPE_ANNOTATION", "annotation"),
]:
    if hasattr(_symtable, attribute):
        TYPES[getattr(_symtable, attribute)] = text

MARKS = [
    (_symtable.DEF_PARAM, "P"), (_symtable.DEF_LOCAL, "A"), (_symtable.USE, "U"), (_symtable.DEF_IMPORT, "I"),
    (_symtable.DEF_ANNOT, "T"), (_symtable.DEF_GLOBAL, "G"), (_symtable.DEF_NONLOCAL, "N"),
]
SCOPES = {
    _symtable.LOCAL: "local", _symtable.CELL: "local", _symtable.FREE: "free",
    _symtable.GLOBAL_EXPLICIT: "explicit", _symtable.GLOBAL_IMPLICIT: "global",
}
# Names that the compiler makes up.
HIDDEN = {"__class__", "__classdict__", "__type_params__", "__conditional_annotations__"}


def facts(table, path, out):
    kind = TYPES.get(table.type, str(table.type))
    symbols = []
    for name, flags in table.symbols.items():
        marks = "".join(letter for bit, letter in MARKS if flags & bit)
        if marks and not name.startswith(".") and name not in HIDDEN:
            scope = flags >> _symtable.SCOPE_OFF & _symtable.SCOPE_MASK
            symbols.append(name + ":" + marks + ":" + SCOPES.get(scope, str(scope)))
    name = "" if ".0" in table.symbols or table.name == "lambda" else table.name
    path += "/" + name
    out.append("|".join([path, kind, str(table.lineno), " ".join(sorted(symbols))]))
    for child in table.children:
        facts(child, path, out)


def judge(path):
    answer = {"file": path, "error": None, "source": None, "scopes": []}
    try:
        with open(path, "rb") as f:
            raw = f.read()
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        except SyntaxError as e:
            answer["error"], answer["undecodable"] = str(e), True
            return answer
        source = io.TextIOWrapper(io.BytesIO(raw), encoding, newline="").read()
        if encoding not in ("utf-8", "utf-8-sig"):
            answer["source"] = source
        compile(raw, path, "exec", dont_inherit=True)
        facts(_symtable.symtable(raw, path, "exec"), "", answer["scopes"])
        answer["scopes"].sort()
    except (SyntaxError, ValueError, UnicodeError, RecursionError) as e:
        answer["error"] = f"{type(e).__name__}: {e}"
        answer["scopes"] = []
    return answer


def main():
    """Judges about one file in N, the first argument, chosen by its name."""
    every = int(sys.argv[1])
    root = sysconfig.get_path("stdlib")
    print(json.dumps({"version": "%d.%d" % sys.version_info[:2], "root": root, "inlined": sys.version_info >= (3, 12)}))
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(d for d in folders if d not in ("__pycache__", "site-packages", "dist-packages"))
        for name in sorted(files):
            relative = os.path.relpath(os.path.join(folder, name), root)
            if name.endswith(".py") and zlib.crc32(relative.encode()) % every == 0:
                answer = judge(os.path.join(folder, name))
                answer["file"] = relative
                print(json.dumps(answer))


main()
