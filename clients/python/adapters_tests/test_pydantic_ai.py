import asyncio
import unittest

from common import Adapter, Answer, Folder
from pydantic_ai import Agent, BinaryContent, UnexpectedModelBehavior
from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage
from xstate_engine import AsyncEngine, ExecResult
from xstate_engine.adapters.pydantic_ai import run_code


def scripted(turns):
    """A model that makes these calls, each turn those of one answer: ids and codes."""

    def model(messages, info):
        turn = sum(isinstance(m, ModelResponse) for m in messages)
        made = turns[turn] if turn < len(turns) else []
        parts = [ToolCallPart("run_code", {"code": code}, id) for id, code in made]
        return ModelResponse(parts or [TextPart("done")], usage=RequestUsage(input_tokens=10, output_tokens=4))

    return FunctionModel(model, model_name="script-1")


class TestPydanticAI(Adapter, Folder):
    def messages(self, turns, *, session="main", agent="coder", **options):
        async def run():
            async with self.new_engine(AsyncEngine) as engine:
                tools = [run_code(engine.session(session), **options)]
                done = await Agent(scripted(turns), name=agent, tools=tools).run("do it")
                done.all_messages_json()  # must not fail
                return [part for m in done.all_messages() for part in m.parts]

        return asyncio.run(run())

    def answers(self, codes, *, ids=None, agent="coder", **options):
        ids = ids or [f"{agent}-{code}" for code in codes]
        parts = self.messages([[made] for made in zip(ids, codes)], agent=agent, **options)
        return [answer(p) for p in parts if isinstance(p, ToolReturnPart)]

    def test_the_metadata(self):
        (part,) = [p for p in self.messages([[("a", "6 * 7")]]) if isinstance(p, ToolReturnPart)]
        self.assertIsInstance(part.metadata, ExecResult)
        self.assertEqual((part.metadata.result, part.content), ("42", "42\n"))

    def test_an_error_of_xstate(self):
        """It is a retry of the framework, which gives up after the first one."""
        with self.assertRaises(UnexpectedModelBehavior):
            self.messages([[("a", "x = 1")], [("b", "x = 1")]], language="cobol")
        parts = self.messages([[("a", "x = 1")]], language="cobol")
        (told,) = [p for p in parts if isinstance(p, RetryPromptPart) or getattr(p, "outcome", "") == "retried"]
        self.assertIn('usage: there is no language "cobol"', str(told.content))

    def test_several_calls_of_one_answer(self):
        self.messages([[("a", "x = 1"), ("b", "# %% other\ny = 2")]])
        spent = {o["call_id"]: o.get("tokens_in", 0) for o in self.origins()}
        self.assertEqual(spent, {"a": 10, "b": 0})

    def test_the_page(self):
        script = """from test_pydantic_ai import scripted

model = scripted([[("call-1", "6 * 7")]])
"""
        self.assertEqual(self.run_page("Pydantic AI", script), "done")


def answer(part):
    content = part.content if isinstance(part.content, list) else [part.content]
    return Answer(content[0], [c.data for c in content[1:] if isinstance(c, BinaryContent)])


if __name__ == "__main__":
    unittest.main()
