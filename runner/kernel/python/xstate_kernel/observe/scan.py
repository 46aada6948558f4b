"""Finds what child processes did to files, which raises no event in this interpreter.

The kernel scans the workspace before the first child process of a node and after the node. It counts all differences as
writes of the node.
"""

import os
import stat

from xstate_kernel import original as __builtins__

_FILES = 5000  # the kernel does not scan a larger workspace; it still marks the node
_BYTES = 4 << 20  # largest size of a file that the kernel copies first, to restore it later


class Scan:
    def __init__(self, folder, store, copy):
        self._folder, self._store, self._copy = folder, store, copy
        self._copies = {}  # path → (size and time, where its content of then is)
        self._before = None

    def begin(self):
        self._before = None

    def before(self):
        if self._before is None:
            self._before = self._look()
            for path, st in self._before.items():
                if st.st_size <= _BYTES and self._copies.get(path, ("", ""))[0] != _of(st):
                    try:
                        self._copies[path] = _of(st), "directory" if stat.S_ISDIR(st.st_mode) else self._copy(path)
                    except OSError:
                        pass  # gone meanwhile, or not ours to read

    def changes(self):
        """Yields each path that differs, with what was there: None if nothing was, a copy of None if that is not
        known."""
        before = self._before
        if not before:
            return
        now = self._look()
        for path in sorted(before.keys() | now.keys()):
            was = before.get(path)
            if was is None:
                yield path, None
            elif path not in now or _of(was) != _of(now[path]):
                at, copy = self._copies.get(path, ("", None))
                yield (
                    path,
                    {
                        "copy": copy if at == _of(was) else None,
                        "mode": stat.S_IMODE(was.st_mode),
                        "time": was.st_mtime_ns,
                    },
                )

    def _look(self):
        found = {}
        for folder, folders, files in os.walk(self._folder):
            folders[:] = [
                n
                for n in folders
                if not n.startswith(".")
                and n not in ("__pycache__", "node_modules")
                and os.path.join(folder, n) != self._store
            ]
            for name in folders + files:
                path = os.path.join(folder, name)
                try:
                    st = os.lstat(path)
                except OSError:
                    continue
                if stat.S_ISREG(st.st_mode) or stat.S_ISDIR(st.st_mode):
                    found[path] = st
            if len(found) > _FILES:
                return {}
        return found


def _of(st):
    return (st.st_size, st.st_mtime_ns) if stat.S_ISREG(st.st_mode) else None  # for a directory, only that it is there
