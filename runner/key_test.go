package runner

import (
	"cmp"
	"testing"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/languages"
	dialect "github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/state"
)

// TestKeyHoldsEveryInput: a field that what a node does depends on, and that is not in its key, would be a wrong hit.
func TestKeyHoldsEveryInput(t *testing.T) {
	part := func(o keyOptions, text string, p *depgraph.Part) state.Digest {
		language := python.Interpreter{}
		facts, err := languages.Analyze([]byte(text), dialect.Plain)
		if err != nil {
			t.Fatal(err)
		}
		u := &unit{ProgramBlock: state.ProgramBlock{ID: "b"}, facts: facts, language: language}
		n := facts.Nodes[0]
		n.Part = p
		return o.codeDigest(&node{unit: u, text: u, facts: &n, last: true})
	}
	make := func(o keyOptions, text string, d depgraph.Dialect, future []string, last bool) state.Digest {
		language := python.Interpreter{}
		facts, err := languages.Analyze([]byte(text), d)
		if err != nil {
			t.Fatal(err)
		}
		u := &unit{ProgramBlock: state.ProgramBlock{ID: "b", Dialect: d}, facts: facts, language: language}
		return o.codeDigest(&node{unit: u, text: u, facts: &facts.Nodes[0], future: future, last: last})
	}
	of := func(observe, interpreter string) keyOptions {
		return keyOptions{observe: observe, known: map[string]string{},
			identify: func(kernel.Language) string { return interpreter }}
	}
	plain := of("", "cpython 3.12.1")
	want := make(plain, "x", dialect.Plain, nil, true)
	differ := map[string]state.Digest{
		"code":   make(plain, "y", dialect.Plain, nil, true),
		"last":   make(plain, "x", dialect.Plain, nil, false),
		"future": make(plain, "x", dialect.Plain, []string{"annotations"}, true),
		"quiet":  make(plain, "x;", dialect.IPython, nil, true),
	}
	differ["function"] = part(plain, "x", &depgraph.Part{Function: "f"})
	for what, p := range map[string]depgraph.Part{
		"name": {Function: "g"}, "locals": {Locals: []string{"x"}},
		"deletes": {Deletes: []string{"x"}}, "results": {Results: []string{"f.return.0"}},
		"globals": {Globals: []string{"x"}}, "async": {Async: true}, "returned": {Returned: []string{"f.return"}},
		"call": {Call: "g"}, "header": {Call: "g", Header: "def g():"},
	} {
		p.Function = cmp.Or(p.Function, "f")
		differ[what] = part(plain, "x", &p)
		for other, d := range differ {
			if other != what && d == differ[what] {
				t.Errorf("another %s gives the key of another %s", what, other)
			}
		}
	}
	differ["interpreter"] = make(of("", "cpython 3.13.0"), "x", dialect.Plain, nil, true)
	differ["observe"] = make(of("static", "cpython 3.12.1"), "x", dialect.Plain, nil, true)
	for what, got := range differ {
		if got == want {
			t.Errorf("another %s gives the same key", what)
		}
	}
	for _, same := range []string{"x # comment", "\n\nx\n", "  \nx"} {
		if got := make(plain, same, dialect.Plain, nil, true); got != want {
			t.Errorf("key of %q differs from that of %q", same, "x")
		}
	}
}
