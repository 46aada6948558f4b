package jstree

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	sitter "github.com/smacker/go-tree-sitter"
	"github.com/smacker/go-tree-sitter/javascript"
	"github.com/smacker/go-tree-sitter/typescript/tsx"
	"github.com/smacker/go-tree-sitter/typescript/typescript"
)

var languages = map[Language]*sitter.Language{
	JavaScript: javascript.GetLanguage(), TypeScript: typescript.GetLanguage(), TSX: tsx.GetLanguage(),
}

const sample = "// c\nexport class A extends B { #p = `a${x + `${y}`}b`; static { f(/r[/]/g) } }\n" +
	"for (const {a, b: [c = 1]} of d) lé: while (a?.b) break lé\n\"s\\n\"; import('m') // é\n"

// The prototypes in flatten.c are copies. If the library changed a layout, a tree walked through them would differ from
// the same tree walked through go-tree-sitter.
func TestPrototypes(t *testing.T) {
	for l, lang := range languages {
		p := sitter.NewParser()
		p.SetLanguage(lang)
		tree, err := p.ParseCtx(context.Background(), nil, []byte(sample))
		if err != nil {
			t.Fatal(err)
		}
		var want []Node
		var walk func(n *sitter.Node, field string, parts bool)
		walk = func(n *sitter.Node, field string, parts bool) {
			node := Node{Start: n.StartByte(), End: n.EndByte()}
			if n.IsNamed() {
				for k, name := range kindNames {
					if name == n.Type() {
						node.Kind = Kind(k)
					}
				}
			}
			for f, name := range fieldNames {
				if name == field && name != "" {
					node.Field = Field(f)
				}
			}
			if n.Type() == "comment" || parts && node.Kind != TemplateSubstitution {
				return
			}
			at := len(want)
			want = append(want, node)
			for i := range int(n.ChildCount()) {
				if node.Kind != String && node.Kind != Regex {
					walk(n.Child(i), n.FieldNameForChild(i), node.Kind == TemplateString)
				}
			}
			want[at].Next = uint32(len(want))
		}
		walk(tree.RootNode(), "", false)

		got, err := Parse([]byte(sample), l)
		if err != nil || got.Broken != nil {
			t.Fatal(err, got.Broken)
		}
		if diff := cmp.Diff(want, got.Nodes, cmp.AllowUnexported(Node{})); diff != "" {
			t.Errorf("%v: Parse = got, want\n%s", l, diff)
		}
		got.Close()
	}
}

// Each kind and each field exists in a grammar: a newer grammar that renames one must not go unnoticed.
func TestNames(t *testing.T) {
	kinds, fields := map[string]bool{"": true, "ERROR": true}, map[string]bool{"": true}
	for _, lang := range languages {
		for s := range lang.SymbolCount() {
			kinds[lang.SymbolName(sitter.Symbol(s))] = true
		}
		for f := 1; lang.FieldName(f) != ""; f++ {
			fields[lang.FieldName(f)] = true
		}
	}
	for _, name := range kindNames {
		if !kinds[name] {
			t.Errorf("no grammar has the symbol %s", name)
		}
	}
	for _, name := range fieldNames {
		if !fields[name] {
			t.Errorf("no grammar has the field %s", name)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		src  string
		want SyntaxError
	}{
		{"x = 1\ny = = 2\n", SyntaxError{Start: 10, End: 11}},
		{"a = (1;\n", SyntaxError{Start: 6, End: 6, Missing: true}},
	} {
		for l := range languages {
			tree, err := Parse([]byte(test.src), l)
			if err != nil {
				t.Fatal(err)
			}
			if tree.Broken == nil || tree.Broken.Start != test.want.Start || tree.Broken.Missing != test.want.Missing {
				t.Errorf("Parse(%q).Broken = %+v, want %+v", test.src, tree.Broken, test.want)
			}
			tree.Close()
		}
	}
}

// TestDeep: those who walk a tree recurse, so of one that is too deep nothing is left but an error.
func TestDeep(t *testing.T) {
	for _, src := range []string{
		strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
		"1" + strings.Repeat("+1", 20_000),
		strings.Repeat("!", 20_000) + "a",
	} {
		tree, err := Parse([]byte(src), JavaScript)
		if err != nil {
			t.Fatal(err)
		}
		if tree.Broken == nil || !tree.Broken.Deep || len(tree.Nodes) != 2 || int(tree.Nodes[1].End) != len(src) {
			t.Errorf("Parse(%.20q…) = %d nodes, broken %v, want an error for its depth", src, len(tree.Nodes),
				tree.Broken)
		}
		tree.Close()
	}
}

func TestEmptyAndConcurrent(t *testing.T) {
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for l := range languages {
				tree, err := Parse(nil, l)
				if err != nil || len(tree.Nodes) != 1 || tree.Nodes[0].Kind != Program {
					t.Errorf("Parse of nothing = %v, want a program", tree.Nodes)
				}
				tree.Close()
			}
		})
	}
	group.Wait()
}
