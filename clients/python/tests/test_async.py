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
