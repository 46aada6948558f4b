package acceptance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/xstate-engine/xstate/depgraph/python"
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
	place      string // the function whose statements they are, see functionSession
}

// restart says what is closed and opened again before a version runs.
type restart int

const (
	goOn       restart = iota
	newKernel          // the session, and with it the interpreter
	newProcess         // the store as well
)

// version is what the workspace holds at one time, and what happens before it runs. Versions share no memory.
type version struct {
	edit    string // what made it, for people
	restart restart
	stop    int // a run is started first, and interrupted at this event; 0: none is
	blocks  []randomBlock
	inputs  map[string]string // files that the program only reads
	hand    map[string]string // files of the program that are written over by hand; "": deleted
	words   *vocabulary       // of its language; nil: Python

	functions bool // the blocks are groups of statements of functions, see functionSession
}

func (v version) clone() version {
	blocks := make([]randomBlock, len(v.blocks))
	for i, b := range v.blocks {
		blocks[i] = randomBlock{b.title, slices.Clone(b.statements), b.place}
	}
	return version{
		edit:    v.edit,
		restart: v.restart,
		stop:    v.stop,
		blocks:  blocks,
		inputs:  maps.Clone(v.inputs),
		hand:    maps.Clone(v.hand),
		words:   v.words,

		functions: v.functions,
	}
}

// again is the version as the one to edit next: what happened before it ran does not happen again.
func (v version) again() version {
	v = v.clone()
	v.restart, v.stop, v.hand = goOn, 0, nil
	return v
}

// remark begins a comment.
func (v version) remark() string {
	if v.words != nil {
		return v.words.remark
	}
	return "#"
}

