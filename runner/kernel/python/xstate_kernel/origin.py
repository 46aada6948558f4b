"""Where code comes from: the program, its workspace, or a library; and what witnesses a library's version."""
from . import original as __builtins__
import ast
import builtins
import dis
import functools
import importlib._bootstrap_external as external
import importlib.machinery
import os
import sys
import types

from . import blake2b

_SITE_PARTS = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
_LIBRARIES = (
    os.path.dirname(os.path.realpath(__file__)) + os.sep, os.path.realpath(os.path.dirname(os.__file__)) + os.sep,
    os.path.realpath(os.path.join(sys.exec_prefix, sys.platlibdir, "python%d.%d" % sys.version_info[:2])) + os.sep,
    os.path.realpath(sys.base_prefix) + os.sep + "lib")

PROGRAM, WORKSPACE, LIBRARY = "program", "workspace", "library"


def is_site(folder):
    """Reports whether packages are installed in a folder."""
    return any(p in folder + os.sep for p in _SITE_PARTS)


def is_a(value, kinds):
    """isinstance without running code of the value's: __class__ may be a property, or lie."""
    return issubclass(type(value), kinds)


def unobserved(function):
    """Marks a function of the kernel that looks at paths: these are no lookups of the program's."""
    @functools.wraps(function)
    def wrapper(*args):
        global looking
        before, looking = looking, True
        try:
            return function(*args)
        finally:
            looking = before
    return wrapper


@unobserved
def is_library_path(path):
    """Reports whether a file belongs to the interpreter, an installed package or this kernel."""
    folder = os.path.dirname(path)
    if folder in _library_folders and not os.path.islink(path):
        return True
    real = os.path.realpath(path)
    found = real.startswith(_LIBRARIES) or any(p in real for p in _SITE_PARTS)
    if found and os.path.isabs(folder) and not os.path.islink(path):
        _library_folders.add(folder)  # to look at every link on the way takes longer than to load many a module
    return found


def above(workspace):
    """The folders outside the workspace that the interpreter and its packages lie in: there as long as these are."""
    found = set()
    for path in [*_LIBRARIES, *filter(is_library_path, sys.path)]:
        parts = os.path.abspath(path).split(os.sep)
        found.update(os.sep.join(parts[:n]) for n in range(2, len(parts)))
    return {p for p in found if not (p + os.sep).startswith(workspace)}


looking = False  # see unobserved
_library_folders = set()


def importing():
    """Reports whether a module is being imported: what a library draws then (keys of processes) is not the program's."""
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
    """Has the bytecode of modules that are no library's kept in folder: a listing of the workspace must not tell what was
    imported before. None is kept that would come back otherwise than it was compiled, which survives tells."""
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
        paths = list(getattr(module, "__path__", None) or ())
        if not paths:
            return LIBRARY  # built in
        return LIBRARY if is_library_path(os.path.join(str(paths[0]), "x")) else WORKSPACE
    return LIBRARY if is_library_path(path) else WORKSPACE


_module_kind = {}


def made(module):
    """Reports whether a module was made by hand (types.ModuleType), and is not the one that is imported by its name."""
    space = vars(module)
    return space.get("__spec__") is None and "__file__" not in space and sys.modules.get(space.get("__name__")) is not module


def kind_of(module_name):
    """Classes a module by its name; the answer for a loaded module does not change."""
    if module_name in (None, "__main__"):
        return PROGRAM
    kind = _module_kind.get(module_name)
    if kind is None:
        if not is_a(module_name, str):
            return LIBRARY  # of a class of an extension's it may be a descriptor
        module = sys.modules.get(module_name)
        if module is None:  # some types of the interpreter say they are of modules that nobody has imported
            return LIBRARY if module_name.partition(".")[0] in sys.stdlib_module_names else PROGRAM
        kind = _module_kind[module_name] = module_class(module)
    return kind


def made_by_user(o):
    """Reports whether a class, a function or the class of an instance is of the program or the workspace."""
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


_version = {}


def version(top):
    """A digest of the witness of library package top."""
    if top not in _version:
        h = blake2b(digest_size=20)
        for path in witness(top):
            h.update(file_digest(path).encode())
        _version[top] = h.hexdigest()[:16]
    return _version[top]


