package languages

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/python"
)

// TestKeep: the names to which blocks of a notebook bind their values.
func TestKeep(t *testing.T) {
	for _, x := range []struct{ cells, want string }{
		{"1|2", "|"},
		{"1|_", "_|_"},
		{"1|__", "_ __|_ __"},
		{"1|2;|x = 3|f()|_", "_|||_|_"},
		{"1|2|_2 + _9", "|_2|"},
		{"1|def f(): return _|f()", "_||_"},
		{"1|f = lambda: [_ for _ in range(3)]", "|"},
		{"1|for _ in range(3): pass|_ + _1", "_1||"},
		{"1|def f():\n    global _\n    _ = 1|_", "||"},
		{"1|for _ in range(3): print(_)", "|"},
		{"1|(|_", "_||_"},
		{"1|%time _", "_|_"}, // a magic has a value, or none
		{"1|!ls|_", "_|_|_"},
	} {
		program := notebook(t, x.cells, python.IPython)
		var got []string
		found := Unfold(program)
		for i, b := range program {
			kept := ""
			if b.Facts != nil {
				nodes := found.Of(i, b.Facts).Nodes
				last := nodes[len(nodes)-1]
				kept = strings.Join(last.Keeps, " ")
				for _, n := range last.Keeps {
					if !strings.Contains(fmt.Sprint(" ", last.Defines, " "), n) {
						t.Errorf("%q: block %d keeps %s, and Defines = %q", x.cells, i+1, n, last.Defines)
					}
				}
			}
			got = append(got, kept)
		}
		if got := strings.Join(got, "|"); got != x.want {
			t.Errorf("%q: blocks keep %q, want %q", x.cells, got, x.want)
		}
	}
	if found := Unfold(notebook(t, "1|_", python.Plain)); len(found.Nodes) > 0 {
		t.Errorf("a script keeps values: %+v", found.Nodes)
	}
}

func notebook(t *testing.T, cells string, dialect depgraph.Dialect) (program []Block) {
	t.Helper()
	for _, text := range strings.Split(cells, "|") {
		facts, _ := Analyze([]byte(text), dialect) // nil for a text that does not parse
		program = append(program, Block{Dialect: dialect, Facts: facts})
	}
	return program
}
