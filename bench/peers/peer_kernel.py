"""Shared by the adapters of Jupyter kernels: the settings of kernels, and side requests to them.

A kernel loads this file as an IPython extension. It then seeds generators and reports values; nothing else.
"""
import json
import os
import sys
import time

import peer

_settings = """
c.InteractiveShellApp.extensions = ["peer_kernel"]
c.PlainTextFormatter.pprint = False  # values are shown as repr has them, as with the other strategies
"""
_patience = 300  # seconds that a kernel may take to report values


def settings():
    """Makes the environment that kernels are started with."""
    profile = os.path.join(peer.options["scratch"], "ipython", "profile_default")
    os.makedirs(profile, exist_ok=True)
    with open(os.path.join(profile, "ipython_kernel_config.py"), "w") as config:
        config.write(_settings)
    os.environ.update(JUPYTER_PREFER_ENV_PATH="1", IPYTHONDIR=os.path.dirname(profile), PYTHONPATH=peer.here, XSTATE_PEER=json.dumps(peer.options))


def load_ipython_extension(ipython):
    global _before, _ns
    sys.path[:] = [p for p in sys.path if p != peer.here]
    del os.environ["PYTHONPATH"], os.environ["XSTATE_PEER"]
    _ns = ipython.user_ns
    _before = dict(_ns)

    def begins(*_):
        ipython.events.unregister("pre_run_cell", begins)
        peer.seed()
    ipython.events.register("pre_run_cell", begins)


def tell(path):
    """Called in the kernel: writes the values of the program to a file, without those of the shell."""
    program = {n: v for n, v in _ns.items() if n not in ("In", "Out")}
    with open(path + ".new", "w") as out:
        json.dump(peer.values(program, _before), out)
    os.rename(path + ".new", path)


def values(client):
    """Asks a kernel for the values, silently, which no history or tracking of a kernel takes note of."""
    path = os.path.join(peer.options["scratch"], "values.json")
    if os.path.exists(path):
        os.remove(path)
    client.execute("__import__('peer_kernel').tell(%r)" % path, silent=True, store_history=False)
    end = time.monotonic() + _patience
    while not os.path.exists(path):
        if time.monotonic() > end:
            raise TimeoutError("the kernel does not answer")
        time.sleep(0.005)
    with open(path) as source:
        return json.load(source)


def add(outputs, kind, content):
    """Adds what a message of a kernel puts out to the outputs of a block: what is printed, and the text of a result."""
    if kind == "stream" and content["name"] == "stdout":
        peer.put(outputs, content["text"])
    elif kind == "execute_result" and "text/plain" in content["data"]:
        peer.show(outputs, content["data"]["text/plain"])
