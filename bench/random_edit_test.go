package bench

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/patch/syntax"
)

// TestWorkloads: equal arguments give equal programs, another seed another one, every block parses, every version
// differs from the one before, and all kinds of edits are made to some.
func TestWorkloads(t *testing.T) {
	kinds := map[Kind]int{}
	for _, name := range Workloads {
		for _, size := range []int{4, 10, 40} {
			p, err := Generate(name, 3, size, 12)
			if err != nil {
				t.Fatal(err)
			}
			again, _ := Generate(name, 3, size, 12)
			if d := cmp.Diff(p, again); d != "" {
				t.Errorf("%s/%d generated again (-first +again):\n%s", name, size, d)
			}
			if n := len(p.Versions); n != 13 {
				t.Errorf("%s/%d has %d versions, want 13", name, size, n)
			}
			for i, v := range p.Versions {
				kinds[v.Edit]++
				for _, b := range v.Blocks {
					if _, err := python.Analyze([]byte(b.Source), python.Plain); err != nil {
						t.Errorf("%s/%d version %d: %v in\n%s", name, size, i, err, b.Source)
					}
				}
				if i > 0 && cmp.Equal(v.Blocks, p.Versions[i-1].Blocks) {
					t.Errorf("%s/%d version %d (%s) is that of before", name, size, i, v.Edit)
				}
			}
		}
	}
	for _, k := range append(slices.Clone(editKinds), KindUndo, KindAppend, KindEmit, KindVariant) {
		if kinds[k] == 0 {
			t.Errorf("no edit is of kind %s: %v", k, kinds)
		}
	}
	a, _ := Generate("notebook", 3, 40, 5)
	b, _ := Generate("notebook", 4, 40, 5)
	if cmp.Equal(a.Versions[0], b.Versions[0]) {
		t.Error("another seed gives the same notebook")
	}
}

// TestRewrite holds what edits within a block make of one.
func TestRewrite(t *testing.T) {
	function := "k = 3\ndef f(a, b=1):\n    total = a[0] + 2.5\n    # total\n    a.total = g(total=total)\n" +
		"    return f\"{total}\"\nh = lambda: 0"
	for _, c := range []struct {
		kind   Kind
		source string
		want   []string // any of these
	}{
		{KindConstant, "x = y[7] + f(41, axis=0)", []string{"x = y[7] + f(42, axis=0)"}},
		{KindConstant, "x = 'no 1 here'", nil},
		{KindOperator, "x = a + b", nil},
		{KindOperator, "x = a * 2", []string{"x = a + 2"}},
		{KindOperator, "x = a <= b", []string{"x = a < b"}},
		{KindRename, function,
			[]string{strings.NewReplacer("total = a", "total_ = a", "=total)", "=total_)", "{total}", "{total_}").
				Replace(function)}},
		{KindRename, "def f(a):\n    a = 1\n    return a", nil},
		{KindRename, "x = 1", nil},
		{KindBody, "def f(): pass", []string{"def f(): _edited = 1; pass"}},
		{KindBody, "def f():\n    g()", []string{"def f():\n    _edited = 1\n    g()"}},
		{KindBody, "k = 5\ndef f(n):\n    return n > 1",
			[]string{"k = 5\ndef f(n):\n    return n > 2", "k = 5\ndef f(n):\n    return n >= 1"}},
		{KindComment, "x = 1", []string{"x = 1\n# edit 1"}},
		{KindConstant, "%time x = 1", nil},
	} {
		e := &randomEditor{Rand: rand.New(rand.NewPCG(1, 1)), facts: map[string]*depgraph.Facts{}}
		dialect := syntax.Python
		if strings.HasPrefix(c.source, "%") {
			dialect = syntax.IPython
		}
		found := e.edit(c.kind, []patch.Block{{ID: "a", Dialect: dialect, Source: c.source}})
		switch {
		case found == nil && c.want == nil:
		case found == nil:
			t.Errorf("%s of %q: nothing, want one of %q", c.kind, c.source, c.want)
		case !slices.Contains(c.want, found[0].Source):
			t.Errorf("%s of %q = %q, want one of %q", c.kind, c.source, found[0].Source, c.want)
		}
	}
}

// TestMoveAndDelete: blocks that others need stay where they are.
func TestMoveAndDelete(t *testing.T) {
	chain := blocksOf("x = 1", "y = x", "print(y)")
	e := &randomEditor{Rand: rand.New(rand.NewPCG(1, 1)), facts: map[string]*depgraph.Facts{}}
	if moved := e.edit(KindMove, chain); moved != nil {
		t.Errorf("moved a block of a chain: %v", moved)
	}
	for range 20 {
		if left := e.edit(KindDelete, chain); len(left) != 2 || left[0].ID != "a" || left[1].ID != "b" {
			t.Fatalf("left of a chain: %v, want a and b", left)
		}
	}
	changed := blocksOf("x = []", "x.append(1)", "y = 2", "print(x)")
	for range 20 {
		moved := e.edit(KindMove, changed)
		at := func(id string) int { return slices.IndexFunc(moved, func(b patch.Block) bool { return b.ID == id }) }
		if at("a") > at("b") || at("b") > at("d") {
			t.Fatalf("moved past what changes it: %v", moved)
		}
	}
}
