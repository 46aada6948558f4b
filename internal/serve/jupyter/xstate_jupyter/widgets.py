"""Widgets: what pages know of them, and what pages say to them.

The state of a widget is what the recorded messages of all cells make of it, in the order of the program (comm.py in
adapters of the kernel in runner/kernel/python). So a page shows a widget as a run from the top would leave it, also if
the cells that made it did not run here.

What a person does with a widget is a part of the program: a hidden cell after the last one that made or changed the
widget. It is gone when the cell that made the widget is edited, and when the kernel restarts.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from .outputs import Output

TARGET = "jupyter.widget"
CONTROL = "jupyter.widget.control"  # asks for all states at once

_TOLD_EVERY = 0.05  # seconds between two updates of a widget by running code

Send = Callable[..., None]  # type, content, metadata, buffers
State = dict[str, Any]


@dataclass
class Model:
    """One comm. That of a widget has a state, in which bytes are values like others."""

    target: str
    variable: str  # of the program, which has it
    metadata: dict[str, Any]
    data: dict[str, Any]  # with which it was opened
    buffers: list[bytes]
    state: State = field(default_factory=dict)
    later: list[tuple[dict[str, Any], list[bytes]]] = field(default_factory=list)  # messages to another than a widget
    blocks: list[str] = field(default_factory=list)  # that opened it, or sent to it

    def kind(self) -> tuple[Any, ...]:
        """Two models of one kind differ in their states only."""
        state = self.state
        return self.target, state.get("_model_module"), state.get("_model_name")


class Widgets:
    """send takes type, content, metadata and buffers of a message to all pages."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._recorded: dict[str, list[tuple[str, dict[str, Any]]]] = {}  # by block
        self._cut: set[str] = set()  # blocks of which not all is recorded
        self._late: dict[str, set[str]] = {}  # id → keys of its state that pages do not have yet
        self.known: dict[str, Model] = {}  # as pages have them

    def live(self, output: Output) -> None:
        """Passes on what running code sends."""
        ((kind, text),) = output["data"].items()
        content = json.loads(text)
        id, known = content["comm_id"], self.known.get(content["comm_id"])
        if known is not None and kind == "comm_msg" and content["data"].get("method") == "update":
            _apply(self.known, kind, content, "")
            if not self._late:  # a loop may change a widget more often than a page can be told
                asyncio.get_running_loop().call_later(_TOLD_EVERY, self._catch_up)
            self._late.setdefault(id, set()).update(_joined(content["data"], _decoded(content)))
            return
        self._catch_up()
        if kind == "comm_open":
            made: dict[str, Model] = {}
            _apply(made, kind, content, "")
            self._show(id, made[id])
        elif known is not None:
            _apply(self.known, kind, content, "")
            self._send(kind, {"comm_id": id, "data": content["data"]}, content.get("metadata"), _decoded(content))

    def _catch_up(self) -> None:
        late, self._late = self._late, {}
        for id, keys in late.items():
            if id in self.known:
                self._update(id, {k: self.known[id].state[k] for k in keys})

    def took(self, block: str, outputs: list[Output]) -> None:
        """Notes the recorded messages of a block."""
        found = [next(iter(o["data"].items())) for o in outputs if o["kind"] == "comm" and o.get("data")]
        (self._cut.add if any(o["kind"] == "comm" and o.get("dropped") for o in outputs) else self._cut.discard)(block)
        if found or block in self._recorded:
            self._recorded[block] = [(kind, json.loads(text)) for kind, text in found]

    def settle(self, order: Iterable[str]) -> None:
        """Makes pages show what the record says. order are the blocks of the program."""
        if not self._recorded:
            return
        wanted: dict[str, Model] = {}
        order = list(order)
        for block in order:
            for kind, content in self._recorded.get(block, ()):
                _apply(wanted, kind, content, block)
        self._recorded = {b: found for b, found in self._recorded.items() if b in order}
        self._catch_up()
        self._cut &= set(order)
        for id in [id for id in self.known if id not in wanted and not self._cut]:
            self._close(id)
        for id, model in wanted.items():
            self._show(id, model)

    def _show(self, id: str, model: Model) -> None:
        """Has pages show a model: by what differs, if they have one of its kind."""
        known = self.known.get(id)
        if known is not None and known.kind() != model.kind():
            self._close(id)
            known = None
        self.known[id] = model
        if known is None:
            opened = {"comm_id": id, "target_name": model.target, "data": model.data}
            if model.target == TARGET:
                opened["data"], buffers = _split(model.state)
            else:
                buffers = model.buffers
            self._send("comm_open", opened, model.metadata, buffers)
            for data, buffers in model.later:
                self._send("comm_msg", {"comm_id": id, "data": data}, {}, buffers)
            return
        news = {k: v for k, v in model.state.items() if k not in known.state or known.state[k] != v}
        if news:
            self._update(id, news)

    def _update(self, id: str, state: State) -> None:
        data, buffers = _split(state)
        self._send("comm_msg", {"comm_id": id, "data": {"method": "update", **data}}, {}, buffers)

    def _close(self, id: str) -> None:
        del self.known[id]
        self._send("comm_close", {"comm_id": id, "data": {}}, {}, [])

    def answers(self, content: dict[str, Any], buffers: list[Any]) -> bool:
        """Takes a message of a page, if that is nothing to the program: a question, or what an Output widget shows."""
        id, data = content["comm_id"], content["data"]
        model = self.known.get(id)
        if model is None:
            return True
        if data.get("method") == "request_state":
            self._update(id, model.state)
            return True
        if model.kind()[-1] == "OutputModel" and data.get("method") == "update":
            model.state.update(_joined(data, buffers))
            return True
        return False

    def states(self) -> tuple[dict[str, Any], list[bytes]]:
        """The states of all widgets, as a page asks for them."""
        states, paths, buffers = {}, [], []
        for id, model in [*self.known.items()]:  # pages ask in threads of their own
            if model.target != TARGET:
                continue
            data, own = _split(model.state)
            about = {k: model.state.get(f"_model_{k}") for k in ("name", "module", "module_version")}
            states[id] = {**{f"model_{k}": v for k, v in about.items()}, "state": data["state"]}
            paths += [[id, *path] for path in data["buffer_paths"]]
            buffers += own
        return {"method": "update_states", "states": states, "buffer_paths": paths}, buffers


