"""Images of Pillow, figures of matplotlib, and bytes that are an image."""

import binascii
import io
import sys

from xstate_kernel import original as __builtins__

from ..adapters import matplotlib
from . import texts

_SIDE = 1024  # pixels of a picture that is shown; a larger one is made smaller
_BYTES = 4 << 20
_BEGINNINGS = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


def image(value, _, __):
    kind = type(value)
    if kind in (bytes, bytearray):
        return _encoded(bytes(value[: _BYTES + 1]))
    package = texts.top(kind)
    if package == "PIL" and issubclass(kind, sys.modules["PIL.Image"].Image):
        return _picture(value)
    if package == "matplotlib" and texts.qualname(kind) == "Figure":
        return {"media": "image/png", "data": matplotlib.picture(value)}
    return None


def _encoded(data):
    for beginning, media in _BEGINNINGS:
        if data.startswith(beginning) and len(data) <= _BYTES:
            return {"media": media, "data": binascii.b2a_base64(data, newline=False).decode()}
    return None


def _picture(value):
    width, height = value.size
    small = value.copy()
    if max(value.size) > _SIDE:
        small.thumbnail((_SIDE, _SIDE))
    if small.mode not in ("1", "L", "LA", "P", "RGB", "RGBA"):
        small = small.convert("L" if small.mode in ("I", "F", "I;16") else "RGB")
    out = io.BytesIO()
    small.save(out, format="PNG")
    data = binascii.b2a_base64(out.getvalue(), newline=False).decode()
    return {"media": "image/png", "data": data, "width": width, "height": height}
