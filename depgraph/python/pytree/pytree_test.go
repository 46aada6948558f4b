package pytree

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/smacker/go-tree-sitter"
	"github.com/smacker/go-tree-sitter/python"
)

const sample = `# c
@d
def f(a, b=f"{x!r:>{w}} y"):
    return [a for a in b] # é
x = (1,
     2); y
`

// The prototypes in flatten.c are copies. If the library changed a layout, a tree walked through them would differ from
// the same tree walked through go-tree-sitter.
func TestPrototypes(t *testing.T) {
	p := sitter.NewParser()
	p.SetLanguage(python.GetLanguage())
	tree, err := p.ParseCtx(context.Background(), nil, []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	var want []Node
	var walk func(n *sitter.Node, inString bool)
	walk = func(n *sitter.Node, inString bool) {
		sym := Symbol(n.Symbol())
		if sym == Comment || sym == LineContinuation || inString && sym != Interpolation {
			return
		}
		at := len(want)
		want = append(want, Node{Sym: sym, Start: n.StartByte(), End: n.EndByte()})
		for i := range int(n.ChildCount()) {
			walk(n.Child(i), sym == String || sym == StringContent)
		}
		want[at].Next = uint32(len(want))
	}
	walk(tree.RootNode(), false)

	got, err := Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if diff := cmp.Diff(want, got.Nodes, cmp.AllowUnexported(Node{})); diff != "" {
		t.Errorf("Parse = got, want\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		src  string
		want Error
	}{
		{"x = 1\ny = = 2\n", Error{Start: 10, End: 11}},
		{"def f(:\n  pass\n", Error{Start: 6, End: 6, Missing: true}},
	} {
		_, err := Parse([]byte(test.src))
		got, ok := err.(*Error)
		if !ok || got.Start != test.want.Start || got.Missing != test.want.Missing {
			t.Errorf("Parse(%q) = %+v, want %+v", test.src, err, test.want)
		}
	}
}

// TestDeep: those who walk a tree recurse, so one that is too deep is an error. What CPython compiles is no such tree.
func TestDeep(t *testing.T) {
	for _, src := range []string{
		"x = " + strings.Repeat("(", 20_000) + strings.Repeat(")", 20_000),
		"x = " + strings.Repeat("-", 20_000) + "1",
		"x = 1" + strings.Repeat("+1", 20_000),
		"x = a" + strings.Repeat(".b", 20_000),
	} {
		_, err := Parse([]byte(src))
		if got, ok := err.(*Error); !ok || !got.Deep {
			t.Errorf("Parse(%.20q…) = %v, want an error for its depth", src, err)
		}
	}
	tree, err := Parse([]byte("x = 1" + strings.Repeat("+1", 5000)))
	if err != nil {
		t.Fatal(err)
	}
	tree.Close()
}

func TestEmpty(t *testing.T) {
	tree, err := Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if len(tree.Nodes) != 1 || tree.Nodes[0].Sym != Module {
		t.Errorf("Parse of nothing = %v, want a module", tree.Nodes)
	}
}
