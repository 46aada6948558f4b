"""Observes what a test reads besides its code. Unlike observe.files.Files, it restores nothing."""

import linecache
import os
import sys
import tempfile

from xstate_kernel import original as __builtins__

from .. import sha256
from ..ground import code_owner
from ..observe import files as observe_files
from ..observe import libraries

# Marks a test that measures a duration. The engine reuses its results: every test takes some time.
DURATION = "timing"
_RUNNERS = (os.sep + "_pytest" + os.sep, os.sep + "pluggy" + os.sep, os.sep + "unittest" + os.sep)
_LIBRARY = os.path.dirname(os.path.realpath(os.__file__)) + os.sep
_OWN = os.path.realpath(code_owner.FOLDER) + os.sep
_IMPORT = "<frozen importlib._bootstrap_external>"
_UNTOLD = frozenset(("PYTEST_CURRENT_TEST", "PYTEST_VERSION", "=PYTEST_CURRENT_TEST", "=PYTEST_VERSION"))


class _NoScan:
    def before(self):
        pass


class SuiteReads(observe_files.Files):
    """The files that this process reads, by phase: take returns what was observed since the last call.

    For a file below a path that this process created, take returns the test that created it."""

    numbers = False
    duration = DURATION

    def __init__(self, spool, store, folder, on_code, owner):
        self.made = {}  # path → the test that created it, or None if no test did
        self.runner = set()  # paths that the test runner itself looked up, until the collection ends
        self.listed = set()  # and directories that it listed
        self._heads = {}  # directory → its path without links
        self._found = {}  # path → see _places
        # True during the collection while nothing is imported, collected or tested. Hooks run then, and a file that
        # they create may not be created again.
        self.loose = False
        self.effects = False  # hooks created a file
        self._owner = owner  # returns the running test
        self._temporary = os.path.join(os.path.realpath(tempfile.gettempdir()), "pytest-of-")
        super().__init__(spool, store, folder, on_code)
        self._passed.add("object.__getattr__")

    def _prepare(self, store):
        self.scan = _NoScan()

    def _announce(self, p, before):
        if self.loose:
            self.effects = True
            return
        self.made.setdefault(p, self._owner())

    def _before(self, p):
        """Returns the digest of a file that is about to be written, if it was read before."""
        try:
            return _digest(p) if p in self.reads else None
        except OSError:
            return None

    def path_of(self, path, dir_fd=None, follow=True):
        """Returns None for a path that the test runner itself looks up, because the test does not depend on it.

        The kernel reports the results separately (see pytest.py), and lines of sources too (see Suite.text_read).
        The collection depends on these lookups, see Suite.choose."""
        if not by_runner(linecache.__file__):
            return super().path_of(path, dir_fd, follow)
        if self.runner is not None:
            self.runner.update(self._places(path))
        return None

    def packages_listed(self, path):
        if not by_runner():
            super().packages_listed(path)

    def _places(self, path):
        """Returns a relevant path with and without symbolic links. It caches the answer: most paths recur."""
        if not isinstance(path, (str, bytes, os.PathLike)):
            return ()
        p = os.fsdecode(path)
        if not os.path.isabs(p):
            p = os.path.join(self.getcwd(), p)
        found = self._found.get(p)
        if found is None:
            found = self._found[p] = self._places_of(os.path.normpath(p))
        return found

    def _places_of(self, p):
        if self._other(p) or ".pytest_cache" in p:
            return ()
        head, tail = os.path.split(p)
        real = self._heads.get(head)
        if real is None:
            real = self._heads[head] = os.path.realpath(head)
        at = os.path.join(real, tail)
        return p, at, os.path.realpath(at) if os.path.islink(at) else at

    def _audit(self, event, args):
        if event in ("os.putenv", "os.unsetenv") and args[0] == b"PYTEST_CURRENT_TEST":
            return  # pytest does this five times per test
        super()._audit(event, args)

    def _event(self, event, args):
        if event.startswith("tempfile."):
            return  # a name that no other code uses
        if event in ("os.listdir", "os.scandir"):
            if sys._getframe(2).f_code.co_filename == _IMPORT:
                return
            if self.runner is not None and by_runner():
                self.listed.update(self._places(args[0] if args[0] is not None else "."))
        super()._event(event, args)

    def saw(self):
        """Reports whether there is anything to take."""
        if self.environ and self.environ <= _UNTOLD:
            self.environ.clear()
        return (
            self.reads
            or self.writes
            or self.listings
            or self.environ
            or self.marks
            or self.chance
            or self.modes
            or self.times
            or self.looks
            or self.caches
            or self.descriptors
            or self.chmods
            or self.cwd_read
        )

    def take(self):
        """Returns what was observed, and the tests whose files were read."""
        after = set()
        files = {}
        for p, how in self.reads.items():
            owner, found = self._maker(p)
            if found:
                after.add(owner)
            else:
                files[p] = self.writes.get(p) or how
        listings = []
        for p in self.listings:
            owner, found = self._maker(p)
            if found:
                after.add(owner)
            else:
                listings.append(p)
            folders = p, p.removesuffix("/" + libraries.PACKAGES)
            after.update(o for made, o in self.made.items() if os.path.dirname(made) in folders)
        if any(not self._maker(p)[1] for p in self.times):
            self.marks.add("clock")
        if self.chance:
            self.marks.add("entropy")
        modes = [p for p in self.modes if not self._maker(p)[1]]
        env = sorted(self.environ - _UNTOLD)
        found = {
            "files": files,
            "dirs": sorted(listings),
            "env": env,
            "modes": modes,
            "marks": set(self.marks),
            "cwd": self.cwd_read,
        }
        self.reset()
        after.discard(None)
        return found, after

    def _maker(self, p):
        """Returns the test that created a path or a folder above it, and whether this process created one."""
        if p.startswith(self._temporary):
            return None, True
        while True:
            if p in self.made:
                return self.made[p], True
            up = os.path.dirname(p)
            if up == p:
                return None, False
            p = up


def _digest(path):
    with open(path, "rb") as f:
        return sha256(f.read()).hexdigest()


_PASSED = object()
_kinds = {}  # name of a code's file → whether it belongs to the test runner; _PASSED: to the standard library


def _kind(name):
    if any(part in name for part in _RUNNERS) and code_owner.is_library_path(name):
        return True
    return _PASSED if name.startswith((_OWN, _LIBRARY, "<frozen ")) and "site-packages" not in name else False


def by_runner(also=None):
    """Reports whether the test runner or the import system causes the present event.

    The innermost frame outside the standard library decides."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if name == also:
            return True
        if name == _IMPORT and frame.f_back is not None and frame.f_back.f_code.co_filename == _IMPORT:
            return True  # but not if a program gets data from a loader
        kind = _kinds.get(name)
        if kind is None:
            kind = _kinds[name] = _kind(name)
        if kind is not _PASSED:
            return kind
        frame = frame.f_back
    return False
