import logging
import unittest
import warnings

import dspy
from common import Adapter, Answer, Folder
from dspy.primitives.code_interpreter import CodeInterpreterError
from dspy.utils.dummies import DummyLM
from xstate_engine.adapters.dspy import Interpreters

warnings.simplefilter("ignore")  # what is experimental or deprecated
logging.getLogger("dspy").setLevel(logging.ERROR)


def scripted(*codes):
    """A model of DSPy that sends these codes."""
    return DummyLM([{"reasoning": "next", "code": f"```python\n{code}\n```"} for code in codes])


class TestDSPy(Adapter, Folder):
    model, tokens, call_ids, pictures = "dummy", None, False, False
    changed = "conf:modules"  # where the client is found, the engine takes the import of xstate for the next block's
    called = 0

    def interpreters(self, session="main", agent="coder", **options):
        return Interpreters(lambda: self.engine.session(session, origin={"agent": agent}), **options)

    def rlm(self, codes, signature="question -> answer", tools=(), inputs=None, **options):
        module = dspy.RLM(signature, tools=list(tools), interpreter_factory=self.interpreters(**options))
        with dspy.context(lm=scripted(*codes)):
            return module(**(inputs or {"question": "how many?"}))

    def answers(self, codes, *, ids=None, **options):
        done = self.rlm([*codes, "# %% end\nSUBMIT('done')"], **options)
        return [Answer(entry["output"]) for entry in done.trajectory[:-1]]

    def origins(self, session="main"):
        """Those of the model's code: blocks of the adapter have no model."""
        return [o for o in super().origins(session) if o.get("model")][:2]

    def test_final_answers(self):
        for given, want in [("5", 5), ("answer=[1, {'é\\n': 2}]", [1, {"é\n": 2}]), ("'b' * 100_000", "b" * 100_000)]:
            done = self.rlm([f"# %% out\nprint('x', end='')\nSUBMIT({given})"], "question -> answer: Any")
            self.assertEqual(done.answer, want)
        done = self.rlm(["SUBMIT(3, unit='kg')"], "question -> count: int, unit: str", session="several")
        self.assertEqual((done.count, done.unit), (3, "kg"))

    def test_tools(self):
        codes = [
            "# %% buy\nshown = price('tea') + price('tea', count=3)\nprint(shown)",
            "# %% buy\nshown = price('tea') + price('tea', 3) + 1\nprint(shown)",
            "# %% wrong\nprice('tea', 0)",
            "# %% wrong\nSUBMIT(shown)",
        ]
        done = self.rlm(codes, "question -> answer: int", tools=[self.price], effects={"price": "read"})
        outputs = [entry["output"] for entry in done.trajectory]
        self.assertEqual((outputs[:2], done.answer), (["28\n", "29\n"], 29))
        self.assertIn("ValueError: none", outputs[2])
        self.assertEqual(self.called, 3, "a call that happened was made again")

    def test_a_tool_without_effect_waits(self):
        (told,) = self.answers(["price('tea')"], tools=[self.price])
        self.assertIn("waits for a decision: may price be called?", told.text)
        self.assertEqual(self.called, 0)

    def price(self, of: str, count: int | None = None) -> int:
        """Says what things cost."""
        self.called += 1
        if count == 0:
            raise ValueError("none")
        return 7 * (count or 1)

    def test_a_model_that_code_asks(self):
        blue = DummyLM([{"text": "blue"}])
        module = dspy.RLM("question -> answer", sub_lm=blue, interpreter_factory=self.interpreters())
        with dspy.context(lm=scripted("told = llm_query('which?')\nprint(told)", "SUBMIT(str('blue' in told))")):
            done = module(question="which?")
        self.assertEqual(done.answer, "True")

    def test_inputs(self):
        codes = ["# %% count\nn = len(context)\nprint(n)", "SUBMIT(n)"]
        for size in (3, 2_000_000):
            done = self.rlm(codes, "context -> answer: int", inputs={"context": "a" * size}, session=f"of-{size}")
            self.assertEqual(done.answer, size)
        with self.assertRaises(CodeInterpreterError):
            self.rlm(codes, "context -> answer: int", inputs={"context": object()})

    def test_older_modules(self):
        program = [{"reasoning": "r", "generated_code": "```python\nSUBMIT({'answer': 42})\n```"}, {"reasoning": "r"}]
        with dspy.context(lm=DummyLM([{**p, "answer": "42"} for p in program])):
            module = dspy.ProgramOfThought("question -> answer", interpreter_factory=self.interpreters())
            self.assertEqual(module(question="6 * 7?").answer, "42")
        act = {"generated_code": "```python\nprint(twice(21))\n```", "finished": True}
        with dspy.context(lm=DummyLM([act, {"reasoning": "r", "answer": "42"}])):
            module = dspy.CodeAct("question -> answer", tools=[twice], interpreter_factory=self.interpreters("act"))
            done = module(question="2 * 21?")
        self.assertEqual((done.answer, done.trajectory["code_output_0"]), ("42", '"42\\n"'))

    def test_what_the_model_reads(self):
        signature = dspy.RLM("question -> answer", interpreter_factory=self.interpreters()).generate_action.signature
        self.assertIn("begin it with `# %% NAME`", signature.instructions)

    def test_an_error_of_xstate(self):
        with self.assertRaisesRegex(CodeInterpreterError, 'usage: there is no language "cobol"'):
            self.rlm(["x = 1"], language="cobol")

    def test_the_page(self):
        script = """from test_dspy import scripted

model = scripted("total = 6 * price('tea')", "SUBMIT(total + 6)")
"""
        self.assertEqual(self.run_page("DSPy", script), "48")


def twice(n):
    return 2 * n


if __name__ == "__main__":
    unittest.main()