_EXTENDED, _NAMED = dis.EXTENDED_ARG, frozenset(dis.hasname)
_SHIFTS = {dis.opmap.get(name): bits for name, bits, since in (("LOAD_GLOBAL", 1, (3, 11)), ("LOAD_ATTR", 1, (3, 12)), ("LOAD_SUPER_ATTR", 2, (3, 12)))
           if sys.version_info >= since}  # these have flags below the index of the name
_decoded = {}


def instructions(code):
    """Returns (offset, operation, argument, name it speaks of or None) for each instruction, as dis does, in a twentieth of
    the time."""
    found = _decoded.get(code)
    if found is None:
        raw, names, found, more = code.co_code, code.co_names, [], 0
        for i in range(0, len(raw), 2):
            op, arg = raw[i], raw[i + 1] | more
            more = arg << 8 if op == _EXTENDED else 0
            found.append((i, dis.opname[op], arg, names[arg >> _SHIFTS.get(op, 0)] if op in _NAMED else None))
        _decoded[code] = found
    return found


FUNCTION = 1  # code flag, see inspect.CO_OPTIMIZED: neither that of a module nor of a class
_LOADS = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"}
_code_names = {}


def code_facts(code):
    """Returns (names, imports) that a code object and those nested in it load from the namespace or import."""
    found = _code_names.get(code)
    if found is None:
        names, imports = set(), set()
        for _, op, _, name in instructions(code):
            if op in _LOADS:
                names.add(name)
            elif op == "IMPORT_NAME":
                imports.add(name)
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                more = code_facts(const)
                names |= more[0]
                imports |= more[1]
        found = _code_names[code] = (frozenset(names), frozenset(imports))
    return found


def loads(code):
    """Returns the names that a code object (not those nested in it) loads from the namespace."""
    return {name for _, op, _, name in instructions(code) if op in _LOADS}


_code_stores, _code_deletes = {}, {}


def deletes(code):
    """Returns the names of the namespace that a code object (not those nested in it) may delete."""
    found = _code_deletes.get(code)
    if found is None:
        ops = {"DELETE_GLOBAL", "DELETE_NAME"} if code.co_name == "<module>" else {"DELETE_GLOBAL"}
        found = _code_deletes[code] = frozenset(name for _, op, _, name in instructions(code) if op in ops)
    return found


def stores(code, module=False):
    """Returns the names of the namespace that a code object and those nested in it may bind. module says that code is
    that of statements: its plain names are names of the namespace."""
    found = _code_stores.get((code, module))
    if found is None:
        found = {name for _, op, _, name in instructions(code) if op == "STORE_GLOBAL" or module and op == "STORE_NAME"}
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                found |= stores(const)
        found = _code_stores[code, module] = frozenset(found)
    return found


_code_stars = {}


def stars(code):
    """Returns (offset, module) of each star import of a code object, which stands at top level."""
    found = _code_stars.get(code)
    if found is None:
        found, module = [], None
        for offset, op, arg, name in instructions(code):
            if op == "IMPORT_NAME":
                module = name
            elif op == "IMPORT_STAR" or op == "CALL_INTRINSIC_1" and arg == 2:
                found.append((offset, module))
        _code_stars[code] = found
    return found


def brought(name):
    """Returns the names that a star import of a module binds."""
    members = getattr(sys.modules.get(name), "__dict__", {})
    listed = members.get("__all__")
    return {n for n in listed if is_a(n, str)} if listed is not None else {n for n in members if not n.startswith("_")}


_ATTRS = {"LOAD_ATTR", "LOAD_METHOD"}
_BETWEEN = {"CACHE", "PRECALL", "PUSH_NULL", "NOP", "EXTENDED_ARG"}
_code_chains = {}


def chains(code):
    """Returns the dotted names that a code object (not those nested in it) loads."""
    found = _code_chains.get(code)
    if found is None:
        found, chain = set(), []
        for _, op, _, name in instructions(code):
            if op in _BETWEEN:
                continue
            if op in _ATTRS and chain:
                chain.append(name)
                continue
            if chain:
                found.add(tuple(chain))
            chain = [name] if op in _LOADS else []
        _code_chains[code] = found
    return found


def targets(code):
    """Returns the dotted names whose attributes a code object, or one nested in it, assigns."""
    found, chain, given = set(), [], False
    for _, op, _, name in instructions(code):
        if op in _BETWEEN:
            continue
        if op in _ATTRS and chain:
            chain.append(name)
            continue
        if chain and (given or op in ("STORE_ATTR", "DELETE_ATTR")):
            found.add(tuple(chain))
        given = chain in (["setattr"], ["delattr"])
        chain = [name] if op in _LOADS else []
    return found.union(*(targets(k) for k in code.co_consts if isinstance(k, types.CodeType)))


