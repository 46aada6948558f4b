"""Judges that stores, digests and programs find objects of the kernel by the names that they have for them.

usage: kept_names.py SEED"""

import pickle
import sys

from xstate_kernel import main
from xstate_kernel.show import display

display.pretty(())  # as for notebooks

KEPT = {
    "values": "_fill_cell _fill_function _named _memory _dead _function _module _class _nan",
    "sets": "lay",
    "instances": "make fill",
    "shell": "get_ipython ZMQInteractiveShell",
    "formatters": "Formatter PlainText DisplayFormatter _own",
    "magic": "Magic Captured RichOutput",
    "pretty": "Printer",
    "plain": "NoPlainForm",
    "streams": "Stream",
    "started": "Arguments Stdin Bytes",
    "calls": "Offer",
    "adapters": "state_object",
    "adapters.numpy": "owned view filled",
    "adapters.pandas": "share_references",
    "adapters.io": "_closed",
}
for module, names in KEPT.items():
    for name in names.split():
        o = getattr(sys.modules["xstate_kernel." + module], name)
        assert name == "Arguments" or f"{o.__module__}.{o.__qualname__}" == f"xstate_kernel.{module}.{name}", o
        assert name == "Arguments" or pickle.loads(pickle.dumps(o)) is o, o

# Names that stores have from former versions, and the one that the package xstate looks for.
for module, names in {"values": "_owned _view _count", "hidden": "kept_by", "calls": "connect line VERSION"}.items():
    for name in names.split():
        getattr(sys.modules["xstate_kernel." + module], name)

assert main.calls is sys.modules["xstate_kernel.calls"]
print("kept:", sum(len(names.split()) for names in KEPT.values()), "names")
