"""The agents that executors.py measures: for each framework one with the adapter, and one with its own executor."""

import ast
import asyncio
import json
import os
import time
import warnings

from xstate_engine import AsyncEngine, Engine, Tool

# The block that a harness adds to a program whose code calls its function; smolagents' adapter has its own.
TOOLS = "# %% tools\nimport xstate\n\n\ndef book(entry):\n    return xstate.tool('book', entry=entry)"

CELL, CORRECTION, PROGRAM = "own executor", "own executor, all again", "own executor, all in each turn"


def book(entry: str) -> str:
    """Adds an entry to the ledger.

    Args:
        entry: the text of it
    """
    with open("ledger.txt", "a") as ledger:
        ledger.write(entry + "\n")
    return "booked"


class Framework:
    looking = 0.0  # seconds that it took to see the variables
    tools = True  # the executor can call functions of the harness
    arms = {"cell": CELL, "correction": CORRECTION}
    names = None  # the variables that the own executor holds between turns, if it does

    def value(self, name):
        """The text of a value: None if there is none, and ... if the executor holds none between turns."""
        if self.names is None:
            return ...
        return repr(self.names[name]) if name in self.names else None


class Smolagents(Framework):
    title = package = "smolagents"

    def run(self, codes, arm):
        import smolagents
        from test_smolagents import Script
        from xstate_engine.adapters.smolagents import CodeAgent

        def answers():
            yield from codes
            yield "final_answer('done')"

        about = {"verbosity_level": smolagents.LogLevel.OFF, "max_steps": 40}
        tools, model = [smolagents.tool(book)], Script(answers())
        if arm == "xstate":
            session = Engine(".", binary=os.environ["XSTATE"]).session()
            agent = CodeAgent(tools, model, session=session, effects={"book": "irreversible"}, **about)
        else:
            agent = smolagents.CodeAgent(tools, model, **about)
            self.names = agent.python_executor.state
        agent.run("Report on March.")
        steps = [s for s in agent.memory.steps if isinstance(s, smolagents.ActionStep)][:-1]
        told = [[m for m in s.to_messages() if m.role == "tool-response"] for s in steps]
        return ["\n".join(part["text"] for m in messages for part in m.content) for messages in told]


class LangChain(Framework):
    title, package = "LangChain", "langchain"

    def run(self, codes, arm):
        from langchain.agents import create_agent
        from langchain_experimental.tools import PythonREPLTool
        from test_langchain import AIMessage, Model, ToolMessage
        from xstate_engine.adapters.langchain import run_code

        if arm == "xstate":
            session = Engine(".", binary=os.environ["XSTATE"]).session()
            offered = {"book": Tool(book, "irreversible")}
            session.exec(TOOLS, tools=offered).check()
            tool, argument = run_code(session, tools=offered), "code"
        else:
            tool, argument = PythonREPLTool(), "query"
            self.names = tool.python_repl.globals
            self.names["book"] = book

        def answers():
            for at, code in enumerate(codes):
                yield AIMessage("", tool_calls=[{"name": tool.name, "args": {argument: code}, "id": f"call-{at}"}])
            yield AIMessage("done")

        agent = create_agent(Model(messages=answers()), [tool])
        state = agent.invoke({"messages": [("user", "Report on March.")]}, {"recursion_limit": 100})
        return [m.content for m in state["messages"] if isinstance(m, ToolMessage)]


class GoogleADK(Framework):
    title, package = "Google ADK", "google-adk"
    tools, arms = False, {"program": PROGRAM}

    def run(self, codes, arm):
        return asyncio.run(self.run_async(codes, arm))

    async def run_async(self, codes, arm):
        from google.adk.agents import LlmAgent
        from google.adk.code_executors import UnsafeLocalCodeExecutor
        from google.adk.models import LlmResponse
        from google.adk.runners import InMemoryRunner
        from google.genai import types
        from test_google_adk import Script
        from xstate_engine.adapters.google_adk import run_code

        class Writer(Script):
            """A model that writes code into its text, which the executor of the agent then executes."""

            async def generate_content_async(self, llm_request, stream=False):
                told.append("".join(part.text or "" for part in llm_request.contents[-1].parts))
                code = next(self.turns, None)
                text = "done" if code is None else f"```python\n{code}\n```"
                yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))

        told = []
        if arm == "xstate":
            async with AsyncEngine(".", binary=os.environ["XSTATE"]) as engine:
                turns = ([(f"call-{at}", code)] for at, code in enumerate(codes))
                agent = LlmAgent(name="coder", model=Script(turns=turns), tools=[run_code(engine.session())])
                events = await InMemoryRunner(agent, app_name="bench").run_debug("Report on March.", quiet=True)
                return [r.response["result"] for event in events for r in event.get_function_responses()]
        agent = LlmAgent(name="coder", model=Writer(turns=codes), code_executor=UnsafeLocalCodeExecutor())
        await InMemoryRunner(agent, app_name="bench").run_debug("Report on March.", quiet=True)
        return told[1:]


