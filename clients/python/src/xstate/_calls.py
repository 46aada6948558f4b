"""The calls that a program can make."""

import functools
import types

from . import _engine
from ._plain import plain

if _engine.kernel is not None:
    _way = _engine
else:
    from . import _alone as _way

_COROUTINE = 0x80  # flag of the code of an async function


def tool(name, /, **args):
    """Calls the tool of a name and returns its result."""
    return _engine.outcome(_way.call(_of_tool(name, args)))


async def atool(name, /, **args):
    """Does as tool does, in a task."""
    return _engine.outcome(await _way.acall(_of_tool(name, args)))


def _of_tool(name, args):
    return {"kind": "tool", "tool": name, "args": {k: plain(v, k) for k, v in args.items()}}


def llm(prompt, *, model=None, schema=None, sample=0, system=None, on_text=None, **options):
    """Asks a model, and returns its text; with a schema, the data that the text is.

    prompt is a text, or a list of messages {"role": ..., "content": ...}. schema is a JSON Schema, a dataclass, a
    TypedDict or a model of pydantic. Equal calls have one result: another sample asks again. on_text is called with
    parts of the text as they come. options go to the model, such as temperature=0."""
    request, made = _of_model(prompt, model, schema, sample, system, options)
    parts = _Parts(on_text)
    return made(parts.outcome(_way.call(request, parts.take if on_text else None)))


async def allm(prompt, *, model=None, schema=None, sample=0, system=None, on_text=None, **options):
    """Does as llm does, in a task."""
    request, made = _of_model(prompt, model, schema, sample, system, options)
    parts = _Parts(on_text)
    return made(parts.outcome(await _way.acall(request, parts.take if on_text else None)))


def _of_model(prompt, model, schema, sample, system, options):
    """Returns a request, and a function that makes the value from the result."""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    messages = plain(messages, "prompt")
    if system is not None:
        messages = [{"role": "system", "content": plain(system, "system")}, *messages]
    args, made = {"messages": messages}, _itself
    if schema is not None:
        from . import _schema

        args["schema"], made = _schema.of(schema)
    if options:
        args["options"] = {k: plain(v, k) for k, v in options.items()}
    request = {"kind": "model", "tool": model or "", "args": args}
    if sample:
        request["sample"] = sample
    return request, made


def _itself(value):
    return value


class _Parts:
    """The parts of a text, for who wants them as they come. Those of a recorded text come all at once."""

    def __init__(self, on_text):
        self._on_text, self._came = on_text, False

    def take(self, text):
        self._came = True
        self._on_text(text)

    def outcome(self, reply):
        result = _engine.outcome(reply)
        if self._on_text and not self._came and isinstance(result, str) and result:
            data, at = result.encode(), 0
            for size in reply.get("pieces") or (len(data),):
                self._on_text(data[at : at + size].decode("utf-8", "replace"))
                at += size
        return result


def ask(question, choices=None):
    """Asks a person, and returns the answer: one of choices, if there are some."""
    return _engine.outcome(_way.call(_of_question(question, choices)))


async def aask(question, choices=None):
    """Does as ask does, in a task."""
    return _engine.outcome(await _way.acall(_of_question(question, choices)))


def _of_question(question, choices):
    args = {"question": plain(question, "question"), "choices": plain(list(choices or ()), "choices")}
    return {"kind": "ask", "tool": "ask", "args": args, **args}


def step(name, function=None, /, *args, **named):
    """Calls a function once, and keeps its result: later runs are served it, until the function or an argument changes.

    step("load", load, path) calls load(path) as the step of that name. As a decorator, @step or @step("load") makes
    each call of the function a step. The parts of the program that the function uses count as part of it. A function
    that does more than return a result, such as print, write a file or change a list, is called again in each later
    run."""
    if function is None:
        return Step(name.__name__, name) if callable(name) else lambda f: Step(name, f)
    if _is_async(function):
        return astep(name, function, *args, **named)
    request, run = _of_step(name, function, args, named)
    return _engine.outcome(_way.call(request, None, run))


async def astep(name, function, /, *args, **named):
    """Does as step does, in a task. The function may be async."""
    request, run = _of_step(name, function, args, named)

    async def arun():
        found = run()
        return await found if hasattr(found, "__await__") else found

    arun.described = run.described
    return _engine.outcome(await _way.acall(request, None, arun))


def _is_async(function):
    return bool(getattr(getattr(function, "__code__", None), "co_flags", 0) & _COROUTINE)


class Step:
    """A function of which each call is a step."""

    def __init__(self, name, function):
        self._name = name
        functools.update_wrapper(self, function)

    def __call__(self, /, *args, **named):
        return step(self._name, self.__wrapped__, *args, **named)

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self):
        return f"<step {self._name}>"


def _of_step(name, function, args, named):
    def described():
        plain_args = {"args": plain(args, "args"), "kwargs": {k: plain(v, k) for k, v in named.items()}}
        return {"version": _way.version(function, (args, named)), "args": plain_args}

    def run():
        return function(*args, **named)

    run.described = described
    return {"kind": "step", "tool": name, **described()}, run


async def gather(*awaitables, limit=None):
    """Awaits all, at most limit at a time, and returns their results in order.

    If some fail, the others are finished first: what they called is recorded. Then the first error in order is
    raised."""
    import asyncio

    gate = asyncio.Semaphore(limit) if limit else None

    async def one(awaitable):
        if gate is None:
            return await awaitable
        async with gate:
            return await awaitable

    tasks = [asyncio.ensure_future(one(a)) for a in awaitables]
    if not tasks:
        return []
    try:
        await asyncio.wait(tasks)
    except asyncio.CancelledError:
        for t in tasks:
            t.cancel()
        await asyncio.wait(tasks)
        raise
    errors = [t.exception() if not t.cancelled() else asyncio.CancelledError() for t in tasks]
    for e in errors:
        if e is not None:
            raise e
    return [t.result() for t in tasks]


def provide(name, function=None, /):
    """Makes function the tool of a name if no engine runs the program. Also a decorator: @provide("x").

    Under the engine it does nothing: there, tools are those of the session."""
    if function is None:
        return functools.partial(provide, name)
    if _engine.kernel is None:
        _way.provided[name] = function
    return function
