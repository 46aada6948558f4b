"""The states of cells, for the margin of a notebook."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

_STATES = {
    "reuse": "fresh",
    "run": "stale",
    "maybe": "stale",
    "fail": "failed",
    "block": "blocked",
    "skip": "blocked",
}


def marks(
    plan: dict[str, Any], cells: list[str], varying: dict[str, list[str]], shown: dict[str, str]
) -> dict[str, dict[str, str]]:
    """The mark of each cell that ran, by the plan of the next run: state and why. cells are the ids of those that are
    blocks, in order; varying has the marks of blocks whose results may vary; shown names the results on the page."""
    found: dict[str, dict[str, str]] = {}
    blocks = plan["blocks"]
    if len(blocks) != len(cells):
        return found
    names = {b["id"]: c for b, c in zip(blocks, cells)}
    for cell, block in zip(cells, blocks):
        if block["reason"]["code"] == "new":
            continue
        state, why = _STATES[block["action"]], _sentence(block["reason"], names)
        if state == "fresh" and shown.get(block["id"], block.get("record", "")) != block.get("record", ""):
            state, why = "stale", "it shows another result than the recorded one that fits by now"
        if state == "fresh" and varying.get(block["id"]):
            state, why = "volatile", "another run may give another result: " + ", ".join(varying[block["id"]])
        if state == "failed" and block.get("error"):
            why = f"{block['error']['type']}: {block['error']['message']}"
        found[cell] = {"state": state, "why": why}
    return found


def _sentence(reason: dict[str, Any], names: dict[str, str]) -> str:
    code, key = reason["code"], reason.get("key", "")
    name = key.split(":", 1)[-1]
    by = reason.get("by", "").split("#")[0]
    cell = f"the cell {names.get(by, by)}" if by else ""
    if code == "reused":
        return "what it reads is as it was"
    if code == "code-changed":
        return "its code was edited"
    if code == "blocked":
        return f"{cell} fails" if cell else "a cell above fails"
    if code == "input-changed":
        was, now = reason.get("was", "")[:8], reason.get("now", "")[:8]
        text = f"{name} changed" + (f", which {cell} writes" if cell else "")
        return text + (f" ({was or 'absent'}, now {now or 'absent'})" if was or now else "")
    return code.replace("-", " ") + (f": {name}" if name else "") + (f", by {cell}" if cell else "")


def summary(found: dict[str, dict[str, str]], plan: dict[str, Any], ran: dict[str, Any] | None) -> str:
    """One line about the last run and all cells."""
    counts = {state: sum(m["state"] == state for m in found.values()) for state in ("stale", "failed", "blocked")}
    parts = [f"{n} {state}" for state, n in counts.items() if n] or ["all cells are fresh"]
    if not found:
        return ""
    if counts["stale"]:
        parts.append(f"run them: {plan['seconds']:.1f} s")
    if ran is not None:
        parts.append(f"the last run executed {ran['ran'] + ran['failed']}, reused {ran['reused']}")
        if ran["saved_seconds"] >= 0.05:
            parts[-1] += f" ({ran['saved_seconds']:.1f} s saved)"
    return "xstate: " + " · ".join(parts)


def record_of(traces: Iterable[str]) -> str:
    """The name of a result, as runs and plans have it (RecordOf in package internal/api)."""
    found = list(traces)
    return hashlib.sha256("".join(t + "\n" for t in found).encode()).hexdigest() if found and all(found) else ""
