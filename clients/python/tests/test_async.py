import asyncio
import unittest

from support import Folder
from test_session import LONG
from xstate_engine import AsyncEngine, XStateError


class TestAsync(Folder, unittest.IsolatedAsyncioTestCase):
    async def test_everything(self):
        async with self.new_engine(AsyncEngine) as engine:
            s = engine.session()
            events = []

            async def keep(event):
                await asyncio.sleep(0)
                events.append(event["event"])

            r = await s.exec("# %% a\nx = 1\nprint(x)", on_event=keep)
            self.assertEqual((r.check().text, events[0], "output" in events), ("1\n", "started", True))
            self.assertEqual((await s.value("x"))["text"], "1")
            done = await s.edit("# %% a\nx = 2\nprint(x)", run=True)
            self.assertEqual(done["run"]["ran"], 1)
            other = await s.fork("other")
            self.assertEqual((await other.exec("x + 1")).result, "3")
            self.assertEqual(len((await s.query())["blocks"]), 1)
            with self.assertRaises(XStateError) as caught:
                await s.why("nothing")
            self.assertEqual(caught.exception.code, "no-block")

    async def test_many_at_once(self):
        async with self.new_engine(AsyncEngine) as engine:  # one server is started for all
            results = await asyncio.gather(*(engine.session(f"s{i % 3}").exec(f"# %% t{i}\n{i}") for i in range(9)))
        self.assertEqual([r.result for r in results], [str(i) for i in range(9)])

    async def test_calls_of_a_session_keep_their_order(self):
        """As two tool calls of one answer, of which the second needs what the first one defines."""
        async with self.new_engine(AsyncEngine) as engine:
            for name in "abcd":
                s = engine.session(name)
                codes = ["n = 1", *(f"# %% then-{i}\nn += {i}\nn" for i in range(2, 6))]
                results = await asyncio.gather(*(s.exec(code) for code in codes))
                self.assertEqual([r.result for r in results], [None, "3", "6", "10", "15"])

    async def test_a_call_in_line_can_be_interrupted_and_cancelled(self):
        async with self.new_engine(AsyncEngine) as engine:
            s = engine.session()
            began = asyncio.Event()
            first = asyncio.create_task(s.exec(LONG, on_event=lambda e: e["event"] == "output" and began.set()))
            await asyncio.wait_for(began.wait(), 60)
            cancelled, interrupted = (asyncio.create_task(s.exec("x = 1")) for _ in range(2))
            await asyncio.sleep(0.02)
            cancelled.cancel()
            await s.interrupt()
            results = await asyncio.gather(first, cancelled, interrupted, return_exceptions=True)
            self.assertTrue(results[0].taken_back)
            self.assertIsInstance(results[1], asyncio.CancelledError)
            self.assertEqual(results[2].code, "interrupted")
            self.assertEqual((await asyncio.wait_for(s.exec("1 + 1"), 60)).result, "2")

    async def test_a_task_that_is_cancelled_ends_its_run(self):
        async with self.new_engine(AsyncEngine) as engine:
            s = engine.session()
            began = asyncio.Event()
            task = asyncio.create_task(s.exec(LONG, on_event=lambda e: e["event"] == "output" and began.set()))
            await asyncio.wait_for(began.wait(), 60)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertEqual((await asyncio.wait_for(s.exec("1 + 1"), 60)).result, "2")

    async def test_interrupt(self):
        async with self.new_engine(AsyncEngine) as engine:
            s = engine.session()
            began = asyncio.Event()
            task = asyncio.create_task(s.exec(LONG, on_event=lambda e: e["event"] == "output" and began.set()))
            await asyncio.wait_for(began.wait(), 60)
            self.assertTrue(await s.interrupt())
            self.assertEqual((await task).document["stopped"], "interrupted")


class TestLoops(Folder):
    def test_an_engine_in_two_loops(self):
        engine = self.new_engine(AsyncEngine)

        async def use(code):
            async with engine:
                return (await engine.session().exec(code)).result

        for want in ("1", "2"):
            self.assertEqual(asyncio.run(use(f"# %% a\n{want}")), want)
