"""The module typing: it remembers the types that it has put together."""

from .. import original as __builtins__
import sys

from .protocol import Adapter


class Typing(Adapter):
    packages = ("typing",)
    immutable = True
    defines_code = True
    known_containers = ("typing",)

    def before_node(self):
        """Makes typing forget the types that it has put together: a part that was text keeps what it was resolved
        to."""
        for forget in getattr(sys.modules.get("typing"), "_cleanups", ()):
            forget()


adapter = Typing()