_ENTROPY = frozenset(("uuid.uuid1", "uuid.uuid4", "posix.urandom", "os.urandom", "secrets.token_hex", "secrets.token_bytes",
                      "secrets.token_urlsafe", "secrets.randbelow", "secrets.choice", "secrets.randbits",
                      "numpy.empty", "numpy.empty_like"))  # which hold what was in memory
_RUNNING = frozenset(("current_task", "all_tasks"))
_TASKS = _RUNNING | {"create_task", "ensure_future"}
_PRESENT = frozenset(("now", "today"))  # texts that stand for it
_FOLDER = (frozenset(("__file__",)), frozenset(("argv",)), frozenset(("sys", "path")))


def tells_folder(codes):
    """Reports whether code may learn the path of the workspace without asking for the working directory."""
    return any(names.issubset(code.co_names) for code in codes for names in _FOLDER)


_PROCESS = frozenset((
    "builtins.id", "resource.getrusage",
    "_thread.get_ident", "_thread.get_native_id", "sys.getrefcount", "sys.getsizeof", "sys._current_frames", "gc.get_count", "gc.get_stats", "gc.get_freeze_count",
    "_tracemalloc.get_traced_memory", "_tracemalloc._get_traces"))
TELLING = frozenset(n.rpartition(".")[2] for n in _ENTROPY | _PROCESS | {"numpy.datetime64"})  # last names of these


def nested(code):
    """Yields a code object and those nested in it."""
    todo = [code]
    while todo:
        c = todo.pop()
        yield c
        todo.extend(k for k in c.co_consts if isinstance(k, types.CodeType))


def volatile(codes, namespace):
    """Tells why code may come out otherwise each time: it names a source of entropy, or what tells of the process."""
    marks = {"process"} if "asyncio" in sys.modules and _names_tasks(codes) else set()
    for code in codes:
        if os.path.isabs(code.co_filename) and is_library_path(code.co_filename):
            continue  # a library's own wrapper around a function of the program, as the __repr__ of a dataclass has
        for value in _values(code, namespace):
            if not callable(value) or is_a(value, types.ModuleType):
                continue
            full = "%s.%s" % (getattr(value, "__module__", None) or "", getattr(value, "__qualname__", ""))
            if full in _ENTROPY:
                marks.add("entropy")
            elif full == "numpy.datetime64" and not _PRESENT.isdisjoint(code.co_consts):
                marks.add("clock")
            elif full in _PROCESS:
                marks.add("process")
    return marks


def _names_tasks(codes):
    """Reports whether code asks for the name of a task of asyncio that got none, and so has a number that counts all tasks."""
    names = {name for code in codes if "get_name" in code.co_names or not _TASKS.isdisjoint(code.co_names) for name in code.co_names}
    return "get_name" in names and (not _RUNNING.isdisjoint(names) or not _TASKS.isdisjoint(names) and all(("name",) not in code.co_consts for code in codes))


def _values(code, namespace):
    """Yields what the dotted names of a code object come to, and what a function names of modules that it imports itself."""
    for names in chains(code):
        value = namespace.get(names[0], vars(builtins).get(names[0]))
        for name in names[1:]:
            if is_a(value, types.ModuleType):
                value = vars(value).get(name)  # a module's own __getattr__ is code of the program
            elif is_a(value, type):
                value = getattr(value, name, None)
            else:
                value = None
        yield value
    if code.co_flags & FUNCTION and not TELLING.isdisjoint(code.co_names):
        for module in [sys.modules.get(name) for _, op, _, name in instructions(code) if op == "IMPORT_NAME"]:
            if is_a(module, types.ModuleType):
                yield from (vars(module)[name] for name in TELLING.intersection(code.co_names) & vars(module).keys())


