import asyncio
import base64
import unittest

from common import Adapter, Answer, Folder
from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, ImageBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from xstate_engine import AsyncEngine
from xstate_engine.adapters.llama_index import run_code


def scripted(*codes):
    """The fake model of LlamaIndex, which calls the tool with each code."""
    script = iter(codes)

    def answer(messages, **given):
        code = next(script, None)
        if code is None:
            return ChatMessage("done")
        return ChatMessage(blocks=[ToolCallBlock(tool_call_id=code, tool_name="run_code", tool_kwargs={"code": code})])

    return MockFunctionCallingLLM(response_generator=answer)


class TestLlamaIndex(Adapter, Folder):
    model = tokens = None
    call_ids = False

    def outputs(self, codes, *, session="main", agent="coder", **options):
        async def run():
            async with self.new_engine(AsyncEngine) as engine:
                tools = [run_code(engine.session(session, origin={"agent": agent}), **options)]
                running = FunctionAgent(name=agent, llm=scripted(*codes), tools=tools).run("do it", max_iterations=20)
                events = [event async for event in running.stream_events()]
                await running
                return [event.tool_output for event in events if isinstance(event, ToolCallResult)]

        return asyncio.run(run())

    def answers(self, codes, *, ids=None, **options):
        return [answer(output) for output in self.outputs(codes, **options)]

    def test_an_error_of_xstate(self):
        (told,) = self.answers(["x = 1"], language="cobol")
        self.assertTrue(told.failed)
        self.assertIn('usage: there is no language "cobol"', told.text)

    def test_what_the_model_reads(self):
        about = run_code(self.new_engine(AsyncEngine).session()).metadata.to_openai_tool()["function"]
        self.assertEqual((about["name"], list(about["parameters"]["properties"])), ("run_code", ["code"]))
        self.assertIn("begin it with `# %% NAME`", about["description"])

    def test_the_page(self):
        script = """from test_llama_index import scripted

model = scripted("6 * 7")
"""
        self.assertEqual(self.run_page("LlamaIndex", script), "done")


def answer(output):
    images = [base64.b64decode(block.image) for block in output.blocks if isinstance(block, ImageBlock)]
    return Answer(output.content, images, output.is_error)


if __name__ == "__main__":
    unittest.main()
