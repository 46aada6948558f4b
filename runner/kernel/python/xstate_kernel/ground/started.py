"""The inputs that the program was started with: its arguments (sys.argv) and its standard input (sys.stdin).

Both are given for a run. A node that looks at the arguments reads them as hidden state. Of the input, a node reads the
position at its start, and the bytes up to the last one that it looked at: what comes later cannot matter to it."""

import codecs
import io
import operator
import os
import sys

from xstate_kernel import original as __builtins__

from . import kept_names
from .hidden_variable import Variable

# The kernel sets these: whether a node is running whose reads count, and what to call when a library may look.
running, looked = lambda: False, lambda kind, name: None


class Arguments(list):
    """sys.argv: a list that reports which part of it a node uses, the name of the program or the arguments."""

    __slots__ = ()

    def __getitem__(self, at):
        _use(*_parts_of(at))
        return list.__getitem__(self, at)

    def __reduce_ex__(self, protocol):
        _use(NAME, ARGUMENTS)
        return list, (list.__getitem__(self, slice(None)),)


def _reporting(name):
    method = getattr(list, name)

    def used(self, *args, **named):
        _use(NAME, ARGUMENTS)
        return method(self, *args, **named)

    used.__name__, used.__qualname__, used.__doc__ = name, "list." + name, method.__doc__
    return used


for _name in (
    *("__len__", "__iter__", "__reversed__", "__contains__", "__repr__", "__add__", "__mul__", "__rmul__"),
    *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__setitem__", "__delitem__", "__iadd__", "__imul__"),
    *("append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"),
):
    setattr(Arguments, _name, _reporting(_name))
Arguments.__hash__ = None
Arguments.__name__ = Arguments.__qualname__ = "list"


def _parts_of(at):
    """Returns the parts of sys.argv that an index or a slice depends on."""
    if type(at) is slice:
        start, step = at.start, at.step
        behind = type(start) is int and start > 0 and (step is None or (type(step) is int and step > 0))
        return (ARGUMENTS,) if behind else (NAME, ARGUMENTS)
    if type(at) is not int or at < 0:
        return NAME, ARGUMENTS
    return (ARGUMENTS,) if at else (NAME,)


def _use(*parts):
    if running():
        for v in parts:
            v.touched = True
    if ARGUMENTS in parts:
        looked("argv", "")


class _Part(Variable):
    """A part of sys.argv. Of another object that the program puts there, no use is reported."""

    precise = True
    _used = False

    @property
    def touched(self):
        return self._used or type(getattr(sys, "argv", None)) is not Arguments

    @touched.setter
    def touched(self, value):
        self._used = value


_held = [[], []]  # the two parts, as they were read or set last


def _part(key, at, which):
    def get():
        argv = sys.argv
        _held[at] = list.__getitem__(argv, which) if type(argv) is Arguments else [*argv][which]
        return _held[at]

    def put(value):
        _held[at] = value
        if type(sys.argv) is not Arguments:
            sys.argv = arguments
        list.__setitem__(arguments, slice(None), _held[0] + _held[1])

    return _Part(key, get, put)


NAME, ARGUMENTS = _part("conf:argv0", 0, slice(0, 1)), _part("conf:argv", 1, slice(1, None))
arguments = Arguments()


class Stdin(io.TextIOBase):
    """The standard input of the program. It has no separate buffer: its position is that of its bytes."""

    name, mode, newlines = "<stdin>", "r", None

    def __init__(self):
        self.buffer = Bytes()
        self._codec, self._translates = ("utf-8", "strict"), False  # outside of Windows, as Python opens it

    encoding = property(lambda self: self._codec[0])
    errors = property(lambda self: self._codec[1])
    closed = property(lambda self: self.buffer.closed)

    def reconfigure(self, *, encoding=None, errors=None, newline=..., line_buffering=None, write_through=None):
        self._codec = encoding or self._codec[0], errors or ("strict" if encoding else self._codec[1])
        if newline is not ...:
            self._translates = newline is None

    def rest(self):
        """Returns what is left, without reading it."""
        return b"" if self.closed else self.buffer.look(-1)

    def readable(self):
        return True

    def fileno(self):
        return self.buffer.fileno()

    def isatty(self):
        return self.buffer.isatty()

    def close(self):
        self.buffer.close()

    def detach(self):
        return self.buffer

    def read(self, size=-1):
        size = -1 if size is None else operator.index(size)
        if size < 0:
            return self._text(self.buffer.read())
        window = self.buffer.look(size)
        if len(window) == size and window.isascii() and not (self._translates and b"\r" in window):
            return self._text(self.buffer.read(size))
        return self._characters(size)

    def __next__(self):
        whole = self.buffer.whole_line()
        if whole is not None:
            return whole.decode(*self._codec)
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def readline(self, size=-1):
        whole = self.buffer.whole_line() if size == -1 else None
        if whole is not None:
            return whole.decode(*self._codec)
        line = self._text(self.buffer.look(self._line()))
        size = -1 if size is None else operator.index(size)
        if 0 <= size < len(line):
            return self.read(size)
        self.buffer.read(self._line())
        return line

    def _line(self):
        """Returns the number of bytes of the next line."""
        data, at = self.buffer.rest()
        end = data.find(b"\n", at)
        turn = data.find(b"\r", at, end if end >= 0 else len(data)) if self._translates else -1
        if turn >= 0:
            self.buffer.look(turn + 2 - at)  # whether a newline follows
            return turn - at + (2 if data[turn + 1 : turn + 2] == b"\n" else 1)
        return (end + 1 if end >= 0 else len(data) + 1) - at  # without a newline, the end is looked at, too

    def _text(self, data):
        text = data.decode(*self._codec)
        return text.replace("\r\n", "\n").replace("\r", "\n") if self._translates and "\r" in text else text

    def _characters(self, size):
        """Reads so many characters of a text that is not plain."""
        decoder = codecs.getincrementaldecoder(self._codec[0])(self._codec[1])
        if self._translates:
            decoder = io.IncrementalNewlineDecoder(decoder, True)
        text = ""
        while len(text) < size:
            byte = self.buffer.read(1)
            text += decoder.decode(byte, not byte)
            if not byte:
                break
        if len(text) > size:  # the byte after a carriage return decides whether it is a line's end
            self.buffer.back(len(text[size:].encode(*self._codec)))
        return text[:size]


