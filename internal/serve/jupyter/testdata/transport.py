"""How the tests' clients of Jupyter reach their kernels: by Unix sockets.

By TCP a client chooses five free ports, and the kernel binds them only after its start: another program may have taken
one by then.
"""

import itertools
import os
import tempfile

from traitlets.config import Config

_folder = tempfile.TemporaryDirectory()
_numbers = itertools.count()


def sockets():
    """Arguments of a KernelManager, for one kernel."""
    return {"transport": "ipc", "ip": os.path.join(_folder.name, str(next(_numbers)))}


def configured():
    """The same, as the configuration of a program that makes a KernelManager."""
    return Config(KernelManager=sockets())
