"""The Python kernel of xstate: executes nodes in one namespace and reports what they read and wrote.

It needs nothing but the standard library. Nouns: a *frame* is one message to or from the engine; the *namespace*
is the __dict__ of the program's __main__; a *fingerprint* names a value by content; a *group* is a set of names
whose object graphs overlap (a co-variable, after Kishu); *hidden* state is what lives outside the namespace.
"""

import builtins

try:
    from _blake2 import blake2b  # hashlib loads OpenSSL: four megabytes
except ImportError:
    from hashlib import blake2b

try:
    from _sha2 import sha256
except ImportError:
    try:
        from _sha256 import sha256  # before 3.12
    except ImportError:
        from hashlib import sha256

TYPE_CHECKING = False  # linters take it for true; to ask typing would load typing
original = dict(vars(builtins))  # each file of the kernel takes these for its builtins: the program may replace some
original["id"] = (
    object.__hash__
)  # distinguishes objects as well, and raises no audit event, which costs ten times as much
