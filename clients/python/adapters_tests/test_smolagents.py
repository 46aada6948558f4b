import io
import unittest

import smolagents
from common import PICTURE, Adapter, Answer, Folder
from smolagents import ActionStep, LogLevel, Model, tool
from smolagents.models import ChatMessage, MessageRole
from smolagents.monitoring import TokenUsage
from xstate_engine.adapters.smolagents import CodeAgent


class Script(Model):
    """A model that sends code as smolagents expects it, and keeps what it gets."""

    def __init__(self, codes):
        super().__init__(model_id="script-1")
        self.codes, self.seen = iter(codes), []

    def generate(self, messages, **options):
        self.seen.append(messages)
        content = f"Thought: next\n<code>\n{next(self.codes)}\n</code>"
        return ChatMessage(role=MessageRole.ASSISTANT, content=content, token_usage=TokenUsage(10, 4))


class TestSmolagents(Adapter, Folder):
    called = 0

    def agent(self, codes, *, session="main", agent="coder", tools=(), effects=None, pictures=True, **options):
        return CodeAgent(
            list(tools),
            Script(codes),
            session=self.engine.session(session),
            effects=effects,
            pictures=pictures,
            options=options,
            name=agent,
            description="It codes.",
            verbosity_level=LogLevel.OFF,
        )

    def steps_of(self, agent):
        agent.run("do it", max_steps=20)
        return [s for s in agent.memory.steps if isinstance(s, ActionStep)]

    def answers(self, codes, *, ids=None, **options):
        steps = self.steps_of(self.agent([*codes, "# %% end\nfinal_answer('done')"], **options))
        return [answer(s) for s in steps[: len(codes)]]

    def test_an_error(self):
        """smolagents calls it an error, and gives the model its text all the same."""
        (told,) = self.answers(["# %% load\nx = 1\nimport no_such_module_here"])
        self.assertIn('Block "load", line 2', told.text)
        self.assertIn("ModuleNotFoundError: No module named 'no_such_module_here'\nhint: the interpreter is", told.text)
        self.assertTrue(told.failed)

    def test_origin(self):
        self.answers(["x = 1", "y = 2"])
        found = self.origins()
        self.assertEqual(
            {(o["agent"], o["model"], o["tokens_in"], o["tokens_out"]) for o in found}, {("coder", "script-1", 10, 4)}
        )
        runs, calls = zip(*(o["call_id"].split("-") for o in found))
        self.assertEqual((len(set(runs)), calls), (1, ("call_1", "call_2", "call_3")))

    def test_a_repeated_call_is_one_submission(self):
        """smolagents counts calls from 1 in each run: the same number and code is another call."""
        first, again = self.answers(["x = 1\nx"]), self.answers(["x = 1\nx"])
        self.assertEqual(first, again)
        ids = {step["origin"].get("call_id", "") for step in self.steps()}
        self.assertEqual(sum(id.endswith("-call_1") for id in ids), 2, ids)

    def test_the_value_is_said_once(self):
        (told,) = self.answers(["print('a')\n6 * 7"])
        self.assertEqual(told.text, "Execution logs:\na\nLast output from code snippet:\n42")

    def test_final_answers(self):
        for given, want in [
            ("5", 5),
            ("{'a': [1, None, 'é\\n']}", {"a": [1, None, "é\n"]}),
            ("'b' * 100_000", "b" * 100_000),
            ("object.__name__", "object"),
            ("{1: 2}.keys()", "dict_keys([1])"),
        ]:
            agent = self.agent([f"# %% out\nimport math\nif True:\n    print('x', end='')\n    final_answer({given})"])
            self.assertEqual(agent.run("do it"), want)
        codes = ["# %% out\nprint('final_answer(7)')", "# %% out\nfinal_answer(8)\nprint('final_answer(9)')"]
        self.assertEqual(self.agent(codes).run("do it"), 8)

    def test_the_answer_is_reused(self):
        code = "# %% out\nfinal_answer(4)"
        self.assertEqual([self.agent([code]).run("do it") for _ in range(2)], [4, 4])

    def test_tools(self):
        tools = [self.price()]
        codes = [
            "# %% buy\nshown = price('tea') + price('tea', 3)\nshown",
            "# %% buy\nshown = price('tea') + price('tea', count=3) + 1\nshown",
            "# %% wrong\nprice('tea', 0)",
            "# %% wrong\nfinal_answer(shown)",
        ]
        steps = self.steps_of(self.agent(codes, tools=tools, effects={"price": "read"}))
        self.assertEqual([s.action_output for s in steps], ["28", "29", None, 29])
        self.assertIn("ValueError: none", str(steps[2].error))
        self.assertEqual(self.called, 3, "a call that happened was made again")

    def test_a_tool_without_effect_waits(self):
        (told,) = self.answers(["price('tea')"], tools=[self.price()])
        self.assertIn("waits for a decision: may price be called?", told.text)
        self.assertEqual(self.called, 0)

    def price(self):
        @tool
        def price(of: str, count: int | None = None) -> int:
            """Says what things cost.

            Args:
                of: their name
                count: how many
            """
            self.called += 1
            if count == 0:
                raise ValueError("none")
            return 7 * (count or 1)

        return price

    def test_an_agent_of_an_agent(self):
        about = {"name": "helper", "description": "It counts.", "verbosity_level": LogLevel.OFF}
        helper = smolagents.CodeAgent([], Script(["final_answer(20)"]), **about)
        lead = CodeAgent(
            [],
            Script(["told = helper('count them')\nfinal_answer(told)"]),
            session=self.engine.session("lead"),
            effects={"helper": "read"},
            managed_agents=[helper],
            verbosity_level=LogLevel.OFF,
        )
        self.assertIn("20", lead.run("do it"))

    def test_variables(self):
        agent = self.agent(["final_answer(sum(prices))"])
        self.assertEqual(agent.run("do it", additional_args={"prices": [3, 5, 4]}), 12)
        with self.assertRaises(TypeError):
            self.agent([]).run("do it", additional_args={"prices": object()})

    def test_the_model_sees_pictures(self):
        agent = self.agent([PICTURE, "final_answer(1)"])
        agent.run("do it")
        parts = [part for message in agent.model.seen[1] for part in message.content]
        self.assertEqual([p["image"].format for p in parts if p["type"] == "image"], ["PNG"])
        told = str(agent.model.seen[0][0].content)
        self.assertIn("begin it with `# %% NAME`", told)

    def test_an_error_of_xstate(self):
        agent = self.agent(["x = 1"] * 2, language="cobol")
        agent.run("do it", max_steps=1)
        self.assertIn('usage: there is no language "cobol"', str(agent.memory.steps[1].error))

    def test_the_page(self):
        script = """from test_smolagents import Script

model = Script(["total = 6 * price('tea')", "final_answer(total + 6)"])
"""
        self.assertEqual(self.run_page("smolagents", script), "48")


def answer(step):
    images = []
    for image in step.observations_images or ():
        data = io.BytesIO()
        image.save(data, "PNG")
        images.append(data.getvalue())
    return Answer(step.observations or str(step.error), images, step.error is not None)


if __name__ == "__main__":
    unittest.main()
