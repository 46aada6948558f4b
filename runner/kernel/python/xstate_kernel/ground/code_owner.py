"""Classifies code: it belongs to the program, the workspace or a library. Finds the files that show a library's
version."""

import functools
import importlib._bootstrap_external as external
import os
import stat
import sys
import types

from xstate_kernel import original as __builtins__

from .. import blake2b
from . import sandbox

_SITE_PARTS = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # of the kernel, whose frames no program sees
_LIBRARIES = (
    os.path.realpath(FOLDER) + os.sep,
    os.path.realpath(os.path.dirname(os.__file__)) + os.sep,
    os.path.realpath(os.path.join(sys.exec_prefix, sys.platlibdir, "python%d.%d" % sys.version_info[:2])) + os.sep,
    os.path.realpath(sys.base_prefix) + os.sep + "lib",
)
_OWN = FOLDER + os.sep
PROGRAM, WORKSPACE, LIBRARY = "program", "workspace", "library"


def is_site(folder):
    """Reports whether packages are installed in a folder."""
    return any(p in folder + os.sep for p in _SITE_PARTS)


def is_a(value, kinds):
    """Does the same as isinstance, but runs no code of the value: its __class__ may be a property, or be false."""
    return issubclass(type(value), kinds)


def unobserved(function):
    """Marks a kernel function that reads paths, because the program does not read these."""

    @functools.wraps(function)
    def wrapper(*args):
        global looking
        before, looking = looking, True
        try:
            return function(*args)
        finally:
            looking = before

    return wrapper


def is_library_path(path):
    """Reports whether a file belongs to the interpreter, an installed package or this kernel."""
    if path in _library_files or path.startswith(_OWN):
        return True
    if path.startswith("<") and path.endswith(">"):
        return False  # the name of code without a file
    folder = os.path.dirname(path)
    link = _is_link(path)
    found = _known(folder) and link is False
    if not found:
        found = _is_library(path)
        if found and link is False:
            _keep(folder)
    if found and link is not None and os.path.isabs(folder):
        _library_files.add(path)
    return found


def is_library_folder(folder):
    """Reports whether the files in a folder belong to the interpreter, an installed package or this kernel. It looks up
    no other path than the folder: what the process looks up may count."""
    if _known(folder):
        return True
    found = _is_library(folder)
    if found and _is_link(folder) is False:
        _keep(folder)
    return found


def _known(folder):
    """Reports whether a folder is known as a library's, or one in such a folder: to resolve every link in a path takes
    longer than to load a small module."""
    if folder in _library_folders:
        return True
    above, name = os.path.split(folder)
    found = above in _library_folders and name not in ("", os.curdir, os.pardir) and _is_link(folder) is False
    if found:
        _library_folders.add(folder)
    return found


def _keep(folder):
    if os.path.isabs(folder) and folder not in _library_folders:
        _library_folders.add(folder)
        while folder not in _above:
            folder = os.path.dirname(folder)
            _above.add(folder)


def counts_for_nothing(path):
    """Reports whether it is known that it counts for nothing if this process looks at a path: it is a library's, or a
    folder above one. The looks of a forked child count as those of other programs."""
    return (path.rpartition("/")[0] in _library_folders or path in _library_folders or path in _above) and (
        _getpid() == _process
    )


def adopt():
    """Notes that this process is the kernel, in an interpreter that was forked from a template."""
    global _process
    _process = _getpid()


def look_quietly():
    """Makes importlib look at the files of libraries without a question to the supervisor of the sandbox."""
    look = external._path_stat

    def path_stat(path):
        return _stat(path) if counts_for_nothing(path) else look(path)

    external._path_stat = path_stat


@unobserved
def _is_library(path):
    real = os.path.join(os.path.realpath(path), "")
    return real.startswith(_LIBRARIES) or any(p in real for p in _SITE_PARTS)


def _is_link(path):
    """Reports whether a path is a symbolic link; None: nothing is there, and it may be one later."""
    try:
        return stat.S_ISLNK((_lstat if os.path.isabs(path) else _relative_lstat)(path).st_mode)
    except (OSError, ValueError):
        return None


def folders_above(workspace):
    """Returns the folders above the interpreter and its packages, outside the workspace. These folders always exist."""
    found = set()
    for path in [*_LIBRARIES, *filter(is_library_path, sys.path)]:
        parts = os.path.abspath(path).split(os.sep)
        found.update(os.sep.join(parts[:n]) for n in range(2, len(parts)))
    return {p for p in found if not (p + os.sep).startswith(workspace)}


looking = False  # see unobserved
# Absolute paths of which this is known. The answer does not change, as that of kind_of does not.
_library_folders, _library_files = set(), set()
_above = set()  # folders above library folders
_stat, _lstat = sandbox.unasked(os.stat), sandbox.unasked(os.lstat)
_relative_lstat = os.lstat  # as it is before the hooks wrap it
_getpid, _process = os.getpid, os.getpid()


