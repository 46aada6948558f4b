"""Calls that the engine answers: see the kernel's calls.py, which is there when the engine runs the program."""

import contextvars
import json
import sys

from ._errors import CallLost, Suspended, error_of
from ._plain import encoded, plain, shape

kernel = sys.modules.get("xstate_kernel.calls")
if kernel is not None and getattr(kernel, "VERSION", 0) != 1:
    kernel = None

_within = contextvars.ContextVar("xstate step", default=0)  # the call of the step that runs


def _begun(request, on_piece):
    """Opens a connection and sends the request. The engine takes calls in the order in which they are sent, so this
    waits until all is sent, in tasks as well."""
    parent = _within.get()
    if parent:
        request["parent"] = parent
    line = kernel.line()
    if line:
        request["line"] = line
    if on_piece is not None:
        request["stream"] = True
    text = encoded(request, "the call of " + (request.get("tool") or "a model"))
    if request["kind"] in ("tool", "ask") and hasattr(kernel, "drawn"):
        drawn = kernel.drawn()
        if drawn:
            text = text[:-1] + b"," + encoded(drawn, "what the block drew")[1:]
    try:
        connection = kernel.connect()
    except OSError as e:
        raise _lost(e) from None
    try:
        connection.sendall(text + b"\n")
    except OSError as e:
        connection.close()
        raise _lost(e) from None
    except BaseException:
        _end(connection)
        raise
    return connection


def _end(connection):
    """Closes a connection, which forked children may have, too."""
    try:
        connection.shutdown(2)
    except OSError:
        pass
    connection.close()


def _lost(why=None):
    return CallLost("the engine has gone" + (f": {why}" if why else ""), "tool-lost")


class _Lines:
    """The lines that come on a connection."""

    def __init__(self):
        self._parts = []

    def add(self, data):
        """Adds what came. Returns the whole lines of it, as messages."""
        if not data:
            raise _lost()
        *whole, rest = data.split(b"\n")
        if whole:
            whole[0] = b"".join((*self._parts, whole[0]))
            self._parts = []
        if rest:
            self._parts.append(rest)
        return [json.loads(text) for text in whole]


_SIZE = 1 << 18


def call(request, on_piece=None, run=None):
    """Makes a call and returns its reply. run runs the function of a step."""
    connection = _begun(request, on_piece)
    try:
        lines, failure = _Lines(), None
        while True:
            try:
                data = connection.recv(_SIZE)
            except OSError as e:
                raise _lost(e) from None
            messages = lines.add(data)
            if messages and "step" in messages[0] and len(messages) > 1:
                messages = messages[-1:]  # the engine gave the step up before the program could run it
            for message in messages:
                if "piece" in message:
                    on_piece(message["piece"])
                elif "step" in message:
                    token, before = _within.set(message["step"]), kernel.effects()
                    try:
                        value = plain(run(), "the result of " + request["tool"])
                        again = _again(request, run, before)
                        text = _result(value, again)
                        if not again:
                            kernel.recorded(before)
                    except BaseException as e:
                        failure, text = e, _failed(e)
                    finally:
                        _within.reset(token)
                    connection.sendall(text)
                else:
                    if failure is not None:
                        raise failure
                    return message
    finally:
        _end(connection)


def _result(value, again):
    end = b',"again":' + encoded(again, "the reason") if again else b""
    return b'{"result":' + encoded(value, "the result of the step") + end + b"}\n"


def _again(request, run, before):
    """Returns what the function of a step did beside returning a result; "" if nothing. The record of such a step must
    not replace another run of it."""
    found = kernel.effects_since(before)
    if found:
        return found
    try:
        now = run.described()
    except Exception:
        return "it changed its arguments"
    if now["version"] != request["version"]:
        return "it changed what it uses"
    if now["version"].startswith("opaque"):
        return "it uses what has no content to compare"
    same = encoded(now["args"], "args") == encoded(request["args"], "args")
    return "" if same else "it changed its arguments"


def _failed(e):
    """Returns what is said of a step whose function failed. The journal has no result of it then."""
    if not isinstance(e, (Exception, Suspended)):
        raise e  # an interrupt: closing the connection gives the step up
    error = {"code": "step-failed", "message": f"{type(e).__name__}: {e!s}"}
    return json.dumps({"error": error}).encode() + b"\n"


async def acall(request, on_piece=None, run=None):
    """Does as call does, in a task."""
    import asyncio

    loop = asyncio.get_running_loop()
    connection = _begun(request, on_piece)
    try:
        connection.setblocking(False)
        lines, failure = _Lines(), None
        while True:
            try:
                data = connection.recv(_SIZE)
            except BlockingIOError:
                await _ready(loop, connection.fileno(), loop.add_reader, loop.remove_reader)
                continue
            except OSError as e:
                raise _lost(e) from None
            messages = lines.add(data)
            if messages and "step" in messages[0] and len(messages) > 1:
                messages = messages[-1:]  # the engine gave the step up before the program could run it
            for message in messages:
                if "piece" in message:
                    on_piece(message["piece"])
                elif "step" in message:
                    token, before = _within.set(message["step"]), kernel.effects()
                    try:
                        value = plain(await run(), "the result of " + request["tool"])
                        text = _result(value, _again(request, run, before))
                    except BaseException as e:
                        failure, text = e, _failed(e)
                    finally:
                        _within.reset(token)
                    while text:
                        try:
                            text = text[connection.send(text) :]
                        except BlockingIOError:
                            await _ready(loop, connection.fileno(), loop.add_writer, loop.remove_writer)
                else:
                    if failure is not None:
                        raise failure
                    return message
    finally:
        _end(connection)


async def _ready(loop, fd, add, remove):
    waiter = loop.create_future()
    add(fd, lambda: waiter.done() or waiter.set_result(None))
    try:
        await waiter
    finally:
        remove(fd)


def outcome(reply):
    """Returns the result of a reply, or raises its error."""
    if reply.get("error") is not None:
        raise error_of(reply["error"], reply.get("suspended", False))
    return reply.get("result")


def listed():
    """Returns descriptions of the tools that there are: the same all through a node."""
    if kernel.tools is None or kernel.tools[0] != kernel.node:
        kernel.tools = kernel.node, call({"kind": "tools"}).get("tools") or []
    return kernel.tools[1]


def version(function, args):
    return kernel.version_of(function, shape(args))
