"""The tools as objects: tools.search(query="x") calls the tool search, and help(tools.search) describes it."""

from . import _calls


class Tools:
    """All tools. tools.search is the tool search, and tools["a b"] one whose name is not an identifier."""

    __slots__ = ()

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(f"there is no tool {name!r}; tools[{name!r}] takes any name")
        return self[name]

    def __getitem__(self, name):
        return Tool(name)

    def __dir__(self):
        return sorted({info["name"].partition(".")[0] for info in _calls._way.listed()})

    def __repr__(self):
        return "xstate.tools"

    def __reduce__(self):
        return "tools"


class AsyncTools(Tools):
    """The tools, for tasks: await atools.search(query="x")."""

    __slots__ = ()

    def __getitem__(self, name):
        return AsyncTool(name)

    def __repr__(self):
        return "xstate.atools"

    def __reduce__(self):
        return "atools"


class Tool:
    """A tool. Positional arguments are in the order of its schema. The schema is requested when it is needed."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return type(self)(f"{self._name}.{name}")

    def __call__(self, /, *args, **named):
        return _calls.tool(self._name, **self._bound(args, named))

    def __get__(self, instance, owner=None):
        return self  # a tool that is an attribute of a class is not a method

    def _bound(self, args, named):
        """Returns all arguments by name."""
        if not args:
            return named
        info = self._info()
        names = list(_properties(info))
        if info.get("order") == [] and len(names) > 1:
            wanted = ", ".join(n + "=" for n in names)
            raise TypeError(f"{self._name} has its arguments in no known order; name them: {wanted}")
        if len(args) > len(names):
            raise TypeError("%s takes %d positional arguments, and not %d" % (self._name, len(names), len(args)))
        given = dict(zip(names, args))
        for name in given.keys() & named.keys():
            raise TypeError(f"{self._name} has the argument {name!r} twice")
        return {**given, **named}

    def _info(self):
        for info in _calls._way.listed():
            if self._name in (info["name"], f"{info.get('source')}.{info['name']}"):
                return info
        raise LookupError(f"there is no tool {self._name!r}")

    @property
    def __name__(self):
        return self._name.rpartition(".")[2]

    @property
    def __signature__(self):
        try:
            return _signature(self._info())
        except LookupError:
            raise AttributeError("__signature__") from None

    @property
    def __doc__(self):
        try:
            return _documentation(self._info())
        except LookupError:
            return f"There is no tool {self._name!r}."

    def __repr__(self):
        return f"<tool {self._name}>"

    def __eq__(self, other):
        return type(other) is type(self) and other._name == self._name

    def __hash__(self):
        return hash(self._name)

    def __reduce__(self):
        return type(self), (self._name,)


class AsyncTool(Tool):
    """A tool, for tasks."""

    async def __call__(self, /, *args, **named):
        return await _calls.atool(self._name, **self._bound(args, named))


_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict, "null": None}


def _properties(info):
    found = (info.get("input") or {}).get("properties") or {}
    order = info.get("order") or ()
    return {**{name: found[name] for name in order if name in found}, **found}


def _type(schema):
    kind = schema.get("type") if isinstance(schema, dict) else None
    return _TYPES.get(kind) if isinstance(kind, str) else None


def _signature(info):
    from inspect import Parameter, Signature

    needed, parameters, optional = set((info.get("input") or {}).get("required") or ()), [], False
    for name, schema in _properties(info).items():
        if not name.isidentifier():
            continue
        default = Parameter.empty
        if name not in needed:
            default = schema.get("default") if isinstance(schema, dict) else None
        optional = optional or default is not Parameter.empty
        mixed = (optional and default is Parameter.empty) or (
            parameters and parameters[-1].kind == Parameter.KEYWORD_ONLY
        )
        parameters.append(
            Parameter(
                name,
                Parameter.KEYWORD_ONLY if mixed else Parameter.POSITIONAL_OR_KEYWORD,
                default=default,
                annotation=_type(schema) or Parameter.empty,
            )
        )
    return Signature(parameters, return_annotation=_type(info.get("output") or {}) or Signature.empty)


def _documentation(info):
    lines = [info.get("description") or f"The tool {info['name']}."]
    told = {k: v["description"] for k, v in _properties(info).items() if isinstance(v, dict) and v.get("description")}
    if told:
        lines += ["", *(f"{name}: {text}" for name, text in told.items())]
    return "\n".join(lines)


tools, atools = Tools(), AsyncTools()
