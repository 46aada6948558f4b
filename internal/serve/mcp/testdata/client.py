"""Uses the tools with the Python SDK of the Model Context Protocol.

usage: client.py MODE URL | client.py MODE COMMAND ARGUMENT...

MODE is a version of the protocol, legacy (which begins with initialize), or auto. With a URL the header Authorization is
$AUTHORIZATION. It prints "ok VERSION" if all is as it should be.
"""
import asyncio
import os
import sys

import mcp
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


def transport(args):
    if args[0].startswith("http"):
        headers = {"Authorization": os.environ.get("AUTHORIZATION", "")}
        return streamable_http_client(args[0], http_client=create_mcp_http_client(headers=headers))
    # without env the SDK gives a server only some variables
    return stdio_client(mcp.StdioServerParameters(command=args[0], args=args[1:], env=dict(os.environ)))


def text(result):
    return result.content[0].text


def has(result, *parts, error=False):
    for part in parts:
        assert part in text(result), (part, text(result))
    assert bool(result.is_error) == error, text(result)
    return result


answers, asked = [], []


async def elicit(context, params):
    asked.append(params.message)
    return answers.pop(0) if answers else mcp.types.ElicitResult(action="cancel")


async def check(client):
    tools = (await client.list_tools()).tools
    assert len(tools) == 14, [t.name for t in tools]
    assert all(t.annotations.destructive_hint is not None and t.annotations.open_world_hint is not None for t in tools)
    assert "exec" in (client.instructions or "")

    told = []

    async def progress(n, total, message):
        told.append(message)

    async def exec_(code, **more):
        return await client.call_tool("exec", {"code": code, **more}, progress_callback=progress)

    has(await exec_("# %% load\ndata = [3, 5, 4]"), "load", "appended")
    has(await exec_("# %% total\ntotal = sum(data)\nprint('total', total)"), "total 12", "reused 1")
    r = has(await exec_("# %% load\ndata = [3, 5, 40]"), "load", "replaced", "total 48")
    assert r.structured_content["action"] == "replace", r.structured_content
    assert any("total" in m for m in told), told
    r = has(await exec_("1 / 0"), "ZeroDivisionError")
    has(await exec_("6 * 7", replace=r.structured_content["block"]), "42")

    has(await client.call_tool("show", {}), "load", "total 48")
    has(await client.call_tool("value", {"name": "total"}), "total", "48")
    has(await client.call_tool("why", {"block": "total"}), "var:data")
    has(await client.call_tool("history", {"limit": 2}), "run", "history with after")
    has(await client.call_tool("plan", {"patch": "# %% load\ndata = [1]"}), "load", "total", "would run 1 block")
    has(await client.call_tool("value", {"name": "nothing"}), "no-block: ", "hint: ", error=True)
    has(await client.call_tool("exec", {"cod": ""}), "usage: exec has no argument", error=True)

    r = has(await exec_("for i in range(20000): print('line', i)"), "line 0\n", "line 19999", "left out")
    links = [c for c in r.content if c.type == "resource_link"]
    whole = (await client.read_resource(links[0].uri)).contents[0].text
    assert whole.count("\n") == 20000 and "line 10000\n" in whole, len(whole)

    picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    r = has(await exec_(f"""import base64
class Picture:
    def _repr_png_(self): return base64.b64decode("{picture}")
Picture()"""))
    images = [c for c in r.content if c.type == "image"]
    assert len(images) == 1 and images[0].data == picture and images[0].mime_type == "image/png", r.content

    # A question of the program is one to the user of the client, who answers it within the call, once or never.
    question = "# %% deploy\nimport xstate\nprint('answer', xstate.ask('Deploy?', choices=['now', 'never']))"
    answers.append(mcp.types.ElicitResult(action="cancel"))
    has(await exec_(question), "deploy", "waiting", "Deploy?", "decide with approve")
    answers.append(mcp.types.ElicitResult(action="accept", content={"choice": "now", "reason": "it is late"}))
    has(await exec_(question), "answer now", "deploy")
    assert not answers and "Deploy?" in asked[-1], (answers, asked)
    has(await exec_("# %% again\nprint(xstate.ask('Sure?'))"), "again", "waiting")  # it answers no more
    has(await client.call_tool("approve", {"call": 2, "choice": "quite", "reason": "I asked"}), "quite")
    has(await client.call_tool("run", {}), "quite")
    has(await client.call_tool("approve", {"call": 2, "choice": "no"}), "not-waiting", error=True)

    try:
        await client.call_tool("exec", {"code": "# %% slow\nimport time\ntime.sleep(600)"}, read_timeout_seconds=2)
        raise AssertionError("a call that takes ten minutes did not time out after two seconds")
    except mcp.MCPError:
        pass
    has(await exec_("print('alive')", append=True), "alive")


async def main(mode, args):
    async with mcp.Client(transport(args), mode=mode, elicitation_callback=elicit) as client:
        await check(client)
        print("ok", client.protocol_version)


asyncio.run(asyncio.wait_for(main(sys.argv[1], sys.argv[2:]), 600))
