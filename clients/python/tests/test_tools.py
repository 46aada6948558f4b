"""Tools that a harness offers the code that it executes."""

import asyncio
import threading
import unittest

from support import Folder
from xstate_engine import AsyncEngine, Tool, ToolNotSent, ToolRefused, XStateError

SEARCH = "# %% a\nimport xstate\nr = xstate.tool('search', q='k')\nprint(r['n'], r['q'])"


class TestTools(Folder):
    def setUp(self):
        super().setUp()
        self.session = self.engine.session("main", origin={"agent": "tester"})
        self.called = []

    def search(self, q):
        """Finds things."""
        self.called.append(q)
        return {"n": len(self.called), "q": q}

    def test_a_call_is_served_when_the_code_changes(self):
        tools = {"search": Tool(self.search, "read")}
        seen = []
        first = self.session.exec(SEARCH, tools=tools, on_event=seen.append).check()
        self.assertEqual((first.text, self.called), ("1 k\n", ["k"]))
        (event,) = [e for e in seen if e["event"] == "call"]
        self.assertEqual((event["tool"], event["args"], len(event["idempotency_key"])), ("search", {"q": "k"}, 64))
        again = self.session.exec(SEARCH + "\nprint('again')", tools=tools).check()
        self.assertEqual((again.text, self.called), ("1 k\nagain\n", ["k"]))
        other = self.session.exec("# %% b\nprint(xstate.tool('search', q='z')['n'], r['n'])", tools=tools).check()
        self.assertEqual((other.text, self.called), ("2 1\n", ["k", "z"]))
        calls = self.session.calls()
        self.assertEqual(
            [(c["tool"], c["state"], c["block"], c["session"], c["agent"]) for c in calls["calls"]],
            [("search", "answered", b, "main", "tester") for b in ("b", "a")],
        )
        self.assertEqual((calls["calls"][0]["result"], calls["total"]["calls"]), ({"n": 2, "q": "z"}, 2))
        self.assertEqual(self.session.calls(block="a")["calls"][0]["arguments"], {"q": "k"})

    def test_not_offered_again(self):
        """What is reused needs no tool, whatever its class: only code that runs again does."""
        for name, what in [("a", "pure"), ("b", "read"), ("c", "reversible"), ("d", "idempotent")]:
            tools = {name: Tool(lambda n: 2 * n, what)}
            text = f"# %% {name}\nimport xstate\n{name} = xstate.tool('{name}', n=4)"
            self.session.exec(text, tools=tools).check()
            r = self.session.exec(f"# %% after_{name}\nprint({name})").check()
            self.assertEqual((r.text, r.ok, r.others), ("8\n", True, []))
        code = "# %% more\nimport xstate\nmore = xstate.tool('a', n=5)"
        self.assertIn('there is no tool "a"', str(self.session.exec(code)))
        self.assertEqual(self.session.exec("# %% probe\na + b").check().result, "16")
        r = self.session.exec("# %% a\nimport xstate\na = xstate.tool('a', n=4) + 1")  # runs again, and is served
        self.assertEqual((r.status, self.session.exec("# %% probe\na + b").result), ("ran", "17"))
        again = self.session.exec(code, tools={"a": Tool(lambda n: 2 * n, "pure")})
        self.assertEqual((again.status, self.session.exec("# %% last\nmore").result), ("ran", "10"))

    def test_a_refusal_reaches_the_code(self):
        def pay(amount):
            self.called.append(amount)
            raise ToolRefused("no money")

        code = "import xstate\ntry:\n    xstate.tool('pay', amount=3)\nexcept xstate.ToolError as e:\n    print(e)"
        for text in (code, code + "\n1"):
            r = self.session.exec("# %% p\n" + text, tools={"pay": Tool(pay, "reversible")})
            self.assertEqual((r.check().text.splitlines()[0], self.called), ("pay: no money", [3]))

    def test_what_may_have_happened_waits_for_a_person(self):
        def order(what):
            self.called.append(what)
            raise OSError("the line is dead")

        code = "# %% o\nimport xstate\nprint(xstate.tool('order', what='tea'))"
        r = self.session.exec(code, tools={"order": Tool(order, "reversible")})
        self.assertEqual((r.ok, r.status, r.error.type, len(r.waiting)), (False, "waiting", "Waiting", 1))
        self.assertEqual(r.waiting[0]["choices"], ["again", "happened", "failed"])
        call = r.waiting[0]["call"]
        self.assertEqual([c["call"] for c in self.session.calls(waiting=True)["calls"]], [call])
        # it does not correct what waits
        r = self.session.exec("# %% later\n1 + 1", tools={"order": Tool(order, "reversible")})
        self.assertEqual((r.result, r.action, self.called), ("2", "append", ["tea"]))
        with self.assertRaises(XStateError) as caught:
            self.session.approve(call, choice="perhaps")
        self.assertEqual(caught.exception.code, "no-choice")
        done = self.session.approve(call, choice="happened", result={"id": 5}, by="ada", reason="I looked")
        self.assertEqual((done["calls"][0]["state"], done["calls"][0]["result"]), ("answered", {"id": 5}))
        with self.assertRaises(XStateError) as caught:
            self.session.approve(call)
        self.assertEqual(caught.exception.code, "not-waiting")
        r = self.session.exec(code, tools={"order": Tool(order, "reversible")})
        self.assertEqual((r.check().text, self.called), ("{'id': 5}\n", ["tea"]))
        (step,) = [s for s in self.session.history(limit=0)["steps"] if s["kind"] == "approve"]
        self.assertEqual((step["decided"]["choice"], step["decided"]["by"]), ("happened", "ada"))

    def test_an_identity_tells_calls_apart(self):
        def order(what, text):
            self.called.append(text)
            return what

        tools = {"order": Tool(order, "reversible", identity=["what"])}
        for what, text, called in (("tea", "a", 1), ("tea", "b", 1), ("milk", "b", 2)):
            code = f"# %% o\nimport xstate\nprint(xstate.tool('order', what={what!r}, text={text!r}))"
            self.assertEqual(self.session.exec(code, tools=tools).check().text, what + "\n")
            self.assertEqual(len(self.called), called)

    def test_what_was_not_sent_is_called_again(self):
        def order(what):
            self.called.append(what)
            if len(self.called) == 1:
                raise ToolNotSent("no line")
            return "done"

        code = "# %% o\nimport xstate\nprint(xstate.tool('order', what='tea'))"
        self.assertEqual(self.session.exec(code, tools={"order": Tool(order, "reversible")}).error.type, "CallLost")
        self.assertEqual(self.session.exec(code, tools={"order": Tool(order, "reversible")}).check().text, "done\n")

    def test_calls_of_threads_run_at_the_same_time(self):
        both = threading.Barrier(2, timeout=60)

        def meet(i):
            both.wait()
            return i

        code = """
import xstate
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(2) as pool:
    print(list(pool.map(lambda i: xstate.tool('meet', i=i), range(2))))"""
        r = self.session.exec(code, tools={"meet": Tool(meet, "read")})
        self.assertEqual(r.check().text, "[0, 1]\n")

    def test_arguments_are_checked_before_the_call(self):
        r = self.session.exec(
            "import xstate\nxstate.tool('search', query='k')", tools={"search": Tool(self.search, "read")}
        )
        self.assertEqual((r.error.type, self.called), ("ToolError", []))

    def test_an_answer_that_is_too_large(self):
        tools = {"much": Tool(lambda: "a" * (20 << 20), "read")}
        r = self.session.exec("import xstate\nxstate.tool('much')", tools=tools)
        self.assertEqual(r.error.type, "CallLost")
        self.assertIn("too-large: the request has", str(r))

    def test_with_a_key(self):
        keys = []
        tools = {"put": Tool(lambda x, idempotency_key: keys.append(idempotency_key), "idempotent", with_key=True)}
        self.session.exec("import xstate\nxstate.tool('put', x=1)\nxstate.tool('put', x=1)", tools=tools).check()
        self.assertEqual((len(set(keys)), {len(k) for k in keys}), (2, {64}))


class TestAsyncTools(Folder, unittest.IsolatedAsyncioTestCase):
    async def test_coroutines_run_at_the_same_time(self):
        met = []

        async def meet(i):
            met.append(i)
            while len(met) < 2:
                await asyncio.sleep(0.001)
            return i

        code = """
import asyncio, xstate
async def both():
    return await asyncio.gather(*(xstate.atool('meet', i=i) for i in range(2)))
print(asyncio.run(both()), xstate.tool('plain', x=2))"""
        async with self.new_engine(AsyncEngine) as engine:
            s = engine.session()
            r = await s.exec(code, tools={"meet": Tool(meet, "read"), "plain": Tool(lambda x: x + 1, "pure")})
            self.assertEqual(r.check().text, "[0, 1] 3\n")
            self.assertEqual((await s.calls())["total"]["calls"], 3)
            much = {"much": Tool(lambda: "a" * (20 << 20), "read")}
            r = await s.exec("import xstate\nxstate.tool('much')", tools=much)
            self.assertIn("too-large: the request has", str(r))


if __name__ == "__main__":
    unittest.main()
