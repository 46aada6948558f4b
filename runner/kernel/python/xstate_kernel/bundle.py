"""The compiled code of what a start imports, in one file.

Two hundred modules are looked for in a thousand calls of the system, and each of them stops at the supervisor. So the
engine has each interpreter print the code of these modules, of the kernel and of the standard library, once, keeps that
in a file, and a start takes them from there. A bounded interpreter can write no bytecode, so without the file it would
compile the kernel at each start.

A module from the file is what an import by the path would give. The file is of one interpreter and one version of the
kernel. A module of the standard library is taken if its source has the size and the time that it had, as CPython asks
of a .pyc file, if nothing comes before the standard library on the path, and if no hook takes part in imports."""

import _frozen_importlib
import _imp
import _io
import gc
import importlib._bootstrap_external as external
import marshal
import posix
import sys

from xstate_kernel import original as __builtins__

UNASKED = 0x58535441  # sandbox.Unasked
_PACKAGE = __name__.rpartition(".")[0]
_FOLDER = __file__.rpartition("/")[0]
_FINDERS = [_frozen_importlib.BuiltinImporter, _frozen_importlib.FrozenImporter, external.PathFinder]
_fix_co_filename = vars(_imp)["_fix_co_filename"]


def load(entry, path):
    """Imports a module of the kernel, and all that it needs, from the file at path if it serves; returns it."""
    collects = gc.isenabled()
    gc.disable()  # what a start makes stays: to visit it again and again takes a tenth of the time
    usual = vars(external)["_path_stat"]
    setattr(external, "_path_stat", _stat)  # noqa: B010 - what the other finders look at counts for nothing, too
    finder = _Finder(_read(path))
    sys.meta_path.insert(0, finder)
    try:
        __import__(f"{_PACKAGE}.{entry}")
    finally:
        sys.meta_path.remove(finder)  # the program sees none of it
        setattr(external, "_path_stat", usual)  # noqa: B010
        gc.freeze()
        if collects:
            gc.enable()
    return sys.modules[f"{_PACKAGE}.{entry}"]


def make(entry):
    """Prints the file: bytecode is of what, the folder of the standard library, and the modules, see _Finder."""
    before = set(sys.modules)
    __import__(f"{_PACKAGE}.{entry}")
    standard, found = _standard(), {}
    for name in sorted(set(sys.modules) - before):
        module = sys.modules[name]
        source, loader = getattr(module, "__file__", None) or "", getattr(module, "__loader__", None)
        own = source.startswith(_FOLDER)
        if type(loader) is not external.SourceFileLoader or loader.name != name:  # another name, see kept_names.py
            continue
        if own or (standard and source.startswith(standard)):
            stamp = None if own else _stamp(source)
            found[name] = source, stamp, hasattr(module, "__path__"), loader.get_code(name)
    sys.stdout.buffer.write(marshal.dumps((_bytecode(), standard, found)))


class _Finder(external.SourceLoader):
    """A finder and loader of modules: name → path of the source, its size and time, whether a package, code."""

    def __init__(self, found):
        self.found = found

    def find_spec(self, name, path=None, target=None):
        found = self.found.get(name)
        if found is None:
            return None
        source, stamp, package, _ = found
        if stamp and stamp != _stamp(source):
            return None
        places = [source.rpartition("/")[0]] if package else None
        return external.spec_from_file_location(name, source, loader=self, submodule_search_locations=places)

    def exec_module(self, module):
        name = module.__name__
        source, _, _, code = self.found[name]
        _fix_co_filename(code, source)
        module.__loader__ = external.SourceFileLoader(name, source)
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__
        exec(code, module.__dict__)


def _stat(path):
    """Does the same as posix.stat, but asks the supervisor only if it must, see sandbox.unasked."""
    if sys.platform == "linux" and path.startswith("/"):
        return posix.stat(path, dir_fd=UNASKED)
    return posix.stat(path)


def _stamp(source):
    try:
        found = _stat(source)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def _bytecode():
    """Returns what bytecode depends on, beside its source."""
    return f"{sys.implementation.cache_tag} {external.MAGIC_NUMBER.hex()} {sys.flags.optimize}"


def _standard():
    """The folder of the standard library, if modules are looked for there first, and in the usual way; else ""."""
    here = (sys.modules["os"].__file__ or "").rpartition("/")[0]
    packed = "{}/python{}{}.zip".format(here.rpartition("/")[0], *sys.version_info[:2])
    first = [p for p in sys.path[1:] if p != packed or _stamp(p)][:1]
    usual = [f for f in sys.meta_path if getattr(f, "__module__", "") != "_distutils_hack"][:3]  # that finds others
    return here + "/" if first == [here] and usual == _FINDERS and len(sys.path_hooks) == 2 else ""


def _read(path):
    """The modules in a file that serve here."""
    try:
        with _io.open(path, "rb") as file:
            bytecode, standard, found = marshal.loads(file.read())
        if bytecode != _bytecode():
            return {}
        return found if standard == _standard() else {n: m for n, m in found.items() if m[1] is None}
    except Exception:
        return {}
