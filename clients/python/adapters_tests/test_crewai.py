"""CrewAI takes servers of MCP: there is no adapter, and the page says how."""

import unittest

from common import Folder, Page
from crewai.llms.base_llm import BaseLLM


class Script(BaseLLM):
    """A model of CrewAI that answers as it is scripted."""

    def __init__(self, *answers):
        super().__init__(model="script-1")
        self.__dict__["answers"] = iter(answers)

    def call(self, messages, *args, **options):
        return next(self.answers)

    def supports_function_calling(self):
        return False


class TestCrewAI(Page, Folder):
    def test_the_page(self):
        script = """from test_crewai import Script

call = 'Thought: it is code\\nAction: xstate_mcp_exec\\nAction Input: {"code": "6 * 7", "session": null}'
model = Script(call, "Thought: I now know the final answer\\nFinal Answer: It is 42.")
"""
        off = {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "OTEL_SDK_DISABLED": "true"}
        self.assertEqual(self.run_page("CrewAI", script, HOME=str(self.folder), **off), "It is 42.")
        block = self.engine.session().query(block="b1")["block"]
        self.assertEqual(block["outputs"][0]["data"], {"text/plain": "42"})
        (edit,) = [step for step in self.engine.session().history()["steps"] if step["kind"] == "append"]
        self.assertEqual(edit["origin"]["agent"], "coder")


if __name__ == "__main__":
    unittest.main()
