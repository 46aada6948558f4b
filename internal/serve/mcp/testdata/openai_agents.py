"""An agent of OpenAI's Agents SDK that uses the tools; its model is a script, so nothing is asked of a network.

usage: openai_agents.py COMMAND ARGUMENT...
"""
import asyncio
import json
import os
import sys

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStdio
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)


class Script(Model):
    """Makes these calls, one after the other, and then says that it is done."""

    def __init__(self, calls):
        self.calls = list(enumerate(calls))
        self.tools = []

    async def get_response(self, *args, **named):
        self.tools = [t.name for t in named.get("tools") or args[3]]
        if not self.calls:
            said = ResponseOutputText(text="done", type="output_text", annotations=[])
            answer = ResponseOutputMessage(id="m", role="assistant", status="completed", type="message", content=[said])
        else:
            i, (name, arguments) = self.calls.pop(0)
            answer = ResponseFunctionToolCall(
                arguments=json.dumps(arguments), call_id=f"c{i}", name=name, type="function_call")
        return ModelResponse(output=[answer], usage=Usage(), response_id=None)

    def stream_response(self, *args, **named):
        raise NotImplementedError


async def main(command, *arguments):
    model = Script([
        ("exec", {"code": "# %% prices\nprices = [1, 2, 3]"}),
        ("exec", {"code": "# %% total\nprint('total', sum(prices))"}),
        ("exec", {"code": "# %% prices\nprices = [10, 20, 30]", "reason": "other prices"}),
        ("history", {}),
        ("value", {"name": "nothing"}),
    ])
    params = {"command": command, "args": list(arguments), "env": dict(os.environ)}
    async with MCPServerStdio(params=params, require_approval={"always": {"tool_names": ["history"]}},
                              client_session_timeout_seconds=60) as server:
        agent = Agent(name="agent", model=model, mcp_servers=[server])
        result = await Runner.run(agent, "go")
        assert [i.name for i in result.interruptions] == ["history"], result.interruptions
        state = result.to_state()
        state.approve(result.interruptions[0])
        result = await Runner.run(agent, state)
        outputs = [str(i.output) for i in result.new_items if i.type == "tool_call_output_item"]
        assert result.final_output == "done" and len(outputs) == 5, (result.final_output, outputs)
        for output, part in zip(outputs, ["appended", "total 6", "total 60", "other prices", "no-block: "]):
            assert part in output, (part, output)
        assert len(model.tools) == 14, model.tools
    print("ok")


asyncio.run(asyncio.wait_for(main(*sys.argv[1:]), 120))
