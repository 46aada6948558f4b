"""The observation of one node: the reply to a request to run it, built in one place."""

from xstate_kernel import original as __builtins__

# Attribute of an Observation → field of the reply. The engine's half of this contract is its type for the reply.
_FIELDS = {
    # names of the namespace
    "reads": "reads",  # that the node read
    "absent": "absent",  # those of them that were not bound
    "comembers": "comembers",  # whose values changed because they share objects with what the node changed
    "writes": "writes",  # bound, changed or deleted: each with its digest and what it depends on
    "deleted": "deleted",  # that the node may have bound and deleted
    "touched": "touched",  # whose values the node may have changed in place
    "sharing": "after",  # pairs of names that share objects, with a digest of where
    "bind_order": "born",  # new names in the order of binding
    "dropped": "dropped",  # that are unbound now, because the node failed or is to run again
    "unbound_read": "again",  # that it read and that the engine has, but did not bind: it is to run again
    "everything": "everything",  # whether the namespace was read as a whole
    "exact": "exact",  # whether reads are exact, and not a superset
    # classes and functions
    "altered": "altered",  # names of classes and functions that changed in place
    "unparked": "unparked",  # parked groups that are forgotten because a class changed
    "classes": "classes",  # digests of classes that are forgotten
    # modules
    "imports": "imports",  # packages, workspace modules and files that imports depend on
    "modules": "modules",  # what the node changed in libraries and in the interpreter
    "pristine": "pristine",  # whether that is all as in a new interpreter again
    "registered_names": "planted",  # names that what the program registered may use
    "module_state": "held",  # workspace modules that it changed, or whose load was not quiet
    "quiet": "quiet",  # workspace modules whose load was quiet
    "unloaded": "unloaded",  # workspace modules that were unloaded, because the node failed
    "restored": "restored",  # libraries that were loaded while the engine restored something
    # hidden state, files and the environment
    "hidden": "hidden",  # variables of hidden state that it changed
    "hidden_reads": "hidden_reads",  # that it read
    "stdin": "stdin",  # the bytes of the standard input that it looked at
    "files": "files",  # reads, listings, writes, permissions and times
    "environ": "environ",  # variables of the environment that it set or removed
    "library_environ": "library_environ",  # those of them that only imports of libraries set
    "environ_reads": "environ_reads",  # that it read
    "figures": "figures",  # whether figures are open
    "had_figures": "had_figures",  # whether some were before
    # the run
    "marks": "marks",  # why the result may vary
    "stale": "stale",  # whether this interpreter cannot run the node rightly
    "lined": "lined",  # lines of functions that it executed
    "cites": "cites",  # blocks whose lines the output shows
}


class Observation:
    """The facts about one run of a node. A fact that does not apply (of a failure, say) is left out of the reply."""

    __slots__ = tuple(_FIELDS)

    def take(self, facts):
        """Sets several facts at once."""
        for name, value in facts.items():
            setattr(self, name, value)

    def reply(self):
        return {field: getattr(self, name) for name, field in _FIELDS.items() if hasattr(self, name)}
