"""Variables of hidden state, and functions by which adapters observe that a program reads or sets one."""

import marshal
import sys
import threading
from operator import is_

from xstate_kernel import original as __builtins__

from .. import blake2b
from . import code_owner

PLAIN = frozenset((int, str, float, bool, type(None)))
marks = set()  # marks of the running node, because of its output; the run clears them


class Variable:
    """One piece of hidden state: a key, a function that reads it as plain data, and a function that sets it.

    loaded reports whether the variable exists now; module is the module to import for it. Its pristine value means "as
    in a fresh interpreter"; keys leave out the digest of that value.
    """

    precise = False  # whether the accessor sets touched exactly if a node read the variable

    def __init__(self, key, get, put, loaded=lambda: True, module=None, precise=False):
        self.key, self.get, self.put, self.loaded, self.module = key, get, put, loaded, module
        if precise:
            self.precise = True
        self.touched = False
        self.last = None, None  # the data that was hashed last, and its digest
        self.pristine = None
        self.known = False
        self.start = None  # digest when the node began
        self.set_by_node = False  # even to the same value: the value then depends only on this node
        self.fresh = False  # seeded by the node before it drew anything
        self.unseeded = False  # seeded by the node from the operating system
        self.arm = lambda: None  # makes the accessor report the next read

    def begin(self, digest):
        """Prepares for a node. digest is that of the present value, or None without a value."""
        self.touched, self.set_by_node, self.fresh, self.unseeded = False, False, False, False
        self.start = digest
        self.arm()

    def digest(self, value):
        """Names a value. A value of the program's that is equal has another name: it is stored in another form."""
        try:
            data = marshal.dumps(value, 2)  # some eight times as fast as repr
        except ValueError:
            data = repr(value).encode()
        if data != self.last[0]:
            self.last = data, blake2b(data, digest_size=20, person=b"hidden").hexdigest()
        return self.last[1]


class Settings(Variable):
    """A variable for hundreds of options, most of which are plain. It encodes the plain ones only after a change."""

    precise = True

    def __init__(self, *args, **named):
        super().__init__(*args, **named)
        self._names, self._values, self._lists, self._others, self._plain = [], [], [], [], b""

    def digest(self, value):
        names, values = list(value), list(value.values())
        if names != self._names or not all(map(is_, values, self._values)):
            self._names, self._values = names, values
            self._lists = [v for v in values if type(v) is list]
            self._others = [v for v in values if type(v) is not list and type(v) not in PLAIN]
            self._plain = marshal.dumps([(k, v) for k, v in value.items() if type(v) in PLAIN], 2)
        return super().digest((self._plain, self._lists, list(map(repr, self._others))))


class Counter:
    """Counts threads, or thread pools, that are given no name. The next default name contains its number."""

    def __init__(self, variable, first):
        self.next, self._variable = first, variable

    def number(self):
        if _sets_timer(sys._getframe(1)) and code_owner.importing():
            return self.next  # it warns that a cache is filled, and is not there where the cache is full
        self._variable.touched = True
        self.next += 1
        return self.next - 1


def _sets_timer(frame):
    """Reports whether a thread gets its number because a library sets a timer."""
    for _ in range(4):
        if frame is None:
            return False
        if frame.f_code is threading.Timer.__init__.__code__:
            caller = frame.f_back
            return caller is not None and code_owner.is_library_path(caller.f_code.co_filename)
        frame = frame.f_back
    return False


def watch_generator(module, variable, names):
    """Wraps the functions of a module that seed a generator, and that get and set its state.

    A node that sets the state before its first draw does not read the earlier state. A node that gets the state does.
    """
    seed, give, put = names

    def setting(*args, **kwargs):
        if variable.start is not None and not variable.touched and variable.digest(variable.get()) == variable.start:
            variable.fresh = True
        variable.set_by_node = True

    def seeding(*args, **kwargs):
        setting()
        variable.unseeded = not any(a is not None for a in (*args[:1], *kwargs.values()))

    def giving(*args, **kwargs):
        variable.touched = variable.touched or not variable.fresh

    for name, note in ((seed, seeding), (give, giving), (put, setting)):
        setattr(module, name, noting_first(getattr(module, name), note, module))


def noting_first(function, note, module):
    """Wraps a function of a module: the wrapper calls note first, and then the function."""

    def wrapper(*args, **kwargs):
        note(*args, **kwargs)
        return function(*args, **kwargs)

    wrapper.__name__ = wrapper.__qualname__ = function.__name__
    wrapper.__module__ = module.__name__
    wrapper.__doc__ = function.__doc__
    return wrapper


def watch_items(cls, variable, names):
    """Records only the first use of an item in a node, because a drawing uses tens of thousands.

    A node that sets an item counts as a reader: the value of the variable still depends on the other items.
    """
    own = {name: vars(cls)[name] for name in names if name in vars(cls)}

    def noting(name):
        def used(self, *args, **named):
            variable.touched = True
            put(own)
            return own[name](self, *args, **named)

        used.__name__, used.__qualname__, used.__module__ = name, own[name].__qualname__, own[name].__module__
        return used

    def put(methods):
        for name, method in methods.items():
            setattr(cls, name, method)

    watched = {name: noting(name) for name in own}
    variable.arm = lambda: put(watched)
    variable.arm()


def mark_repr(holder, name):
    """Marks a node that calls the repr: the text contains an address, or a counter of all such objects."""
    original = getattr(holder, name)

    def shown(o):
        marks.add("process")
        return original(o)

    for k in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(shown, k, getattr(original, k))
    setattr(holder, name, shown)
