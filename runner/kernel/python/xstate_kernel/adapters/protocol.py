"""The hooks by which an adapter describes a library. The default of each hook means "nothing special".

An adapter does not import its library, unless its hook says so. It acts when the library is in sys.modules, or when it
gets an object of one of the library's types. The kernel reads hooks that are tables once, when it starts. The part of
the kernel that a section's comment names calls the hooks that are methods.
"""

from xstate_kernel import original as __builtins__

NOTHING = frozenset()


class Adapter:
    """The knowledge about one library, or about a few packages that belong together."""

    packages: tuple = ()  # the top-level packages that the adapter describes
    recorder, script = None, False  # the program's recorder, and whether the program is a script; None in tests

    # Values (walk.py, reach.py, values.py).

    opaque = False  # the kernel cannot compute a digest of the content of its instances, except for plain ones
    immutable = False  # instances of its classes never change
    ignored_attribute = None  # an attribute that pickling shows but that is not part of a value: an address, a cache
    # Attributes with arrays that the library allocates without a value, and fills each time before it reads them. Their
    # elements differ in every process, and count only while something else refers to the array.
    scratch_attributes = NOTHING
    computed_attributes = (
        NOTHING  # attributes that the library adds to instances of the program's subclasses, and can recompute
    )

    def plain(self, o, kind):
        """Reports whether the kernel can compute the digest of an instance although the adapter is opaque."""
        return False

    def constant(self, kind):
        """Reports whether instances of one of its classes never change."""
        return self.immutable

    def unchanging(self, kind):
        """Reports whether instances of a class never change and refer to nothing. Opaque values do not share them."""
        return False

    def state_key(self, o):
        """Returns the key of the hidden state that an object contains, or None. A value that refers to the object must
        refer to this same object after a restore."""
        return None

    def state_object(self, key):
        """Returns the object for which state_key returns a key, or None. The method may import the library."""
        return None

    def fingerprint(self, walk, o, kind):
        """Writes an instance of one of its classes to the canonical stream; reports whether it did."""
        return False

    def handlers(self):
        """Returns class → function(walk, o) for the auxiliary objects that fingerprint defers."""
        return {}

    def parts(self, o, kind):
        """Returns the parts of an instance if pickling does not show them, else None."""
        return None

    def owns_memory(self, kind):
        """Reports whether instances of a class, which may be a subclass of the program's, view memory."""
        return False

    def note_memory(self, walk, o):
        """Records which memory such an instance views."""

    def nan(self):
        """Returns the object that is the library's public NaN, or None."""
        return None

    def referents(self, fp, kind, group, shared):
        """Yields objects that instances of a class refer to and that the garbage collector does not report."""
        return ()

    def reports_referents(self, kind):
        """Reports whether referents yields everything that the collector does not report for instances of a class."""
        return False

    def left_out(self, o):
        """Returns the parts of an instance that its pickling leaves out although they count, by name. The instance may
        be of a class of another library, which the adapter's is the base of."""
        return {}

    def shared_internals(self):
        """Returns the ids of objects that many of its instances refer to and that none of them changes."""
        return NOTHING

    def reduce(self, pickler, o, kind):
        """Returns how to pickle an instance, as __reduce_ex__ does, or NotImplemented. Raises Unstorable."""
        return NotImplemented

    def trailer(self, pickler):
        """Returns an object that the pickler stores last, or None. It restores what pickling one object at a time
        loses."""
        return None

    # Hidden state (hidden.py): state that outlives a node and is not in the namespace.

    def variables(self):
        """Returns the variables of its hidden state, see hidden_variable.Variable."""
        return ()

    def after_import(self):
        """Returns module → function(hidden, module). The kernel calls it just after the import of the module."""
        return {}

    showing = ()  # those of these modules that show figures where the program asks for that

    generators = {}  # module → function(module, seed) that seeds its random generator

    def random_state(self):
        """Returns the state of its global random generator, or None while the library is not loaded."""
        return None

    def set_random_state(self, state):
        """Restores a state that random_state returned."""

    def registered(self):
        """Returns place → object that the program put into the library: a handler, a function as an option."""
        return {}

    def before_node(self):
        """Clears state that makes a node depend on which nodes ran before it, such as the record of shown warnings."""

    def unseeded(self):
        """Reports whether a generator got its seed from the operating system since the last call."""
        return False

    def seeding(self):
        """Reports whether the library now draws entropy for a generator that gets another seed immediately after."""
        return False

    attributes_read = NOTHING  # attributes: code that names one reads the variable below

    def attributes_variable(self):
        """Returns the variable that the attributes in attributes_read show, or None if the library is not loaded."""
        return None

    # Code and imports (names.py, clocks.py, modules.py, library_containers.py, volatility.py, libraries.py).

    defines_code = False  # it reads a namespace only for the code that it generates
    keeps_time = False  # it reads clocks to wait or to keep records: the program does not see the times

    def unseen_time(self, frame):
        """Reports whether the program does not see a time that a frame of the library reads."""
        return self.keeps_time

    unseen_draws = ()  # modules whose draws of entropy affect no result
    volatile = {}  # qualified name of a function → mark of a node whose code names it
    volatile_texts = {}  # the same, if the code also has one of the constants: name → (mark, texts)
    changed_by = {}  # module → {its function: attributes of it that hold what the function changes}
    known_containers = ()  # modules whose containers the kernel observes by other means
    class_extenders = {}  # function that adds an attribute to a class of the library → name of that class
    patchers = ()  # modules that assign to attributes of an object that a text names
    usual_environ = ()  # (variable, value) pairs that are usual: the kernel treats the variable as unset

    # Output (display.py, layout.py).

    def describe(self, value, kind, short):
        """Returns shape and repr for a query, in bounded time, or None. short is a repr that cuts long texts."""
        return None

    def bundle(self, value, metadata):
        """Returns media type → text for a value that the library displays specially, else None. metadata takes media
        type → what a page needs to show it."""
        return None

    def open_figures(self):
        """Returns the open figures, in order."""
        return []

    def show_figures(self, recorder):
        """Sends the open figures as output and closes them."""

    def close_figures(self):
        """Closes all figures."""

    def writes_line_numbers(self):
        """Reports whether its output cites the line of the code that called it."""
        return False
