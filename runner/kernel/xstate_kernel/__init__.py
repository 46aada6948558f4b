"""The Python kernel of xstate: executes nodes in one namespace and reports what they read and wrote.

It needs nothing but the standard library. Nouns: a *frame* is one message to or from the engine; the *namespace*
is the __dict__ of the program's __main__; a *fingerprint* names a value by content; a *group* is a set of names
whose object graphs overlap (a co-variable, after Kishu); *hidden* state is what lives outside the namespace.
"""
import builtins

original = dict(vars(builtins))  # each file of the kernel takes these for its builtins: the program may replace some
