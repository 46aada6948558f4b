"""The kernel's knowledge about libraries: one file per library, and this registry.

To support a library, add adapters/LIB.py with an Adapter (see protocol.py) named `adapter`. Then add its name to the
imports and to ALL below. The rest of the kernel calls the functions of this file and names no library."""

import math

from xstate_kernel import original as __builtins__

from . import (
    asyncio,
    comm,
    csv,
    decimal,
    futures,
    io,
    ipython,
    logging,
    matplotlib,
    mimetypes,
    mock,
    multiprocessing,
    numpy,
    pandas,
    pillow,
    pyarrow,
    random,
    sklearn,
    socket,
    started,
    stdlib,
    sympy,
    traitlets,
    typing,
    warnings,
)
from .protocol import NOTHING, Adapter

ALL = (
    random.adapter,
    numpy.adapter,
    matplotlib.adapter,
    sklearn.adapter,
    pandas.adapter,
    pyarrow.adapter,
    pillow.adapter,
    warnings.adapter,
    decimal.adapter,
    socket.adapter,
    csv.adapter,
    mimetypes.adapter,
    logging.adapter,
    futures.adapter,
    io.adapter,
    ipython.adapter,
    comm.adapter,
    typing.adapter,
    mock.adapter,
    multiprocessing.adapter,
    asyncio.adapter,
    started.adapter,
    sympy.adapter,
    traitlets.adapter,
    *stdlib.ADAPTERS,
)


def _with(hook):
    """Returns the adapters that override a hook, so that a loop skips all libraries without it."""
    return tuple(a for a in ALL if getattr(type(a), hook) is not getattr(Adapter, hook) or hook in vars(a))


def _union(hook):
    return frozenset().union(*(getattr(a, hook) for a in ALL))


def _merged(hook):
    return {k: v for a in ALL for k, v in getattr(a, hook).items()}


def _packages(hook):
    return frozenset(p for a in ALL if getattr(a, hook) for p in a.packages)


_BY_PACKAGE = {p: a for a in ALL for p in a.packages}
of_package = _BY_PACKAGE.get  # top-level package → its adapter, or None

DEFINING_CODE = _packages("defines_code")
UNSEEN_DRAWS, COMPUTED_ATTRIBUTES = _union("unseen_draws"), _union("computed_attributes")
KNOWN_CONTAINERS, PATCHERS, USUAL_ENVIRON = _union("known_containers"), _union("patchers"), _union("usual_environ")
VOLATILE, VOLATILE_TEXTS, CHANGED_BY = _merged("volatile"), _merged("volatile_texts"), _merged("changed_by")
CLASS_EXTENDERS, GENERATORS = _merged("class_extenders"), _merged("generators")
VOLATILE_PACKAGES = frozenset(name.partition(".")[0] for name in (*VOLATILE, *VOLATILE_TEXTS))

_STATEFUL, _WITH_MEMORY, _WITH_NAN, _SHARING = map(_with, ("state_key", "owns_memory", "nan", "shared_internals"))
_TRAILING, _BEFORE_NODE, _REGISTERING, _UNSEEDED = map(_with, ("trailer", "before_node", "registered", "unseeded"))
_SEEDING, _DRAWING, _BUNDLING, _READ_BY_ATTRIBUTES = map(
    _with, ("seeding", "open_figures", "bundle", "attributes_variable")
)
_CITING, _GENERATING, _LEAVING_OUT = map(_with, ("writes_line_numbers", "random_state", "left_out"))


def of_type(kind):
    """Returns the adapter for the package of a class, or None."""
    module = kind.__module__
    if type(module) is not str:  # in a Cython class it may be a descriptor
        return None
    return of_package(module.partition(".")[0])


def state_key(o):
    """Returns the key of the hidden state that an object holds, or None."""
    for a in _STATEFUL:
        key = a.state_key(o)
        if key is not None:
            return key
    return None


def state_object(key):
    """Returns the object for which state_key returns the key."""
    for a in _STATEFUL:
        found = a.state_object(key)
        if found is not None:
            return found
    raise ValueError("no hidden state has the key " + key)


def views_memory(kind):
    """Returns the adapter that can find the memory which instances of a class view, or None."""
    for a in _WITH_MEMORY:
        if a.owns_memory(kind):
            return a
    return None


def nan_name(x):
    """Returns the module that has the object x as its public NaN, or None."""
    if x is math.nan:  # noqa: PLW0177 - this object, not any NaN
        return "math"
    for a in _WITH_NAN:
        if x is a.nan():
            return a.packages[0]
    return None


def left_out(o):
    """Returns the parts of an instance of a library's class that its pickling leaves out although they count."""
    for a in _LEAVING_OUT:
        found = a.left_out(o)
        if found:
            return found
    return {}


def shared_internals():
    """Returns the ids of objects that instances of libraries share and do not change."""
    return NOTHING.union(*(a.shared_internals() for a in _SHARING))


def trailers(pickler):
    """Returns the objects that the pickler must store after all others."""
    return [o for a in _TRAILING for o in (a.trailer(pickler),) if o is not None]


def handlers():
    """Returns class → function(walk, o) of all adapters."""
    return {kind: f for a in ALL for kind, f in a.handlers().items()}


def registered():
    """Returns place → object that the program put into libraries."""
    found = {}
    for a in _REGISTERING:
        found.update(a.registered())
    return found


def before_node():
    """Clears state of libraries that would make a node depend on which nodes ran before it."""
    for a in _BEFORE_NODE:
        a.before_node()


def unseeded():
    """Reports whether a library made a generator with a seed from the operating system since the last call."""
    return any(a.unseeded() for a in _UNSEEDED)


def seeding():
    """Reports whether a library now draws entropy for a generator that gets another seed immediately afterwards."""
    return any(a.seeding() for a in _SEEDING)


def note_attributes(codes):
    """Counts hidden state as read if code names an attribute that shows it."""
    for a in _READ_BY_ATTRIBUTES:
        variable = a.attributes_variable()
        if variable is not None and any(not a.attributes_read.isdisjoint(c.co_names) for c in codes):
            variable.touched = True


def random_states():
    """Returns each library with a random generator, and the generator's state; None if the library is not loaded."""
    return {a: a.random_state() for a in _GENERATING}


def bundle(value, metadata):
    """Returns media type → text for a value that its library displays specially, or None, and adds their metadata."""
    for a in _BUNDLING:
        found = a.bundle(value, metadata)
        if found is not None:
            return found
    return None


def open_figures():
    """Returns the open figures."""
    return [figure for a in _DRAWING for figure in a.open_figures()]


def show_figures(recorder):
    """Sends the open figures as output, in order, and closes them."""
    for a in _DRAWING:
        a.show_figures(recorder)


def begin(recorder, script):
    """Says where figures are put out when the program asks for that, and whether it is a script: there they stay open
    until the program closes them. Returns module → function(hidden, module) to call when the module was imported."""
    for a in _DRAWING:
        a.recorder, a.script = recorder, script
    return {name: f for a in _DRAWING for name, f in a.after_import().items() if name in a.showing}


def close_figures():
    """Closes all figures."""
    for a in _DRAWING:
        a.close_figures()


def writes_line_numbers():
    """Reports whether the output of a library cites the line of the code that called it."""
    return any(a.writes_line_numbers() for a in _CITING)