def code(model: Model, id: str, data: dict[str, Any], buffers: list[Any]) -> str:
    """The code of the program that gives a widget a message."""
    message: dict[str, Any] = {"data": data}
    if buffers:
        message["buffers"] = [base64.b64encode(b).decode() for b in buffers]
    return f"__xstate__.message({model.variable}, {id!r}, {json.dumps(message)!r})"


def _apply(models: dict[str, Model], kind: str, content: dict[str, Any], block: str) -> None:
    """Changes models as a message does."""
    id, data = content["comm_id"], content["data"]
    if kind == "comm_open":
        about = (content["target_name"], content["variable"], content.get("metadata") or {})
        models[id] = Model(*about, data, _decoded(content))
        if content["target_name"] == TARGET:
            models[id].state = _joined(data, _decoded(content))
    elif kind == "comm_close":
        models.pop(id, None)
    elif id in models and models[id].target != TARGET:
        models[id].later.append((data, _decoded(content)))
    elif id in models and data.get("method") in ("update", "echo_update"):
        models[id].state.update(_joined(data, _decoded(content)))
    if id in models:
        models[id].blocks.append(block)


def _decoded(content: dict[str, Any]) -> list[bytes]:
    return [base64.b64decode(b) for b in content.get("buffers") or ()]


def _joined(data: dict[str, Any], buffers: list[Any]) -> State:
    """A state with its bytes in place: messages have these apart."""
    state: State = data.get("state") or {}
    for path, buffer in zip(data.get("buffer_paths") or (), buffers):
        at: Any = state
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = bytes(buffer)
    return state


def _split(state: State) -> tuple[dict[str, Any], list[bytes]]:
    """A state as messages have it: without bytes, and with the places of these, which follow."""
    paths: list[list[Any]] = []
    buffers: list[bytes] = []

    def walk(value: Any, path: list[Any]) -> Any:
        if isinstance(value, dict):
            kept = {k: walk(v, [*path, k]) for k, v in value.items()}
            return {k: v for k, v in kept.items() if not isinstance(value[k], bytes)}
        if isinstance(value, list):
            return [walk(v, [*path, i]) for i, v in enumerate(value)]
        if isinstance(value, bytes):
            paths.append(path)
            buffers.append(value)
            return None
        return value

    return {"state": walk(state, []), "buffer_paths": paths}, buffers