def importing():
    """Reports whether a module is being imported. Entropy that a library draws then does not affect the program: it is
    for keys of processes."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def imported_library():
    """Returns the package of a library that is being imported for the program, or None."""
    frame, found = sys._getframe(1), None
    while frame is not None:
        if frame.f_code.co_name == "_find_and_load" and frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            found = frame.f_locals["name"].partition(".")[0]
        frame = frame.f_back
    return found if found and kind_of(found) == LIBRARY else None


def keep_bytecode(folder, survives):
    """Makes the interpreter store bytecode of modules that are not a library's in folder.

    Otherwise a listing of the workspace would show what was imported before. survives reports whether code is the same
    after marshalling; other code is not stored."""
    place = external.cache_from_source

    def cache_from_source(path, *args, **named):
        found = place(path, *args, **named)
        path = os.path.abspath(path)
        if is_library_path(path):
            return found
        return os.path.join(folder, os.path.dirname(path).lstrip(os.sep), os.path.basename(found))

    compiled, written, changed = external.SourceLoader.source_to_code, external.SourceFileLoader._cache_bytecode, set()

    def source_to_code(self, data, path, **named):
        code = compiled(self, data, path, **named)
        if not is_library_path(path) and not survives(code):
            changed.add(path)
        return code

    def cache_bytecode(self, source_path, *args):
        if source_path not in changed:
            written(self, source_path, *args)

    external.cache_from_source = cache_from_source
    external.SourceLoader.source_to_code, external.SourceFileLoader._cache_bytecode = source_to_code, cache_bytecode


def module_class(module):
    name = getattr(module, "__name__", None)
    if name == "__main__":
        return PROGRAM
    path = getattr(module, "__file__", None)
    if path is None:
        try:
            paths = list(getattr(module, "__path__", None) or ())
        except KeyError:  # a package without __init__.py asks its parent, whose import has failed
            paths = list(module.__path__._path)
        if not paths:
            return LIBRARY  # built in
        return LIBRARY if is_library_path(os.path.join(str(paths[0]), "x")) else WORKSPACE
    return LIBRARY if is_library_path(path) else WORKSPACE


_module_kind = {}


def made_by_hand(module):
    """Reports whether code made a module by types.ModuleType, and an import by its name gives another module."""
    space = vars(module)
    return (
        space.get("__spec__") is None
        and "__file__" not in space
        and sys.modules.get(space.get("__name__")) is not module
    )


def kind_of(module_name):
    """Classifies a module by its name. The answer for a loaded module does not change."""
    if module_name in (None, "__main__"):
        return PROGRAM
    kind = _module_kind.get(module_name)
    if kind is None:
        if not is_a(module_name, str):
            return LIBRARY  # in a class of an extension it may be a descriptor
        module = sys.modules.get(module_name)
        if module is None:  # some types of the interpreter name a module that is not imported
            return LIBRARY if module_name.partition(".")[0] in sys.stdlib_module_names else PROGRAM
        kind = _module_kind[module_name] = module_class(module)
    return kind


def forget_kind(module_name):
    """Drops the classification of an unloaded module: the next module with this name may be another file."""
    _module_kind.pop(module_name, None)


def made_by_user(o):
    """Reports whether a class, a function or the class of an instance belongs to the program or the workspace."""
    return kind_of((o if is_a(o, (type, types.FunctionType)) else type(o)).__module__) != LIBRARY


_witness = {}


def witness(top):
    """Returns the files whose content changes when library package top changes version; () for the standard library."""
    if top in _witness:
        return _witness[top]
    files = []
    module = sys.modules.get(top)
    path = getattr(module, "__file__", None) if module else None
    if path and any(p in os.path.realpath(path) for p in _SITE_PARTS):
        files.append(path)
        folder = os.path.dirname(path)
        if os.path.basename(path).startswith("__init__."):
            for name in ("version.py", "_version.py", "__version__.py", "_version_meson.py"):
                if os.path.exists(os.path.join(folder, name)):
                    files.append(os.path.join(folder, name))
            folder = os.path.dirname(folder)
        record = _record(folder, top)
        if record:
            files.append(record)
    _witness[top] = tuple(files)
    return _witness[top]


def _record(folder, top):
    plain = top.lower().replace("_", "").replace("-", "")
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    for name in names:
        if name.endswith(".dist-info"):
            stem = name.split("-")[0].lower().replace("_", "").replace(".", "")
            path = os.path.join(folder, name, "RECORD")
            if stem == plain and os.path.exists(path):
                return path
    return None


def file_digest(path):
    h = blake2b(digest_size=20)
    with open(path, "rb") as f:
        while True:
            chunk = f.read(1 << 20)
            if not chunk:
                return h.hexdigest()
            h.update(chunk)


def _contents(record):
    """Returns the lines of a RECORD (packaging.python.org, "Recording installed projects") that are the same whatever
    installed the library, and wherever. Others are of compiled files, of scripts, and of the installer itself."""
    with open(record, "rb") as f:
        lines = f.read().splitlines()
    installer = (b".dist-info/INSTALLER,", b".dist-info/REQUESTED,", b".dist-info/direct_url.json,", b"/uv_cache.json,")
    return b"\n".join(
        sorted(k for k in lines if b",sha256=" in k and not k.startswith(b"..") and not any(i in k for i in installer))
    )


_version = {}


def version(top):
    """Returns a digest of the witness of library package top."""
    if top not in _version:
        h = blake2b(digest_size=20)
        for path in witness(top):
            if os.path.basename(path) == "RECORD":
                h.update(_contents(path))
            else:
                h.update(file_digest(path).encode())
        _version[top] = h.hexdigest()[:16]
    return _version[top]
