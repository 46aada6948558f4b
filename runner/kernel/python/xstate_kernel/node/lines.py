"""The lines of functions.

An edit that only moves lines runs nothing again. A function that was made before the edit, kept or stored, would cite
old lines. So it gets the same code with the lines that the text has now.
"""

import ast
import linecache
import types
import warnings

from xstate_kernel import original as __builtins__

from ..value import code_digest


class Lines:
    def __init__(self):
        self._texts = {}  # file name → (text, flags)
        self._codes = {}  # file name → {(name, digest): code object}

    def update(self, texts, gone):
        """Takes the texts of new and changed blocks, each with its flags, and the names of those that are gone. Reports
        whether texts that were there before may be elsewhere now."""
        again = bool(self._texts) and bool(texts or gone)
        for name in gone:
            self._texts.pop(name, None)
            self._codes.pop(name, None)
        for name, (text, flags) in texts.items():
            self._texts[name] = text, flags
            self._codes.pop(name, None)
            linecache.cache.pop(name, None)
        for name, (text, _) in self._texts.items():
            if name not in linecache.cache:  # the program may have cleared it
                text += "\n"  # traceback counts columns wrongly in a last line without an end
                linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        return again

    def renew(self, functions):
        """Gives functions the code that the text has now; yields it if it differs."""
        for f in functions:
            code = self.current(f.__code__)
            if code is not f.__code__:
                f.__code__ = code
                yield code

    def current(self, code):
        """Returns the code object that the text makes now for one that it made before; the same one if there is
        none."""
        if not code.co_filename.startswith("<") or code.co_filename == "<string>":
            return code  # it is from a file, or made by exec
        key = (code.co_name, code_digest.known(code))
        names = [code.co_filename] if code.co_filename in self._texts else []
        for name in names + [n for n in self._texts if n != code.co_filename]:
            if name not in self._codes:
                self._codes[name] = self._compile(name)
            found = self._codes[name].get(key)
            if found is not None:
                return code if _same(found, code) else found
        return code

    def _compile(self, name):
        text, flags = self._texts[name]
        found = {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                whole = compile(text, name, "exec", flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
                code_digest.flatten(whole, text, flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except (SyntaxError, ValueError):
            return found
        todo = [whole]
        while todo:
            code = todo.pop()
            inner = [k for k in code.co_consts if isinstance(k, types.CodeType)]
            todo.extend(reversed(inner))
            for k in inner:
                found.setdefault((k.co_name, code_digest.known(k)), k)
        return found


def _same(a, b):
    """Reports whether two code objects that do the same have the same lines, too."""
    if (a.co_filename, a.co_firstlineno, a.co_linetable) != (b.co_filename, b.co_firstlineno, b.co_linetable):
        return False
    pairs = [
        (x, y)
        for x, y in zip(a.co_consts, b.co_consts)
        if isinstance(x, types.CodeType) and isinstance(y, types.CodeType)
    ]
    return all(_same(x, y) for x, y in pairs)
