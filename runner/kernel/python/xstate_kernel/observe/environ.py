"""Observes which variables of the environment a program reads."""

import os

from xstate_kernel import original as __builtins__

from . import libraries


def observed(files):
    base = type(os.environ)

    class _Environ(base):
        def __getitem__(self, key):
            self._ask(key, "")
            return base.__getitem__(self, key)

        def __contains__(self, key):
            self._ask(key)
            active, files.active = files.active, False
            try:
                return base.__contains__(self, key)
            finally:
                files.active = active

        def __delitem__(self, key):
            self._ask(key)  # deleting an absent variable fails
            base.__delitem__(self, key)

        def _ask(self, key, what="="):
            """Records that the program reads a variable, or checks its presence."""
            if isinstance(key, bytes):
                key = os.fsdecode(key)
            if isinstance(key, str):
                if files.active:
                    files.environ.add(what + key)
                if files.active or files.restoring:
                    libraries.looked("env", key)

        def __iter__(self):
            self._list()
            return base.__iter__(self)

        def __len__(self):
            self._list()
            return base.__len__(self)

        def __repr__(self):
            self._list()
            return base.__repr__(self)

        def _list(self):
            if files.active:
                files.environ.add("*")

    _Environ.__qualname__ = "_Environ"
    _Environ.__module__ = "os"
    return _Environ