class Bytes(io.BufferedIOBase):
    """The bytes of the standard input."""

    name, mode = "<stdin>", "rb"

    def __init__(self):
        self.path = None  # the path of the content; None: the program has no input
        self._data, self.at, self.shut = None, 0, False
        self._plain = False  # the content is there, and has no carriage return
        self.begin()

    raw = property(lambda self: self)
    closed = property(lambda self: self.shut)

    def begin(self):
        """Begins to observe a node."""
        self._from, self._upto, self._ended = self.at, None, False

    def seen(self):
        """Returns which bytes the node looked at: the first, the one after the last, and whether it met the end; None
        if it looked at none."""
        upto = self._upto
        if self.at > self._from:
            upto = max(upto or 0, self.at)
        return None if upto is None else [self._from, upto, self._ended]

    def rest(self):
        """Returns the content, and the position in it."""
        if self.shut:
            raise ValueError("I/O operation on closed file.")
        if self._data is None:
            self._data = b""
            if self.path is not None:
                with open(self.path, "rb") as f:
                    self._data = f.read()
            self._plain = b"\r" not in self._data
        return self._data, self.at

    def whole_line(self):
        """Reads the next line of a plain content; None where that takes a closer look.

        Programs read millions of lines. The moved position shows that the node read them."""
        at = self.at
        if self._plain and not self.shut:
            self.at = self._data.find(b"\n", at) + 1
            if self.at:
                return self._data[at : self.at]
            self.at = at
        return None

    def look(self, size):
        """Returns the next bytes, without reading them. A negative size means all."""
        data, at = self.rest()
        end = len(data) if size < 0 else min(at + size, len(data))
        if running():
            POSITION.touched = True
            self._upto = max(self._upto or 0, end)
            self._ended = self._ended or size < 0 or at + size > len(data)
        return data[at:end]

    def back(self, size):
        self.at -= size

    def read(self, size=-1):
        found = self.look(-1 if size is None else operator.index(size))
        self.at += len(found)
        return found

    def read1(self, size=-1):
        return self.read(size)

    def peek(self, size=0):
        return self.look(max(operator.index(size), 1))

    def readline(self, size=-1):
        data, at = self.rest()
        end = data.find(b"\n", at)
        length = (end + 1 if end >= 0 else len(data) + 1) - at
        size = -1 if size is None else operator.index(size)
        return self.read(length if size < 0 else min(size, length))

    def readinto(self, room):
        with memoryview(room).cast("B") as view:
            found = self.read(len(view))
            view[: len(found)] = found
        return len(found)

    readinto1 = readinto

    def readable(self):
        return True

    def fileno(self):
        return 0

    def isatty(self):
        return False

    def close(self):
        self.shut = True


stdin = Stdin()


def _put_position(value):
    stdin.buffer.at, stdin.buffer.shut = value


POSITION = Variable("conf:stdin", lambda: (stdin.buffer.at, stdin.buffer.shut), _put_position, precise=True)


def name_of(options):
    """Returns the name of the program in sys.argv: the path of its file, relative to its folder."""
    path, folder = options.get("file") or "", os.path.join(options["folder"], "")
    return path[len(folder) :] if path.startswith(folder) else path


def start(name, given, path):
    """Gives the program its arguments, and the file with its standard input."""
    list.__setitem__(arguments, slice(None), [name, *given])
    stdin.buffer.path = path
    stdin.reconfigure(encoding=sys.stdin.encoding, errors=sys.stdin.errors)
    sys.argv, sys.stdin, sys.__stdin__ = arguments, stdin, stdin


kept_names.keep("started", __name__, Arguments, Stdin, Bytes)
