package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/patch/syntax"
)

// Workloads are the names of generated programs, see Generate.
var Workloads = []string{"chain", "fan-out", "diamond", "layered", "notebook", "agent", "tree", "tests"}

// Generate returns the program of a workload with about size blocks, and its edits. Equal arguments give equal
// programs.
//
//	chain     each block reads what the one before wrote
//	fan-out   all blocks read the first
//	diamond   one block, two that read it, one that reads both, and so on
//	layered   layers of five; each block reads one to three of the layer above
//	notebook  like public notebooks, see doc.go
//	agent     a growing program: blocks are appended; a third of them fail and are rewritten
//	tree      variants of one block, one after the other, between inputs and a block that scores them
//	tests     functions, and blocks that test them
func Generate(workload string, seed uint64, size, edits int) (Program, error) {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, uint64(size))), size: size}
	p := Program{Name: fmt.Sprintf("%s/%d", workload, size), Workload: workload}
	switch workload {
	case "chain":
		g.prelude()
		for i := 1; g.more(); i++ {
			g.block("v%d = work(v%d, %d)\nprint(v%d[:3])", i, i-1, i, i)
		}
	case "fan-out":
		g.prelude()
		for i := 1; g.more(); i++ {
			g.block("v%d = work(v0, %d)\nprint(sum(v%d))", i, i, i)
		}
	case "diamond":
		g.prelude()
		for i := 0; g.more(); i += 3 {
			g.block("v%d = work(v%d, %d)", i+1, i, i+1)
			g.block("v%d = work(v%d, %d)", i+2, i, i+2)
			g.block("v%d = work(v%d + v%d, %d)[:50]\nprint(v%d[:3])", i+3, i+1, i+2, i+3, i+3)
		}
	case "layered":
		g.layered()
	case "notebook":
		g.notebook()
	case "tests":
		g.tests()
	case "agent":
		p.Versions = g.agent(edits)
	case "tree":
		p.Versions = g.tree(edits)
	default:
		return p, &xstate.Error{
			Code:    CodeNoWorkload,
			Message: fmt.Sprintf("there is no workload %q", workload),
			Hint:    "they are: " + strings.Join(Workloads, ", "),
		}
	}
	if p.Versions == nil {
		p.Versions = Edits(p.Name, g.blocks, seed, edits)
	}
	return p, nil
}

type generator struct {
	*rand.Rand
	size   int
	blocks []patch.Block
}

func (g *generator) more() bool { return len(g.blocks) < g.size }

// block adds a block.
func (g *generator) block(format string, args ...any) {
	g.blocks = append(
		g.blocks,
		patch.Block{ID: fmt.Sprintf("b%d", len(g.blocks)), Dialect: syntax.Python,
			Source: fmt.Sprintf(format, args...)},
	)
}

// prelude defines work, which takes about ten milliseconds, and the first value.
func (g *generator) prelude() {
	g.block("%s", `def work(values, k, n=150_000):
    total = k
    for i in range(n):
        total = (total * 31 + i) % 1_000_003
    return [(x + total) % 9973 for x in values]`)
	g.block("v0 = list(range(50))")
}

func (g *generator) layered() {
	g.prelude()
	above := []int{0}
	for i := 1; g.more(); {
		var layer []int
		for ; len(layer) < 5; i++ {
			g.Shuffle(len(above), func(a, b int) { above[a], above[b] = above[b], above[a] })
			var reads []string
			for _, v := range above[:min(1+g.IntN(3), len(above))] {
				reads = append(reads, fmt.Sprintf("v%d", v))
			}
			g.block("v%d = work((%s)[:50], %d)\nprint(v%d[0])", i, strings.Join(reads, " + "), i, i)
			layer = append(layer, i)
		}
		above = layer
	}
}

// The figures of public notebooks; doc.go names their source. Lists are the quantiles 0.1, 0.25, 0.5, 0.75, 0.9.
var (
	notebookNames    = []int{0, 0, 1, 2, 4}
	notebookReads    = []int{0, 1, 1, 2, 4}
	notebookDistance = []int{1, 2, 5, 15, 41} // blocks back to where a name that is read was bound
)

const (
	notebookMutates   = 0.049 // blocks that change an earlier value in place
	notebookAliases   = 0.017 // blocks that give an earlier value a second name
	notebookDefines   = 0.155 // blocks with a function or class
	notebookRedefines = 0.248 // bindings of a name that an earlier block has bound
)

func (g *generator) quantile(of []int) int { return of[g.IntN(len(of))] }

