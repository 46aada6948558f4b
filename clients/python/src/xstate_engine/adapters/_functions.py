"""Functions that the code of a framework's agent expects, as a block of its program: tools, and one that answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._client import Session
from .._results import ExecResult


def block(answer: str, parameters: Sequence[str], tools: Mapping[str, Mapping[str, bool]]) -> str:
    """Returns the source of a block with functions that call tools, and one that gives the final answer.

    answer is the name of the latter, whose answer is its only argument, or a dict of its arguments if it has several
    parameters. tools has the parameters of each tool, and whether a call may leave them out.
    """
    functions = [_tool(name, takes) for name, takes in tools.items()]
    parts = [_answering(answer, parameters), _CALL, *functions] if functions else [_answering(answer, parameters)]
    return "\n\n\n".join(parts)


def answers(session: Session, result: ExecResult, name: str) -> list[Any]:
    """Returns the final answers that the block of a result gave; the first one counts."""
    found = session.query(at_step=result.step, block=result.block)["block"]
    if found is None:
        return []
    written = {w["key"] for node in found["nodes"] or () for w in node.get("writes") or ()}
    if "var:_answered" not in written:
        return []
    text = "".join(o.get("text", "") for o in found["outputs"] or () if o["kind"] == "stdout")
    return [json.loads(given) for given in re.findall(rf"^{name}\((.*)\)$", text, re.MULTILINE)]


def _answering(name: str, parameters: Sequence[str]) -> str:
    answer = parameters[0] if len(parameters) == 1 else "{" + ", ".join(f"{p!r}: {p}" for p in parameters) + "}"
    return f"""\
# %% tools
import json as _json


def {name}({", ".join(parameters)}):
    global _answered
    _answered = True  # a write, by which the block is known
    print(f"\\n{name}({{_json.dumps({answer}, default=str)}})")
    return {answer}"""


_CALL = """\
import xstate as _xstate


def _call(name, /, **given):
    return _xstate.tool(name, **{key: value for key, value in given.items() if value is not None})"""


def _tool(name: str, takes: Mapping[str, bool]) -> str:
    """Returns the source of a function that calls a tool. Arguments that may be left out follow the others."""
    names = list(takes)
    first = next((at for at, key in enumerate(names) if takes[key]), len(names))
    parameters: Iterable[str] = [*names[:first], *(f"{key}=None" for key in names[first:])]
    given = "".join(f", {key}={key}" for key in names)
    return f"def {name}({', '.join(parameters)}):\n    return _call({name!r}{given})"
