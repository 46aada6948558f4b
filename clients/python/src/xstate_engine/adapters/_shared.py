"""The parts that adapters share: what a model reads about the tool, which pictures it sees, and who called."""

from __future__ import annotations

from typing import Any

from .._results import ExecResult, Image

NAME = "run_code"

BLOCKS = (
    "Variables, imports and functions stay for later calls. The code becomes a block of a program: begin it with "
    "`# %% NAME`, and send it again under that name to correct it. Blocks that depend on it then run again by "
    "themselves, so that results always equal a run of the whole program from the top."
)

DESCRIPTION = (
    "Executes Python code as in a cell of a notebook, and returns what it printed, the value of its last expression, "
    f"errors and pictures. {BLOCKS}"
)

CODE = "the code; the value of its last expression is returned"  # describes the argument of the tool

# Kinds of pictures that models take, and how many a result has at most, with how many bytes together.
_MEDIA = ("image/png", "image/jpeg", "image/gif", "image/webp")
_PICTURES, _BYTES = 4, 700_000


def pictures(result: ExecResult) -> list[Image]:
    """Returns the pictures to show a model. The text of the result names the files of all of them."""
    shown: list[Image] = []
    room = _BYTES
    for image in result.images:
        if image.media in _MEDIA and len(shown) < _PICTURES and len(image.data) <= room:
            shown.append(image)
            room -= len(image.data)
    return shown


def origin(**about: Any) -> dict[str, Any]:
    """Returns the origin of a step, without the fields that the framework does not know.

    tokens_in and tokens_out are those of the answer that has the call. If it has several calls, only one step gets
    them: the tokens of an agent are the sum over its steps.
    """
    return {name: value for name, value in about.items() if value}
