"""Tries to break the proof that a node is a pure reader: runs statements that read and change values in many ways, and
looks at all values before and after. usage: pure_readers.py SEED"""

import random
import sys
import types

from xstate_kernel.ground import bytecode
from xstate_kernel.observe import pure_readers
from xstate_kernel.value import fingerprint
from xstate_kernel.world import workspace_modules

SETUP = """
from dataclasses import dataclass
import collections

@dataclass
class Order:
    number: int
    amount: float = 1.5
    def total(self, n=2):
        return self.amount * n + self.number
    def bump(self):
        self.number = self.number + 1
    def deep(self, rows):
        return helper(rows)

class Loud:
    def __init__(self, log):
        self.log = log
    def __eq__(self, other):
        self.log.append("eq")
        return True
    def __hash__(self):
        return 1
    def __iter__(self):
        self.log.append("iter")
        return iter(self.log)

class Text:
    def __init__(self, log):
        self.log = log
    def __repr__(self):
        self.log.append("repr")
        return "text"

class Getter:
    def __init__(self, log):
        self.log = log
    @property
    def size(self):
        self.log.append("get")
        return 1

class Lazy:
    def __init__(self, log):
        self.log = log
    def __getattr__(self, name):
        self.log.append(name)
        return 1

class Adds:
    def __init__(self, log):
        self.log = log
    def __add__(self, other):
        self.log.append(other)
        return 1
    __radd__ = __iadd__ = __add__
    def __call__(self, other=0):
        self.log.append(other)
        return 1
    def __len__(self):
        return self.log.append(0) or 1
    def __contains__(self, o):
        return self.log.append(o) or True
    def __getitem__(self, i):
        if i > 2:
            raise IndexError
        return self.log.append(i) or 1

class Looked:
    def __init__(self, log):
        self.log = log
    def keys(self):
        self.log.append("keys")
        return ["a"]
    def __getitem__(self, name):
        return {"a": 1}[name]

class Sink:
    def __init__(self, log):
        self.log = log
    def write(self, text):
        self.log.append(text)

class Flushed:
    def __init__(self, log):
        self.log = log
    def write(self, text):
        return 1
    def flush(self):
        self.log.append("flush")

class Steals:
    kept = [1]
    def __init__(self, other):
        other.number = 77

class Chooses:
    def __init__(self, other):
        (other if other else self).number = 77

class Keeps:
    def __init__(self, other):
        self.other = other
        self = other
        self.number = 78

class Holder:
    hooks = {}
    def __init__(self):
        self.a = 1

rows = [{"id": i, "name": "n%d" % i, "tags": {"a", i}} for i in range(4)]
table = {"a": [1, 2, 3], "b": [4], "c": rows}
numbers = [3, 1, 2]
words = ("x", "y", numbers)
tags = {1, 2, 3}
orders = [Order(i) for i in range(3)]
log = []
loud, text, getter, lazy, adds = Loud(numbers), Text(numbers), Getter(numbers), Lazy(numbers), Adds(numbers)
looked, sink, flushed = Looked(numbers), Sink(numbers), Flushed(numbers)
many = [loud, text]
nested = [[1], [2, [3]], (4, [5])]
queue = collections.deque(numbers)
default = collections.defaultdict(list, a=[1])
holder = Holder()

def helper(values):
    return len(values)
def change(values):
    values.append(len(values))
    return 1
def keeps(values, kept=numbers):
    kept.append(1)
    return 1
def maker():
    kept = numbers
    def inner(x=0):
        kept.append(x)
        return 1
    return inner
closure = maker()
def writes():
    global log
    log = log + [1]
    return 1
def binds():
    rows[0]["id"] = rows[0]["id"] + 1
    return 1
def indirect(values):
    return change(values)
def count(values):
    return len(values)
def looks(values):
    return [count(v) for v in (values, table)]
def grow(values, more):
    values += more
    return 1
helper.cache = []
Holder.hooks["f"] = change
appends = numbers.append
items = iter(numbers)
lazily = (numbers.append(n) for n in [1, 2])
hidden = [change, Order]
"""
COUNT = 600
SETUP = compile(SETUP, "<setup>", "exec")

