import asyncio
import base64
import unittest

from common import Adapter, Answer, Folder
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from xstate_engine import AsyncEngine, ExecResult
from xstate_engine.adapters.langchain import run_code


class Model(GenericFakeChatModel):
    """The fake model of langchain_core, which has no tools of its own."""

    def bind_tools(self, tools, **options):
        return self


def calls(*made):
    """An answer with calls, each an id and the code."""
    return AIMessage(
        "",
        tool_calls=[{"name": "run_code", "args": {"code": code}, "id": id} for id, code in made],
        response_metadata={"model_name": "script-1"},
        usage_metadata={"input_tokens": 10, "output_tokens": 4, "total_tokens": 14},
    )


def answer(message):
    if isinstance(message.content, str):
        return Answer(message.content, [], message.status == "error")
    text, *images = message.content_blocks
    return Answer(text["text"], [base64.b64decode(i["base64"]) for i in images], message.status == "error")


class TestLangChain(Adapter, Folder):
    def agent(self, session, codes, agent="coder", ids=None, **options):
        ids = ids or [f"{agent}-{code}" for code in codes]
        script = [*(calls(made) for made in zip(ids, codes)), AIMessage("done")]
        return create_agent(Model(messages=iter(script)), [run_code(session, **options)], name=agent)

    def messages(self, codes, *, session="main", **options):
        state = self.agent(self.engine.session(session), codes, **options).invoke({"messages": [("user", "do it")]})
        return [m for m in state["messages"] if isinstance(m, ToolMessage)]

    def answers(self, codes, **options):
        return [answer(m) for m in self.messages(codes, **options)]

    def test_the_artifact(self):
        (message,) = self.messages(["6 * 7"])
        self.assertIsInstance(message.artifact, ExecResult)
        self.assertEqual((message.artifact.result, message.content), ("42", "42\n"))

    def test_an_error_of_xstate(self):
        (told,) = self.answers(["x = 1"], language="cobol")
        self.assertTrue(told.failed)
        self.assertIn('usage: there is no language "cobol"', told.text)

    def test_several_calls_of_one_answer(self):
        script = [calls(("a", "x = 1"), ("b", "# %% other\ny = 2")), AIMessage("done")]
        agent = create_agent(Model(messages=iter(script)), [run_code(self.engine.session())], name="coder")
        agent.invoke({"messages": [("user", "do it")]})
        spent = {o["call_id"]: o.get("tokens_in", 0) for o in self.origins()}
        self.assertEqual(spent, {"a": 10, "b": 0})

    def test_a_graph(self):
        """A node of tools in a graph that someone wrote has no name of an agent."""
        graph = StateGraph(MessagesState)
        graph.add_node("tools", ToolNode([run_code(self.engine.session("main", origin={"agent": "mine"}))]))
        graph.add_edge(START, "tools")
        state = graph.compile().invoke({"messages": [calls(("call-a", "print(1)"))]})
        self.assertEqual(state["messages"][-1].content, "1\n")
        self.assertEqual([(o["agent"], o["call_id"]) for o in self.origins()], [("mine", "call-a")])

    def test_a_tool_alone(self):
        self.assertEqual(run_code(self.engine.session()).invoke({"code": "6 * 7"}), "42\n")

    def test_tasks(self):
        async def run():
            async with self.new_engine(AsyncEngine) as engine:
                agent = self.agent(engine.session("tasks"), ["x = 1", "print(x)"])
                state = await agent.ainvoke({"messages": [("user", "do it")]})
                return [m.content for m in state["messages"] if isinstance(m, ToolMessage)]

        self.assertEqual(asyncio.run(run()), ["no output\n", "1\n"])

    def test_a_cancelled_task_ends_the_run(self):
        async def run():
            async with self.new_engine(AsyncEngine) as engine:
                agent = self.agent(engine.session(), ["import time\ntime.sleep(60)"])
                task = asyncio.create_task(agent.ainvoke({"messages": [("user", "do it")]}))
                while not await engine.runs():
                    await asyncio.sleep(0.05)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                while await engine.runs():
                    await asyncio.sleep(0.05)

        asyncio.run(asyncio.wait_for(run(), 30))

    def test_the_page(self):
        script = """from test_langchain import AIMessage, Model, calls

model = Model(messages=iter([calls(("call-1", "6 * 7")), AIMessage("It is 42.")]))
"""
        self.assertEqual(self.run_page("LangChain and LangGraph", script), "It is 42.")


if __name__ == "__main__":
    unittest.main()
