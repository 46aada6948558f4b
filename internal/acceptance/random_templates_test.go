package acceptance

// names by the kind of value that they usually have; X is any of them. No two are so alike that CPython takes one for
// the other when it is missing ("Did you mean"): which it then suggests depends on names that the program never read.
var names = map[string][]string{
	"{L}": {"a", "b", "c"},
	"{D}": {"d", "e"},
	"{N}": {"n", "m"},
	"{T}": {"t"},
	"{F}": {"f", "g"},
	"{O}": {"u", "w"},
	"{K}": {"K"},
	"{I}": {"rows"},
	"{X}": {"a", "b", "c", "d", "e", "n", "m", "t", "u"},
	"{S}": {"k", "q"},
	"{P}": {"out.txt", "log.txt"},
	"{V}": {"XR_A", "XR_B"},
	"{A}": {"arr", "vec", "mat"},
	"{B}": {"df", "part"},
	"{C}": {"ser"},
	"{H}": {"one", "two"},
	"{Q}": {"f1.txt", "f2.txt"},
	"{M}": {"pages"},
	"{Z}": {"left", "right"},
}

// templates of statements. None runs forever, writes outside the workspace or shows what differs between two runs. What
// docs/limits.md says is not observed is left out.
var templates = map[string]struct {
	weight int
	texts  []string
}{
	"open": {0, []string{ // drawn by TestRandomFiles alone
		"{H} = open(\"{Q}\", \"w\")", "{H} = open(\"{Q}\", \"a\")", "{H} = open(\"{Q}\", \"w+\")",
		"{H} = open(\"{Q}\", \"r+\")", "{H} = open(\"{Q}\")", "{H} = {H}",
		"{H} = os.fdopen(os.dup({H}.fileno()), \"a\")", "{H}.close()", "del {H}", "{H} = None",
		"n = {H}.write(\"<{i}>\")", "n = {H}.write(\"<{i}>\")", "n = {H}.write(\"<{i}>\")",
		"n = {H}.write(\"<{i}>\")\n{H}.flush()", "n = {H}.write(\"<{i}>\")\n{H}.flush()", "{H}.flush()", "{H}.flush()",
		"print({H}.read())", "print({H}.tell())", "n = {H}.seek(0)", "n = {H}.truncate({i})",
		"print(open(\"{Q}\").read())", "print(open(\"{Q}\").read())", "print(os.path.exists(\"{Q}\"))",
		"with open(\"{Q}\", \"a\") as file:\n    n = file.write(\"[{i}]\")",
		"with open(\"{Q}\", \"w\") as file:\n    n = file.write(\"[{i}]\")",
		"with open(\"new.txt\", \"w\") as file:\n    n = file.write(\"({i})\")\nos.replace(\"new.txt\", \"{Q}\")",
		"os.rename(\"{Q}\", \"{Q}\")", "os.rename(\"{Q}\", \"f3.txt\")", "os.rename(\"f3.txt\", \"{Q}\")",
		"os.remove(\"{Q}\")", "os.truncate(\"{Q}\", {i})", "os.makedirs(\"box\", exist_ok=True)",
		"{H} = open(\"box/f.txt\", \"w\")", "os.rename(\"box\", \"crate\")", "print(open(\"crate/f.txt\").read())",
		"{M} = mmap.mmap({H}.fileno(), 0)", "{M}[:1] = b\"z\"", "print({M}[:3])", "{M}.close()",
		"{Z} = sqlite3.connect(\"x.db\", timeout=0)", "{Z} = sqlite3.connect(\"x.db\", timeout=0)",
		"c = {Z}.execute(\"create table if not exists t (n)\")\n{Z}.commit()\nc = None",
		"c = {Z}.execute(\"insert into t values ({i})\")\nc = None", "{Z}.commit()", "{Z}.rollback()", "{Z}.close()",
		"print({Z}.execute(\"select n from t order by n\").fetchall())",
	}},
	"function": {0, functionTemplates}, // drawn by TestRandomFunctions alone
	"number": {8, []string{
		"{N} = {i}", "{N} = {i}", "{N} = {N} + {i}", "{N} = ({N} * {N} + {i}) % 97", "{N} += {i}", "{N} = len({L})",
		"{N} = sum(v for v in {L} if isinstance(v, int))", "{N} = {L}[0]", "{N} = {D}[\"{S}\"]", "{N}, {N} = {N}, {N}",
	}},
	"list": {14, []string{
		"{L} = [{i}, {i}]", "{L} = [{i}, {i}]", "{L} = [{i}, [{i}, {i}]]", "{L} = []", "{L} = {L}", "{L} = {L}",
		"{L} = {L}[:]", "{L} = [{L}, {L}]", "{L} = [{L}] * 2",
		"{L} = [v for v in {L} if v != {i}]", "{L} = {L} + [{N}]", "{L}, {L} = {L}, {L}", "{L} = {L} = [{i}]",
		"{L} = [[v] for v in {L}]",
		"{L} = list({D}.values())", "{L} = sorted({L}, key=lambda v: str(type(v)))", "{L} = {D}.get(\"{S}\", [])",
		"{L} = json.loads(json.dumps({L}))",
	}},
	"change": {18, []string{
		"{L}.append({i})", "{L}.append({i})", "{L}.append({N})", "{L}.append({L})", "{L}[0] = {i}", "{L}[-1] = {L}",
		"{L}[0].append({i})", "{L}.sort(key=lambda v: str(type(v)))",
		"{L}.reverse()", "{L} += [{i}]", "{L} += {L}[:1]", "{L}.pop()", "{L}.insert(0, {N})", "{L}[:1] = [{i}]",
		"del {L}[0]", "{L}.clear()", "{L} *= 2", "{T}[0].append({i})",
	}},
	"dict": {12, []string{
		"{D} = {\"k\": {i}}", "{D} = {\"k\": {L}, \"q\": {N}}", "{D} = {}", "{D} = {D}", "{D} = dict({D})",
		"{D}[\"{S}\"] = {L}", "{D}[\"{S}\"] = {N}", "{D}[\"{S}\"] = {D}",
		"{D}[\"{S}\"].append({i})", "{D}.setdefault(\"{S}\", []).append({i})", "{D}.update(k={i})", "{D}.update({D})",
		"{D}.pop(\"{S}\", None)", "del {D}[\"{S}\"]",
		"{D} = {v: [v] for v in range({i})}", "{D} |= {\"q\": {L}}",
	}},
	"equal": {8, []string{ // objects that are equal and not the same
		"{L} = [[1], [1]]", "{L} = [[1], 2]", "{L} = [1]", "{L} = list({L})", "{L}[0] = {L}[:]",
		"{L}[0] = list({L}[0])", "{L}[0] = [1]", "{L}[-1] = {L}[0]", "{L}[0], {L}[-1] = {L}[-1], {L}[0]",
		"{D} = {\"k\": [1], \"q\": [1]}", "{D}[\"{S}\"] = list({D}[\"{S}\"])", "{D}[\"{S}\"] = {D}[\"{S}\"]",
		"{D}[\"{S}\"] = {L}[:]", "{O}.v = list({O}.v)", "{O}.v = {L}[:]", "{O}.v = [1]", "K.items = list(K.items)",
		"K.items = [1]",
		"helper.seen = list(helper.seen)", "helper.seen[0] = [1]", "helper.seen = [[1]]", "{T} = ([1], [1])",
		"hooks[0] = {F}", "{F}.kept = [1]", "{F}.kept = {L}", "{F}.kept.append({i})", "{L} = {F}.kept",
		"{A} = np.array([[1], [1]], dtype=object)", "{A}[0] = [1]", "{A}[0] = {L}",
	}},
	"tuple": {
		3,
		[]string{"{T} = ({L}, {i})", "{T} = ({L}, {D})", "{L} = {T}[0]", "{L}, {N} = {T}", "{T} = {T} + ({N},)"},
	},
	"def": {9, []string{
		"def {F}(x={N}):\n    return x + {i}", "def {F}(x={i}):\n    return x + {N}", "def {F}(x=1, acc=[]):\n" +
			"    acc.append(x)\n    return acc", "def {F}(x=1, acc={L}):\n    acc.append(x)\n    return acc",
		"def {F}(x={i}):\n    global {N}\n    {N} = x\n    return {N}", "def {F}(x={i}):\n    {L}.append(x)\n" +
			"    return {L}", "def {F}(x=1):\n    return h(x) + {i}", "def h(x=0):\n    return x * {i} + {N}",
		"def h(x=0):\n    return {i}", "def {F}(x=1):\n    global {L}\n    {L} = [x]\n" +
			"    return {L}", "{F} = lambda x={i}: [x, {N}]", "def make():\n    kept = [{i}]\n    def add(x=1):\n" +
			"        kept.append(x)\n        return kept\n    return add",
		"def make():\n    total = {i}\n    def add(x=1):\n        nonlocal total\n        total += x\n" +
			"        return total\n    return add",
		"if {N} > {i}:\n    def {F}(x=0):\n        return {i}\nelse:\n    def {F}(x=0):\n" +
			"        return [x]", "def {F}(x=0):\n    import helper\n    return helper.note(x)",
		"def {F}(x=0):\n    {F}.calls = getattr({F}, 'calls', 0) + 1\n    return {F}.calls", "def {F}(x=0):\n" +
			"    return K.total + x",
	}},
	"call": {10, []string{
		"{N} = {F}({i})", "{L} = {F}({i})", "{F}({i})", "{F}()", "print({F}({i}))", "{F} = make()", "{F} = make()",
		"{F} = {F}", "{D}[\"{S}\"] = {F}()", "{N} = h({i})", "{F} = {O}.add", "{L} = [{F}(), {F}()]",
		"{F}.calls = {i}", "{D}[\"{S}\"] = {F}", "print({D}[\"{S}\"]())",
	}},
	"class": {4, []string{
		"class K:\n    total = {i}\n    items = []\n    def __init__(self, v=0):\n        self.v = v\n" +
			"    def add(self, x=1):\n        self.items.append(x)\n        K.total += 1\n        return K.total",
		"class K:\n    total = {N}\n    def __init__(self, v={i}):\n        self.v = v\n        self.mine = [v]\n" +
			"    def add(self, x=1):\n        self.mine.append(x)\n        return self.mine",
		"class K:\n    total = {i}\n    items = {L}\n    def __init__(self, v=0):\n        self.v = v\n" +
			"    def add(self, x={N}):\n        {L}.append(x)\n        return self\n    def __repr__(self):\n" +
			"        return f'K({self.v!r})'",
		"class J(K):\n    def add(self, x=0):\n        return [super().add(x), {i}]",
	}},
	"object": {9, []string{
		"{O} = K()", "{O} = K({i})", "{O} = K({L})", "{O} = J({L})", "{O} = {O}", "{O}.v = {L}", "{O}.v = {i}",
		"{O}.add()", "{N} = {O}.add({i})", "{L} = {O}.v", "K.total = {i}", "K.total += {i}", "K.items = {L}",
		"print({O}.v, K.total)",
		"print(isinstance({O}, K), type({O}) is K)", "{L}.append({O})", "{D}[\"{S}\"] = {O}", "print({O}.add({i}))",
		"{O}.__dict__.update(v={i})", "setattr({O}, \"{S}\", {L})", "print(vars({O}))", "K.more = lambda self: {N}",
		"print({O}.more())",
	}},
	"show": {
		12,
		[]string{
			"print({X})",
			"print({X})",
			"print({X}, {X})",
			"print({L} is {L})",
			"print({D} is {D}, {L} == {L})",
			"{X}",
			"{X}",
			"print(len({L}))",
			"print(type({X}).__name__, {N})",
			"print(f'{{X}!r}')",
		},
	},
	"flow": {9, []string{
		"for v in {L}:\n    print(v)", "for v in range({i}):\n    {L}.append(v)", "for {N} in range({i}):\n" +
			"    pass", "for v in {L}[:3]:\n    {D}[\"k\"] = v", "if {N} > {i}:\n    {L} = [{i}]", "if {N} > {i}:\n" +
			"    {L}.append({i})\nelse:\n    {N} = {i}",
		"if {L}:\n    {L}.pop()", "try:\n    print({X})\nexcept NameError:\n    print('none')", "try:\n" +
			"    {X} = {D}[\"{S}\"]\nexcept Exception as e:\n    {N} = {i}", "try:\n    {L}.append({i})\n" +
			"    {L}[9] = 1\nexcept Exception:\n    {N} = {i}",
		"try:\n    {N} += 1\nexcept NameError:\n    {N} = {i}", "with open('in.txt') as file:\n" +
			"    {L} = file.read().split()", "{L} = [w for w in {L} for _ in range(2)][:4]",
	}},
	"gone": {2, []string{"del {X}", "del {F}", "del {N}", "{X} = None", "del K"}},
	"fails": {
		1,
		[]string{
			"raise ValueError({N})",
			"assert {N} < {i}",
			"{N} = 1 / {N}",
			"{L}.append({i}); raise KeyError({i})",
			"print('before'); {L}[7]",
			"K.total += 1; print(missing)",
		},
	},
	"file": {8, []string{
		"with open(\"{P}\", \"w\") as file:\n    file.write(str({N}))", "with open(\"{P}\", \"a\") as file:\n" +
			"    file.write(\"{i}\")", "print(open(\"{P}\").read())", "{N} = len(open(\"{P}\").read())",
		"print(os.path.exists(\"{P}\"))",
		"if os.path.exists(\"{P}\"):\n    os.remove(\"{P}\")", "os.remove(\"{P}\")", "os.rename(\"{P}\", \"{P}\")",
		"print(open(\"in.txt\").read())", "print(sorted(v for v in os.listdir('.') if v.endswith('.txt')))",
		"{L} = open(\"in.txt\").read().split()",
		"os.makedirs(\"sub\", exist_ok=True)\n" +
			"open(\"sub/{P}\", \"w\").write(\"{i}\")", "print(os.path.isdir(\"sub\"))",
		"json.dump({L}, open(\"{P}\", \"w\"))", "{L} = json.load(open(\"{P}\"))",
		"print(os.path.getsize(\"{P}\"))",
	}},
	"random": {
		5,
		[]string{
			"random.seed({i})",
			"{N} = random.randint(0, 9)",
			"print(random.random())",
			"random.shuffle({L})",
			"rng = random.Random({i})",
			"{N} = rng.randint(0, 9)",
			"{L} = random.sample(range(9), 3)",
			"print(rng.random())",
		},
	},
	"environ": {
		4,
		[]string{
			"os.environ[\"{V}\"] = \"{i}\"",
			"print(os.environ.get(\"{V}\"))",
			"os.environ.pop(\"{V}\", None)",
			"del os.environ[\"{V}\"]",
			"print(\"{V}\" in os.environ)",
			"{N} = int(os.environ.get(\"{V}\", {i}))",
			"os.environ[\"{V}\"] += \"{i}\"",
		},
	},
	"iterator": {
		4,
		[]string{
			"{I} = iter({L})",
			"{I} = (v for v in {L})",
			"{I} = iter(range({i}))",
			"print(next({I}, None))",
			"{N} = next({I})",
			"{L} = list({I})",
			"def numbers():\n    for v in {L}[:4]:\n        yield v\n    yield {N}",
			"{I} = numbers()",
			"{I} = zip({L}, range(3))",
			"{I} = enumerate({L})",
		},
	},
	"shadow": {
		2,
		[]string{
			"len = lambda v: {i}",
			"sum = lambda v: {N}",
			"del len",
			"del sum",
			"sorted = list",
			"str = repr",
			"range = lambda n: [n]",
		},
	},
	"module": {
		3,
		[]string{
			"import helper",
			"print(helper.note({i}))",
			"helper.seen = {L}",
			"helper.seen.append({i})",
			"{L} = helper.seen",
			"from helper import note",
			"print(note({i}))",
			"import math",
			"math.tau = {i}",
			"print(getattr(math, 'tau', None) == {i})",
			"import os, random, json",
		},
	},
	"dynamic": {
		2,
		[]string{
			"exec(\"{N} = {i}\")",
			"print(eval(\"{N}\"))",
			"globals()[\"{N}\"] = {i}",
			"print(\"{X}\" in globals())",
			"{N} = globals().get(\"{N}\", {i})",
			"print([v for v in globals() if v in 'abcde'])",
		},
	},
	"library": {4, []string{
		"import copy\n{L} = copy.deepcopy({L})", "import copy\n{D} = copy.copy({D})", "import collections\n" +
			"{D} = collections.defaultdict(list, {D})", "import collections\n" +
			"{L} = collections.deque({L})", "import functools\n@functools.lru_cache\ndef {F}(x={i}):\n" +
			"    print('called', x)\n    return [x]",
		"import itertools\ncount = itertools.count({i})", "print(next(count))", "import decimal\n" +
			"decimal.getcontext().prec = {i} + 2", "import decimal\n" +
			"print(decimal.Decimal(1) / 3)", "import dataclasses\n@dataclasses.dataclass\nclass K:\n" +
			"    v: object = {i}\n    total = {i}\n    def add(self, x=1):\n        self.v = x\n" +
			"        return self",
		"{T} = ({L}, frozenset([{i}]))", "import functools\n{F} = functools.partial({F}, {i})",
	}},
	"scope": {4, []string{
		"if (m := {N} + {i}) > 3:\n    {L} = [m]", "{L} = [n := {i}, n + 1]", "print([m := v for v in range({i})], m)",
		"print(any((hit := v) for v in {L}))", "print(hit)",
		"class Box:\n    items = {L}\n    first = {N}\n" +
			"    firsts = [first, {N}]", "print(Box.items, Box.first)", "Box.items.append({i})",
		"print({L} is Box.items)", "[{L}.append(v) for v in range({i})]",
		"for K.total in range({i}):\n    pass", "for {D}[\"k\"] in {L}:\n" +
			"    pass", "({N}, *{L}) = [{i}, {i}, {i}]", "with open('in.txt') as Box.file:\n" +
			"    pass", "{L} = [(lambda v={i}: v + {N})() for _ in range(2)]",
		"def {F}(x={i}):\n    class In:\n        held = {L}\n        def get(self):\n" +
			"            return self.held, x\n" +
			"    return In().get()", "lambdas = [lambda: v for v in range({i})]",
		"print([each() for each in lambdas])",
		"def {F}(x=0):\n    def inner():\n        global {N}\n        {N} = {i}\n        return {N}\n" +
			"    return inner()", "def {F}(x=1):\n    del globals()[\"{N}\"]\n    return x", "def {F}(x=1):\n" +
			"    global t\n    del t\n    return x",
	}},
	"wrapper": {4, []string{
		"def wrap(fn):\n    def inner(*args):\n        {L}.append({i})\n        return fn(*args)\n" +
			"    return inner", "def wrap(fn):\n    calls.append(fn.__name__)\n" +
			"    return fn", "calls = []", "print(calls)",
		"def wrap(fn):\n    import functools\n    @functools.wraps(fn)\n    def inner(*args):\n" +
			"        inner.count += 1\n        return fn(*args), inner.count\n    inner.count = {i}\n    return inner",
		"@wrap\ndef {F}(x={i}):\n    return [x]", "@wrap\ndef {F}(x={i}):\n    return {L}", "@wrap\n@wrap\n" +
			"def h(x={i}):\n    return x + 1", "{F} = wrap({F})", "h = wrap(h)", "{F}.count = {i}",
		"print(getattr({F}, 'count', None))",
		"registry = {}", "def wrap(fn):\n    registry[fn.__name__] = fn\n" +
			"    return fn", "print(sorted(registry))", "print([registry[key]({i}) for key in sorted(registry)])",
		"registry.pop(\"h\", None)", "@wrap\nclass K:\n    total = {i}\n    def add(self, x=1):\n" +
			"        {L}.append(x)\n        return x",
	}},
	"hook": {5, []string{
		"hooks = []", "hooks = [{F}]", "hooks.append({F})", "hooks.append(lambda x: {L}.append(x))",
		"hooks.append({L}.append)", "hooks.append({O}.add)", "for hook in hooks:\n" +
			"    hook({i})", "print([hook({i}) for hook in hooks])", "{D}[\"{S}\"] = {L}.append",
		"{D}[\"{S}\"]({i})",
		"{L} = list(map({F}, {L}))", "{N} = max({L}, key={F})", "def {F}(x=0, to={L}):\n    to.append(x)\n" +
			"    return len(to)", "def each(items, fn):\n    for v in items:\n" +
			"        fn(v)", "each([{i}, {i}], {L}.append)", "each([{i}], {F})",
		"each({L}[:2], lambda v: {D}.update(k=v))",
		"{O}.cb = {F}", "{O}.cb({i})", "K.cb = staticmethod({F})", "K.cb({i})", "hooks = hooks[:1]",
	}},
	"ticks": {4, []string{
		"def ticks(n={i}):\n    for v in range(n + 2):\n        {L}.append(v)\n" +
			"        yield v", "rows = ticks()", "rows = ticks({i})", "print(next(rows, 'end'))",
		"print(sum(1 for _ in rows))", "{L} = [*rows]", "def adder():\n    total = {i}\n    while True:\n" +
			"        got = yield total\n        total += got or 1",
		"coro = adder()\nnext(coro)", "print(coro.send({i}))", "{N} = next(coro)", "coro.close()",
		"import itertools\nrows, spare = itertools.tee({L})", "print(next(spare, None), next(rows, None))",
		"rows = iter({D})", "rows = reversed({L})", "rows = map({F}, {L})", "rows = filter(None, {L})",
		"for v in rows:\n    print(v)\n    break", "{D}[\"{S}\"] = ticks()", "print(next({D}[\"{S}\"], None))",
		"async def later(x={i}):\n    {L}.append(x)\n    return x", "{N} = await later()",
	}},
	"catch": {4, []string{
		"def risky(x={i}):\n    {L}.append(x)\n    if x > {i}:\n        raise ValueError(x)\n    return x", "try:\n" +
			"    risky({i})\nexcept ValueError as err:\n    print(err)", "risky({i})", "class Bad(Exception):\n" +
			"    code = {i}", "raise Bad({i})", "try:\n    raise Bad({i})\nexcept Bad as err:\n    {N} = err.code",
		"try:\n    {L}.append({i})\n    risky({i})\nfinally:\n    {N} = {i}", "try:\n    risky({i})\n" +
			"except Exception as err:\n    kept = err", "print(repr(kept))", "print(kept.args)",
		"with open('in.txt') as file, open(\"{P}\", 'w') as copy:\n    copy.write(file.read())\n    risky({i})",
		"import contextlib\nwith contextlib.suppress(Exception):\n    {L}.append({i})\n" +
			"    risky({i})", "import contextlib\n@contextlib.contextmanager\ndef scope(x={i}):\n    {L}.append(x)\n" +
			"    yield {L}\n    {L}.append(-x)", "with scope() as {L}:\n    print({L})", "with scope({i}):\n" +
			"    risky({i})",
	}},
	"weak": {2, []string{
		"import weakref\ncache = weakref.WeakValueDictionary()", "cache[\"{S}\"] = {O}", "print(sorted(cache))",
		"print(cache.get(\"k\") is {O})", "cache[\"{S}\"].v = {i}", "import weakref\n" +
			"ref = weakref.ref({O})", "print(ref() is {O})", "ref().v = {i}", "import weakref\n" +
			"side = weakref.WeakKeyDictionary()", "side[{O}] = {L}", "print(len(side), side.get({O}))",
		"side[{O}].append({i})",
	}},
	"places": {3, []string{
		"os.makedirs(\"sub\", exist_ok=True)\nos.chdir(\"sub\")", "if os.path.basename(os.getcwd()) == \"sub\":\n" +
			"    os.chdir(\"..\")", "print(os.path.basename(os.getcwd()) == \"sub\")",
		"print(os.path.exists(\"sub\"), os.path.exists(\"../in.txt\"))", "import pathlib\n" +
			"pathlib.Path(\"{P}\").write_text(str({N}))",
		"import pathlib\nprint(pathlib.Path(\"{P}\").exists())", "import pathlib\n" +
			"print([p.name for p in sorted(pathlib.Path(\".\").glob(\"*.txt\"))])", "import shutil\n" +
			"shutil.copy(\"in.txt\", \"{P}\")", "import shutil\n" +
			"shutil.rmtree(\"sub\", ignore_errors=True)", "print(sorted(os.listdir(\"sub\")))",
		"import glob\nprint(sorted(glob.glob(\"sub/*.txt\")))",
		"os.replace(\"{P}\", \"{P}\")", "handle = open(\"{P}\", \"a\")", "handle.write(\"{i}\")\n" +
			"handle.flush()", "handle.close()", "print(handle.tell(), handle.closed)", "handle = open(\"in.txt\")",
		"print(handle.read(2))", "with open(\"{P}\", \"r+\") as file:\n" +
			"    file.write(\"{i}\")", "os.rename(\"sub\", \"sub2\")", "os.symlink(\"in.txt\", \"link.txt\")",
		"print(open(\"link.txt\").read())", "os.remove(\"link.txt\")", "import csv\n" +
			"with open(\"{P}\", \"w\", newline=\"\") as file:\n" +
			"    csv.writer(file).writerows([{L}, [{i}]])", "import sqlite3\n" +
			"base = sqlite3.connect(\"base.db\")\nbase.execute(\"create table if not exists r (v)\")\n" +
			"base.execute(\"insert into r values ({i})\")\nbase.commit()\nbase.close()",
		"import sqlite3\nbase = sqlite3.connect(\"base.db\")\n" +
			"print(base.execute(\"select count(*), sum(v) from r\").fetchall())\nbase.close()", "import pickle\n" +
			"pickle.dump(({L}, {N}), open(\"{P}\", \"wb\"))", "import pickle\n" +
			"{L}, {N} = pickle.load(open(\"{P}\", \"rb\"))", "def {F}(x={i}):\n" +
			"    with open(\"{P}\", \"a\") as file:\n        file.write(str(x))\n" +
			"    return x", "def {F}(x=0):\n    return open(\"{P}\").read()",
	}},
	"dies": {
		1,
		[]string{
			"os._exit({i})",
			"{L}.append({i}); os._exit(1)",
			"with open(\"{P}\", \"w\") as file:\n    file.write(\"{i}\")\n    file.flush()\n    os._exit(1)",
			"import sys\nsys.exit({i})",
		},
	},
	"slow": {1, []string{
		"import time\nfor v in range(3):\n    {L}.append(v)\n    print(v)\n    time.sleep(0.01)", "import time\n" +
			"with open(\"{P}\", \"w\") as file:\n    for v in range(3):\n        print(v, file=file, flush=True)\n" +
			"        print(v)\n        time.sleep(0.01)", "import time\nfor v in range(3):\n" +
			"    os.environ[\"{V}\"] = str(v)\n    print(random.random())\n    time.sleep(0.01)",
	}},
	"tools": {3, []string{
		"from tools import *", "print(twice({i}))", "import tools", "print(tools.twice({N}))", "tools.base = {i}",
		"print(base)", "{O} = Tool()", "print({O}.use({i}))", "import tools as helper2\n" +
			"print(helper2.Tool.size)", "{O} = tools.Tool()", "class Big(tools.Tool):\n" +
			"    size = {i}", "{O} = Big()", "from tools import twice as {F}",
		"import importlib, tools\ntools = importlib.reload(tools)", "tools.Tool.size = {i}", "def {F}(x={i}):\n" +
			"    from tools import twice\n" +
			"    return twice(x)", "setattr(tools, \"base\", {i})", "print(vars(tools)[\"base\"])",
	}},
	"arrays": {24, []string{
		"{A} = np.arange({i} + 6)", "{A} = np.zeros((2, 3))", "{A} = {A}[1:]", "{A} = {A}[::2]", "{A} = {A}.T",
		"{A} = {A}.reshape(-1)", "{A} = {A}.copy()", "{A} = {A}", "{A}[0] = {i}", "{A}[0] = {i}", "{A} += {i}",
		"{A} *= 2", "{A}.sort()", "{A}.fill({i})", "np.add({A}, {i}, out={A})", "{A}[{A} > {i}] = {i}",
		"{L} = [{A}, {A}[:2]]",
		"{L}[0][0] = {i}", "{D}[\"k\"] = {A}", "{D}[\"k\"][0] = {i}", "{O}.v = {A}", "{O}.v[0] = {i}", "print({A})",
		"print({A})", "print({A}.sum(), {A}.shape)", "print(np.shares_memory({A}, {A}))", "np.random.seed({i})",
		"{A} = np.random.randint(0, 9, 5)", "np.random.shuffle({A})", "gen = np.random.default_rng({i})",
		"{A} = gen.integers(0, 9, 4)",
		"print(gen.random())", "{N} = int({A}.ravel()[0])", "np.save(\"out.npy\", {A})", "{A} = np.load(\"out.npy\")",
		"def {F}(x={i}):\n    {A}[0] = x\n" +
			"    return {A}", "{A}, {A} = {A}, {A}", "{A} = np.array([{L}, 1], dtype=object)", "{A}[0].append({i})",
		"rows = iter({A})", "{A}.flags.writeable = False", "{A} = np.asarray({A})", "{A} = {A}.view()",
		"{A}.shape = (-1,)", "np.set_printoptions(precision={i})", "{A} = {A} / 3", "{T} = ({A}, {i})",
		"for row in {A}:\n    row += 1", "{N} = {A}[0]", "{A} = np.where({A} > {i}, {A}, 0)",
		"mapped = np.memmap(\"out.bin\", dtype=\"int64\", mode=\"w+\", shape=(3,))", "mapped[0] = {i}\n" +
			"mapped.flush()", "print(np.fromfile(\"out.bin\", dtype=\"int64\"))", "K.items = {A}",
		"np.copyto({A}, {i})", "del {A}", "{A} = np.random.rand(3).round(3)", "{A} = memoryview({A})",
		"np.seterr(all=\"ignore\")", "print({A}.base is {A})",
	}},
	"frames": {24, []string{
		"{B} = pd.DataFrame({\"x\": [1, 2, {i}], \"y\": [3.5, {i}, 1]})", "{B} = {B}", "{B} = {B}.copy()",
		"{B}[\"z\"] = {i}", "{B}[\"x\"] = {B}[\"x\"] + {i}", "{B}.loc[0, \"x\"] = {i}",
		"{B}.drop(columns=\"y\", inplace=True)", "{B}.sort_values(\"x\", inplace=True)",
		"{B}.rename(columns={\"x\": \"w\"}, inplace=True)", "{C} = {B}[\"x\"]", "{C} = {B}[\"y\"]",
		"{C}.iloc[0] = {i}", "{B} = {B}[[\"x\"]]", "{B} = {B}[{B}[\"x\"] > {i}]", "{B}.index = range(len({B}))",
		"print({B})", "print({B})", "print({C}.tolist())", "print({B}.query(\"x > @n\"))",
		"{B}.to_csv(\"out.csv\", index=False)", "{B} = pd.read_csv(\"out.csv\")",
		"print({B}.groupby(\"x\")[\"y\"].sum())", "{B}.at[1, \"y\"] = {i}", "{B}[\"y\"].values[0] = {i}",
		"{B}.attrs[\"k\"] = {L}", "pd.options.display.precision = {i} + 1", "{B} = pd.concat([{B}, {B}])",
		"{A} = {B}[\"x\"].to_numpy()", "{B} = pd.DataFrame({\"x\": {A}})", "{L} = [{B}, {B}[\"x\"]]", "{O}.v = {B}",
		"{D}[\"k\"] = {B}", "{D}[\"k\"].loc[0, \"x\"] = {i}", "def {F}(x={i}):\n    {B}[\"z\"] = x\n" +
			"    return {B}", "{C} += {i}", "{B}[\"x\"].fillna({i}, inplace=True)",
		"{B}.columns = [c.upper() for c in {B}.columns]", "{B}.insert(0, \"i\", {i})",
		"{B}[\"s\"] = [str(v) for v in {B}[\"x\"]]", "{B}[\"s\"] = {B}[\"s\"].astype(\"category\")",
		"rows = {B}.itertuples()", "print({B}.head({i}))", "{N} = {B}[\"x\"].sum()", "{B}.T.iloc[0] = {i}",
		"{B} = {B}.set_index(\"x\")", "{B}.pop(\"y\")", "{B}.eval(\"v = x + @n\", inplace=True)",
	}},
}
