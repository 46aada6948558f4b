"""Wrappers in the place of functions of C.

A function of C that is an attribute of a class is not a method: logging.Formatter has converter = time.localtime and
calls self.converter(seconds), without the formatter. A function of Python would get the formatter as its first
argument. So the kernel replaces a function of C by a BuiltinFunction, which looks like one and is not a descriptor.
"""

import os
import types

from xstate_kernel import original as __builtins__


class BuiltinFunction:
    """A function of C whose calls go to a function of Python, with no frame between the caller and that function.

    Pickle and copy find it by its name in its module."""

    __slots__ = ("__call__", "__dict__", "__weakref__")
    __class__ = property(lambda self: types.BuiltinFunctionType)

    def __repr__(self):
        return f"<built-in function {vars(self)['__name__']}>"

    def __reduce__(self):
        return vars(self)["__qualname__"]


for _name in ("__name__", "__qualname__", "__module__"):
    setattr(BuiltinFunction, _name, getattr(types.BuiltinFunctionType, _name))


def of(function, original, module):
    """Returns what to put in the place of original, a function of C: it calls function."""
    made = BuiltinFunction()
    made.__call__ = function
    made.__dict__.update(
        __name__=original.__name__,
        __qualname__=original.__qualname__,
        __module__=module,
        __doc__=original.__doc__,
        __self__=original.__self__,
        __text_signature__=original.__text_signature__,
    )
    if original in os.supports_follow_symlinks:  # shutil asks whether the function is in it, to copy a link
        os.supports_follow_symlinks.remove(original)
        os.supports_follow_symlinks.add(made)  # pyright: ignore[reportArgumentType]
    return made


def named(wrapper, original):
    """Returns wrapper, or what calls it if original is a function of C, with the names of original."""
    module = original.__module__ if original.__module__ != "posix" else "os"  # pickle finds it by name in this module
    if type(original) is types.BuiltinFunctionType:
        return of(wrapper, original, module)
    wrapper.__name__ = wrapper.__qualname__ = original.__name__
    wrapper.__module__, wrapper.__doc__ = module, original.__doc__
    return wrapper