PURE = [  # what has to be proven, else the test would show nothing
    "x = [r['id'] for r in rows if r['id'] > 1]",
    "print(len(rows), sum(n * 2 for n in numbers), sorted(tags))",
    "x = {k: len(v) for k, v in table.items()}; best = max(x, key=x.get)",
    "x = [Order(o.number, o.amount * 2) for o in orders if o.number % 2]",
    "x = sum(o.total() for o in orders); y = orders[0] == orders[1]; print(orders[0])",
    "x = looks(rows); y = f'{numbers!r:>10}'.upper().split(',')",
    "a, *b = numbers; x = [*numbers, *b]; y = {**table}; z = sorted(rows, key=lambda r: r['name'])",
    "x = [y for row in rows for y in row['tags'] if (z := len(row)) > 1]",
    "x = {t | {9} for t in map(frozenset, nested[:0])}; y = numbers[1:] + [1]",
]
ATTACKS = [
    "numbers += [1]",
    "numbers *= 2",
    "tags |= {9}",
    "table |= {'z': 1}",
    "numbers.append(1)",
    "del numbers[0]",
    "numbers[0] = 9",
    "numbers[:] = []",
    "tags.add(8)",
    "table.setdefault('q', []).append(1)",
    "rows[0].update(a=1)",
    "setattr(orders[0], 'number', 9)",
    "orders[0].number = 9",
    "del orders[0].number",
    "orders[0].bump()",
    "f = numbers.append; f(1)",
    "appends(1)",
    "list.append(numbers, 1)",
    "getattr(numbers, 'append')(1)",
    "(lambda v: v.sort())(numbers)",
    "sorted([1, 2], key=lambda n: numbers.append(n) or n)",
    "closure(3)",
    "keeps(1)",
    "change(numbers)",
    "indirect(numbers)",
    "binds()",
    "grow(numbers, [1])",
    "next(items)",
    "list(items)",
    "list(lazily)",
    "x = loud == 1",
    "x = 1 in [loud]",
    "x = [*loud]",
    "a, b, *c = loud",
    "x = {loud: 1, loud: 2}",
    "print(text)",
    "x = f'{text}'",
    "x = '%s' % text",
    "x = str(many)",
    "x = getter.size",
    "x = lazy.anything",
    "x = adds + 1",
    "x = 1 + adds",
    "adds += 1",
    "x = adds(1)",
    "x = len(adds)",
    "x = 3 in adds",
    "x = [n for n in adds]",
    "x = bool(adds)",
    "Steals(orders[0])",
    "Chooses(orders[0])",
    "Keeps(orders[0])",
    "Steals.kept.append(2)",
    "x = holder.hooks['f'](numbers)",
    "x = hidden[0](numbers)",
    "for numbers[0] in [7]: pass",
    "for orders[0].number in [7]: pass",
    "(numbers[0], *numbers[1:2]) = [5, 6]",
    "x = [numbers.append(1) for _ in rows]",
    "x = [numbers.pop() for _ in [1]]",
    "try:\n    numbers.remove(99)\nexcept ValueError:\n    numbers.append(1)",
    "with open('/dev/null') as f:\n    numbers.clear()",
    "exec('numbers.append(1)')",
    "eval('numbers.append(1)')",
    "globals()['numbers'].append(1)",
    "x = queue.popleft()",
    "x = default['new']",
    "vars(orders[0])['number'] = 5",
    "orders[0].__dict__['number'] = 5",
    "orders[0].__init__(9)",
    "Order.__init__(orders[0], 9)",
    "object.__setattr__(orders[0], 'number', 5)",
    "import operator; operator.iadd(numbers, [1])",
    "x = map(numbers.append, [1]); list(x)",
    "x = list(map(change, [numbers]))",
    "from collections import deque; deque(map(numbers.append, [1]))",
    "x = max([numbers, numbers], key=change)",
    "x = '{0.size}'.format(getter)",
    "x = type('T', (), {'__repr__': lambda s: numbers.append(1) or ''})(); print(x)",
    "class C:\n    x = numbers.append(1)",
    "def f():\n    numbers.append(1)\nf()",
    "def f(x=numbers.append(1)): pass",
    "f = lambda x=numbers: x.append(1)\nf()",
    "match numbers:\n    case [a, *b]:\n        b.append(1); numbers.append(2)",
    "helper.cache.append(1)",
    "helper.__defaults__ = (1,)",
    "Order.total = len",
    "numbers.sort()",
    "numbers.reverse()",
    "x = numbers.__iadd__([1])",
    "x = (yes := numbers); yes += [1]",
    "async def g(): pass\nnumbers.extend([1])",
    "x = print(file=text)",
    "print(1, file=sink)",
    "print(1, file=flushed, flush=True)",
    "x = dict(looked)",
    "x = {**looked}",
    "x = dict(**looked)",
    "x = (lambda a: a)(**looked)",
    "x = {}; x.update(looked)",
    "x = min(many)",
    "x = sum([adds, 1])",
    "x = dict.pop(table, 'a')",
    "x = set.pop(tags)",
    "tags -= {1}",
    "tags ^= {1}",
    "tags &= {1}",
    "rows[0]['tags'] |= {5}",
    "orders[0].amount += 1",
    "nested[0] += [2]",
    "words[2].append(3)",
    "x = words[2]; x += [4]",
    "for w in words[2:]: w.append(1)",
    "x = orders[0].deep(numbers)",
]
METHODS = """
    append get items keys values pop sort copy count index update add setdefault total bump number amount size
    log upper split join union remove clear extend insert reverse popitem discard deep anything hooks""".split()
