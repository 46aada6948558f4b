"""What a test leaves changed: globals of modules of the workspace, containers and classes they bind, and the process around."""
from . import original as __builtins__
import os
import sys
import types
from operator import is_

_BOXES = (list, dict, set)


def of(module):
    """What a module binds, but for modules: a submodule that is imported later binds its name."""
    return dict(module.namespace)


def differs(held, namespace):
    """Returns the names that are bound to something else."""
    try:
        if held == namespace:
            return set()
    except Exception:
        pass  # arrays, whose comparison is no answer
    gone = object()
    names = {k for k in held.keys() | namespace.keys() if held.get(k, gone) is not namespace.get(k, gone)}
    return {k for k in names if not (isinstance(k, str) and k.startswith("__") and k.endswith("__")) and not isinstance(namespace.get(k), types.ModuleType)}


def inside(module):
    """Returns the names of containers and of attributes of classes that are not what they were when this was last asked. What they
    were first is what they are at the first time: see Suite.settle."""
    before, now, changed = module.boxes, {}, set()
    for name, value in list(module.namespace.items()):
        if type(value) in _BOXES:
            now[name] = value, _copy(value)
        elif isinstance(value, type) and value.__dict__.get("__module__") == module.name:
            now[name] = value, dict(value.__dict__)
            for k, v in now[name][1].items():
                if type(v) in _BOXES:
                    now[name + "." + k] = v, _copy(v)
    for name, (value, copy) in now.items():
        was = before.get(name)
        if was is not None and was[0] is value and not _same(was[1], copy):
            changed.add(name.rpartition(".")[2])
            if isinstance(value, type):
                changed |= {k for k in was[1].keys() | copy.keys() if was[1].get(k) is not copy.get(k)}
    module.boxes = now
    return {k for k in changed if not k.startswith("__") and k != "_abc_impl"}


def _copy(value):
    return value.copy() if len(value) < 10000 else len(value)


def _same(was, now):
    try:
        return was == now
    except Exception:  # arrays, whose comparison is no answer
        return type(was) is type(now) and len(was) == len(now) and all(map(is_, was.values(), now.values()) if type(was) is dict else map(is_, was, now))


def around(files):
    """The environment, the working directory and sys.path."""
    return dict(os.environ._data), files._getcwd(), tuple(sys.path)


def moved(was, now):
    decode = lambda k: os.fsdecode(k) if isinstance(k, bytes) else k
    left = {"env:" + decode(k) for k in was[0].keys() | now[0].keys() if was[0].get(k) != now[0].get(k)}
    left -= {"env:PYTEST_CURRENT_TEST"}
    if was[1] != now[1]:
        left.add("cwd")
    if was[2] != now[2]:
        left.add("sys.path")
    return left


def children():
    """Changes when multiprocessing starts a process, which raises no event."""
    module = sys.modules.get("multiprocessing.process")
    return repr(module._process_counter) if module is not None else "count(1)"
