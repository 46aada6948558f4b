import json
import struct
import unittest

from xstate_engine import XStateError
from xstate_engine._wire import Answer, request

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def envelope(document, flags=0):
    text = json.dumps(document).encode()
    return struct.pack(">BI", flags, len(text)) + text


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


class TestAnswer(unittest.TestCase):
    def fed(self, data, stream, size):
        answer, found = Answer(stream), []
        for at in range(0, len(data), size):
            found += answer.feed(data[at : at + size])
        return answer, found

    def test_pieces_of_any_size(self):
        events = envelope({"event": "started"}) + envelope({"event": "done", "text": "é" * 300}) + envelope({}, 2)
        chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        for half in (0, 3, 40, len(events)):
            body = b"".join(chunk(part) for part in (events[:half], events[half:]) if part)
            for size in (1, 2, 7, 10_000):
                with self.subTest(half=half, size=size):
                    answer, found = self.fed(chunked + body + b"0\r\n\r\n", True, size)
                    self.assertEqual([e["event"] for e in found], ["started", "done"])
                    self.assertTrue(answer.complete and answer.reusable)

    def test_lengths(self):
        for size in (1, 5, 10_000):
            answer, found = self.fed(OK + b'Content-Length: 9\r\n\r\n{"a": 1}\n', False, size)
            self.assertEqual(found, [{"a": 1}])
            self.assertTrue(answer.reusable)
        answer, found = self.fed(OK + b"Connection: close\r\n\r\n{}", False, 3)
        self.assertFalse(answer.complete)
        self.assertEqual(answer.feed(b""), [{}])
        self.assertFalse(answer.reusable)

    def test_an_end_too_early(self):
        whole = OK + b'Content-Length: 8\r\n\r\n{"a": 1}'
        for cut in range(len(whole) - 1):
            answer = Answer(False)
            if cut:
                answer.feed(whole[:cut])
            with self.assertRaises(ConnectionError):
                answer.feed(b"")

    def test_errors(self):
        detail = {"code": "no-block", "message": "there is none", "hint": "look", "candidates": [{"line": 1}]}
        whole = {"code": "not_found", "message": "x", "details": [{"type": "xstate.v1.Error", "debug": detail}]}
        text = {"code": "not_found", "message": "no-block: there is none (look)"}
        ours = {"version": 1, "error": detail}
        for error in (whole, text, ours):
            body = json.dumps(error).encode()
            head = b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n" % len(body)
            answer = Answer(False)
            with self.assertRaises(XStateError) as caught:
                answer.feed(head + body)
            e = caught.exception
            self.assertEqual((e.code, e.message, e.hint), ("no-block", "there is none", "look"))
            self.assertTrue(answer.reusable)
        with self.assertRaises(XStateError) as caught:
            self.fed(OK + b"\r\n" + envelope({"error": whole}, 2), True, 10)
        self.assertEqual(caught.exception.document["candidates"], [{"line": 1}])

    def test_garbage(self):
        for garbage in (
            b"\x00\x00\x00\x10nonsense\r\n\r\n",
            b"HTTP/1.1 abc\r\n\r\n",
            b"a" * 100_000,
            OK + b"Content-Length: -1\r\n\r\n",
            OK + b"Content-Length: 3\r\n\r\n{{{",
            OK + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
        ):
            with self.assertRaises(XStateError) as caught:
                self.fed(garbage, False, 4096)
            self.assertEqual(caught.exception.code, "internal")

    def test_request(self):
        head, body = request("RunService/Exec", {"code": "é"}, "localhost", "secret", False).split(b"\r\n\r\n")
        self.assertIn(b"POST /xstate.v1.RunService/Exec HTTP/1.1\r\n", head)
        self.assertIn(b"Authorization: Bearer secret", head)
        self.assertIn(b"Content-Length: %d\r\n" % len(body), head)
        self.assertEqual(json.loads(body), {"code": "é"})
        with self.assertRaises(XStateError) as caught:
            request("RunService/Exec", {"code": "\ud800"}, "localhost", None, True)
        self.assertEqual(caught.exception.code, "usage")