NAMES = """
    rows table numbers words tags orders loud text getter lazy adds looked sink flushed many nested queue default holder helper
    change keeps closure writes binds indirect looks grow appends items hidden Order Steals Chooses Keeps
    Holder""".split()
CALLS = """len sum sorted list tuple set dict str repr min max map filter zip enumerate reversed iter next any all print
    isinstance frozenset hash range bool getattr setattr vars type format""".split()


class Writer:
    """Writes random statements."""

    def __init__(self, seed):
        self.r = random.Random(seed)

    def expression(self, depth):
        r = self.r
        if depth == 0:
            return r.choice([*NAMES, *NAMES, "x", "y", "0", "1", "'a'", "'id'"])
        e = lambda: self.expression(r.randrange(depth))  # noqa: E731
        return r.choice(
            (
                lambda: "%s.%s" % (e(), r.choice(METHODS)),
                lambda: "%s.%s(%s)" % (e(), r.choice(METHODS), r.choice(("", e()))),
                lambda: "%s(%s)" % (r.choice([*CALLS, *NAMES]), e()),
                lambda: "%s[%s]" % (e(), r.choice(("0", "1", "'a'", "'id'", ":2", e()))),
                lambda: (
                    "(%s %s %s)" % (e(), r.choice(("+", "*", "%", "|", "-", "==", "in", "<", "and", "or", "is")), e())
                ),
                lambda: "[%s for x in list(%s)[:3]]" % (e(), e()),
                lambda: "{%s: %s for y in list(%s)[:3] if %s}" % (e(), e(), e(), e()),
                lambda: "list(%s for x in list(%s)[:3])" % (e(), e()),
                lambda: "sorted(list(%s)[:3], key=lambda x: %s)" % (e(), e()),
                lambda: "(lambda y: %s)(%s)" % (e(), e()),
                lambda: "f'{%s}'" % e().replace("'", '"').replace("{", "(").replace("}", ")"),
                lambda: "(x := %s)" % e(),
                lambda: "(%s if %s else %s)" % (e(), e(), e()),
                lambda: "[*list(%s)[:3], %s]" % (e(), e()),
            )
        )()

    def statement(self, depth=3):
        r = self.r
        e = lambda: self.expression(r.randrange(depth + 1))  # noqa: E731
        return r.choice(
            (
                lambda: "x = %s" % e(),
                lambda: "print(%s)" % e(),
                lambda: "%s = %s" % (r.choice((*NAMES, "x, *y", "numbers[0]", "orders[0].number", "table['a']")), e()),
                lambda: "%s %s= %s" % (r.choice((*NAMES, "x")), r.choice("+|-*&"), e()),
                lambda: "for %s in list(%s)[:3]:\n    %s" % (r.choice(("x", "numbers[0]", "y")), e(), e()),
                lambda: "def f(x=%s):\n    return %s\ny = f()" % (e(), e()),
                lambda: "def f():\n    global numbers\n    numbers = %s\nf()" % e(),
                lambda: "del %s" % r.choice(("x", "numbers[0]", "table['a']", "rows")),
                lambda: "try:\n    x = %s\nexcept Exception:\n    y = %s" % (e(), e()),
                lambda: e(),
            )
        )()


