"""The walk's loops in C, where this installation of the kernel has them: see native.go. Else all are None, and the
loops in Python do the same."""

from xstate_kernel import original as __builtins__

try:
    from .. import _native as _found  # pyright: ignore[reportAttributeAccessIssue]
except ImportError:
    _found = None
Ordinals = getattr(_found, "Ordinals", None)
atoms = getattr(_found, "atoms", None)  # (put, bulk, grow, list): writes atoms, and returns whether they were
flat = getattr(_found, "flat", None)  # the same for what a container holds, see Containers.flat
sets = getattr(_found, "sets", None)  # writes sets at the end of the stack, and returns how many, see Walk.drain
level = getattr(_found, "level", None)  # one round of Containers.graph
differing = getattr(_found, "differing", None)  # (before, now): see identity.differing
alone = getattr(_found, "alone", None)  # (threads, descriptors, whether there are children), see template.py
template = getattr(_found, "template", None)  # (socket): waits, and returns the descriptors of each fork, in the fork
same = getattr(_found, "same", None)  # (level, held): 1, 0 or -1, see Fingerprinter.compare
