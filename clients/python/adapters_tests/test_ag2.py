import asyncio
import json
import unittest

from ag2 import Agent
from ag2.events import ModelResponse, ToolCallEvent, ToolCallsEvent, ToolErrorEvent, ToolResultEvent
from ag2.events.types import Usage
from ag2.testing import TestConfig
from common import Adapter, Answer, Folder
from xstate_engine import AsyncEngine, ExecResult
from xstate_engine.adapters.ag2 import run_code


def scripted(*turns):
    """The fake model of AG2: each turn is the calls of one answer, ids and codes."""
    answers = []
    for made in turns:
        calls = [ToolCallEvent(id=id, name="run_code", arguments=json.dumps({"code": code})) for id, code in made]
        spent = Usage(prompt_tokens=10.0, completion_tokens=4)
        answers.append(ModelResponse(tool_calls=ToolCallsEvent(calls), usage=spent, model="script-1"))
    return TestConfig(*answers, "done", raise_tool_errors=False)


class TestAG2(Adapter, Folder):
    def results(self, turns, *, session="main", agent="coder", **options):
        async def run():
            async with self.new_engine(AsyncEngine) as engine:
                tools = [run_code(engine.session(session), **options)]
                reply = await Agent(agent, config=scripted(*turns), tools=tools).ask("do it")
                return [e for e in await reply.context.stream.history.get_events() if isinstance(e, ToolResultEvent)]

        return asyncio.run(run())

    def answers(self, codes, *, ids=None, agent="coder", **options):
        ids = ids or [f"{agent}-{code}" for code in codes]
        return [answer(r) for r in self.results([[made] for made in zip(ids, codes)], agent=agent, **options)]

    def test_the_metadata(self):
        (event,) = self.results([[("a", "6 * 7")]])
        self.assertIsInstance(event.result.metadata["result"], ExecResult)

    def test_an_error_of_xstate(self):
        (told,) = self.answers(["x = 1"], language="cobol")
        self.assertTrue(told.failed)
        self.assertIn('usage: there is no language "cobol"', told.text)

    def test_several_calls_of_one_answer(self):
        self.results([[("a", "x = 1"), ("b", "# %% other\ny = 2")]])
        spent = {o["call_id"]: o.get("tokens_in", 0) for o in self.origins()}
        self.assertEqual(spent, {"a": 10, "b": 0})

    def test_the_page(self):
        script = """from test_ag2 import scripted

config = scripted([("call-1", "6 * 7")])
"""
        self.assertEqual(self.run_page("AG2", script), "done")


def answer(event):
    text, *images = event.result.parts
    return Answer(text.content, [image.data for image in images], isinstance(event, ToolErrorEvent))


if __name__ == "__main__":
    unittest.main()
