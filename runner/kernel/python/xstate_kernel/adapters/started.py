"""The kernel's replacements for objects of the interpreter: sys.argv, sys.stdin, the other streams."""

from xstate_kernel import original as __builtins__

from ..ground import started
from .protocol import Adapter

_OBJECTS = {"conf:argv": started.arguments, "conf:stdin": started.stdin, "conf:stdin.buffer": started.stdin.buffer}


class Started(Adapter):
    packages = ("xstate_kernel",)
    keeps_time = True

    def variables(self):
        return started.NAME, started.ARGUMENTS, started.POSITION

    def state_key(self, o):
        for key, mine in _OBJECTS.items():
            if mine is o:
                return key
        return None

    def state_object(self, key):
        return _OBJECTS.get(key)


adapter = Started()
