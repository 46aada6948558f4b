import asyncio
import unittest
from typing import Any

from common import Adapter, Answer, Folder
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from xstate_engine import AsyncEngine
from xstate_engine.adapters.google_adk import run_code


class Script(BaseLlm):
    """A model that answers as it is scripted: each turn is the calls of one answer, ids and codes."""

    model: str = "script-1"
    turns: Any

    async def generate_content_async(self, llm_request, stream=False):
        parts = [
            types.Part(function_call=types.FunctionCall(id=id, name="run_code", args={"code": code}))
            for id, code in next(self.turns, ())
        ]
        spent = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=10, candidates_token_count=1, thoughts_token_count=3
        )
        content = types.Content(role="model", parts=parts or [types.Part(text="done")])
        yield LlmResponse(content=content, model_version=self.model, usage_metadata=spent)


def scripted(*turns):
    return Script(turns=iter(turns))


class TestGoogleADK(Adapter, Folder):
    def responses(self, turns, *, session="main", agent="coder", **options):
        async def run():
            async with self.new_engine(AsyncEngine) as engine:
                tools = [run_code(engine.session(session), **options)]
                coder = LlmAgent(name=agent, model=scripted(*turns), tools=tools)
                events = await InMemoryRunner(coder, app_name="test").run_debug("do it", quiet=True)
                return [r for event in events for r in event.get_function_responses()]

        return asyncio.run(run())

    def answers(self, codes, *, ids=None, agent="coder", **options):
        ids = ids or [f"{agent}-{code}" for code in codes]
        return [answer(r) for r in self.responses([[made] for made in zip(ids, codes)], agent=agent, **options)]

    def test_an_error_of_xstate(self):
        (told,) = self.answers(["x = 1"], language="cobol")
        self.assertTrue(told.failed)
        self.assertIn('usage: there is no language "cobol"', told.text)

    def test_several_calls_of_one_answer(self):
        self.responses([[("a", "x = 1"), ("b", "# %% other\ny = 2")]])
        spent = {o["call_id"]: o.get("tokens_in", 0) for o in self.origins()}
        self.assertEqual(spent, {"a": 10, "b": 0})

    def test_a_model_without_ids(self):
        """ADK gives the call an id."""
        self.responses([[(None, "x = 1")]])
        (origin,) = self.origins()
        self.assertEqual((origin["call_id"][:4], origin["tokens_in"]), ("adk-", 10))

    def test_what_the_model_reads(self):
        declaration = run_code(self.new_engine(AsyncEngine).session())._get_declaration()
        self.assertEqual(declaration.name, "run_code")
        self.assertIn("begin it with `# %% NAME`", declaration.description)
        self.assertEqual(declaration.parameters_json_schema["required"], ["code"])

    def test_the_page(self):
        script = """from test_google_adk import scripted

model = scripted([("call-1", "6 * 7")])
"""
        self.assertEqual(self.run_page("Google ADK", script), "done")


def answer(response):
    told = response.response
    images = [part.inline_data.data for part in response.parts or ()]
    return Answer(told.get("error") or told["result"], images, "error" in told)


if __name__ == "__main__":
    unittest.main()
