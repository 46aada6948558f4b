"""The client sends what the API defines, and offers all of it."""

import asyncio
import inspect
import re
import sys
import unittest
from pathlib import Path

import xstate_engine
from xstate_engine import Tool, ToolNotSent, ToolRefused, _offers

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import generate  # noqa: E402

PROTO = (HERE.parents[2] / "api/xstate/v1/services.proto").read_text("utf-8")


def messages():
    """The fields of each message, by its name."""
    found = {}
    for name, body in re.findall(r"^message (\w+) \{(.*?)\}\n(?=\n|\Z)", PROTO, re.MULTILINE | re.DOTALL):
        found[name] = set(re.findall(r"^\s+(?:repeated |optional )?[\w.<>, ]+? (\w+) = \d+;", body, re.MULTILINE))
    return found


# Fields that the methods leave to engine.call.
LEFT_OUT = {
    "PlanRequest": {"python"},  # Engine has it, as a variable of the environment: ExecRequest lacks it
    "RunRequest": {"python"},
    "ValueRequest": {"at", "place"},  # a part at a time is for the page, which people look at
    "EditRequest": {"detach"},
    "ForkRequest": {"private"},
}


class Spy:
    """In place of the transport: keeps the requests."""

    def __init__(self):
        self.sent = {}

    def call(self, method, request, timeout):
        self.keep(method, request)
        return {"session": "new"}

    def stream(self, method, request, each):
        self.keep(method, request)
        each({"version": 1, "event": "done", "exec": {}, "result": {}})

    def keep(self, method, request):
        self.sent.setdefault(method, set()).update(request)


class TestDefinition(unittest.TestCase):
    def test_the_blocking_client_is_generated(self):
        folder = HERE.parent / "src/xstate_engine"
        want = generate.blocking((folder / "_async_client.py").read_text("utf-8"))
        self.assertEqual((folder / "_client.py").read_text("utf-8"), want, "run clients/python/generate.py")

    def test_requests_have_the_fields_of_the_api(self):
        everything = Tool(print, "read", "d", {}, {"type": "null"}, "s", 1.0, "u", "v", identity=["i"])
        self.assertEqual(set(everything.definition("t")) | {"input"}, messages()["ToolDefinition"])
        engine = xstate_engine.Engine(".", origin={"agent": "a"})
        engine._transport = spy = Spy()
        s = engine.session("s")
        offers = {"tools": {"t": everything}, "models": {"m": everything}}
        s.exec("1", replace="b", append=True, language="l", budget=1, timeout=1, detach=True, **offers)
        s.run(
            "f.py", arguments=["a"], timeout=1, detach=True, verify=True, fresh=True, always=["a"], never=["b"],
            restore_files=True, jobs=2, remote_jobs=2, elsewhere=True, write=True, expect=1, merge=True,
            contents="c", until="b",
            **offers,
        )  # fmt: skip
        s.calls(waiting=True, tool="t", block="b", since=1, cost=True)
        s.approve(1, choice="c", deny=True, reason="r", result=None, by="b")
        for answer in (
            _offers.answered({"call": 1}, xstate_engine.Spent(1, 2, 3, 4.0)),
            *(_offers.failed({"call": 1}, e("x")) for e in (ToolRefused, ToolNotSent, OSError)),
        ):
            engine._answer(answer)
        s.edit("p", format="diff", block="b", expect=3, merge=True, dry_run=True, run=True, timeout=1)
        s.undo(3, by="a", dry_run=True, keep_file=True)
        s.rollback(0, keep_file=True)
        s.fork("n", at_step=0)
        s.plan("f.py", arguments=["a"], contents="c")
        s.why("b")
        s.value("x", at_step=0)
        s.history(limit=0, after=1)
        s.show("b")
        s.diff(1, 2)
        for question in ("block", "symbol", "affected_by", "depends_on", "version", "patch", "where", "at", "after"):
            s.query(**{question: "x"})
        for question in ("failed", "unverified", "volatile"):
            s.query(**{question: True})
        s.query(path=("a", "b"), at_step=0, limit=1)
        engine.sessions()
        engine.runs()
        engine._interrupt(xstate_engine._client._Run("", _offers.Offering(None, None)))

        self.assertEqual(set(xstate_engine.ActiveRun.__annotations__), messages()["ActiveRun"])
        rpcs = dict(re.findall(r"rpc (\w+)\((\w+)\)", PROTO))
        fields = messages()
        self.assertGreater(len(fields), 15)
        for method, sent in spy.sent.items():
            service, _, name = method.partition("/")
            self.assertIn(f"service {service} ", PROTO)
            message = rpcs[name]
            with self.subTest(message=message):
                self.assertLessEqual(sent, fields[message], "sent, but not in the API")
                self.assertEqual(fields[message] - sent, LEFT_OUT.get(message, set()), "in the API, but never sent")
        left = set(rpcs) - {m.partition("/")[2] for m in spy.sent}
        bare = {"Get", "Exec", "Run", "Replay", "Verify", "Evidence", "Flow", "CheckVerifier", "GetCall"}
        self.assertEqual(left, bare, "methods without a wrapper")

    def test_both_clients_have_the_same_methods(self):
        for blocking, asynchronous in (
            (xstate_engine.Engine, xstate_engine.AsyncEngine),
            (xstate_engine.Session, xstate_engine.AsyncSession),
        ):
            for name, method in vars(blocking).items():
                if inspect.isfunction(method) and not name.startswith("_"):
                    other = getattr(asynchronous, name)
                    self.assertEqual(
                        list(inspect.signature(method).parameters), list(inspect.signature(other).parameters)
                    )
                    self.assertEqual(name == "session", not asyncio.iscoroutinefunction(other), name)
