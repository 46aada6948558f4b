import asyncio
import base64
import unittest

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    function_middleware,
)
from common import Adapter, Answer, Folder
from xstate_engine import AsyncEngine
from xstate_engine.adapters.agent_framework import run_code


class Script(FunctionInvocationLayer, BaseChatClient):
    """A client that answers as it is scripted: each turn is the calls of one answer, ids and codes."""

    def __init__(self, *turns):
        super().__init__()
        self.turns = iter(turns)

    def _inner_get_response(self, *, messages, stream, options, **given):
        async def answer():
            calls = [
                Content.from_function_call(id, "run_code", arguments={"code": code})
                for id, code in next(self.turns, ())
            ]
            return ChatResponse(messages=[Message("assistant", calls or ["done"])])

        return answer()


class TestAgentFramework(Adapter, Folder):
    model = tokens = None

    def results(self, turns, *, session="main", agent="coder", middleware=None, **options):
        async def run():
            async with self.new_engine(AsyncEngine) as engine:
                tools = [run_code(engine.session(session, origin={"agent": agent}), **options)]
                coder = Agent(Script(*turns), name=agent, tools=tools, middleware=middleware)
                done = await coder.run("do it")
                return [c for m in done.messages for c in m.contents if c.type == "function_result"]

        return asyncio.run(run())

    def answers(self, codes, *, ids=None, agent="coder", **options):
        ids = ids or [f"{agent}-{code}" for code in codes]
        return [answer(r) for r in self.results([[made] for made in zip(ids, codes)], agent=agent, **options)]

    def test_an_error_of_xstate(self):
        (told,) = self.results([[("a", "x = 1")]], language="cobol")
        self.assertIn('usage: there is no language "cobol"', told.exception)

    def test_middleware(self):
        """With it, the framework calls tools in another way."""

        @function_middleware
        async def passes(context, call_next):
            await call_next()

        self.results([[("a", "x = 1"), ("b", "# %% other\ny = 2")]], middleware=[passes])
        self.assertEqual({o["call_id"] for o in self.origins()}, {"a", "b"})

    def test_the_page(self):
        script = """from test_agent_framework import Script

client = Script([("call-1", "6 * 7")])
"""
        self.assertEqual(self.run_page("Microsoft Agent Framework", script), "done")


def answer(result):
    text, *images = result.items
    return Answer(text.text, [base64.b64decode(i.uri.partition(",")[2]) for i in images], result.exception is not None)


if __name__ == "__main__":
    unittest.main()
