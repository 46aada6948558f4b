"""Widgets: objects of the program that a page shows, and that exchange messages with it over comms.

The kernel has no page. What a comm sends is an output of the node: it is shown as it comes, and recorded at the end of
the node as the state that its widgets then have. So a page that gets the recorded messages of all nodes, in order,
shows every widget as it is. The ids of comms are the same in each run of a node.

A message of a page comes as code of the program, which names a variable: each node binds the comms that it opens to
one. So widgets are values like any other. The package comm and ipywidgets keep tables of all comms and widgets as well,
but these are not state of the program: what is in them depends on the order in which nodes ran.

What is put out in the context of an Output widget becomes its state. IPython leaves that to the page.
"""

import base64
import builtins
import io
import json
import re
import sys
import traceback

from xstate_kernel import original as __builtins__

from .protocol import Adapter

_MODULES = ("widget", "widget_output", "interaction")


class Comm(Adapter):
    packages = ("comm", "ipywidgets")

    def __init__(self):
        self.kind = None  # the class of comms; None: the program is no notebook, or has not imported the package
        self._sent = {}  # id of a comm → what the node sent

    def after_import(self):
        found = {f"ipywidgets.widgets.{name}": self._watch_widgets for name in _MODULES}
        return {"comm": self._watch, **found}

    def before_node(self):
        self._sent.clear()

    def _watch(self, hidden, module):
        if getattr(builtins, "display", None) is None:
            return  # the program is not a notebook
        recorder = getattr(builtins, "__xstate__")._recorder  # noqa: B009
        recorder.ending = self._record
        self.recorder = recorder
        self.kind = _kind(module.base_comm, self)

        kind = self.kind

        def create_comm(*args, **kwargs):
            return kind(*args, **kwargs)

        create_comm.__module__ = module.__name__
        module.create_comm = create_comm

    def _watch_widgets(self, hidden, module):
        """Makes them find a shell, as far as they need one."""
        if self.kind is None:
            return
        module.get_ipython = _get_shell
        if module.__name__.endswith(".interaction"):
            module.show_inline_matplotlib_plots = self._show_figures
        if module.__name__.endswith(".widget"):
            # A widget ends when the program closes it. One that is collected may be a former value of a variable, and
            # has the id of the present one.
            module.Widget.__del__ = _stay
            self._watch_callbacks(module)

    def _show_figures(self):
        sys.modules[__name__.rpartition(".")[0]].show_figures(self.recorder)

    def _watch_callbacks(self, module):
        """Has a node recorded that adds a callback to a widget: messages of a page come after it."""
        widget, dispatcher = module.Widget, module.CallbackDispatcher
        add, register = widget._add_notifiers, dispatcher.register_callback

        def _add_notifiers(self, *args, **named):
            note(self)
            return add(self, *args, **named)

        def register_callback(self, *args, **named):
            note(sys._getframe(1).f_locals.get("self"))  # on_click and the like
            return register(self, *args, **named)

        def note(owner):
            comm = vars(owner).get("_trait_values", {}).get("comm") if isinstance(owner, widget) else None
            if comm is not None and type(comm) is self.kind:
                self._sent.setdefault(comm.comm_id, _Sent(comm))

        for f, original, owner in ((_add_notifiers, add, widget), (register_callback, register, dispatcher)):
            f.__qualname__, f.__module__, f.__doc__ = original.__qualname__, original.__module__, original.__doc__
            setattr(owner, f.__name__, f)

    def send(self, comm, kind, content):
        """Shows a message, and notes it for the record."""
        sent = self._sent.get(comm.comm_id)
        if sent is None:
            sent = self._sent[comm.comm_id] = _Sent(comm)
        sent.note(kind, content)
        self.recorder.message(kind, content, "show")

    def _record(self):
        """Records what the comms of the node are now, at its end."""
        for sent in list(self._sent.values()):
            for kind, content in sent.recorded():
                self.recorder.message(kind, content, "record")


