"""What is seen while tests run: phases, and the source files that were executed. See suite.py."""

from . import original as __builtins__


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
        self.inner = []  # phases that ended in it

    def whole(self):
        """With what was seen in the phases within."""
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
        """Reports whether something was seen that is to be looked at before it changes."""
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
        """how: what was there before it was written, "presence", or None. The earlier observation stays, unless it was
        weaker."""
        if self.files.setdefault(p, how) == "presence":
            self.files[p] = how


class Module:
    """A source file that was executed."""

    def __init__(self, path, name, source, code, namespace):
        self.path, self.name, self.source, self.code, self.namespace = path, name, source, code, namespace
        self.loads = set()  # paths of modules whose execution it caused
        self.group = None  # of its import
        self.telling = None  # names it binds through which code may come to a clock, or randomness
        self.loud = not source.quiet
