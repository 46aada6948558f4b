"""The module of programs, where no engine runs them."""

import ast
import asyncio
import dataclasses
import http.server
import inspect
import io
import json
import os
import re
import sys
import threading
import typing
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import generate
import xstate
from xstate import _calls, atools, tools


@dataclasses.dataclass
class Pet:
    name: str
    weights: list[float] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Person:
    name: str
    pet: typing.Optional[Pet] = None  # noqa: UP045, as programs for older Pythons write it
    kind: typing.Literal["a", "b"] = "a"


@dataclasses.dataclass
class Node:
    next: typing.Optional["Node"]


class Film(typing.TypedDict):
    title: str
    score: float


class Endpoint(http.server.BaseHTTPRequestHandler):
    """Answers as models do, and keeps what it was asked."""

    asked: list = []
    answer = ""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, dict(self.headers), body))
        if self.path.endswith("/chat/completions"):
            reply = {"choices": [{"message": {"content": self.answer}}]}
        elif "tools" in body:
            reply = {"content": [{"type": "tool_use", "input": json.loads(self.answer)}]}
        else:
            reply = {"content": [{"type": "text", "text": self.answer}]}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(reply).encode())

    def log_message(self, *_):
        pass


class Alone(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.dict(_calls._way.provided, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def test_copy(self):
        for path, text in generate.files().items():
            self.assertEqual(path.read_text("utf-8"), text, f"{path} is old: run generate.py")

    def test_tools(self):
        @xstate.provide("search")
        def search(query, limit=5):
            """Finds things."""
            return {"query": query, "limit": limit, "pair": (1, 2)}

        self.assertEqual(xstate.tool("search", query="x"), {"query": "x", "limit": 5, "pair": [1, 2]})
        self.assertEqual(tools.search("x", 2)["limit"], 2)
        self.assertEqual(str(inspect.signature(tools.search)), "(query, limit=5)")
        self.assertEqual((tools.search.__doc__, dir(tools)), ("Finds things.", ["search"]))
        with self.assertRaises(xstate.ToolError) as caught:
            xstate.tool("find")
        self.assertEqual(caught.exception.code, "no-tool")
        with self.assertRaisesRegex(xstate.NotPlain, r"query\[0\] is of type set"):
            tools.search(query=[{1}])
        with self.assertRaises(AttributeError):
            _ = tools._repr_html_

    def test_tasks(self):
        async def slow(n):
            await asyncio.sleep(0)
            if n == 1:
                raise ValueError(n)
            return n

        async def main():
            xstate.provide("slow", slow)
            self.assertEqual(await atools.slow(n=2), 2)
            ended = []
            with self.assertRaises(ValueError):
                await xstate.gather(atools.slow(n=1), one(ended), limit=1)
            self.assertEqual(ended, [3])
            self.assertEqual(await xstate.gather(), [])
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(xstate.gather(asyncio.Event().wait()), 0.01)
            self.assertEqual(await xstate.astep("s", slow, 4), 4)

        async def one(ended):
            ended.append(await atools.slow(n=3))

        asyncio.run(main())

    def test_steps(self):
        @xstate.step
        def load(path, n=1):
            return [path] * n

        self.assertEqual(load("a", n=2), ["a", "a"])
        self.assertEqual(load.__name__, "load")
        self.assertEqual(xstate.step("x", lambda: (1,)), [1])
        with self.assertRaises(xstate.NotPlain):
            xstate.step("x", object)

    def test_ask(self):
        with mock.patch("sys.stdin", io.StringIO("maybe\nyes\n")), mock.patch("sys.stdout", io.StringIO()) as out:
            self.assertEqual(xstate.ask("Go on?", ["yes", "no"]), "yes")
        self.assertEqual(out.getvalue(), "Go on? [yes/no] " * 2)

    def test_models(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        base = "http://127.0.0.1:%d" % server.server_port
        for environ in (
            {"OPENAI_BASE_URL": base + "/v1", "OPENAI_API_KEY": "k"},
            {"ANTHROPIC_BASE_URL": base, "ANTHROPIC_API_KEY": "k"},
        ):
            with mock.patch.dict(os.environ, {**environ, "no_proxy": "*"}, clear=True):
                Endpoint.answer, parts = "hello", []
                self.assertEqual(xstate.llm("hi", model="m", system="s", on_text=parts.append), "hello")
                self.assertEqual("".join(parts), "hello")
                Endpoint.answer = '{"name": "Ann", "pet": {"name": "Bo", "weights": [1]}}'
                ann = xstate.llm("who?", model="m", schema=Person)
                self.assertEqual(ann, Person("Ann", Pet("Bo", [1.0])))
                Endpoint.answer = '{"title": "T", "score": 1}'
                film = asyncio.run(xstate.allm("which?", model="m", schema=Film, temperature=0))
                self.assertEqual(repr(film), "{'title': 'T', 'score': 1.0}")
                self.assertEqual(Endpoint.asked[-1][2]["temperature"], 0)
        paths = [path for path, _, _ in Endpoint.asked]
        self.assertEqual(paths, ["/v1/chat/completions"] * 3 + ["/v1/messages"] * 3)
        pet = {
            "type": "object",
            "properties": {"name": {"type": "string"}, "weights": {"type": "array", "items": {"type": "number"}}},
            "required": ["name"],
            "additionalProperties": False,
        }
        asked = Endpoint.asked[1][2]["response_format"]["json_schema"]["schema"]
        self.assertEqual(asked["properties"]["pet"], {"anyOf": [pet, {"type": "null"}]})
        self.assertEqual((asked["properties"]["kind"], asked["required"]), ({"enum": ["a", "b"]}, ["name"]))
        with self.assertRaisesRegex(TypeError, "contains itself"):
            xstate.llm("hi", schema=Node)
        with mock.patch.dict(os.environ, clear=True), self.assertRaisesRegex(xstate.ToolError, "no model"):
            xstate.llm("hi")


class Documented(unittest.TestCase):
    def test_examples(self):
        """The examples of docs/calls.md run, in order."""
        page = (Path(__file__).resolve().parents[3] / "docs/calls.md").read_text("utf-8")
        section = page.partition("## In a block\n")[2].partition("\n## ")[0]
        examples = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
        self.assertGreater(len(examples), 3)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        Endpoint.answer, sent, space = '{"place": "Oslo", "degrees": 3}', [], {"__name__": "__main__"}
        environ = {"OPENAI_BASE_URL": "http://127.0.0.1:%d" % server.server_port, "XSTATE_MODEL": "m", "no_proxy": "*"}

        def mail(to, text):
            sent.append(to)

        with mock.patch.dict(_calls._way.provided, clear=True), mock.patch.dict(os.environ, environ):
            xstate.provide("search", lambda query, limit=1: [query] * limit)
            xstate.provide("mail", mail)
            with mock.patch("sys.stdin", io.StringIO("yes\n")), mock.patch("sys.stdout", io.StringIO()) as out:
                for text in examples:
                    found = eval(compile(text, "calls.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), space)
                    if found is not None:
                        asyncio.run(found)
        self.assertEqual((sent, space["rows"], space["pages"]), (["me@example.com"], [5, 2], [["a"], ["b"], ["c"]]))
        self.assertEqual(repr(space["weather"]), "Weather(place='Oslo', degrees=3.0)")
        printed = re.search(r"print\(e\) +# (.*)", section).group(1)
        self.assertEqual(out.getvalue(), f"Send it? [yes/no] {printed}\n")


if __name__ == "__main__":
    unittest.main()