func (g *generator) notebook() {
	g.prelude()
	binder := map[string]int{"v0": 1}
	var names, functions []string
	names = append(names, "v0")
	// near chooses a name by how far back it was bound.
	near := func() string {
		at := len(g.blocks) - g.quantile(notebookDistance)
		slices.SortStableFunc(names, func(a, b string) int { return distance(binder[a], at) - distance(binder[b], at) })
		return names[0]
	}
	for number := 1; g.more(); {
		chance, at := g.Float64(), len(g.blocks)
		var reads []string
		for range max(g.quantile(notebookReads), 1) {
			reads = append(reads, near())
		}
		text := fmt.Sprintf("work((%s)[:50], %d)", strings.Join(slices.Compact(reads), " + "), at)
		switch {
		case chance < notebookMutates:
			g.block("%s[0] += %d\n%s.append(%d)", reads[0], at, reads[0], at)
			continue
		case chance < notebookMutates+notebookAliases:
			g.block("v%d = %s", number, reads[0])
			names, binder[fmt.Sprintf("v%d", number)] = append(names, fmt.Sprintf("v%d", number)), at
			number++
			continue
		case chance < notebookMutates+notebookAliases+notebookDefines:
			name := fmt.Sprintf("f%d", at)
			functions = append(functions, name)
			g.block("def %s(x, k=%d):\n    scaled = x * k + %d\n    return scaled %% 997", name, 2+g.IntN(9), at)
			continue
		}
		var lines []string
		for range g.quantile(notebookNames) {
			name := fmt.Sprintf("v%d", number)
			if g.Float64() < notebookRedefines {
				name = near()
			} else {
				number++
			}
			value := text
			if len(functions) > 0 && g.IntN(3) == 0 {
				value = fmt.Sprintf("[%s(x) for x in %s]", functions[g.IntN(len(functions))], text)
			}
			lines = append(lines, name+" = "+value)
			text = fmt.Sprintf("[x + %d for x in %s]", 1+g.IntN(9), name)
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			binder[name] = at
		}
		if len(lines) == 0 || g.IntN(2) == 0 {
			lines = append(lines, fmt.Sprintf("sum(%s)", text))
		}
		g.block("%s", strings.Join(lines, "\n"))
	}
}

func distance(a, b int) int { return max(a-b, b-a) }

func (g *generator) tests() {
	g.block("import math\n\ndef slow(n=100_000):\n    return sum(math.sqrt(i) for i in range(n))")
	for i := 0; len(g.blocks) < g.size/2; i++ {
		inner := "x"
		if i > 0 {
			inner = fmt.Sprintf("f%d(x)", g.IntN(i))
		}
		g.block("def f%d(x):\n    part = %s + %d\n    return part %% 1009", i, inner, 3+i)
	}
	functions := len(g.blocks) - 1
	for i := 0; g.more(); i++ {
		f := g.IntN(functions)
		g.block(
			"def test_%d():\n    slow()\n    for x in range(200):\n        assert 0 <= f%d(x) < 1009, x\n"+
				"    return f%d(%d)\n\nprint('test_%d', test_%d())",
			i,
			f,
			f,
			i,
			i,
			i,
		)
	}
}

// agent is a program that grows to its size, as far as the number of edits allows.
func (g *generator) agent(edits int) []Version {
	p := Program{}
	total := g.size
	g.prelude()
	for i := 1; len(g.blocks) < max(total-edits*2/3, 3); i++ {
		g.block("v%d = work(v%d, %d)\nprint(v%d[:3])", i, i-1, i, i)
	}
	p.addVersion(KindFirst, slices.Clone(g.blocks))
	for len(p.Versions) <= edits {
		i := len(g.blocks) - 1
		right := fmt.Sprintf("v%d = work(v%d, %d)\nprint(v%d[:3])", i, g.IntN(i), i, i)
		if g.IntN(3) == 0 {
			wrong := []string{"v%d = work(values, 1)", "v%d = {}['key']", "v%d = work(v0, 1) + 1"}[g.IntN(3)]
			g.block(wrong, i)
			p.addVersion(KindAppend, slices.Clone(g.blocks))
			g.blocks[len(g.blocks)-1].Source = right
			p.addVersion(KindEmit, slices.Clone(g.blocks))
		} else {
			g.block("%s", right)
			p.addVersion(KindAppend, slices.Clone(g.blocks))
		}
	}
	p.Versions = p.Versions[:edits+1]
	return p.Versions
}

// tree tries variants of a block behind a prefix, and returns to the second variant at the end.
func (g *generator) tree(edits int) []Version {
	p := Program{}
	g.prelude()
	i := 1
	for ; len(g.blocks) < max(g.size-3, 3); i++ {
		g.block("v%d = work(v%d, %d)", i, i-1, i)
	}
	at := len(g.blocks)
	variant := func(k int) string {
		return fmt.Sprintf("found = work(v%d, %d)\nfound = [x %% %d for x in found]", i-1, k, 7+k)
	}
	g.block("%s", variant(0))
	g.block("score = sum(work(found, 1)) %% 1009")
	g.block("print('score', score)")
	p.addVersion(KindFirst, slices.Clone(g.blocks))
	for k := 1; k <= edits; k++ {
		if k == edits && edits > 2 {
			g.blocks[at].Source = variant(1)
		} else {
			g.blocks[at].Source = variant(k)
		}
		p.addVersion(KindVariant, slices.Clone(g.blocks))
	}
	return p.Versions
}