class AutoGen(Framework):
    title, package = "AutoGen", "autogen-ext"
    tools = False
    arms = {
        "cell": "its executor for Jupyter",
        "correction": "its executor for Jupyter, all again",
        "program": "its executor for the command line, all in each turn",
    }

    def value(self, name):
        return self.names and self.names.get(name)  # texts already

    def run(self, codes, arm):
        return asyncio.run(self.run_async(codes, arm))

    async def run_async(self, codes, arm):
        from autogen_agentchat.agents import CodeExecutorAgent
        from autogen_agentchat.messages import TextMessage
        from autogen_core import CancellationToken
        from autogen_core.code_executor import CodeBlock
        from autogen_ext.code_executors.jupyter import JupyterCodeExecutor
        from autogen_ext.code_executors.local import LocalCommandLineCodeExecutor
        from xstate_engine.adapters.autogen import CodeExecutor

        warnings.simplefilter("ignore")  # about executors that are not safe
        if arm == "xstate":
            executor = CodeExecutor(AsyncEngine(".", binary=os.environ["XSTATE"]).session())
        elif arm == "program":
            executor, self.value = LocalCommandLineCodeExecutor(work_dir="."), lambda name: ...
        else:
            executor = JupyterCodeExecutor(output_dir=".")
        await executor.start()
        coder, told = CodeExecutorAgent("coder", executor), []
        for code in codes:
            message = TextMessage(content=f"```python\n{code}\n```", source="user")
            response = await coder.on_messages([message], CancellationToken())
            told.append(response.chat_message.content)
            if arm in ("cell", "correction"):
                began = time.monotonic()
                look = "print({_n: repr(_v) for _n, _v in list(globals().items()) if _n[0] != '_'})"
                found = await executor.execute_code_blocks([CodeBlock(look, "python")], CancellationToken())
                self.names = ast.literal_eval(found.output)
                self.looking += time.monotonic() - began
        await executor.stop()
        return told


class AG2(Framework):
    title, package = "AG2", "ag2"
    tools, arms = False, {"program": PROGRAM}

    def run(self, codes, arm):
        return asyncio.run(self.run_async(codes, arm))

    async def run_async(self, codes, arm):
        from ag2 import Agent
        from ag2.testing import TestConfig
        from ag2.tools import LocalEnvironment, SandboxCodeTool
        from test_ag2 import ModelResponse, ToolCallEvent, ToolCallsEvent, ToolResultEvent
        from xstate_engine.adapters.ag2 import run_code

        def answers():
            for at, code in enumerate(codes):
                given = {"code": code} if arm == "xstate" else {"code": code, "language": "python"}
                call = ToolCallEvent(id=f"call-{at}", name="run_code", arguments=json.dumps(given))
                yield ModelResponse(tool_calls=ToolCallsEvent([call]))
            yield "done"

        class Model(TestConfig):
            def create(self):
                client = super().create()
                client.events = answers()  # each when it is asked for
                return client

        async with AsyncEngine(".", binary=os.environ["XSTATE"]) as engine:
            tool = run_code(engine.session()) if arm == "xstate" else SandboxCodeTool(LocalEnvironment("."))
            reply = await Agent("coder", config=Model(raise_tool_errors=False), tools=[tool]).ask("Report on March.")
        events = await reply.context.stream.history.get_events()
        return [e.result.parts[0].content for e in events if isinstance(e, ToolResultEvent)]


FRAMEWORKS = {
    "smolagents": Smolagents(),
    "langchain": LangChain(),
    "google_adk": GoogleADK(),
    "autogen": AutoGen(),
    "ag2": AG2(),
}
