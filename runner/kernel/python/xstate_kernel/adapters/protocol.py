"""What an adapter may say of a library: the hooks, each with its default, which says "nothing special".

An adapter never imports its library. It acts when the library is in sys.modules, or when an object of one of its types
turns up. Hooks that are tables are read once, when the kernel starts; hooks that are methods are called by the part of
the kernel that their comment names.
"""

from .. import original as __builtins__

NOTHING = frozenset()


class Adapter:
    """The knowledge about one library, or about a few packages that belong together."""

    packages = ()  # the top-level packages that it speaks for

    # Values (walk.py, reach.py, values.py).

    opaque = False  # instances of its classes cannot be named by content
    immutable = False  # instances of its classes never change
    ignored_attribute = None  # an attribute that pickling shows and that is no part of a value: an address, a cache
    computed_attributes = (
        NOTHING  # attributes that it gives to instances of the program's subclasses, and computes again
    )

    def constant(self, kind):
        """Reports whether instances of one of its classes never change."""
        return self.immutable

    def unchanging(self, kind):
        """Reports whether instances of a class never change, nor hold anything: an opaque value does not share them."""
        return False

    def state_key(self, o):
        """Returns the key of the hidden state that an object holds: a value that refers to it means this very
        object."""
        return None

    def state_object(self, key):
        """Returns the object that state_key knows by a key, or None. It may import the library."""
        return None

    def fingerprint(self, walk, o, kind):
        """Writes an instance of one of its classes to the canonical stream; reports whether it did."""
        return False

    def handlers(self):
        """Returns class → function(walk, o) for the auxiliary objects that fingerprint leaves to be written later."""
        return {}

    def parts(self, o, kind):
        """Returns what an instance consists of, where pickling does not show it; else None."""
        return None

    def owns_memory(self, kind):
        """Reports whether instances of a class, which may be a subclass of the program's, view memory."""
        return False

    def note_memory(self, walk, o):
        """Notes which memory such an instance views."""

    def nan(self):
        """Returns the NaN that the library keeps for all to use, or None."""
        return None

    def referents(self, fp, kind, group, shared):
        """Yields what instances of a class refer to and the garbage collector does not report."""
        return ()

    def reports_referents(self, kind):
        """Reports whether what instances of a class refer to is known, although the collector does not report it."""
        return False

    def shared_internals(self):
        """Returns the ids of objects that many of its instances refer to and none changes."""
        return NOTHING

    def reduce(self, pickler, o, kind):
        """Returns how to pickle an instance, as __reduce_ex__ does, or NotImplemented. Raises Unstorable."""
        return NotImplemented

    def trailer(self, pickler):
        """Returns an object to be stored after all others, which restores what pickling them one by one loses."""
        return None

    # Hidden state (hidden.py): what outlives a node without being in the namespace.

    def variables(self):
        """Returns the variables of its hidden state, see hidden_variable.Variable."""
        return ()

    def after_import(self):
        """Returns module → function(hidden, module), called when the module was just imported."""
        return {}

    generators = {}  # module → function(module, seed) that seeds its random generator

    def random_state(self):
        """Returns the state of its global random generator, or None while the library is not loaded."""
        return None

    def set_random_state(self, state):
        """Sets what random_state returned."""

    def registered(self):
        """Returns place → object that the program put into the library: a handler, a function as an option."""
        return {}

    def before_node(self):
        """Forgets what would make a node depend on which nodes ran before it, as "already shown" does."""

    def unseeded(self):
        """Reports whether a generator got its seed from the operating system since the last call."""
        return False

    def seeding(self):
        """Reports whether the library draws entropy right now for a generator that is given another seed at once."""
        return False

    attributes_read = NOTHING  # attributes: code that names one reads the variable below

    def attributes_variable(self):
        """Returns the variable that attributes_read is about, or None while the library is not loaded."""
        return None

    # Code and imports (observe.py, observe_clocks.py, modules.py, library_containers.py, volatility.py, libraries.py).

    defines_code = False  # it asks for a namespace only for the code that it makes
    keeps_time = False  # it reads clocks to wait or to keep records: the program does not see the times
    unseen_draws = ()  # modules whose draws of entropy show in no result
    volatile = {}  # qualified name of a function → mark of a node whose code names it
    volatile_texts = {}  # the same for a function that needs one of these constants beside it: name → (mark, texts)
    changed_by = {}  # module → {its function: attributes of it that hold what the function changes}
    known_containers = ()  # modules whose containers are known otherwise
    class_extenders = {}  # function that adds an attribute to a class of the library → name of that class
    patchers = ()  # modules that assign to attributes of what a text names
    usual_environ = ()  # (variable, value) pairs that are usual: reading one is nothing special

    # Output (display.py, layout.py).

    def describe(self, value, kind, short):
        """Returns shape and repr for a query, in bounded time, or None. short is a repr that cuts long texts."""
        return None

    def bundle(self, value):
        """Returns media type → text for a value that presents itself in a way of its own, else None."""
        return None

    def open_figures(self):
        """Returns the figures that are open, in order."""
        return []

    def show_figures(self, recorder):
        """Sends the open figures as output and closes them."""

    def close_figures(self):
        """Closes all figures."""

    def writes_line_numbers(self):
        """Reports whether its output cites the line of the code that called it."""
        return False
