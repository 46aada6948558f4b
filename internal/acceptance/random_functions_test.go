package acceptance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestRandomFunctions is TestRandom with programs whose statements stand in functions, which a statement at the end
// calls: main, and helpers that main calls.
func TestRandomFunctions(t *testing.T) { testSeeds(t, drawing{theme: "function"}) }

// places of the blocks of such a program, in order. Blocks in a function are groups of its statements.
var (
	functions = []string{"one", "two", "main"}
	placesAll = []string{"", "one", "two", "main", "end"}
)

// openings of functions. Each gives the names of the templates a value, so that nested functions may bind them.
var openings = map[string]string{
	"one":  "def one(a=(), n=1, *, m=2):\n    a, b, c, d, e = list(a), [n], [[m]], {}, {}",
	"two":  "def two(n=0, *rest):\n    a, b, c, d, e, m = list(rest), [n], [3, n], {}, {}, 1",
	"main": "def main():\n    n, m, a, b, c, d, e = 1, 2, [1], [2, 3], [[4]], {\"k\": 1}, {}",
}

// functionTemplates are statements of the functions.
var functionTemplates = []string{
	"return {L}", "if {N} > 3:\n    return", "if {N} > {i}:\n    return",
	"if {N} == {i}:\n    print('early')\n    return {L}",
	"for v in {L}:\n    if v == {i}:\n        return v\n    print(v)",
	"try:\n    if {N} > {i}:\n        return {N}\nfinally:\n    print('finally', {N})",
	"w = 0\nwhile w < {i}:\n    w += 1\n    if w == 3:\n        return {N}",
	"if {N} > {i}:\n    return {L}\n{L} = [{i}]",
	"f = lambda x={i}: [x, {N}]", "g = lambda: {L}",
	"def f(x={i}):\n    nonlocal {N}\n    {N} += x\n    return {N}",
	"def f(x=1):\n    {L}.append(x)\n    return {L}", "def g():\n    return f() if {N} else {L}", "print(f())",
	"print(g())",
	"{N} = f()", "{L} = g()", "fs = [lambda: v for v in {L}]\nprint([h() for h in fs])",
	"fs = []\nfor v in {L}:\n    fs.append(lambda: (v, {N}))", "print([h() for h in fs])",
	"gen = (v for v in {L})", "gen = (v for v in {L} if v != {N})", "print(next(gen, {N}))", "print(list(gen))",
	"del {N}", "del {L}", "{L} = {L} = [{i}]", "{L} = {L}", "{L} = ({L}, {L})[0]", "{L} += [{i}]",
	"kept.append({N})", "kept.append({L})", "{L} = kept", "shared[\"k\"] = {L}", "print(kept, shared)",
	"print(kept is {L})",
	"print(total)", "bump({i})", "print(bump({N}))", "note({L})", "print(note({i}))",
	"one({L})", "{L} = one({L}, {N})", "{N} = two({N})", "two()", "{N} = one(n={i})", "two({N}, {L}, {i})",
	"print(one())",
	"class P:\n    size = {N}\n    def get(self):\n        return {L}", "print(P().get(), P.size)",
	"{L} = P().get()",
	"print([v for v in {L} if v != {N}])", "{L} = [v for v in {L} if v != {N}]",
	"print({v: {N} for v in range({i})})",
	"if ({N} := {i}) > 2:\n    {L}.append({N})", "{L} = [w for v in {L} if (w := v)]",
	"with open(\"{P}\", \"w\") as file:\n    n = file.write(str({N}))", "print(open(\"{P}\").read())",
	"import helper",
	"import helper as tool\nprint(tool.note({i}))", "print(helper.note({i}))",
	"for {N} in range({i}):\n    print({N})",
	"for {N} in {L}:\n    pass",
	"match {L}:\n    case [x]:\n        print('one', x)\n    case [x, *_]:\n        return x",
	"try:\n    {N} = {L}[{i}]\nexcept (IndexError, TypeError) as error:\n    print(type(error).__name__)",
	"os.environ[\"{V}\"] = str({i})", "print(os.environ.get(\"{V}\"))",
}

// functionSession makes the session of a seed.
func functionSession(seed uint64, edits int) []version {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 2)), weights: map[string]int{
		"function": 30, "number": 4, "list": 6, "change": 8, "dict": 4, "show": 8, "flow": 5, "equal": 1, "fails": 0}}
	for name, weight := range g.weights {
		if weight > 0 {
			g.groups = append(g.groups, name)
		}
	}
	slices.Sort(g.groups)
	first := version{
		edit:      "begin",
		functions: true,
		inputs:    map[string]string{"in.txt": "one\n", "helper.py": helper(1), "tools.py": tools(1)},
	}
	add := func(place string, texts ...string) {
		b := g.block()
		b.place = place
		for _, text := range texts {
			b.statements = append(b.statements, g.statement(g.fill(text)))
		}
		first.blocks = append(first.blocks, b)
	}
	add("", "import os, json")
	add("", "kept = []", "shared = {}", "total = {i}")
	add("", "def bump(x):\n    global total\n    total += x\n    return total")
	add("", "def note(x):\n    kept.append(x)\n    return len(kept)")
	for _, place := range functions {
		count := 1 + g.IntN(3)
		if place == "main" {
			count = 3 + g.IntN(6)
		}
		for range count {
			b := g.block()
			b.place = place
			for range 1 + g.IntN(3) {
				b.statements = append(b.statements, g.randomStatement(append(slices.Clone(first.blocks), b)))
			}
			first.blocks = append(first.blocks, b)
		}
	}
	add("end", []string{"main()", "main()", "print(main())", "result = main()\nprint(result)",
		"if __name__ == \"__main__\":\n    print(\"begin\")\n    main()"}[g.IntN(5)])
	add("end", "print(kept, shared, total)")
	return g.edited(first, edits)
}

// functionProgram is the text of a program whose statements stand in functions.
func (v version) functionProgram() string {
	var b strings.Builder
	for _, place := range placesAll {
		opening, inside := openings[place]
		if inside {
			fmt.Fprintf(&b, "\n%s\n", opening)
		}
		for _, block := range v.blocks {
			if block.place != place {
				continue
			}
			b.WriteByte('\n')
			for _, s := range block.statements {
				text := s.text
				if inside {
					text = "    " + strings.ReplaceAll(text, "\n", "\n    ")
				}
				b.WriteString(text + "\n")
			}
		}
	}
	return b.String()
}

// inFunction draws a block of a function; -1 if there is none.
func (g *generator) inFunction(blocks []randomBlock) int {
	for range 50 {
		if i := g.IntN(len(blocks)); slices.Contains(functions, blocks[i].place) {
			return i
		}
	}
	return -1
}
