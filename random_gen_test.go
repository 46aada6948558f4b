package xstate_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A random session is a list of versions of one small program, each made from one before by an edit. The statements
// are drawn from templates over few names of few kinds, so that aliases, changes in place and readers meet often.
// Any statement may fail where it stands: how failures spread is part of what is tested.

// statement keeps its number through edits of its text, so that a shrunk session can do without it everywhere.
type statement struct {
	number int
	text   string
}

type randomBlock struct {
	title      string
	statements []statement
}

// version is what the workspace holds at one time. Versions share no memory.
type version struct {
	edit    string // what made it, for people
	restart bool   // the interpreter and the store were closed before it ran
	blocks  []randomBlock
	inputs  map[string]string // files that the program only reads
}

func (v version) clone() version {
	blocks := make([]randomBlock, len(v.blocks))
	for i, b := range v.blocks {
		blocks[i] = randomBlock{b.title, slices.Clone(b.statements)}
	}
	return version{v.edit, v.restart, blocks, maps.Clone(v.inputs)}
}

func (v version) program() string {
	var b strings.Builder
	for _, block := range v.blocks {
		fmt.Fprintf(&b, "# %%%% %s\n", block.title)
		for _, s := range block.statements {
			b.WriteString(s.text + "\n")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// files is the workspace of the version, before any run.
func (v version) files() map[string][]byte {
	files := map[string][]byte{"prog.py": []byte(v.program())}
	for name, text := range v.inputs {
		files[name] = []byte(text)
	}
	return files
}

// same reports whether two versions have the same files: then whatever ran for one need not run for the other.
func (v version) same(w version) bool {
	return v.program() == w.program() && maps.Equal(v.inputs, w.inputs)
}

type generator struct {
	*rand.Rand
	numbers, titles int
}

// randomSession makes the session that a seed stands for.
func randomSession(seed uint64, edits int) []version {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	first := version{edit: "begin", inputs: map[string]string{"in.txt": "one\n", "helper.py": helper(1)}}
	first.blocks = append(first.blocks, g.block(g.statement("import os, random, json")))
	if g.IntN(4) > 0 {
		first.blocks = append(first.blocks, g.prelude()...)
	}
	for range 3 + g.IntN(5) {
		first.blocks = append(first.blocks, g.randomBlock())
	}
	if g.IntN(2) == 0 {
		first.blocks = append(first.blocks, g.probe())
	}
	versions := []version{first}
	for range edits {
		next := g.edit(versions)
		next.restart = g.IntN(4) == 0
		versions = append(versions, next)
	}
	return versions
}

func helper(n int) string {
	return fmt.Sprintf("seen = []\n\ndef note(x):\n    seen.append(x)\n    return %d, seen\n", n)
}

func (g *generator) statement(text string) statement {
	g.numbers++
	return statement{g.numbers, text}
}

func (g *generator) block(s ...statement) randomBlock {
	g.titles++
	return randomBlock{fmt.Sprintf("b%d", g.titles), s}
}

func (g *generator) randomBlock() randomBlock {
	b := g.block()
	for range 1 + g.IntN(4) {
		b.statements = append(b.statements, g.randomStatement())
	}
	return b
}

// prelude gives most names a value, so that later statements seldom fail.
func (g *generator) prelude() []randomBlock {
	var blocks []randomBlock
	for _, texts := range [][]string{
		{"n, m = {i}, {i}", "a = [{i}, [{i}]]", "b = {L}", "c = [{i}, a]"},
		{"d = {\"k\": {L}}", "e = {\"q\": [{i}]}", "t = (a, {i})", "def h(x=0):\n    return x + {i}"},
		{pick(g, "def"), pick(g, "class"), "u = K({L})", "rows = iter({L})"},
	} {
		b := g.block()
		for _, text := range texts {
			if g.IntN(5) > 0 {
				b.statements = append(b.statements, g.statement(g.fill(text)))
			}
		}
		blocks = append(blocks, b)
	}
	return blocks
}

func pick(g *generator, group string) string {
	list := templates[group].texts
	return list[g.IntN(len(list))]
}

// probe shows what the names have come to, aliases included.
func (g *generator) probe() randomBlock {
	b := g.block()
	for range 3 {
		b.statements = append(b.statements, g.statement(g.fill("try:\n    print({X}, {L} is {L}, {D})\nexcept NameError:\n    print('unbound')")))
	}
	return b
}

func (g *generator) randomStatement() statement {
	groups := slices.Sorted(maps.Keys(templates))
	total := 0
	for _, name := range groups {
		total += templates[name].weight
	}
	at := g.IntN(total)
	for _, name := range groups {
		if at -= templates[name].weight; at < 0 {
			return g.statement(g.fill(pick(g, name)))
		}
	}
	panic("unreachable")
}

var hole = regexp.MustCompile(`\{[A-Za-z]\}`)

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
}

func (g *generator) fill(template string) string {
	return hole.ReplaceAllStringFunc(template, func(h string) string {
		if h == "{i}" {
			return strconv.Itoa(g.IntN(5))
		}
		list := names[h]
		if strings.Contains("{L}{D}{N}{T}", h) && g.IntN(12) == 0 {
			list = names["{X}"]
		}
		return list[g.IntN(len(list))]
	})
}

// templates of statements. None runs forever, writes outside the workspace or shows what differs between two runs.
var templates = map[string]struct {
	weight int
	texts  []string
}{
	"number": {8, []string{
		"{N} = {i}", "{N} = {i}", "{N} = {N} + {i}", "{N} = ({N} * {N} + {i}) % 97", "{N} += {i}", "{N} = len({L})",
		"{N} = sum(v for v in {L} if isinstance(v, int))", "{N} = {L}[0]", "{N} = {D}[\"{S}\"]", "{N}, {N} = {N}, {N}",
	}},
	"list": {14, []string{
		"{L} = [{i}, {i}]", "{L} = [{i}, {i}]", "{L} = [{i}, [{i}, {i}]]", "{L} = []", "{L} = {L}", "{L} = {L}", "{L} = {L}[:]", "{L} = [{L}, {L}]", "{L} = [{L}] * 2",
		"{L} = [v for v in {L} if v != {i}]", "{L} = {L} + [{N}]", "{L}, {L} = {L}, {L}", "{L} = {L} = [{i}]", "{L} = [[v] for v in {L}]",
		"{L} = list({D}.values())", "{L} = sorted({L}, key=lambda v: str(type(v)))", "{L} = {D}.get(\"{S}\", [])", "{L} = json.loads(json.dumps({L}))",
	}},
	"change": {18, []string{
		"{L}.append({i})", "{L}.append({i})", "{L}.append({N})", "{L}.append({L})", "{L}[0] = {i}", "{L}[-1] = {L}", "{L}[0].append({i})", "{L}.sort(key=lambda v: str(type(v)))",
		"{L}.reverse()", "{L} += [{i}]", "{L} += {L}[:1]", "{L}.pop()", "{L}.insert(0, {N})", "{L}[:1] = [{i}]", "del {L}[0]", "{L}.clear()", "{L} *= 2", "{T}[0].append({i})",
	}},
	"dict": {12, []string{
		"{D} = {\"k\": {i}}", "{D} = {\"k\": {L}, \"q\": {N}}", "{D} = {}", "{D} = {D}", "{D} = dict({D})", "{D}[\"{S}\"] = {L}", "{D}[\"{S}\"] = {N}", "{D}[\"{S}\"] = {D}",
		"{D}[\"{S}\"].append({i})", "{D}.setdefault(\"{S}\", []).append({i})", "{D}.update(k={i})", "{D}.update({D})", "{D}.pop(\"{S}\", None)", "del {D}[\"{S}\"]",
		"{D} = {v: [v] for v in range({i})}", "{D} |= {\"q\": {L}}",
	}},
	"tuple": {3, []string{"{T} = ({L}, {i})", "{T} = ({L}, {D})", "{L} = {T}[0]", "{L}, {N} = {T}", "{T} = {T} + ({N},)"}},
	"def": {9, []string{
		"def {F}(x={N}):\n    return x + {i}", "def {F}(x={i}):\n    return x + {N}", "def {F}(x=1, acc=[]):\n    acc.append(x)\n    return acc", "def {F}(x=1, acc={L}):\n    acc.append(x)\n    return acc",
		"def {F}(x={i}):\n    global {N}\n    {N} = x\n    return {N}", "def {F}(x={i}):\n    {L}.append(x)\n    return {L}", "def {F}(x=1):\n    return h(x) + {i}", "def h(x=0):\n    return x * {i} + {N}",
		"def h(x=0):\n    return {i}", "def {F}(x=1):\n    global {L}\n    {L} = [x]\n    return {L}", "{F} = lambda x={i}: [x, {N}]", "def make():\n    kept = [{i}]\n    def add(x=1):\n        kept.append(x)\n        return kept\n    return add",
		"def make():\n    total = {i}\n    def add(x=1):\n        nonlocal total\n        total += x\n        return total\n    return add",
		"if {N} > {i}:\n    def {F}(x=0):\n        return {i}\nelse:\n    def {F}(x=0):\n        return [x]", "def {F}(x=0):\n    import helper\n    return helper.note(x)",
		"def {F}(x=0):\n    {F}.calls = getattr({F}, 'calls', 0) + 1\n    return {F}.calls", "def {F}(x=0):\n    return K.total + x",
	}},
	"call": {10, []string{
		"{N} = {F}({i})", "{L} = {F}({i})", "{F}({i})", "{F}()", "print({F}({i}))", "{F} = make()", "{F} = make()", "{F} = {F}", "{D}[\"{S}\"] = {F}()", "{N} = h({i})", "{F} = {O}.add", "{L} = [{F}(), {F}()]",
		"{F}.calls = {i}", "{D}[\"{S}\"] = {F}", "print({D}[\"{S}\"]())",
	}},
	"class": {4, []string{
		"class K:\n    total = {i}\n    items = []\n    def __init__(self, v=0):\n        self.v = v\n    def add(self, x=1):\n        self.items.append(x)\n        K.total += 1\n        return K.total",
		"class K:\n    total = {N}\n    def __init__(self, v={i}):\n        self.v = v\n        self.mine = [v]\n    def add(self, x=1):\n        self.mine.append(x)\n        return self.mine",
		"class K:\n    total = {i}\n    items = {L}\n    def __init__(self, v=0):\n        self.v = v\n    def add(self, x={N}):\n        {L}.append(x)\n        return self\n    def __repr__(self):\n        return f'K({self.v!r})'",
		"class J(K):\n    def add(self, x=0):\n        return [super().add(x), {i}]",
	}},
	"object": {9, []string{
		"{O} = K()", "{O} = K({i})", "{O} = K({L})", "{O} = J({L})", "{O} = {O}", "{O}.v = {L}", "{O}.v = {i}", "{O}.add()", "{N} = {O}.add({i})", "{L} = {O}.v", "K.total = {i}", "K.total += {i}", "K.items = {L}", "print({O}.v, K.total)",
		"print(isinstance({O}, K), type({O}) is K)", "{L}.append({O})", "{D}[\"{S}\"] = {O}", "print({O}.add({i}))", "{O}.__dict__.update(v={i})", "setattr({O}, \"{S}\", {L})", "print(vars({O}))", "K.more = lambda self: {N}", "print({O}.more())",
	}},
	"show": {12, []string{"print({X})", "print({X})", "print({X}, {X})", "print({L} is {L})", "print({D} is {D}, {L} == {L})", "{X}", "{X}", "print(len({L}))", "print(type({X}).__name__, {N})", "print(f'{{X}!r}')"}},
	"flow": {9, []string{
		"for v in {L}:\n    print(v)", "for v in range({i}):\n    {L}.append(v)", "for {N} in range({i}):\n    pass", "for v in {L}[:3]:\n    {D}[\"k\"] = v", "if {N} > {i}:\n    {L} = [{i}]", "if {N} > {i}:\n    {L}.append({i})\nelse:\n    {N} = {i}",
		"if {L}:\n    {L}.pop()", "try:\n    print({X})\nexcept NameError:\n    print('none')", "try:\n    {X} = {D}[\"{S}\"]\nexcept Exception as e:\n    {N} = {i}", "try:\n    {L}.append({i})\n    {L}[9] = 1\nexcept Exception:\n    {N} = {i}",
		"try:\n    {N} += 1\nexcept NameError:\n    {N} = {i}", "with open('in.txt') as file:\n    {L} = file.read().split()", "{L} = [w for w in {L} for _ in range(2)][:4]",
	}},
	"gone":  {3, []string{"del {X}", "del {F}", "del {N}", "{X} = None", "del K"}},
	"fails": {2, []string{"raise ValueError({N})", "assert {N} < {i}", "{N} = 1 / {N}", "{L}.append({i}); raise KeyError({i})", "print('before'); {L}[7]", "K.total += 1; print(missing)"}},
	"file": {8, []string{
		"with open(\"{P}\", \"w\") as file:\n    file.write(str({N}))", "with open(\"{P}\", \"a\") as file:\n    file.write(\"{i}\")", "print(open(\"{P}\").read())", "{N} = len(open(\"{P}\").read())", "print(os.path.exists(\"{P}\"))",
		"if os.path.exists(\"{P}\"):\n    os.remove(\"{P}\")", "os.remove(\"{P}\")", "os.rename(\"{P}\", \"{P}\")", "print(open(\"in.txt\").read())", "print(sorted(v for v in os.listdir('.') if v.endswith('.txt')))", "{L} = open(\"in.txt\").read().split()",
		"os.makedirs(\"sub\", exist_ok=True)\nopen(\"sub/{P}\", \"w\").write(\"{i}\")", "print(os.path.isdir(\"sub\"))", "json.dump({L}, open(\"{P}\", \"w\"))", "{L} = json.load(open(\"{P}\"))", "print(os.path.getsize(\"{P}\"))",
	}},
	"random":   {5, []string{"random.seed({i})", "{N} = random.randint(0, 9)", "print(random.random())", "random.shuffle({L})", "rng = random.Random({i})", "{N} = rng.randint(0, 9)", "{L} = random.sample(range(9), 3)", "print(rng.random())"}},
	"environ":  {4, []string{"os.environ[\"{V}\"] = \"{i}\"", "print(os.environ.get(\"{V}\"))", "os.environ.pop(\"{V}\", None)", "del os.environ[\"{V}\"]", "print(\"{V}\" in os.environ)", "{N} = int(os.environ.get(\"{V}\", {i}))", "os.environ[\"{V}\"] += \"{i}\""}},
	"iterator": {4, []string{"{I} = iter({L})", "{I} = (v for v in {L})", "{I} = iter(range({i}))", "print(next({I}, None))", "{N} = next({I})", "{L} = list({I})", "def numbers():\n    for v in {L}[:4]:\n        yield v\n    yield {N}", "{I} = numbers()", "{I} = zip({L}, range(3))", "{I} = enumerate({L})"}},
	"shadow":   {2, []string{"len = lambda v: {i}", "sum = lambda v: {N}", "del len", "del sum", "sorted = list", "str = repr", "range = lambda n: [n]"}},
	"module":   {3, []string{"import helper", "print(helper.note({i}))", "helper.seen = {L}", "helper.seen.append({i})", "{L} = helper.seen", "from helper import note", "print(note({i}))", "import math", "math.tau = {i}", "print(getattr(math, 'tau', None) == {i})", "import os, random, json"}},
	"dynamic":  {2, []string{"exec(\"{N} = {i}\")", "print(eval(\"{N}\"))", "globals()[\"{N}\"] = {i}", "print(\"{X}\" in globals())", "{N} = globals().get(\"{N}\", {i})", "print(sorted(v for v in globals() if v in 'abcde'))"}},
	"library": {4, []string{
		"import copy\n{L} = copy.deepcopy({L})", "import copy\n{D} = copy.copy({D})", "import collections\n{D} = collections.defaultdict(list, {D})", "import collections\n{L} = collections.deque({L})", "import functools\n@functools.lru_cache\ndef {F}(x={i}):\n    print('called', x)\n    return [x]",
		"import itertools\ncount = itertools.count({i})", "print(next(count))", "import decimal\ndecimal.getcontext().prec = {i} + 2", "import decimal\nprint(decimal.Decimal(1) / 3)", "import dataclasses\n@dataclasses.dataclass\nclass K:\n    v: object = {i}\n    total = {i}\n    def add(self, x=1):\n        self.v = x\n        return self",
		"{T} = ({L}, frozenset([{i}]))", "import functools\n{F} = functools.partial({F}, {i})",
	}},
}

var constant = regexp.MustCompile(`\b\d+\b`)

// edit makes the next version from the last one, or goes back.
func (g *generator) edit(versions []version) version {
	last := versions[len(versions)-1]
	for range 20 {
		next := last.clone()
		kind := edits[g.IntN(len(edits))]
		if kind == "revert" {
			n := g.IntN(len(versions))
			next = versions[n].clone()
			next.edit = fmt.Sprintf("revert to %d", n)
		} else {
			next.edit = kind
			g.change(&next, kind)
		}
		if len(next.blocks) > 0 && !next.same(last) {
			return next
		}
	}
	return last.clone()
}

var edits = []string{"constant", "constant", "constant", "constant", "replace", "replace", "insert block", "insert block", "insert statement", "insert statement", "delete statement",
	"delete block", "move", "swap", "comment", "comment block", "input", "revert", "revert"}

func (g *generator) change(v *version, kind string) {
	i := g.IntN(len(v.blocks))
	b := &v.blocks[i]
	at := -1
	if len(b.statements) > 0 {
		at = g.IntN(len(b.statements))
	}
	switch kind {
	case "insert block":
		v.blocks = slices.Insert(v.blocks, i+1, g.randomBlock())
	case "delete block":
		v.blocks = slices.Delete(v.blocks, i, i+1)
	case "move":
		moved := *b
		v.blocks = slices.Delete(v.blocks, i, i+1)
		v.blocks = slices.Insert(v.blocks, g.IntN(len(v.blocks)+1), moved)
	case "swap":
		if i > 0 {
			v.blocks[i-1], v.blocks[i] = v.blocks[i], v.blocks[i-1]
		}
	case "comment block":
		b.statements = slices.Insert(b.statements, 0, g.statement("# note"))
	case "insert statement":
		b.statements = slices.Insert(b.statements, at+1, g.randomStatement())
	case "input":
		if name := []string{"in.txt", "helper.py"}[g.IntN(2)]; name == "in.txt" {
			v.inputs[name] = fmt.Sprintf("%d two\n", g.IntN(5))
		} else {
			v.inputs[name] = helper(g.IntN(5))
		}
	}
	if at < 0 || !slices.Contains([]string{"constant", "replace", "delete statement", "comment"}, kind) {
		return
	}
	s := &b.statements[at]
	switch kind {
	case "constant":
		if places := constant.FindAllStringIndex(s.text, -1); len(places) > 0 {
			p := places[g.IntN(len(places))]
			s.text = s.text[:p[0]] + strconv.Itoa(g.IntN(6)) + s.text[p[1]:]
		}
	case "replace":
		*s = g.randomStatement()
	case "delete statement":
		b.statements = slices.Delete(b.statements, at, at+1)
	case "comment":
		s.text += "  # note"
	}
}
