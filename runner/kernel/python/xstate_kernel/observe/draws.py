"""The draws of a node: the clocks and the randomness of the operating system that it reads.

A node that calls a tool with an effect may have to run again before the call is settled: its answer was lost, or a
decision is needed. It is given what it drew before, in order, so that it makes the same calls. The engine keeps the
draws with each such call, see runner/same_call.go."""

from xstate_kernel import original as __builtins__

_MOST = 4096  # draws of a node that are kept
_BYTES = 1 << 18  # bytes of their values, about


class Draws:
    """The draws of the node that runs. Each is a source and a value that JSON can write."""

    def __init__(self):
        self.begin(())

    def begin(self, served):
        """Begins a node, which is served these draws as long as it draws from the same sources."""
        self._served, self._at = served, 0
        self.made, self._size, self._sent, self.full = [], 0, 0, False

    def served(self, source):
        """Returns the next value of a source if it is served, or None."""
        at = self._at
        if at < len(self._served):
            if self._served[at][0] == source:
                self._at = at + 1
                return self._served[at][1]
            self._at = len(self._served)  # the node does something else now
        return None

    def keep(self, source, value):
        """Keeps a value that was drawn."""
        if self.full:
            return
        self._size += len(source) + (len(value) if isinstance(value, str) else 16)
        if len(self.made) >= _MOST or self._size > _BYTES:
            self.full = True
        else:
            self.made.append((source, value))

    def unsent(self):
        """Returns how many draws the engine has that still count, and those that it does not have; None if it has
        all."""
        since, had = min(self._sent, len(self.made)), self._sent
        self._sent = len(self.made)
        return None if since == had == self._sent else (since, self.made[since:])

    def forget(self, since):
        """Forgets what a step drew. It is served from its record when the node runs again, and draws nothing then."""
        del self.made[since:]
