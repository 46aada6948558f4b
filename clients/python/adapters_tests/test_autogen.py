import asyncio
import unittest
import warnings

from autogen_agentchat.agents import CodeExecutorAgent
from autogen_agentchat.messages import TextMessage
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock
from autogen_ext.models.replay import ReplayChatCompletionClient
from common import Adapter, Answer, Folder
from xstate_engine import AsyncEngine
from xstate_engine.adapters.autogen import CodeExecutor

warnings.simplefilter("ignore")  # that the agent has no approval_func


def scripted(*texts):
    """The model that autogen_ext has for tests."""
    return ReplayChatCompletionClient(list(texts))


class TestAutoGen(Adapter, Folder):
    model = tokens = None
    call_ids = pictures = False

    def answers(self, codes, *, ids=None, session="main", agent="coder"):
        async def run():
            async with self.new_engine(AsyncEngine) as engine:
                coder = CodeExecutorAgent(agent, CodeExecutor(engine.session(session, origin={"agent": agent})))
                found = []
                for code in codes:
                    message = TextMessage(content=f"```python\n{code}\n```", source="user")
                    found.append(await coder.on_messages([message], CancellationToken()))
                return [Answer(response.chat_message.content) for response in found]

        return asyncio.run(run())

    def execute(self, *blocks, **options):
        async def run():
            async with self.new_engine(AsyncEngine) as engine:
                executor = CodeExecutor(engine.session(**options))
                given = [CodeBlock(code, language) for language, code in blocks]
                return await executor.execute_code_blocks(given, CancellationToken())

        return asyncio.run(run())

    def test_several_blocks(self):
        done = self.execute(("python", "x = 1"), ("py", "1 / 0"), ("python", "print('never')"))
        self.assertEqual(done.exit_code, 1)
        self.assertIn("ZeroDivisionError", done.output)
        self.assertNotIn("never", done.output)

    def test_languages(self):
        done = self.execute(("", "x = 1\nprint(x)"), ("sh", "echo 2"))
        self.assertEqual((done.exit_code, done.output), (0, "1\n2\n"))

    def test_an_error_of_xstate(self):
        done = self.execute(("python", "print(1)"), ("cobol", "x"))
        self.assertEqual((done.exit_code, done.output[:2]), (1, "1\n"))
        self.assertIn('usage: there is no language "cobol"', done.output)

    def test_a_cancelled_token_ends_the_run(self):
        async def run():
            async with self.new_engine(AsyncEngine) as engine:
                token = CancellationToken()
                blocks = [CodeBlock("import time\ntime.sleep(60)", "python")]
                task = asyncio.create_task(CodeExecutor(engine.session()).execute_code_blocks(blocks, token))
                while not await engine.runs():
                    await asyncio.sleep(0.05)
                token.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                while await engine.runs():
                    await asyncio.sleep(0.05)

        asyncio.run(asyncio.wait_for(run(), 30))

    def test_the_page(self):
        script = """from test_autogen import scripted

model = scripted("```python\\n6 * 7\\n```", "It is 42.")
"""
        self.assertEqual(self.run_page("AutoGen", script), "It is 42.")


if __name__ == "__main__":
    unittest.main()
