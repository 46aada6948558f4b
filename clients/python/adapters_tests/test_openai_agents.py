import asyncio
import base64
import json
import unittest

from agents import Agent, Model, ModelResponse, RunConfig, Runner, RunState, Usage
from agents.models.chatcmpl_converter import Converter
from common import PICTURE, Adapter, Answer, Folder
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from xstate_engine import AsyncEngine
from xstate_engine.adapters.openai_agents import run_code

CONFIG = RunConfig(tracing_disabled=True)
ASK = "# %% ask\nprint('asks')\nimport xstate\nway = xstate.ask('sell?')\nprint('way', way)"


def call(id, code):
    arguments = json.dumps({"code": code})
    return ResponseFunctionToolCall(type="function_call", name="run_code", call_id=id, arguments=arguments)


def mail_to(sent):
    """A tool that keeps what it sends in a list."""

    def mail(to):
        sent.append(to)

    return {"mail": mail}


class Script(Model):
    """A model of the SDK that answers as it is scripted: each turn is the calls of one answer."""

    model = "script-1"

    def __init__(self, turns):
        self.turns = iter(turns)

    async def get_response(self, *args, **options):
        output = next(self.turns, None)
        if output is None:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            output = [
                ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
            ]
        usage = Usage(requests=1, input_tokens=10, output_tokens=4, total_tokens=14)
        return ModelResponse(output=output, usage=usage, response_id=None)

    def stream_response(self, *args, **options):
        raise NotImplementedError


