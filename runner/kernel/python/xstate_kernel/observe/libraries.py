"""Libraries as state: the files and variables that each read during its import, and that affect it afterwards.

The engine has a key load:NAME for an imported library that reads files or the environment during its import, sets a
variable, or prints; see libraries.go."""

import os
import sys
import types

from xstate_kernel import original as __builtins__

from .. import adapters, blake2b
from ..ground import code_owner

# library → what it read during its import: (kind, name) → what that was, or None if it was the usual
_looks = {}
_nested = {}  # library → the libraries that read or set something when it imported them, including itself
_printed, _fresh, _unusual_ones = (
    set(),
    set(),
    set(),
)  # libraries: that printed; of which that is not reported yet; that saw something unusual
_sets = {}  # library → what it set in the environment during its import: variable → value, or None
_parts = {}  # (library, number of modules) → the libraries of which it has something
_holdings = {}  # id of a module → the state in which it was looked at, and what it held
_USUAL = frozenset(
    ("HOME", "PATH", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "XDG_CACHE_HOME")
)
_HOME = os.path.expanduser("~") + os.sep
_CACHE = os.environ.get("XDG_CACHE_HOME") or _HOME + ".cache"
# A program in bounds has its own folder for caches, and matplotlib's settings are in it. Its name is that of the
# workspace, which another machine or a replay has elsewhere. See sandbox.Spec.Environ.
_BOUNDED = None if _CACHE.startswith(_HOME) else ("MPLCONFIGDIR", os.path.join(_CACHE, "matplotlib"))
PACKAGES, _INFO = "*-info", (".dist-info", ".egg-info")  # the names that importlib.metadata looks for in a folder
workspace = None  # ends with a separator; None: the kernel does not observe reads of libraries


def _importing():
    """Yields the libraries whose imports are running, the innermost first; nothing if that is not a library."""
    frame, inner = sys._getframe(1), True
    while frame is not None:
        if frame.f_code.co_name == "_find_and_load" and frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            top = frame.f_locals["name"].partition(".")[0]
            if inner and code_owner.kind_of(top) != code_owner.LIBRARY:
                return
            inner = False
            yield top
        frame = frame.f_back


@code_owner.unobserved
def looked(kind, name):
    """Records what a library reads during its import, because the result stays in it.

    kind is env, file, stat, dir or argv."""
    owner = None
    for top in _importing() if workspace is not None else ():
        if owner is None:
            owner, looks = top, _looks.setdefault(top, {})
            if (kind, name) in looks:
                return
            was = looks[kind, name] = _unusual(kind, name)
            if was is not None:
                _unusual_ones.add(top)
        _note(top, owner)


@code_owner.unobserved
def set_variable(name, value):
    """Records that a library sets a variable of the environment during its import, or removes it. Both are bytes.

    Returns the library, or None if no library is being imported."""
    owner = None
    for top in _importing() if workspace is not None else ():
        owner = owner or top
        _sets.setdefault(owner, {})[name] = value
        _note(top, owner)
    return owner


def _note(top, owner):
    _fresh.add(top)
    if owner not in _nested.setdefault(top, set()):
        _nested[top].add(owner)
        _parts.clear()


def _unusual(kind, name):
    """Returns the value of what a library read, or None if every machine has it or the library owns it."""
    if kind == "env":
        value = os.environ._data.get(os.environ.encodekey(name))
        usual = value is None or name in _USUAL or (name, value) in adapters.USUAL_ENVIRON
        return None if usual or (name, os.fsdecode(value)) == _BOUNDED else value
    if kind == "argv":
        rest = list.__getitem__(sys.argv, slice(1, None)) if isinstance(sys.argv, list) else None
        return repr(rest) if rest else None
    if kind == "dir":
        return _packages(name) if (name + os.sep).startswith(workspace) else None
    ours = name.startswith(workspace) or (name.startswith(_HOME) and not name.startswith(_CACHE))
    if not ours or not os.path.isfile(name) or os.access(name, os.X_OK) or code_owner.is_library_path(name):
        return None
    return code_owner.file_digest(name) if kind == "file" else "there"


def _packages(name):
    """Returns what a folder of the workspace lists: None if only packages count and it has none."""
    folder, last = os.path.split(name)
    try:
        if last != PACKAGES:
            return ", ".join(sorted(os.listdir(name)))
        return ", ".join(sorted(n for n in os.listdir(folder) if n.lower().endswith(_INFO))) or None
    except OSError:
        return None


def nested_in(top):
    """Returns the libraries that read something when a library imported them, including itself."""
    return _nested.get(top, ())


def looks_of(top):
    """Returns (kind, name) of each thing that a library read during its import."""
    return list(_looks.get(top, ()))


@code_owner.unobserved
def outdated(modules, imported):
    """Reports whether a loaded library would act or read differently if the program imported it now.

    modules is a function that returns names of modules. The check covers their libraries, as far as the program has not
    imported these yet."""
    early = (_looks.keys() | _printed | _sets.keys()).difference(imported, _fresh)
    if not early:
        return False
    tops = set().union(*(_holds(top) for top in {name.partition(".")[0] for name in modules()})) & early
    return any(
        t in _printed
        or any(_unusual(kind, name) != was for (kind, name), was in _looks.get(t, {}).items())
        or any(os.environ._data.get(name) != value for name, value in _sets.get(t, {}).items())
        for t in tops
    )


def printed(top):
    """Records that a library printed during its import. Only a new interpreter repeats the output."""
    _printed.add(top)
    _note(top, top)


def loaded(top):
    """Describes the import of a library: "loaded" or "printed", and all that it read and not every machine has.

    The description includes the reads of libraries on which it depends."""
    saw = sorted(
        (t, kind, name.replace(workspace, "", 1), str(was))
        for t in _resting(top)
        for (kind, name), was in _looks[t].items()
        if was is not None
    )
    how = "printed" if top in _printed else "loaded"
    return f"{how} {blake2b(repr(saw).encode(), digest_size=8).hexdigest()}" if saw else how


def _resting(top):
    return _holds(top) & _unusual_ones if _unusual_ones else ()


def _holds(top):
    """Returns the libraries that a library imported when they were new, or has something of, including itself."""
    key = top, len(sys.modules)
    if key not in _parts:
        _parts[key] = {top, *nested_in(top)}.union(
            *(
                _held(module)
                for name, module in list(sys.modules.items())
                if name.startswith(top) and name.partition(".")[0] == top and code_owner.is_a(module, types.ModuleType)
            )
        )
    return _parts[key]


def _held(module):
    """Returns the libraries that a module has something of."""
    space = vars(module)
    state = id(space), len(space)  # and not the space: it would keep what the program unloads
    known = _holdings.get(id(module), (None, ()))
    if known[0] != state:
        found = set()
        for value in list(space.values()):
            if code_owner.is_a(value, types.ModuleType):
                found.add(str(value.__name__).partition(".")[0])
            elif code_owner.is_a(value, (type, types.FunctionType)):
                found.add(str(value.__module__).partition(".")[0])
        known = _holdings[id(module)] = state, found
    return known[1]


def newly_loaded():
    """Returns the libraries that read something since the last call, or imported one that did, with their state."""
    found = {top: loaded(top) for top in _fresh}
    _fresh.clear()
    return found


def look_ahead():
    """Finds out what newly_loaded is to return."""
    for top in _fresh:
        loaded(top)


def taken_as_first(known):
    """Returns those of newly_loaded that are known, and does not return them again."""
    found = _fresh & known
    _fresh.difference_update(found)
    return found
