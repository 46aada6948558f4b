"""The module random: its global generator is hidden state."""

import random

from xstate_kernel import original as __builtins__

from ..ground.hidden_variable import Variable, watch_generator
from .protocol import Adapter


class Random(Adapter):
    packages = ("random",)

    def variables(self):
        self.generator = Variable("rng:random", random.getstate, random.setstate, precise=True)
        return (self.generator,)

    def watch(self, seed):
        """Seeds the generator and begins to observe it. The kernel calls this at its start, when random is loaded."""
        random.seed(seed)
        watch_generator(random, self.generator, ("seed", "getstate", "setstate"))

    def state_key(self, o):
        return "rng:random" if o is random._inst else None

    def state_object(self, key):
        return random._inst if key == "rng:random" else None


adapter = Random()
