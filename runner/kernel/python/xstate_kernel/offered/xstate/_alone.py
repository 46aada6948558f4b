"""Calls where no engine runs the program: tools are functions that the program provides, models are endpoints named by
the environment, people sit at the terminal, and a step calls its function. Nothing is recorded."""

import json

from ._errors import CallLost, ToolError
from ._plain import encoded, plain

provided = {}  # name of a tool → function


def call(request, on_piece=None, run=None):
    """Makes a call and returns its reply."""
    kind, name, args = request["kind"], request["tool"], request["args"]
    if kind == "tool":
        result = _function(name)(**args)
        if hasattr(result, "__await__"):
            result.close()
            raise ToolError(f"the tool {name} is async; call it with await xstate.atool", "tool-arguments")
    elif kind == "step":
        result = run()
    elif kind == "ask":
        result = _answer(args["question"], args["choices"])
    else:
        result = _model(name, args)
    return _reply(result, name)


async def acall(request, on_piece=None, run=None):
    """Does as call does, in a task."""
    import asyncio

    kind, name = request["kind"], request["tool"]
    if kind in ("model", "ask"):
        return await asyncio.to_thread(call, request, on_piece)
    result = await run() if kind == "step" else _function(name)(**request["args"])
    if hasattr(result, "__await__"):
        result = await result
    return _reply(result, name)


def _reply(result, name):
    """Returns a reply as the engine's would be: a value that is not plain data fails here as it fails there."""
    return {"result": json.loads(encoded(plain(result, "the result of " + (name or "the model")), "the result"))}


def _function(name):
    if name not in provided:
        raise ToolError(f"there is no tool {name!r}", "no-tool", f"xstate.provide({name!r}, function) provides it")
    return provided[name]


def version(function, args):
    return ""


def listed():
    """Returns descriptions of the tools, from the signatures of their functions."""
    import inspect

    found = []
    for name, function in sorted(provided.items()):
        properties, needed = {}, []
        for p in inspect.signature(function).parameters.values():
            properties[p.name] = {}
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                needed.append(p.name)
            elif p.default is not p.empty:
                properties[p.name]["default"] = p.default
        schema = {"type": "object", "properties": properties, "required": needed}
        found.append({"name": name, "description": inspect.getdoc(function) or "", "input": schema})
    return found


def _answer(question, choices):
    while True:
        try:
            answer = input(f"{question}{' [{}]'.format('/'.join(map(str, choices))) if choices else ''} ").strip()
        except EOFError:
            raise CallLost(f"nobody answers: {question}", "tool-lost", "run the program at a terminal") from None
        if not choices or answer in map(str, choices):
            return answer


def _model(name, args):
    """Asks the endpoint that the environment names."""
    import os

    model = name or os.environ.get("XSTATE_MODEL", "")
    if not model:
        raise ToolError("no model is named", "no-tool", 'pass model="NAME", or set XSTATE_MODEL')
    environ = os.environ
    if environ.get("OPENAI_API_KEY") or environ.get("OPENAI_BASE_URL"):
        return _openai(model, args, environ)
    if environ.get("ANTHROPIC_API_KEY"):
        return _anthropic(model, args, environ)
    raise ToolError(
        "no model can be reached", "no-tool", "set OPENAI_BASE_URL and OPENAI_API_KEY, or ANTHROPIC_API_KEY"
    )


def _openai(model, args, environ):
    body = {"model": model, "messages": args["messages"], **args.get("options", {})}
    if "schema" in args:
        described = {"name": "answer", "schema": args["schema"], "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": described}
    base = environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
    headers = {"Authorization": "Bearer " + environ.get("OPENAI_API_KEY", "")}
    reply = _posted(base.rstrip("/") + "/chat/completions", headers, body)
    text = reply["choices"][0]["message"].get("content") or ""
    return _parsed(text) if "schema" in args else text


def _anthropic(model, args, environ):
    system = "\n\n".join(m["content"] for m in args["messages"] if m["role"] == "system")
    messages = [m for m in args["messages"] if m["role"] != "system"]
    body = {"model": model, "messages": messages, "max_tokens": 4096, **args.get("options", {})}
    if system:
        body["system"] = system
    if "schema" in args:
        body["tools"] = [{"name": "answer", "description": "Gives the answer.", "input_schema": args["schema"]}]
        body["tool_choice"] = {"type": "tool", "name": "answer"}
    base = environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
    headers = {"x-api-key": environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
    parts = _posted(base.rstrip("/") + "/v1/messages", headers, body)["content"]
    for part in parts:
        if part["type"] == "tool_use":
            return part["input"]
    return "".join(part.get("text", "") for part in parts)


def _parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def _posted(url, headers, body):
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    try:
        with urlopen(request, timeout=300) as answer:
            return json.load(answer)
    except HTTPError as e:
        said = e.read(2000).decode("utf-8", "replace")
        raise ToolError("the model refused with status %d: %s" % (e.code, said), "tool-refused") from None
    except (URLError, OSError, ValueError) as e:
        raise CallLost(f"the model did not answer: {e}", "tool-lost") from None