class _Sent:
    """What a node sent over a comm."""

    def __init__(self, comm):
        self._comm = comm
        self._opened = self._closed = False
        self._keys = {}  # of the state of a widget that were sent
        self._messages = []

    def note(self, kind, content):
        self._opened |= kind == "comm_open"
        self._closed = kind == "comm_close"
        self._messages.append((kind, content))
        data = content["data"]
        if isinstance(data, dict) and isinstance(data.get("state"), dict):
            self._keys.update(dict.fromkeys(data["state"]))
            self._keys.update((path[0], None) for path in data.get("buffer_paths") or () if path)

    def recorded(self):
        """Yields messages with the same effect. Those to a widget hold its state, and no more: a bar that moved a
        thousand times has one. A message without state names a widget that got callbacks."""
        if self._closed and self._opened:
            return
        widget = _widget(self._comm)
        if widget is None or self._closed:
            yield from self._messages
            return
        split = sys.modules["ipywidgets.widgets.widget"]._remove_buffers
        first = self._messages[0] if self._opened else ("comm_msg", {"comm_id": self._comm.comm_id})
        state, paths, buffers = split(widget.get_state(None if self._opened else list(self._keys)))
        data = {"method": "update", "state": state, "buffer_paths": paths}
        yield first[0], {**first[1], "data": data, "buffers": _encoded(buffers)}


def _widget(comm):
    """Returns the widget of a comm, or None if it has none."""
    owner = getattr(comm._msg_callback, "__self__", None)
    base = getattr(sys.modules.get("ipywidgets.widgets.widget"), "Widget", None)
    return owner if base is not None and isinstance(owner, base) else None


def _encoded(buffers):
    return [base64.b64encode(b).decode() for b in buffers or ()]


def _kind(module, adapter):
    """Makes the class of comms. It is one of the library's module, where stored values find it."""

    class PageComm(module.BaseComm):
        def __init__(self, *args, **named):
            named["comm_id"] = named.get("comm_id") or adapter.recorder.display_id()
            super().__init__(*args, **named)

        def open(self, data=None, metadata=None, buffers=None):
            super().open(data, metadata, buffers)
            name, names = _variable(adapter.recorder.place()), getattr(builtins, "__xstate__").names  # noqa: B009
            if type(names.get(name)) is not dict:
                setattr(sys.modules["__main__"], name, {})
            names[name][self.comm_id] = self

        def publish_msg(self, msg_type, data=None, metadata=None, buffers=None, **about):
            state = data.get("state") if isinstance(data, dict) else None
            if state is not None and "msg_id" in state and msg_type == "comm_msg":
                _capture(_widget(self), bool(state["msg_id"]), adapter.recorder)
                return
            content = {"comm_id": self.comm_id, "data": data or {}, "metadata": metadata or {}}
            content["buffers"] = _encoded(buffers)
            if msg_type == "comm_open":
                content["target_name"] = self.target_name
                content["variable"] = _variable(adapter.recorder.place())
            adapter.send(self, msg_type, content)

        def receive(self, comms, message):
            """Takes a message of a page. comms are those of its variable. An exception is printed, as in Jupyter."""
            for comm in comms.values():  # a message may name other widgets
                widget = _widget(comm)
                if widget is not None:
                    sys.modules["ipywidgets.widgets.widget"]._instances[comm.comm_id] = widget
            content = {"comm_id": self.comm_id, "data": message["data"]}
            buffers = [memoryview(base64.b64decode(b)) for b in message.get("buffers") or ()]
            if self._msg_callback is None:
                return
            try:
                self._msg_callback({"content": content, "buffers": buffers, "metadata": {}, "header": {}})
            except (Exception, SystemExit):
                traceback.print_exc()

        def __del__(self):
            """It is not closed: see Comm._watch_widgets."""

    PageComm.__module__, PageComm.__qualname__ = module.__name__, "PageComm"
    module.PageComm = PageComm
    return PageComm


