"""Libraries as state: the files and variables that each read during its import, and that affect it afterwards.

The engine has a key load:NAME for an imported library that reads files or the environment during its import, or prints;
see libraries.go."""

from . import original as __builtins__
import os
import sys
import types

from . import adapters, blake2b, code_owner

# library → what it read during its import: (kind, name) → what that was, or None if it was the usual
_looks = {}
_nested = {}  # library → the libraries that read something when it imported them, including itself
_printed, _fresh, _unusual_ones = (
    set(),
    set(),
    set(),
)  # libraries: that printed; of which that is not told yet; that saw something unusual
_rests = {}  # (library, number of modules) → those of _unusual_ones that it has something of
_USUAL = frozenset(
    ("HOME", "PATH", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "XDG_CACHE_HOME")
)
_HOME = os.path.expanduser("~") + os.sep
_CACHE = os.environ.get("XDG_CACHE_HOME") or _HOME + ".cache"
workspace = None  # ends with a separator; None: the kernel does not observe reads of libraries


@code_owner.unobserved
def looked(kind, name):
    """Records what a library reads during its import, because the result stays in it. kind is env, file or stat."""
    frame, owner = None if workspace is None else sys._getframe(1), None
    while frame is not None:
        if frame.f_code.co_name == "_find_and_load" and frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            top = frame.f_locals["name"].partition(".")[0]
            if owner is None:
                if code_owner.kind_of(top) != code_owner.LIBRARY:
                    return
                owner, looks = top, _looks.setdefault(top, {})
                if (kind, name) in looks:
                    return
                was = looks[kind, name] = _unusual(kind, name)
                if was is not None:
                    _unusual_ones.add(top)
                    _rests.clear()
            _nested.setdefault(top, set()).add(owner)
            _fresh.add(top)
        frame = frame.f_back


def _unusual(kind, name):
    """Returns the value of what a library read, or None if every machine has it or the library owns it."""
    if kind == "env":
        value = os.environ._data.get(os.environ.encodekey(name))
        return None if value is None or name in _USUAL or (name, value) in adapters.USUAL_ENVIRON else value
    ours = name.startswith(workspace) or name.startswith(_HOME) and not name.startswith(_CACHE)
    if not ours or not os.path.isfile(name) or os.access(name, os.X_OK) or code_owner.is_library_path(name):
        return None
    return code_owner.file_digest(name) if kind == "file" else "there"


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
    early = (_looks.keys() | _printed).difference(imported, _fresh)
    if not early:
        return False
    tops = {t for name in modules() for t in nested_in(name.partition(".")[0])} & early
    return any(
        t in _printed or any(_unusual(kind, name) != was for (kind, name), was in _looks.get(t, {}).items())
        for t in tops
    )


def printed(top):
    """Records that a library printed during its import. Only a new interpreter repeats the output."""
    _printed.add(top)
    _nested.setdefault(top, set()).add(top)
    _fresh.add(top)


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
    return "%s %s" % (how, blake2b(repr(saw).encode(), digest_size=8).hexdigest()) if saw else how


def _resting(top):
    if not _unusual_ones:
        return ()
    key = top, len(sys.modules)
    if key not in _rests:
        found = {top, *nested_in(top)}
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] == top and code_owner.is_a(module, types.ModuleType):
                for value in list(vars(module).values()):
                    owner = (
                        value.__name__
                        if code_owner.is_a(value, types.ModuleType)
                        else value.__module__ if code_owner.is_a(value, (type, types.FunctionType)) else None
                    )
                    found.add(str(owner).partition(".")[0])
        _rests[key] = found & _unusual_ones
    return _rests[key]


def newly_loaded():
    """Returns the libraries that read something since the last call, or imported one that did, with their state."""
    found = {top: loaded(top) for top in _fresh}
    _fresh.clear()
    return found
