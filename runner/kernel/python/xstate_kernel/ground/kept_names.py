"""Names of objects of the kernel that are known outside of it: they do not change when a module moves.

A stored group names the functions that restore it by module, and so do digests and what a program itself pickles or
prints. Results of former versions are good only as long as these names are. The package xstate, which may be installed
beside the program in a version of its own, finds the kernel by such a name, too."""

import sys

from xstate_kernel import original as __builtins__


def keep(first, now, *objects):
    """Has the module now found by the name first, too, and these objects of it say that they are of that one."""
    name = "xstate_kernel." + first
    sys.modules[name] = sys.modules[now]
    for o in objects:
        o.__module__ = name