def seen(values):
    """Describes values with all that they reach: types, identities and contents."""
    known, lines, todo = {}, [], list(values)
    while todo:
        o = todo.pop()
        if id(o) in known or type(o) is types.ModuleType or type(o) is type and o.__module__ != "__main__":
            continue
        known[id(o)] = o
        parts = []
        if isinstance(o, dict):
            parts = [x for pair in o.items() for x in pair]
        elif isinstance(o, (list, tuple, set, frozenset)) or type(o).__name__ == "deque":
            parts = list(o)
        elif isinstance(o, types.FunctionType):
            parts = [o.__defaults__, o.__code__, o.__dict__, *(c.cell_contents for c in o.__closure__ or ())]
        elif isinstance(o, type):
            parts = [x for pair in vars(o).items() for x in pair if x != "__static_attributes__"]
            strange = ("getset_descriptor", "_DataclassParams", "mappingproxy")
            parts = [p for p in parts if type(p).__name__ not in strange]
        elif isinstance(o, types.GeneratorType):
            lines.append("%d %s" % (id(o), o.gi_frame and o.gi_frame.f_lasti))
        elif type(o).__name__ == "list_iterator":
            lines.append(repr(o.__reduce__()[2:]))
        elif type(o).__module__ == "__main__":
            parts = [object.__getattribute__(o, "__dict__")]
        kind, plain = type(o).__name__, isinstance(o, (int, float, str, bytes))
        lines.append("%d %s %s %s" % (id(o), kind, o if plain else "", [id(p) for p in parts]))
        todo.extend(parts)
    return known, sorted(lines)


def attempt(text):
    """Runs a statement where nothing ran before. Returns whether it was proven, failed, and changed a value."""
    module = types.ModuleType("__main__")
    sys.modules["__main__"], ns = module, vars(module)
    exec(SETUP, ns)
    try:
        code = compile(text, "<node>", "exec")
    except (SyntaxError, ValueError):
        return False, True, False
    printer = fingerprint.Fingerprinter(ns, WORKSPACE)
    before = {n: v for n, v in ns.items() if not n.startswith("__")}
    prints = {n: printer.of(v) for n, v in before.items()}
    later = pure_readers.later(code)
    known, was = seen(before.values())
    failed = False
    try:
        exec(code, ns)
    except BaseException:
        failed = True
    held = {n: (v, prints[n]) for n, v in before.items()}
    proof = pure_readers.Proof(held.get, bytecode.stores(code, True), ns, lambda c: True)
    proven = not later and proof.holds([code])
    return proven, failed, seen(before.values())[1] != was


class _Nowhere:
    def write(self, _):
        pass

    def flush(self):
        pass


WORKSPACE = workspace_modules.Workspace()


def main():
    out, sys.stdout, main = sys.stdout, _Nowhere(), sys.modules["__main__"]
    writer, wrong, proofs, changes = Writer(int(sys.argv[1])), [], 0, 0
    for text in PURE:
        if sys.version_info >= (3, 12) and attempt(text) != (True, False, False):
            wrong.append("is not proven, or fails: " + text)
    for text in ATTACKS:
        if attempt(text)[0]:
            wrong.append("is proven: " + text)
    for _ in range(COUNT):
        text = writer.statement()
        proven, failed, changed = attempt(text)
        proofs += proven and not failed
        changes += changed and not failed
        if proven and changed and not failed:
            wrong.append("is proven, and changes a value: " + text)
    sys.stdout, sys.modules["__main__"] = out, main
    print("%d proofs, %d changes" % (proofs, changes))
    if wrong:
        sys.exit("\n".join(wrong))


main()
