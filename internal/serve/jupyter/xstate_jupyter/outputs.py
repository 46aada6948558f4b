"""What a block put out, as messages of Jupyter."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

Output = dict[str, Any]
Send = Callable[[str, dict[str, Any]], None]


class Outputs:
    """Sends the outputs of one cell as they come, and knows what it sent."""

    def __init__(self, send: Send, count: int) -> None:
        self.block = ""  # whose outputs they are
        self._send = send
        self._count = count
        self._sent: list[Output] = []
        self._displays = 0

    def add(self, output: Output) -> None:
        self._sent.append(output)
        kind = output["kind"]
        if kind == "comm":
            if output.get("dropped"):
                text = "[xstate: widgets of more than 16 MiB are not kept: run the cell again to have them]\n"
                self._send("stream", {"name": "stderr", "text": text})
            return
        if kind in ("stdout", "stderr"):
            self._send("stream", {"name": kind, "text": output.get("text", "")})
        elif kind == "result":
            self._send("execute_result", {**content(output), "execution_count": self._count})
        elif kind == "clear":
            self._send("clear_output", {"wait": output.get("wait", False)})
        elif kind == "update":
            self._send("update_display_data", display(output, "", 0))
        else:
            self._send("display_data", display(output, self.block, self._displays))
            self._displays += 1
        if output.get("dropped"):
            self._send("stream", {"name": "stderr", "text": f"[xstate: {output['dropped']} bytes more were dropped]\n"})

    def again(self) -> None:
        """The block runs again from its begin: what it puts out then takes the place of what it did."""
        if self._sent:
            self._send("clear_output", {"wait": True})
        self._sent, self._displays = [], 0

    def complete(self, outputs: list[Output]) -> None:
        """Makes what is shown the recorded outputs: a part that ran again may have put out something else."""
        if joined(self._sent) == joined(outputs) or _overwritten(self._sent):
            return
        if self._sent:
            self._send("clear_output", {"wait": False})
        self._sent, self._displays = [], 0
        for output in outputs:
            self.add(output)


def content(output: Output) -> dict[str, Any]:
    """data and metadata of an output. Media types of JSON hold values."""
    data = dict(output.get("data") or {})
    for media, text in data.items():
        if media == "application/json" or media.endswith("+json"):
            with contextlib.suppress(ValueError):  # a library may call JSON what is not
                data[media] = json.loads(text)
    if not data:
        data = {"text/plain": output.get("text", "")}
    return {"data": data, "metadata": {k: json.loads(v) for k, v in (output.get("metadata") or {}).items()}}


def display(output: Output, block: str, number: int) -> dict[str, Any]:
    """A display with an id by which a later message finds it, whichever cell runs then."""
    id = output.get("display_id") or f"xstate-{block}-{number}"
    return {**content(output), "transient": {"display_id": id}}


def saved(block: dict[str, Any]) -> list[dict[str, Any]]:
    """The outputs of a block as a notebook has them (nbformat 4)."""
    found: list[dict[str, Any]] = []
    for o in block["outputs"]:
        if o["kind"] in ("stdout", "stderr"):
            found.append({"output_type": "stream", "name": o["kind"], "text": o.get("text", "")})
        elif o["kind"] == "result":
            found.append({"output_type": "execute_result", "execution_count": None, **content(o)})
        elif o["kind"] == "display":
            found.append({"output_type": "display_data", **content(o)})
    if block.get("error") is not None:
        found.append({"output_type": "error", **error_content(block["error"])})
    return found


def error_content(error: dict[str, Any]) -> dict[str, Any]:
    """The error of a block, as messages and notebooks have it."""
    lines = list(error.get("traceback") or [f"{error['type']}: {error['message']}"])
    return {"ename": error["type"], "evalue": error["message"], "traceback": lines}


def failure(block: dict[str, Any], blocks: dict[str, Any]) -> dict[str, Any] | None:
    """Why a block of a run failed or was not executed, as error_content; None if it was and did not. blocks are those
    of the run, by their ids."""
    error = block.get("error")
    if error is not None:
        shown = error_content(error)
        if error.get("hint"):
            shown["traceback"].append("hint: " + error["hint"])
        return shown
    if block["status"] not in ("blocked", "not-reached"):
        return None
    by = block["reason"].get("by") or next((b["id"] for b in blocks.values() if b["status"] == "failed"), "")
    cause = (blocks.get(by) or {}).get("error") or {}
    why = f": {cause['type']}: {cause['message']}" if cause else ""
    text = f"the cell was not executed: it needs the cell {by}, which fails{why}"
    if block["status"] == "not-reached":
        text = f"the cell was not executed: the cell {by} ends the program before it"
    return named_error("NotExecuted", text)


def named_error(name: str, value: str, lines: list[str] | None = None) -> dict[str, Any]:
    """An error that no block raised, as error_content."""
    return {"ename": name, "evalue": value, "traceback": lines or [f"{name}: {value}"]}


def displays(outputs: list[Output]) -> list[Output]:
    return [o for o in outputs if o["kind"] == "display"]


def _overwritten(outputs: list[Output]) -> bool:
    """Whether a text moves the cursor. The record has the lines as they end; a front end follows the cursor."""
    return any(c in o.get("text", "") for o in outputs for c in "\r\b\x1b")


def joined(outputs: list[Output]) -> list[Output]:
    """What is shown in the end: cleared, updated, and with neighbouring texts of one stream as one."""
    out: list[Output] = []
    waiting = False
    for o in outputs:
        if o["kind"] == "comm":
            continue
        if o["kind"] == "clear":
            waiting = o.get("wait", False)
            out = out if waiting else []
            continue
        if waiting:
            out, waiting = [], False
        shown = [i for i, x in enumerate(out) if o["kind"] == "update" and x.get("display_id") == o["display_id"]]
        for i in shown:
            out[i] = {**out[i], "data": o["data"], "metadata": o.get("metadata")}
        if shown:
            continue
        if out and o["kind"] in ("stdout", "stderr") and o["kind"] == out[-1]["kind"]:
            out[-1] = {**out[-1], "text": out[-1].get("text", "") + o.get("text", "")}
        else:
            out.append({k: v for k, v in o.items() if v})
    return out
