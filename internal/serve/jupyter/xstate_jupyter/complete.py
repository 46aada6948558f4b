"""Completion and inspection by the text of a program."""

from __future__ import annotations

import keyword
import re
from typing import Any

_KEYWORDS = {
    "bash": "case do done elif else esac fi for function if in select then until while local export readonly return",
    "javascript": "async await break case catch class const continue default delete do else export extends finally for "
    "function if import in instanceof let new return static super switch this throw try typeof var void while yield",
}
_KEYWORDS["typescript"] = _KEYWORDS["javascript"] + " interface type enum implements private public readonly"

_NAME = re.compile(r"[A-Za-z_$][\w$]*")


def offset(text: str, position: int) -> int:
    """Where a position of the protocol is, which counts characters."""
    return max(0, min(position, len(text)))


def complete(language: str, above: str, code: str, position: int) -> tuple[list[str], int]:
    """The names that may follow, and where the one begins that they replace."""
    position = offset(code, position)
    if language == "python":
        found = _jedi(above, code, position)
        if found is not None:
            return found
    begun = re.search(r"[\w$]*$", code[:position])
    word = begun.group() if begun else ""
    names = set(_NAME.findall(above + code[: position - len(word)] + " " + code[position:]))
    names.update(keyword.kwlist if language == "python" else _KEYWORDS.get(language, "").split())
    return sorted(n for n in names if n.startswith(word) and n != word), position - len(word)


def _jedi(above: str, code: str, position: int) -> tuple[list[str], int] | None:
    try:
        import jedi
    except ImportError:
        return None
    before = code[:position]
    line, column = above.count("\n") + before.count("\n") + 1, len(before) - (before.rfind("\n") + 1)
    try:
        found = jedi.Script(above + code).complete(line, column)
    except Exception:  # it fails on some texts, and then knows nothing
        return None
    begun = min((c.get_completion_prefix_length() for c in found), default=0)
    return [c.name for c in found], position - begun


def name_at(code: str, position: int) -> str:
    """The dotted name at a position, or the one that is called there."""
    position = offset(code, position)
    before = re.search(r"[\w.$]*$", code[:position])
    after = re.match(r"[\w$]*", code[position:])
    name = (before.group() if before else "") + (after.group() if after else "")
    if not name:
        called = re.search(r"([\w.$]+)\s*\([^()]*$", code[:position])
        name = called.group(1) if called else ""
    return name.strip(".")


def describe(above: str, code: str, name: str) -> str:
    """What the text of the program says of a name in Python."""
    try:
        import jedi

        text = above + code + "\n" + name
        found = jedi.Script(text).help(text.count("\n") + 1, len(name))
    except Exception:
        return ""
    return "\n\n".join(d.docstring() for d in found if d.docstring())


def completeness(language: str, code: str) -> dict[str, Any]:
    """Whether code that is typed in a console is complete."""
    if language != "python":
        return {"status": "unknown"}
    from IPython.core.inputtransformer2 import TransformerManager

    status, indent = TransformerManager().check_complete(code)
    reply: dict[str, Any] = {"status": status}
    if status == "incomplete":
        reply["indent"] = " " * (indent or 0)
    return reply
