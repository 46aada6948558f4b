"""traitlets: observers and validators of an instance, which its pickling leaves out."""

import sys

from xstate_kernel import original as __builtins__

from .protocol import NOTHING, Adapter

_CALLBACKS = ("_trait_notifiers", "_trait_validators")


class Traitlets(Adapter):
    packages = ("traitlets",)

    def __init__(self):
        self._internals = (0, NOTHING)  # number of loaded modules, ids

    def left_out(self, o):
        """Returns the callbacks that were added to an instance. Those of its class are no part of it: loading the
        instance adds them again."""
        space = getattr(o, "__dict__", None)
        if type(space) is not dict or _CALLBACKS[0] not in space:
            return {}
        found = [f for name in _CALLBACKS for f in _flat(space.get(name))]
        return {"callbacks": found} if found else {}

    def shared_internals(self):
        """Returns the ids of the callbacks of classes, which all instances refer to."""
        module = sys.modules.get("traitlets.traitlets")
        if module is None or not hasattr(module, "HasTraits"):
            return NOTHING
        if self._internals[0] != len(sys.modules):
            found, kinds = set(), [module.HasTraits]
            for kind in kinds:
                kinds += type.__subclasses__(kind)
                for value in vars(kind).values():
                    if isinstance(value, module.EventHandler):
                        found.add(id(value))
                        found.update(map(id, vars(value).values()))
            self._internals = len(sys.modules), frozenset(found)
        return self._internals[1]


def _flat(value):
    """Yields the functions in dicts and lists."""
    if isinstance(value, dict):
        for key, inner in value.items():
            for f in _flat(inner):
                yield key, f
    elif isinstance(value, list):
        for inner in value:
            yield from _flat(inner)
    elif value is not None and not hasattr(type(value), "instance_init"):
        yield value


adapter = Traitlets()