func (v version) program() string {
	if v.functions {
		return v.functionProgram()
	}
	var b strings.Builder
	for _, block := range v.blocks {
		fmt.Fprintf(&b, "%s %%%% %s\n", v.remark(), block.title)
		for _, s := range block.statements {
			b.WriteString(s.text + "\n")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// program is the name of the program's file.
func (w *vocabulary) program() string {
	if w == nil {
		return "prog.py"
	}
	return w.file
}

// files is what the version itself puts into the workspace.
func (v version) files() map[string][]byte {
	files := map[string][]byte{v.words.program(): []byte(v.program())}
	for name, text := range v.inputs {
		files[name] = []byte(text)
	}
	return files
}

// same reports whether two versions have the same program and inputs.
func (v version) same(w version) bool {
	return v.program() == w.program() && maps.Equal(v.inputs, w.inputs)
}

type generator struct {
	*rand.Rand
	numbers, titles int
	weights         map[string]int // of the groups of templates, in this session
	groups          []string       // those with a weight, sorted
	words           *vocabulary    // nil: Python's
}

// randomSession makes the session of a seed. packages says whether numpy and pandas can be imported. theme is the group
// of templates that all statements but a few come from; "" draws from many groups.
func randomSession(seed uint64, edits int, packages bool, theme string) []version {
	if theme == "function" {
		return functionSession(seed, edits)
	}
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	imports := "import os, mmap, sqlite3"
	if theme != "" {
		g.weights, g.groups = map[string]int{theme: 20, "number": 1}, []string{"number", theme}
	} else {
		imports = g.choose(packages)
	}
	first := version{
		edit:   "begin",
		inputs: map[string]string{"in.txt": "one\n", "helper.py": helper(1), "tools.py": tools(1)},
	}
	first.blocks = append(first.blocks, g.block(g.statement(imports)))
	if theme == "" && g.IntN(4) > 0 {
		first.blocks = g.prelude(first.blocks)
	}
	for range 4 + g.IntN(9) {
		first.blocks = append(first.blocks, g.randomBlock(first.blocks))
	}
	if theme == "" && g.IntN(2) == 0 {
		first.blocks = append(first.blocks, g.probe())
	}
	return g.edited(first, edits)
}

// edited returns a version and those that edits make of it.
func (g *generator) edited(first version, edits int) []version {
	versions := []version{first}
	for range edits {
		next := g.edit(versions)
		switch g.IntN(12) {
		case 0, 1:
			next.restart = newKernel
		case 2:
			next.restart = newProcess
		case 3:
			next.stop = 1 + g.IntN(30)
		}
		versions = append(versions, next)
	}
	return versions
}

// choose gives each group of templates a weight for this session: some are left out and a few rule, so that hazards of
// one kind meet. It returns the imports that the templates rest on.
func (g *generator) choose(packages bool) string {
	imports := "import os, random, json"
	g.weights = map[string]int{}
	arrays := packages && g.IntN(4) == 0
	frames := packages && g.IntN(8) == 0
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		w := templates[name].weight
		if w == 0 {
			continue // a theme
		}
		switch g.IntN(6) {
		case 0, 1:
			w /= 4
		case 2:
			w *= 4
		}
		if name == "arrays" && !arrays || name == "frames" && !frames {
			w = 0
		}
		if w > 0 {
			g.weights[name] = w
			g.groups = append(g.groups, name)
		}
	}
	if arrays || frames {
		imports += "\nimport numpy as np"
	}
	if frames {
		imports += "\nimport pandas as pd"
	}
	return imports
}

func helper(n int) string {
	return fmt.Sprintf(
		"import tools\nseen = []\n\ndef note(x):\n    seen.append(x)\n    return %d + tools.base, seen\n",
		n,
	)
}

func tools(n int) string {
	return fmt.Sprintf(
		"base = %d\n\ndef twice(x):\n    return [x, x, base]\n\nclass Tool:\n    size = %d\n    def use(self, x=1):\n"+
			"        self.last = x\n        return self.size + x\n",
		n,
		n,
	)
}

func (g *generator) statement(text string) statement {
	g.numbers++
	return statement{g.numbers, text}
}

func (g *generator) block(s ...statement) randomBlock {
	g.titles++
	return randomBlock{title: fmt.Sprintf("b%d", g.titles), statements: s}
}

// randomBlock makes a block that follows others.
func (g *generator) randomBlock(before []randomBlock) randomBlock {
	b := g.block()
	for range 1 + g.IntN(4) {
		b.statements = append(b.statements, g.randomStatement(append(slices.Clone(before), b)))
	}
	return b
}

// prelude gives most names a value, so that later statements seldom fail.
func (g *generator) prelude(blocks []randomBlock) []randomBlock {
	lines := [][]string{
		{"n, m = {i}, {i}", "a = [{i}, [{i}]]", "b = {L}", "c = [{i}, a]", "b = [{i}, {L}]"},
		{"d = {\"k\": {L}}", "e = {\"q\": [{i}]}", "t = (a, {i})", "def h(x=0):\n    return x + {i}"},
		{"def", "class", "u = K({L})", "w = u", "rows = iter({L})"},
	}
	for _, more := range [][]string{
		{"arrays", "arr = np.arange({i} + 6)", "vec = arr[2:5]", "mat = np.zeros((2, 3))"},
		{"frames", "df = pd.DataFrame({\"x\": [1, 2, {i}], \"y\": [3.5, {i}, 1]})", "part = df[[\"x\"]]",
			"ser = df[\"y\"]"},
		{"file", "with open(\"{P}\", \"w\") as file:\n    file.write(\"{i}\")", "os.environ[\"{V}\"] = \"{i}\""},
		{"hook", "hooks = [lambda x: {L}.append(x)]"},
		{"wrapper", "calls = []", "registry = {}", "def wrap(fn):\n    calls.append(fn.__name__)\n" +
			"    registry[fn.__name__] = fn\n    return fn"},
	} {
		if g.weights[more[0]] > 0 {
			lines = append(lines, more[1:])
		}
	}
	for _, texts := range lines {
		b := g.block()
		for _, text := range texts {
			if g.IntN(8) > 0 {
				b.statements = append(b.statements, g.fitting(append(slices.Clone(blocks), b), func() string {
					if _, group := templates[text]; group {
						return g.fill(pick(g, text))
					}
					return g.fill(text)
				}))
			}
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// fitting draws statements until one uses only names that the blocks before it bind; now and then any will do.
func (g *generator) fitting(before []randomBlock, draw func() string) statement {
	text := draw()
	if g.words != nil || g.IntN(30) == 0 {
		return g.statement(text)
	}
	bound := map[string]bool{}
	for _, b := range before {
		for _, s := range b.statements {
			binds, _ := namesOf(s.text)
			for _, name := range binds {
				bound[name] = true
			}
		}
	}
	for range 20 {
		if _, uses := namesOf(text); !slices.ContainsFunc(
			uses,
			func(name string) bool { return templateNames()[name] && !bound[name] },
		) {
			break
		}
		text = draw()
	}
	return g.statement(text)
}

var textNames sync.Map // text → [2][]string, see namesOf

// namesOf returns the names that a text binds, and those that it uses at once or later.
func namesOf(text string) (binds, uses []string) {
	if known, ok := textNames.Load(text); ok {
		both := known.([2][]string)
		return both[0], both[1]
	}
	facts, err := python.Analyze([]byte(text), python.Plain)
	if err == nil {
		for _, n := range facts.Nodes {
			for _, name := range slices.Concat(n.Uses, n.Later) {
				if !slices.Contains(binds, name) {
					uses = append(uses, name)
				}
			}
			binds = append(binds, n.Defines...)
		}
	}
	textNames.Store(text, [2][]string{binds, uses})
	return binds, uses
}

// templateNames are the names that the templates bind: of these a program may lack one.
var templateNames = sync.OnceValue(func() map[string]bool {
	found := map[string]bool{}
	for _, group := range templates {
		for _, text := range group.texts {
			binds, _ := namesOf(hole.ReplaceAllString(text, "a"))
			for _, name := range binds {
				found[name] = true
			}
		}
	}
	// builtins, and what the first block imports
	for _, name := range []string{"len", "sum", "sorted", "str", "range", "np", "pd"} {
		delete(found, name)
	}
	for _, list := range names {
		for _, name := range list {
			found[name] = true
		}
	}
	return found
})

func pick(g *generator, group string) string {
	list := templates[group].texts
	if g.words != nil {
		list = g.words.groups[group].texts
	}
	return list[g.IntN(len(list))]
}

// probe shows what the names have come to, aliases included.
func (g *generator) probe() randomBlock {
	b := g.block()
	for range 3 {
		b.statements = append(
			b.statements,
			g.statement(g.fill("try:\n    print({X}, {L} is {L}, {D})\nexcept NameError:\n    print('unbound')")),
		)
	}
	return b
}

func (g *generator) randomStatement(before []randomBlock) statement {
	total := 0
	for _, w := range g.weights {
		total += w
	}
	return g.fitting(before, func() string {
		at := g.IntN(total)
		for _, name := range g.groups {
			if at -= g.weights[name]; at < 0 {
				return g.fill(pick(g, name))
			}
		}
		panic("unreachable")
	})
}

var hole = regexp.MustCompile(`\{[A-Za-z]\}`)

func (g *generator) fill(template string) string {
	return hole.ReplaceAllStringFunc(template, func(h string) string {
		if h == "{i}" {
			return strconv.Itoa(g.IntN(5))
		}
		list := names[h]
		if g.words != nil {
			list = g.words.names[h]
		} else if strings.Contains("{L}{D}{N}{T}", h) && g.IntN(12) == 0 {
			list = names["{X}"]
		}
		if len(list) == 0 {
			return h
		}
		return list[g.IntN(len(list))]
	})
}

var constant = regexp.MustCompile(`\b\d+\b`)

// edit makes the next version from the last one, or goes back.
func (g *generator) edit(versions []version) version {
	last := versions[len(versions)-1]
	for range 20 {
		next := last.again()
		kind := edits[g.IntN(len(edits))]
		switch kind {
		case "revert":
			n := g.IntN(len(versions))
			next = versions[n].again()
			next.edit = fmt.Sprintf("revert to %d", n)
		case "hand":
			next.edit = kind
			list := names["{P}"]
			if g.words != nil {
				list = g.words.names["{P}"]
			}
			next.hand = map[string]string{
				list[g.IntN(len(list))]: []string{"",
					fmt.Sprintf("%d by hand\n", len(versions))}[g.IntN(2)],
			}
			return next
		case "rename":
			next.edit = kind
			g.titles++
			next.blocks[g.IntN(len(next.blocks))].title = fmt.Sprintf("b%d", g.titles)
		default:
			next.edit = kind
			g.change(&next, kind)
		}
		if len(next.blocks) > 0 && !next.same(last) {
			return next
		}
	}
	return last.again()
}

var edits = []string{
	"constant",
	"constant",
	"constant",
	"constant",
	"replace",
	"replace",
	"insert block",
	"insert block",
	"insert statement",
	"insert statement",
	"delete statement",
	"delete block",
	"move",
	"swap",
	"comment",
	"comment block",
	"input",
	"revert",
	"revert",
	"hand",
	"rename",
	"join",
	"split",
	"fail",
}

func (g *generator) change(v *version, kind string) {
	i := g.IntN(len(v.blocks))
	if v.functions && slices.Contains([]string{"insert block", "insert statement", "replace", "split", "fail"}, kind) {
		if i = g.inFunction(v.blocks); i < 0 {
			return
		}
	}
	b := &v.blocks[i]
	at := -1
	if len(b.statements) > 0 {
		at = g.IntN(len(b.statements))
	}
	switch kind {
	case "insert block":
		more := g.randomBlock(v.blocks[:i+1])
		more.place = b.place
		v.blocks = slices.Insert(v.blocks, i+1, more)
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
	case "join":
		if i > 0 && v.blocks[i-1].place == b.place {
			v.blocks[i-1].statements = append(v.blocks[i-1].statements, b.statements...)
			v.blocks = slices.Delete(v.blocks, i, i+1)
		}
	case "split":
		if at > 0 {
			rest := g.block(b.statements[at:]...)
			rest.place = b.place
			b.statements = slices.Clip(b.statements[:at])
			v.blocks = slices.Insert(v.blocks, i+1, rest)
		}
	case "comment block":
		b.statements = slices.Insert(b.statements, 0, g.statement(v.remark()+" note"))
	case "insert statement":
		b.statements = slices.Insert(b.statements, at+1, g.randomStatement(v.blocks[:i+1]))
	case "fail":
		b.statements = slices.Insert(b.statements, at+1, g.statement(g.fill(pick(g, "fails"))))
	case "input":
		if g.words != nil {
			g.inputOf(v)
			break
		}
		switch name := []string{"in.txt", "helper.py", "tools.py"}[g.IntN(3)]; name {
		case "in.txt":
			v.inputs[name] = fmt.Sprintf("%d two\n", g.IntN(5))
		case "helper.py":
			v.inputs[name] = helper(g.IntN(5))
		case "tools.py":
			v.inputs[name] = tools(g.IntN(5))
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
		*s = g.randomStatement(v.blocks[:i+1])
	case "delete statement":
		b.statements = slices.Delete(b.statements, at, at+1)
	case "comment":
		s.text += "  " + v.remark() + " note"
	}
}
