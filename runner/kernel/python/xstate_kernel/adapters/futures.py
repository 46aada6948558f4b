"""concurrent.futures: the number in the name of the next thread pool is hidden state."""

import sys

from xstate_kernel import original as __builtins__

from ..ground.hidden_variable import Counter, Variable
from .protocol import Adapter


def _pools():
    return getattr(sys.modules.get("concurrent.futures.thread"), "ThreadPoolExecutor", None)


def _put(value):
    _pools()._counter.__self__.next = value


class Futures(Adapter):
    packages = ("concurrent",)
    keeps_time = True

    def variables(self):
        self.pools = Variable(
            "conf:pools",
            lambda: _pools()._counter.__self__.next,
            _put,
            lambda: hasattr(_pools(), "_counter"),
            "concurrent.futures.thread",
            precise=True,
        )
        return (self.pools,)

    def after_import(self):
        return {"concurrent.futures.thread": self._watch}

    def _watch(self, hidden, module):
        _pools()._counter = Counter(self.pools, 0).number
        hidden.begin(self.pools)


adapter = Futures()