class Workspace:
    """The loaded modules that are files of the user, and what they were loaded from."""

    def __init__(self):
        self._missed = {}  # module name → names it imports that were not to be found
        self._seen = {}  # module name → (path, stat key, digest)
        self._names, self._modules = None, None  # of sys.modules, when it was last looked at
        self._entries, self._loaded = {}, []  # what it held, and of that the modules of the workspace
        self._first = frozenset(sys.modules)  # of the interpreter and the kernel
        self._parsed = {}  # (digest of a source, package) → names of modules it imports
        self._functions = {}  # digest of a source → names that it mentions when it is loaded, its functions and methods
        self.renew()

    def renew(self):
        """Forgets what rests on what modules hold."""
        self._closures, self._digests = {}, {}

    def entries(self):
        """Returns sys.modules as it is: the same dict again where nothing was loaded since. Asked several times a node."""
        names, modules = list(sys.modules), list(sys.modules.values())
        if names != self._names or modules != self._modules:
            self._names, self._modules, self._entries = names, modules, dict(zip(names, modules))
            self._loaded = [
                (name, module) for name, module in self._entries.items()
                if isinstance(module, types.ModuleType) and name != "__main__" and not name.startswith("xstate_kernel") and kind_of(name) == WORKSPACE
            ]
            self._note()
        return self._entries

    def loaded(self):
        """Returns the name and the module of each."""
        self.entries()
        return self._loaded

    def executed(self, name):
        """The source of a module was executed, perhaps again."""
        self._seen.pop(name, None)
        self.entries()
        self._note()

    @unobserved
    def _note(self):
        """Remembers the content of modules that were loaded."""
        self.renew()
        for name, module in self._loaded:
            path = getattr(module, "__file__", None)
            if path and name not in self._seen and name in sys.modules:  # it may just have been taken out
                try:
                    path = os.path.realpath(path)
                    self._seen[name] = (path, _stat_key(path), file_digest(path))
                except OSError:
                    self._seen[name] = (path, None, "gone")
                self._missed[name] = {n for n in self.imports(name) if n not in sys.modules and not _findable(n)}

    def closure(self, name):
        """Names of the workspace modules that module name consists of: itself, its packages, what it imports."""
        if name in self._closures:
            return self._closures[name]
        todo, seen = [name], set()
        while todo:
            n = todo.pop()
            if n in seen or n not in sys.modules or kind_of(n) != WORKSPACE:
                continue
            seen.add(n)
            if "." in n:
                todo.append(n.rpartition(".")[0])
            todo.extend(self.imports(n))
            for value in list(vars(sys.modules[n]).values()):
                if isinstance(value, types.ModuleType):
                    if not value.__name__.startswith(n + "."):  # unless it imports it, that is there because somebody else did
                        todo.append(value.__name__)
                else:
                    owner = getattr(value, "__module__", None)
                    if isinstance(owner, str) and owner != n:
                        todo.append(owner)
        self._closures[name] = sorted(seen)
        return self._closures[name]

    def holder(self, names):
        """Of modules that hold one object, the one that the others have it from, as far as imports tell."""
        return min(names, key=lambda n: (len(self.closure(n)), n))

    def importers(self, names):
        """Names of the loaded workspace modules that are among names, lie in one of them, or import one, however indirectly."""
        gone, todo = set(), {n for n in names if n in sys.modules}
        while todo:
            gone |= todo
            todo = {n for n, _ in self.loaded() if n not in gone and
                    (n.rpartition(".")[0] in gone or self.imports(n) & gone)}
        return gone

    def unload(self, names):
        """Unloads modules; code that has them already keeps them."""
        for n in names:
            module = sys.modules.pop(n, None)
            parent, _, last = n.rpartition(".")
            if getattr(sys.modules.get(parent), last, self) is module:
                delattr(sys.modules[parent], last)
            self._seen.pop(n, None)
            _module_kind.pop(n, None)
        self.renew()

    def imported(self):
        """Names of the modules that those of the workspace which are loaded import, wherever in their source."""
        return set().union(*(self.imports(n) for n, _ in self.loaded()))

    def imports(self, name):
        """Names of the modules that the source of module name imports, wherever in it."""
        path, _, digest = self._seen.get(name, (None, None, None))
        package = name if hasattr(sys.modules[name], "__path__") else name.rpartition(".")[0]
        if (digest, package) in self._parsed:
            return self._parsed[digest, package]
        try:
            with open(path, "rb") as f:
                found = imported(ast.parse(f.read()), package)
        except (OSError, SyntaxError, ValueError, TypeError):
            return set()
        self._parsed[digest, package] = found
        return found

    def codes(self, names, codes):
        """Returns the code objects of the functions of modules that codes may come to. Whose name nobody mentions is called by nobody,
        unless the interpreter does it."""
        mentioned, rest = {n for c in codes for n in c.co_names}, []
        for name in names:
            loaded, functions = self._functions_of(name)
            mentioned |= loaded
            rest += functions
        found, more = [], True
        while more:
            more = [c for c in rest if c.co_name in mentioned or c.co_name.startswith(("__", "<"))]
            rest = [c for c in rest if c not in more]
            inner = [k for c in more for k in nested(c)]
            found += inner
            mentioned.update(n for k in inner for n in k.co_names)
        return found

    def _functions_of(self, name):
        path, _, digest = self._seen.get(name, (None, None, None))
        found = self._functions.get(digest)
        if found is None:
            try:
                with open(path, "rb") as f:
                    bodies = [compile(f.read(), path, "exec", dont_inherit=True)]
            except (OSError, SyntaxError, ValueError, TypeError):
                return set(), []
            functions = []
            for body in bodies:
                for k in body.co_consts:
                    if isinstance(k, types.CodeType):
                        (functions if k.co_flags & FUNCTION else bodies).append(k)
            found = self._functions[digest] = {n for c in bodies for _, op, _, n in instructions(c) if n and not op.startswith("STORE_")}, functions
        return found

    def path(self, name):
        return self._seen[name][0] if name in self._seen else ""

    def text(self, name):
        """The digest of the source that a module was loaded from."""
        return self._seen[name][2] if name in self._seen else ""

    def digest(self, name):
        if name not in self._digests:
            h = blake2b(digest_size=20)
            for n in self.closure(name):
                if n in self._seen:
                    h.update(("%s %s\n" % (n, self._seen[n][2])).encode())
            self._digests[name] = h.hexdigest()[:16]
        return self._digests[name]

    def edited(self):
        """Names of the modules whose file changed since it was loaded, with all that rest on them."""
        self._note()
        changed = set()
        for name, (path, stat, digest) in list(self._seen.items()):
            if name not in sys.modules:
                del self._seen[name]
                continue
            try:
                if _stat_key(path) == stat:
                    continue
                same = file_digest(path) == digest
            except OSError:
                same = False
            if not same:
                changed.add(name)
        changed |= {n for n, _ in self.loaded() if self._elsewhere(n) or any(map(_findable, self._missed.get(n, ())))}
        if not changed:
            return []
        return [n for n, _ in self.loaded() if changed & set(self.closure(n))]

    def _elsewhere(self, name):
        """Reports whether a loaded module would be found in another place now."""
        parent, _, _ = name.rpartition(".")
        module, path = sys.modules[name], getattr(sys.modules.get(parent), "__path__", None)
        if parent and path is None:
            return False
        try:
            spec = importlib.machinery.PathFinder.find_spec(name, path)
        except Exception:
            return False
        return spec is None or spec.origin != getattr(module, "__file__", None) or \
            spec.origin is None and list(spec.submodule_search_locations) != list(module.__path__)

    def shadowed(self):
        """Reports whether a library module that was loaded is now behind a file of the workspace: code that has it keeps it."""
        for folder in sys.path:
            if not os.path.isdir(folder) or is_library_path(os.path.join(os.path.abspath(folder), "x")):
                continue
            for entry in os.listdir(folder):
                name = entry[:-3] if entry.endswith(".py") else entry
                if name in sys.modules and name not in self._first and kind_of(name) == LIBRARY and \
                        (name != entry or os.path.exists(os.path.join(folder, entry, "__init__.py"))):
                    return True
        return False


def imported(tree, package):
    """Names of the modules that a source in package imports, wherever in it, with the packages that they lie in."""
    return imported_by(ast.walk(tree), package)


def imported_by(nodes, package):
    """The same of nodes alone."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found.update(a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                parts = parts[:len(parts) - node.level + 1]
                base = ".".join(parts + ([base] if base else []))
            found.add(base)
            found.update("%s.%s" % (base, a.name) for a in node.names)
    for n in list(found):
        while "." in n:
            n = n.rpartition(".")[0]
            found.add(n)
    return found


def _findable(name):
    """Reports whether a file of the workspace is there for a module that is not loaded."""
    parent, _, last = name.rpartition(".")
    folders = getattr(sys.modules.get(parent), "__path__", ()) if parent else sys.path
    stems = [os.path.join(p, last) for p in folders if is_a(p, str)]
    return any((os.path.exists(s + ".py") or os.path.exists(os.path.join(s, "__init__.py"))) and not is_library_path(s) for s in stems)


def _stat_key(path):
    st = os.stat(path)
    return (st.st_size, st.st_mtime_ns, st.st_ino)
