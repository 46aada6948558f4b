"""What a test looks at outside its code: observe_files.Files without putting anything back."""

from . import original as __builtins__
import linecache
import os
import sys
import tempfile

from . import code_owner, observe_files, sha256

# A test that tells how long something took: its results are reused, as those of others, which take their time, too.
DURATION = "timing"
_RUNNERS = (os.sep + "_pytest" + os.sep, os.sep + "pluggy" + os.sep, os.sep + "unittest" + os.sep)
_LIBRARY = os.path.dirname(os.path.realpath(os.__file__)) + os.sep
_OWN = os.path.dirname(os.path.realpath(__file__)) + os.sep
_IMPORT = "<frozen importlib._bootstrap_external>"
_UNTOLD = frozenset(("PYTEST_CURRENT_TEST", "PYTEST_VERSION", "=PYTEST_CURRENT_TEST", "=PYTEST_VERSION"))


class _NoScan:
    def before(self):
        pass


class SuiteReads(observe_files.Files):
    """The files of this process. What it reads is sorted by phase: take returns what was seen since the last call. A
    file below a path that this process made is reported by its maker."""

    numbers = False
    duration = DURATION

    def __init__(self, spool, store, folder, on_code, owner):
        self.made = {}  # path → the test that made it, None for what is not one
        self.runner = set()  # paths that the runner itself looked at, until everything is collected
        self.listed = set()  # and directories that it listed
        self._heads = {}  # directory → where it leads to
        self._found = {}  # path → see _places
        # Nothing is being imported, nor collected, nor tested: what is made by hooks is not known to be made again.
        self.loose = False
        self.effects = False  # something was
        self._owner = owner  # returns the test under way
        self._temporary = os.path.join(os.path.realpath(tempfile.gettempdir()), "pytest-of-")
        super().__init__(spool, store, folder, on_code)
        self._passed.add("object.__getattr__")

    def _prepare(self, store):
        self._scan = _NoScan()

    def _announce(self, p, before):
        if self.loose:
            self.effects = True
            return
        self.made.setdefault(p, self._owner())

    def _before(self, p):
        """The digest of what is at a path that is about to be written, where it was read before."""
        try:
            return _digest(p) if p in self.reads else None
        except OSError:
            return None

    def path_of(self, path, dir_fd=None, follow=True):
        """The runner's own looks are none of the test's: what they come to is told apart (see suite_pytest); so are
        lines of sources (see Suite.text_read). What it collects rests on them, see Suite.choose."""
        if not by_runner(linecache.__file__):
            return super().path_of(path, dir_fd, follow)
        if self.runner is not None:
            self.runner.update(self._places(path))
        return None

    def packages_listed(self, path):
        if not by_runner():
            super().packages_listed(path)

    def _places(self, path):
        """Where a path leads to, with and without links, as far as that is of interest. Most are looked at several
        times."""
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
            return  # five times a test
        super()._audit(event, args)

    def _event(self, event, args):
        if event.startswith("tempfile."):
            return  # a name that nobody else uses
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
            after.update(o for made, o in self.made.items() if os.path.dirname(made) == p)
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
        """Returns who made a path, or a folder that it lies in, and whether somebody did."""
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
_kinds = {}  # name of a file of code → whether it is of what runs tests, or _PASSED: of the standard library


def _kind(name):
    if any(part in name for part in _RUNNERS) and code_owner.is_library_path(name):
        return True
    return _PASSED if name.startswith((_OWN, _LIBRARY, "<frozen ")) and "site-packages" not in name else False


def by_runner(also=None):
    """Reports whether what happens is the doing of what runs tests, or imports modules: the innermost code that is not
    the standard library's."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if name == also:
            return True
        if name == _IMPORT and frame.f_back is not None and frame.f_back.f_code.co_filename == _IMPORT:
            return True  # unless a program asks a loader for data
        kind = _kinds.get(name)
        if kind is None:
            kind = _kinds[name] = _kind(name)
        if kind is not _PASSED:
            return kind
        frame = frame.f_back
    return False
