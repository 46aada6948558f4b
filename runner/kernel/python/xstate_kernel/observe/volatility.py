"""Finds code whose result may vary, as far as its text shows: by randomness, clocks or facts of the process."""

import builtins
import os
import sys
import types

from xstate_kernel import original as __builtins__

from .. import adapters
from ..ground import bytecode, code_owner

_ENTROPY = frozenset(
    (
        "uuid.uuid1",
        "uuid.uuid4",
        "posix.urandom",
        "os.urandom",
        "secrets.token_hex",
        "secrets.token_bytes",
        "secrets.token_urlsafe",
        "secrets.randbelow",
        "secrets.choice",
        "secrets.randbits",
    )
)
_RUNNING = frozenset(("current_task", "all_tasks"))
_TASKS = _RUNNING | {"create_task", "ensure_future"}
_FOLDER = (frozenset(("__file__",)), frozenset(("argv",)), frozenset(("sys", "path")))


def tells_folder(codes):
    """Reports whether code may learn the path of the workspace without asking for the working directory."""
    return any(names.issubset(code.co_names) for code in codes for names in _FOLDER)


_PROCESS = frozenset(
    (
        "builtins.id",
        "resource.getrusage",
        "_thread.get_ident",
        "_thread.get_native_id",
        "sys.getrefcount",
        "sys.getsizeof",
        "sys._current_frames",
        "gc.get_count",
        "gc.get_stats",
        "gc.get_freeze_count",
        "_tracemalloc.get_traced_memory",
        "_tracemalloc._get_traces",
    )
)
TELLING = frozenset(
    n.rpartition(".")[2] for n in _ENTROPY | _PROCESS | adapters.VOLATILE.keys() | adapters.VOLATILE_TEXTS.keys()
)  # last names of these


def volatile(codes, namespace, dotted=()):
    """Returns the marks of code that names a source of entropy, or what shows the process: its result may vary. dotted
    are the names of the namespace with a dot."""
    marks = {"process"} if "asyncio" in sys.modules and _names_tasks(codes) else set()
    variables = bytecode.variables(dotted)  # which may hold such a source
    for code in codes:
        if os.path.isabs(code.co_filename) and code_owner.is_library_path(code.co_filename):
            continue  # a library's own wrapper around a function of the program, as the __repr__ of a dataclass has
        for value in _values(code, namespace, variables):
            if not callable(value) or code_owner.is_a(value, types.ModuleType):
                continue
            full = f"{getattr(value, '__module__', None) or ''}.{getattr(value, '__qualname__', '')}"
            if full in _ENTROPY:
                marks.add("entropy")
            elif full in _PROCESS:
                marks.add("process")
            elif full in adapters.VOLATILE:
                marks.add(adapters.VOLATILE[full])
            elif full in adapters.VOLATILE_TEXTS:
                mark, texts = adapters.VOLATILE_TEXTS[full]
                if not texts.isdisjoint(code.co_consts):
                    marks.add(mark)
    return marks


def _names_tasks(codes):
    """Reports whether code asks for the name of a task of asyncio that got none, and so has a number that counts all
    tasks."""
    names = {
        name
        for code in codes
        if "get_name" in code.co_names or not _TASKS.isdisjoint(code.co_names)
        for name in code.co_names
    }
    return "get_name" in names and (
        not _RUNNING.isdisjoint(names)
        or (not _TASKS.isdisjoint(names) and all(("name",) not in code.co_consts for code in codes))
    )


def _values(code, namespace, variables):
    """Yields the values of the dotted names of a code object, and what a function names of modules that it imports
    itself."""
    for name in (*code.co_varnames, *code.co_freevars) if variables else ():
        for value in [namespace[n] for n in variables.get(name, ())]:
            yield value
            if code_owner.is_a(value, (types.ModuleType, type)):
                yield from (getattr(value, n, None) for n in TELLING.intersection(code.co_names))
    for names in bytecode.chains(code):
        value = namespace.get(names[0], vars(builtins).get(names[0]))
        for name in names[1:]:
            if code_owner.is_a(value, types.ModuleType):
                value = vars(value).get(name)  # a module's own __getattr__ is code of the program
            elif code_owner.is_a(value, type):
                value = getattr(value, name, None)
            else:
                value = None
        yield value
    if code.co_flags & bytecode.FUNCTION and not TELLING.isdisjoint(code.co_names):
        for module in [sys.modules.get(name) for _, op, _, name in bytecode.instructions(code) if op == "IMPORT_NAME"]:
            if code_owner.is_a(module, types.ModuleType):
                yield from (vars(module)[name] for name in TELLING.intersection(code.co_names) & vars(module).keys())
