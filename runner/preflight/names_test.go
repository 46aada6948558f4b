package preflight

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// The names of each language are judged by what it offers: a name of JavaScript is none of Python, what typeof or this
// asks for may be missing, and where nothing is known of a language, nothing is said.
func TestUndefinedNames(t *testing.T) {
	offers := map[string]Offer{"": {Builtins: map[string]bool{"print": true}},
		"js": {Builtins: map[string]bool{"console": true, "JSON": true}}}
	python, js, bash := depgraph.Dialect("python"), depgraph.Dialect("javascript"), depgraph.Dialect("bash")
	type block struct {
		dialect depgraph.Dialect
		source  string
	}
	for _, c := range []struct {
		name   string
		blocks []block
		want   []string
	}{
		{"own names", []block{{js, "console.log(JSON.stringify(1))"}}, nil},
		{"missing", []block{{js, "let a = 1\nconsole.log(a, gone)"}}, []string{"2 gone"}},
		{"in a function", []block{{js, "function f() { return gone }"}}, []string{"1 gone later"}},
		{"typeof", []block{{js, "if (typeof gone !== 'undefined') console.log(gone)"}}, nil},
		{"member of this", []block{{js, "const o = {n: 1, get f() { return this.n }}"}}, nil},
		{"a dollar belongs to the name", []block{{js, "let $a = 1\nconsole.log($a)"}}, nil},
		{"of Python alone", []block{{python, "a = 1"}, {js, "console.log(a)"}}, []string{"1 a from py"}},
		{"of JavaScript alone", []block{{js, "let a = 1"}, {python, "print(a)"}}, []string{"1 a from js"}},
		{"handed over", []block{{python, "a = 1"}, {js, "// xstate: from py import a\nconsole.log(a)"}}, nil},
		{"builtins of the other", []block{{js, "print(1)"}, {python, "console"}}, []string{"1 print", "1 console"}},
		{"bash", []block{{bash, "echo $gone; frobnicate"}, {js, "console.log(1)"}}, nil},
	} {
		var program []state.ProgramBlock
		for i, b := range c.blocks {
			program = append(program, state.ProgramBlock{ID: state.BlockID(rune('a' + i)), Dialect: b.dialect,
				Source: b.source})
		}
		text, err := Read(program)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range text.undefinedNames(offers) {
			line := string(rune('0'+u.Line)) + " " + u.name
			if u.later {
				line += " later"
			}
			if u.other != "" {
				line += " from " + u.other
			}
			got = append(got, line)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: undefinedNames (-want +got)\n%s", c.name, d)
		}
	}
}

// An import names a package of Node, or a top-level module of Python.
func TestModuleOf(t *testing.T) {
	for _, c := range []struct{ space, module, want string }{
		{"", "os.path", "os"}, {"js", "lodash.merge", "lodash.merge"}, {"js", "lodash/fp", "lodash"},
		{"js", "@a/b/c", "@a/b"}, {"js", "node:fs", "node:fs"}, {"js", "fs/promises", "fs"}, {"js", "./x.js", ""},
		{"js", "/x.js", ""}, {"js", "#own", ""}, {"js", "https://x.example/y.js", ""},
		{"js", "data:text/javascript,1", ""}, {"js", "", ""},
	} {
		if got := moduleOf(c.space, depgraph.Import{Module: c.module}); got != c.want {
			t.Errorf("moduleOf(%q, %q) = %q, want %q", c.space, c.module, got, c.want)
		}
	}
}
