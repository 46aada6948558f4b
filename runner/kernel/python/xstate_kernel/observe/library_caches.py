"""Decides by the code that uses a file whether it is in the cache of a library. Package caches gives the reasons."""

import os
import re
import sys

from ..ground import code_owner

_VARIADIC = (4, 8)  # flags of code with *args, and with **kwargs
_BOOTSTRAP = "<frozen importlib._bootstrap>"
_KERNEL = code_owner.FOLDER + os.sep

_roots, _bases, _patterns = (), frozenset(), ((), None)
_folders = None  # folders whose patterns are not compiled yet: most programs use no cache
_home = os.path.expanduser("~")
_prefixes = ()  # what every path in a cache begins with


def start(folders):
    """Takes the folders of caches that the engine found."""
    global _roots, _bases, _folders, _prefixes
    _roots = tuple(folders["roots"])
    _bases = frozenset(folders["bases"])
    _folders = folders
    literal = {_literal(p) for k in folders["known"] for p in k["patterns"]}
    _prefixes = tuple({*(r + os.sep for r in _roots), *literal, *_roots})


def _compiled():
    """Returns the known caches as pairs of owners and a pattern, and the pattern of settings that lie among them."""
    global _folders, _patterns
    if _folders is not None:
        known = tuple((frozenset(map(plain, k["owners"])), _matcher(k["patterns"])) for k in _folders["known"])
        _patterns, _folders = (known, _matcher(_folders["settings"])), None
    return _patterns


def _literal(pattern):
    """Returns what all paths begin with that a pattern of path.Match matches."""
    return pattern[: next((n for n, c in enumerate(pattern) if c in "*?[\\"), None)]


def _matcher(patterns):
    """Compiles patterns of path.Match. Each means all that is below what it matches as well."""
    found = []
    for pattern in patterns:
        pieces = re.findall(r"\\.|.", pattern)
        found.append("".join({"*": "[^/]*", "?": "[^/]"}.get(c, re.escape(c[-1])) for c in pieces))
    return re.compile("(?:%s)(?:/.*)?" % "|".join(found), re.DOTALL) if found else None


def plain(name):
    """Returns a name of a library or its folder in the form in which they are compared."""
    return re.sub("[-_.]", "", name.lower())


def use(path):
    """Reports whether the code that uses a file now is a library's that keeps the file as a cache."""
    if not path.startswith(_prefixes):
        return False
    known, settings = _compiled()
    if settings is not None and settings.fullmatch(path):
        return False
    names = [o for o, pattern in known if pattern is not None and pattern.fullmatch(path)]
    for root in _roots:
        if path.startswith(root + os.sep):
            first, below, _ = path[len(root) + 1 :].partition(os.sep)
            names.append({plain(first if below else os.path.splitext(first)[0])})
    if not names:
        return False
    libraries, called = _callers()
    if libraries is None:
        return False
    return called is None or (not libraries.isdisjoint(set().union(*names)) and not _named(called, path))


def base(path):
    """Reports whether a library asks for a folder of which it says nothing that it is there."""
    return path in _bases and _callers()[0] is not None


def _callers():
    """Returns the libraries whose code causes the present event, and the frame of the call that the program made.

    The libraries are None if the program's own code causes it, and the frame is None if an import does."""
    libraries, called = None, None
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name == _BOOTSTRAP:
            return libraries, None  # an import looks for a module itself where no library has a frame below
        if not name.startswith(("<frozen ", _KERNEL)):
            if not code_owner.is_library_path(name):
                break
            called = frame
            libraries = set() if libraries is None else libraries
            if code_owner.is_site(os.path.dirname(name)):
                libraries.add(plain(str(frame.f_globals.get("__name__")).partition(".")[0]))
        frame = frame.f_back
    return (libraries or None), called


def _named(called, path):
    """Reports whether an argument of a call names a file, or a folder of a cache in which it lies."""
    code = called.f_code
    count = code.co_argcount + code.co_kwonlyargcount
    count += sum(bool(code.co_flags & flag) for flag in _VARIADIC)
    values = [called.f_locals[n] for n in code.co_varnames[:count] if n in called.f_locals]
    for value in values:  # grows
        if type(value) in (tuple, list):
            values.extend(value[:8])
        elif type(value) is dict:
            values.extend(list(value.values())[:8])
        elif code_owner.is_a(value, (str, bytes)) or _is_path(value):
            given = os.path.normpath(os.fsdecode(value))
            if given.startswith("~" + os.sep):
                given = _home + given[1:]
            if not os.path.isabs(given):
                given = path if os.sep in given and path.endswith(os.sep + given) else ""
            real = os.path.realpath(given) if given.startswith(_prefixes) else given
            if any(g not in _roots and g.startswith(_prefixes) and _within(path, g) for g in (given, real)):
                return True
    return False


def _is_path(value):
    pathlib = sys.modules.get("pathlib")
    return pathlib is not None and code_owner.is_a(value, pathlib.PurePath)


def _within(path, folder):
    return (path + os.sep).startswith(folder + os.sep)
