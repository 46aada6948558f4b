"""Judges imports from a bundle by imports by the path: the same modules with the same specs, and none out of date.

usage: bundle.py SEED"""

import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = os.path.abspath(os.environ.get("PYTHONPATH", ".").split(os.pathsep)[0])
LOOK = """
import json
def plain(x):
    return type(x).__name__ if callable(x) or hasattr(x, "get_code") else str(x)
print(json.dumps({n: [plain(getattr(m.__spec__, a, None)) for a in
    ("name", "loader", "origin", "cached", "submodule_search_locations", "has_location", "parent")]
    + [plain(getattr(m, a, None)) for a in ("__file__", "__cached__", "__path__", "__package__", "__loader__")]
    + [sorted(str(v) for v in vars(m) if v != "bundle")]
    for n, m in sys.modules.items() if getattr(m, "__spec__", None) and n != "xstate_kernel.bundle"}))
"""


def python(text, *args, flags=(), **environ):
    own = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, *flags, "-c", text, *args], capture_output=True, env={**own, **environ}, cwd="/"
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def start(by, *args, flags=(), **environ):
    text = f"import sys; sys.path[0] = sys.argv[1]; {by}; del sys.path[0]\n{LOOK}"
    return json.loads(python(text, *args, flags=flags, **environ))


MAKE = "import sys; sys.path.insert(0, sys.argv[1]); import xstate_kernel.bundle as b; b.make('main')"
PATH, BUNDLE = "import xstate_kernel.main", "import xstate_kernel.bundle as b; b.load('main', sys.argv[2])"
with tempfile.TemporaryDirectory() as work:
    work = os.path.realpath(work)
    kernel, bundle = os.path.join(work, "kernel"), os.path.join(work, "bundle")
    shutil.copytree(
        os.path.join(ROOT, "xstate_kernel"),
        os.path.join(kernel, "xstate_kernel"),
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    data = python(MAKE, kernel, flags=("-I", "-S", "-B"))

    def write(data):
        with open(bundle, "wb") as f:
            f.write(data)

    want = start(PATH, kernel)
    for text in (data, b"", data[:1000], data[:-1], b"garbage", b"i\0\0\0\0", b"(\3\0\0\0NN["):  # the last but one is a number
        write(text)
        got = start(BUNDLE, kernel, bundle)
        assert sorted(got) == sorted(want), set(got) ^ set(want)
        differs = [n for n in want if got[n] != want[n]]
        assert not differs, differs
    os.remove(bundle)
    assert start(BUNDLE, kernel, bundle) == want
    write(data)

    # Bytecode is of one level of optimization.
    got = start("import xstate_kernel.bundle as b; b.load('main', sys.argv[2]); assert 0", kernel, bundle, flags=("-O",))
    assert got["xstate_kernel.main"][3].endswith(".opt-1.pyc"), got["xstate_kernel.main"]

    # The code is from the bundle: without their sources, modules still come.
    gone = [os.path.join(kernel, "xstate_kernel", name) for name in ("main.py", "value/groups.py")]
    for path in gone:
        os.rename(path, path + ".gone")
        shutil.rmtree(os.path.join(os.path.dirname(path), "__pycache__"))
    assert start(BUNDLE, kernel, bundle) == want
    for path in gone:
        os.rename(path + ".gone", path)

    # A module before those of the standard library on the path comes first, as it does without the bundle.
    own = os.path.join(work, "own")
    os.mkdir(own)
    shutil.copy(importlib.import_module("textwrap").__file__, own)
    got = start(BUNDLE, kernel, bundle, PYTHONPATH=own)
    assert got["textwrap"][2] == os.path.join(own, "textwrap.py"), got["textwrap"]

    # So does one in an archive there, and one that a hook has changed.
    with zipfile.ZipFile(os.path.join(work, "own.zip"), "w") as archive:
        archive.write(os.path.join(own, "textwrap.py"), "textwrap.py")
    got = start(BUNDLE, kernel, bundle, PYTHONPATH=os.path.join(work, "own.zip"))
    assert got["textwrap"][2] == os.path.join(work, "own.zip", "textwrap.py"), got["textwrap"]
    hook = (
        "found = []; hook = type('Hook', (), {'find_spec': lambda self, name, *more: found.append(name)}); "
        "sys.meta_path.insert(0, hook()); "
    )
    start(f"{hook}{BUNDLE}; assert 'textwrap' in found, found", kernel, bundle)

    # A module of the standard library whose source has another time is imported by its path.
    stale = f"{BUNDLE.split(';')[0]}; found = b._read(sys.argv[2]); name = 'textwrap'; entry = found[name]; " + (
        "finder = b._Finder(found); assert finder.find_spec(name) is not None; "
        "found[name] = (entry[0], (entry[1][0], entry[1][1] + 1), *entry[2:]); assert finder.find_spec(name) is None"
    )
    start(stale, kernel, bundle)
    print("equal:", len(want), "modules;", len(data), "bytes")
