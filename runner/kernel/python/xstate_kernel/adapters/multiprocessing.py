"""multiprocessing: a child that is not a fork runs the program's file again, as a module with another name.

No audit event reports the start of such a child: neither when the library starts it, nor when a server forks it."""

import os
import sys

from xstate_kernel import original as __builtins__

from .protocol import Adapter


def _watch(hidden, module):
    prepare = module.get_preparation_data

    def get_preparation_data(name):
        sys.audit("subprocess.Popen", module.get_executable(), [], None, None)
        path = getattr(sys.modules["__main__"], "__file__", None)
        if path is not None:
            sys.audit("open", path, "r", os.O_RDONLY)
        return prepare(name)

    module.get_preparation_data = get_preparation_data


class Multiprocessing(Adapter):
    packages = ("multiprocessing",)

    def after_import(self):
        return {"multiprocessing.spawn": _watch}


adapter = Multiprocessing()
