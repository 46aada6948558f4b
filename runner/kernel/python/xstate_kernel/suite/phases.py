"""Phases of a test run, with what the kernel observed in each, and the executed source files. See tests.py."""

from xstate_kernel import original as __builtins__


class Phase:
    def __init__(self):
        self.codes = {}  # id → code
        self.modules = set()  # paths of modules that were executed
        self.groups = set()
        self.files, self.dirs, self.env, self.modes = {}, set(), set(), set()
        self.marks, self.after, self.texts, self.absent = set(), set(), set(), set()
        self.lines = set()  # (path, number) of lines whose text was read
        self.hits = []  # (code, number) of lines that were executed
        self.asked = set()  # paths of texts whose lines may be shown
        self.cwd = False
        self.inner = []  # phases that ended within this one

    def whole(self):
        """Adds what the kernel observed in the inner phases, and returns the phase."""
        for other in self.inner:
            other.whole()
            self.codes.update(other.codes)
            self.hits += other.hits
            for name in (
                "modules",
                "groups",
                "dirs",
                "env",
                "modes",
                "marks",
                "after",
                "texts",
                "absent",
                "lines",
                "asked",
            ):
                getattr(self, name).update(getattr(other, name))
            for p, how in other.files.items():
                self.look(p, how)
            self.cwd = self.cwd or other.cwd
        self.inner = []
        return self

    def looked(self):
        """Reports whether the phase read files or folders, which the engine must read before they change."""
        return self.files or self.dirs or self.modes or self.texts or self.lines or self.asked

    def blank(self):
        """Reports whether nothing was observed that a test may depend on."""
        return not (
            self.codes
            or self.modules
            or self.groups
            or self.env
            or self.marks
            or self.after
            or self.absent
            or self.cwd
            or self.looked()
        )

    def look(self, p, how):
        """Records that the phase read a file. how is "presence", None, or what was there before a write.

        An earlier observation stays, unless it is only "presence"."""
        if self.files.setdefault(p, how) == "presence":
            self.files[p] = how


class Module:
    """A source file that was executed."""

    def __init__(self, path, name, source, code, namespace):
        self.path, self.name, self.source, self.code, self.namespace = path, name, source, code, namespace
        self.loads = set()  # paths of modules that were executed because of this one
        self.group = None  # the group of its import
        self.telling = None  # names that it binds and through which code may reach a clock or randomness
        self.loud = not source.quiet
