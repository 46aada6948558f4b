"""The files that modules of tests were loaded from."""

import os
import sys

from xstate_kernel import original as __builtins__

_reals = {}


def real(path):
    """Caches os.path.realpath, which makes a system call for every folder of the path."""
    found = _reals.get(path)
    if found is None:
        found = _reals[path] = os.path.realpath(path)
    return found


def file_of(name):
    """Returns the file that a module was loaded from, or ""."""
    file = getattr(sys.modules.get(name), "__file__", None) if isinstance(name, str) else None
    return real(file) if file else ""


def drop_stale(path, spec):
    """Removes compiled files that may belong to an earlier text.

    Python and pytest compare only size and second, and two edits can share both."""
    places = [getattr(spec, "cached", None)]
    rewrite = sys.modules.get("_pytest.assertion.rewrite")
    if rewrite is not None:
        name = os.path.basename(path)
        places.append(os.path.join(str(rewrite.get_cache_dir(rewrite.Path(path))), name[:-3] + rewrite.PYC_TAIL))
    for place in places:
        try:
            if place and os.stat(place).st_mtime_ns <= os.stat(path).st_ctime_ns:
                os.unlink(place)
        except OSError:
            pass