class TestOpenAIAgents(Adapter, Folder):
    def run_agent(self, turns, *, session="main", agent="coder", **options):
        """Returns the input of the next turn: the whole conversation."""

        async def run():
            async with self.new_engine(AsyncEngine) as engine:
                tools = [run_code(engine.session(session), **options)]
                done = await Runner.run(Agent(name=agent, model=Script(turns), tools=tools), "do it", run_config=CONFIG)
                return done.to_input_list()

        return asyncio.run(run())

    def answers(self, codes, *, ids=None, agent="coder", **options):
        ids = ids or [f"{agent}-{code}" for code in codes]
        items = self.run_agent([[call(id, code)] for id, code in zip(ids, codes)], agent=agent, **options)
        return [self.answer(i["output"]) for i in items if i.get("type") == "function_call_output"]

    def answer(self, output):
        if isinstance(output, str):
            return Answer(output)
        text, *images = output
        prefix = "data:image/png;base64,"
        self.assertTrue(all(i["type"] == "input_image" and i["image_url"].startswith(prefix) for i in images))
        return Answer(text["text"], [base64.b64decode(i["image_url"].removeprefix(prefix)) for i in images])

    def test_an_error_of_xstate(self):
        (told,) = self.answers(["x = 1"], language="cobol")
        self.assertIn('usage: there is no language "cobol"', told.text)

    def test_several_calls_of_one_answer(self):
        self.run_agent([[call("a", "x = 1"), call("b", "# %% other\ny = 2")], [call("c", "# %% third\nz = 3")]])
        spent = {o["call_id"]: o.get("tokens_in", 0) for o in self.origins()}
        self.assertEqual((sorted(spent), spent["a"] + spent["b"], spent["c"]), (["a", "b", "c"], 10, 10))

    def test_chat_completions(self):
        """That API has no images in what tools return: the text is left."""
        items = self.run_agent([[call("a", PICTURE)]])
        told = next(m for m in Converter.items_to_messages(items) if m["role"] == "tool")
        self.assertIn("[image/png 70 B: ", json.dumps(told["content"]))

    def decided(self, turns, decide, code=ASK):
        """Runs an agent until it is interrupted, and continues it from the stored state, with these further turns, by
        a tool of its own, as in another process. Returns what the model read, and the interruptions that are left."""

        async def run():
            async with self.new_engine(AsyncEngine) as engine:
                session = engine.session()

                def agent(turns):
                    return Agent(name="coder", model=Script(turns), tools=[run_code(session, approvals=True)])

                stopped = await Runner.run(agent([[call("a", code)]]), "do it", run_config=CONFIG)
                (item,) = stopped.interruptions
                self.assertEqual((item.name, json.loads(item.arguments)), ("run_code", {"code": code}))
                resumed = agent(turns)
                state = await RunState.from_string(resumed, stopped.to_state().to_string())
                await decide(state, state.get_interruptions()[0], session)
                done = await Runner.run(resumed, state, run_config=CONFIG)
                told = [i["output"] for i in done.to_input_list() if i.get("type") == "function_call_output"]
                return told, done.interruptions

        return asyncio.run(run())

    def test_an_approval(self):
        async def approve(state, item, session):
            (waiting,) = (await session.calls(waiting=True))["calls"]
            self.assertEqual(waiting["arguments"]["question"], "sell?")
            state.approve(item)

        told, left = self.decided([[call("b", "# %% use\nprint('then', way)")]], approve)
        self.assertEqual((told, left), (["asks\nway yes\n", "then yes\n"], []))

    def test_a_rejection(self):
        """It denies the call that waits when the next code comes, also in another process."""

        async def reject(state, item, session):
            state.reject(item)

        code = "# %% ask\nimport xstate\nxstate.step('rows', list)\nway = xstate.ask('sell?')"
        told, left = self.decided([[call("b", "# %% use\nprint('then', way)")]], reject, code)
        self.assertEqual(left, [])
        self.assertIn("not approved", told[0])
        self.assertIn("then no\n", told[1])

    def test_a_choice(self):
        """The program that decides says which; the approval lets the run continue."""

        async def choose(state, item, session):
            (waiting,) = (await session.calls(waiting=True))["calls"]
            await session.approve(waiting["call"], choice="later")
            state.approve(item)

        code = "# %% ask\nimport xstate\nway = xstate.ask('when?', choices=['now', 'later'])\nprint(way)"
        self.assertEqual(self.decided([], choose, code), (["later\n"], []))

    def test_a_second_question(self):
        """An approval is for what waited: the next question of the same code interrupts the next code."""

        async def approve(state, item, session):
            state.approve(item)

        code = ASK + "\nmore = xstate.ask('all?')"
        told, left = self.decided([[call("b", "# %% use\nprint(more)")]], approve, code)
        self.assertIn("waits for a decision: all?", told[0])
        self.assertEqual(len(left), 1)

    def test_each_approval_is_for_its_own_code(self):
        """One answer makes three calls that wait. An approval of the second one decides no other."""

        async def run(open):
            async with self.new_engine(AsyncEngine) as engine:
                session = engine.session(f"open-{open}")
                sent = []
                tools = [run_code(session, approvals=True, tools=mail_to(sent))]
                mail = "# %% {0}\nimport xstate\nxstate.tool('mail', to='{0}')"
                calls = [call(to, mail.format(to)) for to in ("a", "b", "c")]
                agent = Agent(name="coder", model=Script([calls, [call("d", "1 + 1")]]), tools=tools)
                stopped = await Runner.run(agent, "do it", run_config=CONFIG)
                state = stopped.to_state()
                for item in stopped.interruptions:
                    if item.call_id == "b":
                        state.approve(item)
                    elif not open:
                        state.reject(item)
                done = await Runner.run(agent, state, run_config=CONFIG)
                waiting = (await session.calls(waiting=True))["calls"]
                return sent, len(done.interruptions), [c["arguments"]["to"] for c in waiting]

        self.assertEqual(asyncio.run(run(open=False)), (["b"], 0, []))
        self.assertEqual(asyncio.run(run(open=True)), (["b"], 2, ["c", "a"]))

    def test_a_rejection_of_an_earlier_run(self):
        """The next message of the user is another run of the agent. It knows of no rejection, and its code, which asks
        nothing, must not ask for an approval that would decide what was rejected."""
        sent = []
        mail = "# %% mail\nimport xstate\nxstate.tool('mail', to=len('{}'))"

        async def run():
            async with self.new_engine(AsyncEngine) as engine:
                session = engine.session()
                tools = [run_code(session, approvals=True, tools=mail_to(sent))]

                async def more(input, *turns):
                    agent = Agent(name="coder", model=Script(turns), tools=tools)
                    return await Runner.run(agent, input, run_config=CONFIG)

                stopped = await more("do it", [call("a", mail.format("x"))])
                state = stopped.to_state()
                state.reject(stopped.interruptions[0])
                await more(state)
                other = await more("and now?", [call("b", "# %% other\n1 + 1")])
                again = await more("do it!", [call("c", mail.format("x"))])
                state = again.to_state()
                state.approve(again.interruptions[0])
                await more(state)
                return other.interruptions

        self.assertEqual((asyncio.run(run()), sent), ([], [1]))

    def test_a_correction_that_asks(self):
        """A correction of what a call depends on asks again. Its rejection denies the call, whose block it did not
        write and whose first version was approved."""
        sent = []

        async def run():
            async with self.new_engine(AsyncEngine) as engine:
                tools = [run_code(engine.session(), approvals=True, tools=mail_to(sent))]

                codes = ["# %% to\nto = 'a'", "# %% send\nimport xstate\nxstate.tool('mail', to=to)"]
                codes += ["# %% to\nto = 'c'", "# %% to\nto = 'd'", "1 + 1"]
                turns = [[call(id, code)] for id, code in zip("abcde", codes)]
                agent = Agent(name="coder", model=Script(turns), tools=tools)
                done = await Runner.run(agent, "do it", run_config=CONFIG)
                for decide in ("approve", "approve", "reject"):
                    state = done.to_state()
                    getattr(state, decide)(done.interruptions[0])
                    done = await Runner.run(agent, state, run_config=CONFIG)
                return done.interruptions

        self.assertEqual((asyncio.run(run()), sent), ([], ["a", "c"]))

    def test_calls_of_an_answer_keep_their_order(self):
        """The second needs what the first one defines."""
        codes = [("a", "# %% a\nq = 1"), ("b", "# %% b\nr = q + 1"), ("c", "# %% c\nr + 1")]
        for approvals in (False, True):
            for i in range(4):
                calls = [call(f"{i}-{id}", code) for id, code in codes]
                items = self.run_agent([calls], session=f"order-{approvals}-{i}", approvals=approvals)
                told = [i["output"] for i in items if i.get("type") == "function_call_output"]
                self.assertEqual(told[2], "3\n")

    def test_an_approval_of_all(self):
        sent = []
        mail = "# %% {0}\nimport xstate\nfor i in (1, 2):\n    xstate.tool('mail', to='{0}' + str(i))"

        async def run():
            async with self.new_engine(AsyncEngine) as engine:
                tools = [run_code(engine.session(), approvals=True, tools=mail_to(sent))]
                turns = [[call(id, mail.format(id))] for id in "ab"]
                agent = Agent(name="coder", model=Script(turns), tools=tools)
                stopped = await Runner.run(agent, "do it", run_config=CONFIG)
                state = stopped.to_state()
                state.approve(stopped.interruptions[0], always_approve=True)
                return (await Runner.run(agent, state, run_config=CONFIG)).interruptions

        self.assertEqual((asyncio.run(run()), sent), ([], ["a1", "a2", "b1", "b2"]))

    def test_code_that_needs_no_approval(self):
        first, second = self.answers(["x = 1\nprint('once')", "1 / 0"], approvals=True, ids=["a", "b"])
        self.assertEqual(first.text, "once\n")
        self.assertIn("ZeroDivisionError", second.text)
        self.assertEqual([o["call_id"] for o in self.origins_of_edits()], ["a", "b"])

    def origins_of_edits(self):
        return [s["origin"] for s in self.steps() if s["kind"] != "run"]

    def test_without_a_loop(self):
        """Runner.run_sync has an event loop for each call."""
        engine = self.new_engine(AsyncEngine)
        for code in ("x = 20", "x + 1"):
            agent = Agent(name="coder", model=Script([[call(code, code)]]), tools=[run_code(engine.session())])
            done = Runner.run_sync(agent, "do it", run_config=CONFIG)
        asyncio.run(engine.close())
        self.assertEqual(done.to_input_list()[2]["output"], "21\n")

    def test_the_page(self):
        script = """from test_openai_agents import Script, call

model = Script([[call("call-1", "6 * 7")]])
"""
        self.assertEqual(self.run_page("OpenAI Agents SDK", script), "done")


if __name__ == "__main__":
    unittest.main()
