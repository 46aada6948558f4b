"""Shared by the adapters. An adapter runs version after version of one program with another tool, as that tool's
documentation says.

A request is a line of JSON on standard input, a reply one on what standard output was. {"op": "run", "blocks": [{"id", "source"}]}
is answered by {"seconds", "refused", "blocks": [{"ran", "outputs", "error"}]}, {"op": "values"} by {"values": {name: digest}}.
The only argument is JSON: folder and file of the program, seed, kernel (a folder), and a folder to work in.
"""
import json
import os
import sys
import time

options = json.loads(os.environ.get("XSTATE_PEER") or sys.argv[1])
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, options["kernel"])
from xstate_kernel import baseline  # noqa: E402
del sys.path[0]


def seed():
    """Seeds generators as for the other strategies. Libraries that are already loaded are seeded now."""
    baseline.seed(options["seed"], {})
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(options["seed"] & 0xFFFFFFFF)


def values(ns, before):
    """Returns name → digest of what the program has bound in ns, which began with before. Values that hold code of the program are "":
    a tool may compile it in its own way."""
    bound = baseline.bound(ns, before)

    def look():
        from xstate_kernel.ground import unsupported
        from xstate_kernel.value import code_digest

        def code(_):
            raise unsupported.Opaque("code of the program")
        code_digest.digest = code
        return baseline.digests(ns, bound)
    return baseline.in_child(look)


def put(outputs, text):
    """Adds what was printed to the outputs of a block."""
    if outputs and outputs[-1]["kind"] == "stdout":
        outputs[-1]["text"] += text
    else:
        outputs.append({"kind": "stdout", "text": text})


def show(outputs, text):
    """Adds the repr of the last expression."""
    outputs.append({"kind": "result", "data": {"text/plain": text}})


def message(name, text):
    return "%s: %s" % (name, text.partition(". Did you mean: ")[0][:10000])


def serve(run, values):
    """Answers requests. run takes blocks and returns why they are refused or None, and for each what it did; values returns digests."""
    sys.path[sys.path.index(here)] = options["folder"]
    os.chdir(options["folder"])
    requests, replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    print(json.dumps({"ready": True}), file=replies, flush=True)
    for line in requests:
        request = json.loads(line)
        if request["op"] == "run":
            start = time.perf_counter()
            refused, blocks = run(request["blocks"])
            reply = {"seconds": time.perf_counter() - start, "refused": refused or "", "blocks": blocks}
        else:
            reply = {"values": values()}
        print(json.dumps(reply), file=replies, flush=True)
