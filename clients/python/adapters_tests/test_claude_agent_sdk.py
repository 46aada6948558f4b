"""Claude's SDK takes servers of MCP: there is no adapter, and the page says how. The model is a server of its API."""

import json
import os
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock

from common import PICTURE, Folder, Page


class Api(ThreadingHTTPServer):
    """Claude's API, with these blocks as answers to requests that have tools."""

    def __init__(self, *blocks):
        super().__init__(("127.0.0.1", 0), Handler)
        self.blocks, self.asked = iter(blocks), []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        block = {"type": "text", "text": "ok"}
        if asked.get("tools"):
            self.server.asked.append(asked)
            block = next(self.server.blocks)
        kind, data = ("text/event-stream", stream(block)) if asked.get("stream") else ("application/json", whole(block))
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


def message(block):
    about = {"id": "m", "type": "message", "role": "assistant", "model": "script-1", "stop_sequence": None}
    why = "tool_use" if block["type"] == "tool_use" else "end_turn"
    return {**about, "content": [block], "stop_reason": why, "usage": {"input_tokens": 10, "output_tokens": 4}}


def whole(block):
    return json.dumps(message(block)).encode()


def stream(block):
    first, delta = {**block, "text": ""}, {"type": "text_delta", "text": block.get("text")}
    if block["type"] == "tool_use":
        first, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    end = {"stop_reason": message(block)["stop_reason"], "stop_sequence": None}
    events = [
        {"type": "message_start", "message": {**message(block), "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": first},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()


class TestClaudeAgentSDK(Page, Folder):
    def test_the_page(self):
        call = {"type": "tool_use", "name": "mcp__xstate__exec"}
        calls = [{**call, "id": f"call-{len(code)}", "input": {"code": code}} for code in ("6 * 7", PICTURE)]
        api = Api(*calls, {"type": "text", "text": "It is 42."})
        self.addCleanup(api.server_close)
        self.addCleanup(api.shutdown)
        own = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC", "CLAUDE"))}
        environ = {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{api.server_port}",
            "ANTHROPIC_API_KEY": "scripted",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CONFIG_DIR": str(self.folder / "claude"),
            "HOME": str(self.folder),
        }
        with mock.patch.dict(os.environ, own, clear=True):
            self.assertEqual(self.run_page("Claude Agent SDK", **environ), "It is 42.")
        told = json.dumps(api.asked[2]["messages"])
        self.assertIn(json.dumps('"text":"42\\n"')[1:-1], told)
        self.assertIn('"media_type": "image/png"', told)
        edits = [step for step in self.engine.session().history()["steps"] if step["kind"] == "append"]
        self.assertEqual([edit["origin"]["agent"] for edit in edits], ["coder", "coder"])


if __name__ == "__main__":
    unittest.main()
