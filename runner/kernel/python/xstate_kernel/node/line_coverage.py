"""Which lines of the program's functions a node executes: of a test in a block, where that is asked for."""

import sys

from xstate_kernel import original as __builtins__

from ..ground import bytecode

_TOOL = 3


class LineCoverage:
    """Lines of the functions of blocks that are among codes. From CPython 3.12 on."""

    def __init__(self, codes, blocks):
        self._codes = [c for c in codes if c.co_filename in blocks and c.co_flags & bytecode.FUNCTION]
        self._hits = set()

    def begin(self):
        mon, hits = sys.monitoring, self._hits
        mon.use_tool_id(_TOOL, "xstate lines")

        def hit(
            code, line
        ):  # and does not switch itself off: CPython would then skip the event for the name that is loaded there
            hits.add((code.co_filename, line))

        mon.register_callback(_TOOL, mon.events.LINE, hit)
        self._arm(mon.events.LINE)

    def end(self):
        """Returns file → the lines on which something begins that functions can execute, and those of them that were
        executed."""
        self._arm(0)
        sys.monitoring.free_tool_id(_TOOL)
        found = {}
        for c in self._codes:
            lines, _ = found.setdefault(c.co_filename, (set(), set()))
            lines.update(line for _, _, line in c.co_lines() if line and line != c.co_firstlineno)
        for file, line in self._hits:
            found[file][1].add(line)
        return {file: [sorted(lines), sorted(hit)] for file, (lines, hit) in found.items() if hit}

    def _arm(self, events):
        for c in self._codes:
            sys.monitoring.set_local_events(_TOOL, c, events)
