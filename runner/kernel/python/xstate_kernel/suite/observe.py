"""Observes which functions and lines run in a phase, and switches from phase to phase."""

import linecache
import sys
import threading

from xstate_kernel import original as __builtins__

from . import reads, sources
from .phases import Phase

MONITORING = getattr(sys, "monitoring", None)  # from CPython 3.12 on
TOOL = 4


class Phases:
    """The part of Suite that observes execution."""

    def __init__(self, by_line):
        self.by_line = by_line  # lines are observed
        self.stack = [Phase()]
        self.live = []  # codes hit since the last phase began or ended
        self.hits = []  # lines executed since then, if lines are observed
        self.armed = set()  # before 3.12: ids of all other codes
        self.units = {}  # id of code → number of its unit
        self.watched = {}  # id of code → (code, module)
        self.collecting = False
        self.files: reads.SuiteReads

    def _watch(self):
        if MONITORING is None:
            sys.settrace(self._called)
            threading.settrace(self._called)
            return
        MONITORING.use_tool_id(TOOL, "xstate")
        live, hits, off = self.live, self.hits, MONITORING.DISABLE

        def hit(code, _):
            live.append(code)
            return off

        self._events = MONITORING.events.PY_START | MONITORING.events.PY_RESUME
        MONITORING.register_callback(TOOL, MONITORING.events.PY_START, hit)
        MONITORING.register_callback(TOOL, MONITORING.events.PY_RESUME, hit)
        if self.by_line:

            def hit_line(code, number):
                hits.append((code, number))
                return off

            self._events |= MONITORING.events.LINE
            MONITORING.register_callback(TOOL, MONITORING.events.LINE, hit_line)

    def _called(self, frame, _, __):
        """Records that a function begins or resumes."""
        code = frame.f_code
        if id(code) in self.armed:
            self.armed.discard(id(code))
            self.live.append(code)
        return self._line if self.by_line and id(code) in self.units else None

    def _line(self, frame, event, _):
        if event == "line":
            self.hits.append((frame.f_code, frame.f_lineno))
        return self._line

    def watching(self):
        """Reports whether the kernel still observes functions."""
        return MONITORING is not None or sys.gettrace() == self._called

    def _switch(self):
        """Adds what the kernel observed since the last switch to the innermost phase."""
        phase = self.stack[-1]
        if self.live:
            live, self.live[:] = self.live[:], ()
            for code in live:
                phase.codes[id(code)] = code
            self.unarmed += live
        if self.hits:
            hits, self.hits[:] = self.hits[:], ()
            phase.hits += dict.fromkeys(hits)
            self.unarmed += {code for code, _ in hits}
        active, self.files.active = self.files.active, False
        if active and self.files.saw():
            found, after = self.files.take()
            for p, how in found["files"].items():
                phase.look(p, how)
            phase.dirs.update(found["dirs"])
            phase.env.update(found["env"])
            phase.modes.update(found["modes"])
            phase.marks.update(found["marks"])
            phase.after.update(after)
            phase.cwd = phase.cwd or found["cwd"]

    def _arm(self):
        if not self.unarmed:
            return
        codes, self.unarmed = {id(c): c for c in self.unarmed if id(c) in self.watched}, []
        if MONITORING is None:
            self.armed.update(codes)
            return
        arm, events = MONITORING.set_local_events, self._events
        for code in codes.values():
            arm(TOOL, code, 0)
            arm(TOOL, code, events)

    def begin(self):
        self._switch()
        self._arm()
        self.stack.append(Phase())
        self._watch_files()

    def end(self, merge=True):
        self._switch()
        phase = self.stack.pop()
        if merge:
            self.stack[-1].inner.append(phase)
        self._watch_files()
        return phase

    def _watch_files(self):
        self.files.loose = self.collecting and len(self.stack) == 2
        self.files.active = len(self.stack) > 1

    def text_read(self, filename):
        """Records a request to linecache for lines of a file.

        Code that formats a traceback requests one line, and first checks that the file is unchanged. inspect requests
        all lines."""
        if not self.files.active or not isinstance(filename, str) or reads.by_runner():
            return
        phase, frame = self.stack[-1], sys._getframe(2)
        function = sys._getframe(1).f_locals["function"].__name__
        if frame.f_code.co_name == "getline" and frame.f_code.co_filename == linecache.__file__:
            phase.lines.add((sources.real(filename), frame.f_locals["lineno"]))
        elif function == "getlines":
            phase.texts.add(sources.real(filename))
        else:
            phase.asked.add(sources.real(filename))