def _variable(place):
    """Returns the name of the variable with the comms that a node opens."""
    return "_comms_" + re.sub(r"[^A-Za-z0-9]", lambda c: f"_{ord(c[0]):x}_", place)


def on_page(value):
    """Reports whether a value is a widget that a page can show."""
    return type(getattr(value, "comm", None)) is adapter.kind and adapter.kind is not None


def _stay(self):
    pass


class _Shell:
    """What widgets need of a shell of IPython."""

    def __init__(self):
        self.kernel = self

    def get_parent(self):
        """Returns a request for an Output widget to take. Its id only tells that there is one."""
        return {"header": {"msg_id": "node"}}

    def showtraceback(self, found=None, tb_offset=None):
        value = found[1] if found else sys.exc_info()[1]
        if value is None:
            return
        lines = "".join(traceback.format_exception(type(value), value, value.__traceback__)).splitlines()
        if _areas:
            about = {"ename": type(value).__name__, "evalue": str(value), "traceback": lines}
            _areas[-1].put({"output_type": "error", **about})
        else:
            sys.stderr.write("\n".join([*lines, ""]))


_shell = _Shell()


def _get_shell():
    return _shell


_areas = []  # those of Output widgets whose context is entered, the innermost last


def _capture(widget, begins, recorder):
    """Begins or ends that an Output widget takes what is put out."""
    if begins:
        _areas.append(_Area(widget, recorder))
    else:
        for area in [a for a in _areas if a.widget is widget]:
            _areas.remove(area)
            area.end()


class _Area:
    """Takes what is put out, as the state of an Output widget."""

    def __init__(self, widget, recorder):
        self.widget, self._recorder = widget, recorder
        self._before = sys.stdout, sys.stderr, recorder.captured
        self._outputs = list(widget.outputs)
        self._ids = {}  # place of a display → its id
        self._waiting = False  # for an output, to clear the others
        self._lines = 0
        sys.stdout, sys.stderr, recorder.captured = _Text(self, "stdout"), _Text(self, "stderr"), self

    def end(self):
        sys.stdout, sys.stderr, self._recorder.captured = self._before
        self._show()

    def _show(self):
        if list(self.widget.outputs) != self._outputs:
            self.widget.outputs = tuple(map(dict, self._outputs))

    def _begin(self):
        if self._waiting:
            self._waiting = False
            self._outputs.clear()
            self._ids.clear()

    def text(self, name, text):
        """Takes text. The page gets the first lines at once, then ever more of them: each message has all of them."""
        self._begin()
        last = self._outputs[-1] if self._outputs else {}
        if last.get("name") == name:
            self._outputs[-1] = {**last, "text": last["text"] + text}
        else:
            self._outputs.append({"output_type": "stream", "name": name, "text": text})
        if "\n" in text:
            self._lines += 1
            if self._lines & (self._lines - 1) == 0:
                self._show()

    def put(self, output):
        self._begin()
        self._outputs.append(output)
        self._show()

    def take(self, kind, bundle, metadata, display_id):
        """Takes display data from the recorder."""
        data = {"data": {m: json.loads(t) if m.endswith("json") else t for m, t in bundle.items()}}
        data["metadata"] = dict(metadata)
        places = [i for i, id in self._ids.items() if id == display_id]
        if kind == "update":
            for i in places:
                self._outputs[i] = {**self._outputs[i], **data}
            self._show()
            return
        self._begin()
        if display_id is not None:
            self._ids[len(self._outputs)] = display_id
        self.put({"output_type": "display_data", **data})

    def clear(self, wait):
        self._waiting = True
        if not wait:
            self._begin()
            self._show()


class _Text(io.TextIOBase):
    """sys.stdout or sys.stderr in the context of an Output widget."""

    encoding = "utf-8"

    def __init__(self, area, name):
        self._area, self._name = area, name

    def writable(self):
        return True

    def write(self, text):
        if text:
            self._area.text(self._name, text)
        return len(text)


adapter = Comm()
