"""The module typing: it caches the types that it builds."""

import sys

from xstate_kernel import original as __builtins__

from .protocol import Adapter


class Typing(Adapter):
    packages = ("typing",)
    immutable = True
    defines_code = True
    known_containers = ("typing",)

    def before_node(self):
        """Clears typing's caches of types: a cached type with a part given as text keeps the resolved object."""
        for forget in getattr(sys.modules.get("typing"), "_cleanups", ()):
            forget()


adapter = Typing()
