"""The agents that executors.py measures: for each framework one with the adapter, and one with its own executor."""

import os

from xstate_engine import Engine, Tool

# The block that a harness adds to a program whose code calls its function; smolagents' adapter has its own.
TOOLS = "# %% tools\nimport xstate\n\n\ndef book(entry):\n    return xstate.tool('book', entry=entry)"

CELL, CORRECTION = "own executor", "own executor, all again"


def book(entry: str) -> str:
    """Adds an entry to the ledger.

    Args:
        entry: the text of it
    """
    with open("ledger.txt", "a") as ledger:
        ledger.write(entry + "\n")
    return "booked"


class Framework:
    tools = True  # the executor can call functions of the harness
    arms = {"cell": CELL, "correction": CORRECTION}
    names = {}  # the variables that the own executor holds

    def value(self, name):
        return repr(self.names[name]) if name in self.names else None


class Smolagents(Framework):
    title = package = "smolagents"

    def run(self, codes, folder):
        import smolagents
        from test_smolagents import Script
        from xstate_engine.adapters.smolagents import CodeAgent

        def answers():
            yield from codes
            yield "final_answer('done')"

        about = {"verbosity_level": smolagents.LogLevel.OFF, "max_steps": 40}
        tools, model = [smolagents.tool(book)], Script(answers())
        if folder:
            session = Engine(folder, binary=os.environ["XSTATE"]).session()
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

    def run(self, codes, folder):
        from langchain.agents import create_agent
        from langchain_experimental.tools import PythonREPLTool
        from test_langchain import AIMessage, Model, ToolMessage
        from xstate_engine.adapters.langchain import run_code

        if folder:
            session = Engine(folder, binary=os.environ["XSTATE"]).session()
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


FRAMEWORKS = {"smolagents": Smolagents(), "langchain": LangChain()}
