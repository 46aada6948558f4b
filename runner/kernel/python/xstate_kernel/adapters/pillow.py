"""Pillow: saving an image does not depend on the file that it replaces."""

from xstate_kernel import original as __builtins__

from ..ground import presence
from .protocol import Adapter


class Pillow(Adapter):
    packages = ("PIL",)

    def after_import(self):
        return {"PIL.Image": _watch}


def _watch(hidden, module):
    save = presence.cleans_up(module.Image.save)
    setattr(save, "__qualname__", module.Image.save.__qualname__)  # noqa: B010
    module.Image.save = save


adapter = Pillow()
