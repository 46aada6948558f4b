package javascript

import (
	"slices"
	"testing"

	"github.com/xstate-engine/xstate/depgraph"
)

func tokensOf(t *testing.T, source string, dialect depgraph.Dialect) string {
	t.Helper()
	f, err := Analyze([]byte(source), dialect)
	if err != nil {
		t.Fatalf("Analyze(%q) = %v", source, err)
	}
	return f.Tokens()
}

func TestTokens(t *testing.T) {
	for _, test := range []struct {
		a, b    string
		dialect depgraph.Dialect
		equal   bool
	}{
		{"a = 1; b()", "a  =  1 // c\nb()", JavaScript, true},
		{"function f() { return a }", "function f() {\n  return a;\n}", JavaScript, true},
		{"class A { x = 1; y }", "class A {\n  x = 1\n  y\n}", JavaScript, true},
		{"f(a => { b() })", "f(a => {\n  b()\n})", JavaScript, true},
		{"return_\na", "return_; a", JavaScript, true},
		{"function f() { return a }", "function f() { return\na }", JavaScript, false},
		{"a\n++b", "a++; b", JavaScript, false},
		{"a - -b", "a--; b", JavaScript, false},
		{"a\n(b)", "a; (b)", JavaScript, false},
		{"`a b`", "`a  b`", JavaScript, false},
		{"x = /a b/", "x = /a  b/", JavaScript, false},
		{"'a'", `"a"`, JavaScript, false},
		{"for (;;) a", "for (;a;);", JavaScript, false},
		{"if (a) { b; c }", "if (a) { b } c", JavaScript, false},
		{"label: a", "a", JavaScript, false},
		{"let a: T = b as U", "let a = b", TypeScript, true},
		{"type A = B; let a", "let a", TypeScript, true},
		{"class A<T> { private a?: T; m(): void; m(b?: T) {} }", "class A { a; m(b) {} }", TypeScript, true},
		{"class A { constructor(private a) {} }", "class A { constructor(a) {} }", TypeScript, false},
		{"a as T\n[b].c", "a;\n[b].c", TypeScript, true},
	} {
		if got := tokensOf(t, test.a, test.dialect) == tokensOf(t, test.b, test.dialect); got != test.equal {
			t.Errorf("tokens of %q and %q are equal: %v, want %v\n%q\n%q", test.a, test.b, got, test.equal,
				tokensOf(t, test.a, test.dialect), tokensOf(t, test.b, test.dialect))
		}
	}
}

func TestComments(t *testing.T) {
	source := "#!/usr/bin/env node\n// a\nfunction f() { /* b */ return `// no` }\nx = '// no' // c\n"
	f, err := Analyze([]byte(source), JavaScript)
	if err != nil {
		t.Fatal(err)
	}
	got := Comments(f)
	want := []string{"#!/usr/bin/env node", "// a", "/* b */", "// c"}
	if !slices.Equal(got, want) {
		t.Errorf("Comments = %q, want %q", got, want)
	}
}

// FuzzAnalyze looks for texts on which the package panics, and for facts that contradict each other.
func FuzzAnalyze(f *testing.F) {
	for _, source := range []string{"f(a)\nfunction f() {}\nvar b", "class A extends B { static x = 1 }",
		"import a, { b as c } from 'm'", "let x: T<U> = y as Z\n[a]", "for (const [a, b] of c) { d?.e`f${g}` }",
		"enum E { A }\nnamespace N.M { export let a = 1 }", "<A b={c}/>", "export default class { @d m() {} }",
		"\\u{61}", "new a?.b", "import(", "`${", "x as A.B.C", "x = {a = 1}", "(a, b) => {", "switch (a) { case b: }"} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		for _, dialect := range []depgraph.Dialect{JavaScript, ESM, TypeScript, TSX} {
			facts, err := Analyze([]byte(source), dialect)
			if err != nil {
				continue
			}
			Comments(facts)
			if _, err := Outline([]byte(source), dialect); err != nil {
				t.Errorf("Outline refuses what Analyze takes: %v", err)
			}
			Blank([]byte(source), dialect)
			for i := range facts.Nodes {
				n := &facts.Nodes[i]
				if n.Start >= n.End || n.End > len(source) || n.Kind != depgraph.KindStatement &&
					n.Kind != depgraph.KindImport && len(n.Defines) == 0 {
					t.Errorf("node %d is %+v", i, n)
				}
			}
		}
	})
}
