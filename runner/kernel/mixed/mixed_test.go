package mixed_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/languages"
	source "github.com/xstate-engine/xstate/depgraph/python"
	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/kernel/mixed"
	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/state/output"
)

// guest is Python once more, as a language of its own.
type guest struct{ python.Interpreter }

const guestDialect depgraph.Dialect = "guest"

func (guest) Name() string { return "guest" }

func init() {
	lang.Register(&lang.Language{Name: "guest", Space: "guest", Comment: "#", Widest: guestDialect,
		Variants: []lang.Variant{{Dialect: guestDialect, Names: []string{"guest"}, Extensions: []string{".guest"},
			Kernel: lang.Kernel{Title: "Guest", Language: "guest", Name: "guest"}}}})
	kernel.Register(kernel.Entry{Name: "guest"})
	depgraph.Register("guest", depgraph.Analyser{
		Analyze: func(text []byte, _ depgraph.Dialect) (*depgraph.Facts, error) {
			return source.Analyze(text, source.Plain)
		},
		Comments: source.Comments,
	})
}

// program is a program in Python and in the guest's language.
type program struct {
	*testing.T
	languages *mixed.Languages
	kernel    kernel.Kernel
}

func start(t *testing.T) *program {
	t.Helper()
	path, err := python.Find("", "", os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	found, err := python.Identify(t.Context(), kernel.Search{Cache: t.TempDir(), Environ: os.Environ()}, path)
	if err != nil {
		t.Fatal(err)
	}
	ls := mixed.New(func(e kernel.Entry) (kernel.Language, error) {
		if e.Name == "guest" {
			return guest{found}, nil
		}
		return found, nil
	})
	spool, store := t.TempDir(), t.TempDir()
	k, err := ls.Start(t.Context(), kernel.Launch{Driver: store, Environ: ls.Environ(os.Environ()), Folder: t.TempDir(),
		Spool: spool, Store: store, Seed: 1, Dialects: []depgraph.Dialect{source.Plain, guestDialect}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return &program{t, ls, k}
}

// run executes the nodes of a block, and returns the observation of the last.
func (p *program) run(d depgraph.Dialect, text string) (seen kernel.Observation) {
	p.Helper()
	facts, err := languages.Analyze([]byte(text), d)
	if err != nil {
		p.Fatal(err)
	}
	for _, n := range facts.Nodes {
		var outputs output.Screen
		seen, err = p.kernel.Execute(context.Background(), kernel.Node{
			Text: facts.Code[n.Start:n.End], ID: "b", Filename: "<b>", Line: n.Line, Dialect: string(d), Last: true,
			Certain: n.Certain, Uses: slices.Concat(n.Uses, n.Later),
		}, kernel.Sink{Record: outputs.Add})
		if err != nil {
			p.Fatalf("execute %q: %v", text, err)
		}
	}
	return seen
}

func written(seen kernel.Observation) []string {
	var names []string
	for _, w := range seen.Writes {
		names = append(names, w.Name)
	}
	slices.Sort(names)
	return names
}

// TestSpaces: a name belongs to the language of its block.
func TestSpaces(t *testing.T) {
	p := start(t)
	if got := written(p.run(source.Plain, "x = [1]")); !slices.Equal(got, []string{"x"}) {
		t.Errorf("Python wrote %v", got)
	}
	seen := p.run(guestDialect, "x = [2]\ny = x")
	if got := written(seen); !slices.Equal(got, []string{"guest:x", "guest:y"}) {
		t.Errorf("the guest wrote %v", got)
	}
	if len(seen.AliasesAfter) != 1 || seen.AliasesAfter[0][0] != "guest:x" {
		t.Errorf("the guest's names share %v", seen.AliasesAfter)
	}
	if text, err := p.kernel.Inspect(t.Context(), "guest:y", nil); err != nil || text.Text != "[2]" {
		t.Errorf("guest:y is %q, %v", text.Text, err)
	}
	if text, err := p.kernel.Inspect(t.Context(), "x", nil); err != nil || text.Text != "[1]" {
		t.Errorf("x is %q, %v", text.Text, err)
	}
	if f := p.run(guestDialect, "z").Failure; f == nil || f.Name != "guest:z" {
		t.Errorf("the failure is %+v, want that guest:z is missing", f)
	}
	seen = p.run(guestDialect, "import os, random\nos.environ['A'] = 'b'\nrandom.random()")
	if v := seen.Environ["guest:A"]; v == nil || *v != "b" || seen.Hidden["rng:guest:random"] == "" {
		t.Errorf("the guest set %v and %v", seen.Environ, seen.Hidden)
	}
}

// TestHandover: a comment binds a name to a copy of another language's value.
func TestHandover(t *testing.T) {
	p := start(t)
	p.run(source.Plain, "import datetime\n"+
		"rows = [{'n': 1, 'f': 2.0, 's': 'é', 'b': b'x', 'd': datetime.date(2024, 1, 2)}, "+
		"None, True, float('inf'), -0.0, 2**70, {1: 2}]\nother = rows[0]")
	seen := p.run(guestDialect, "# xstate: from py import rows as table, other")
	if got := written(seen); !slices.Equal(got, []string{"guest:other", "guest:table"}) {
		t.Errorf("the handover wrote %v", got)
	}
	if !slices.Contains(seen.Names, "rows") || !slices.Contains(seen.Names, "other") {
		t.Errorf("the handover read %v", seen.Names)
	}
	if len(seen.AliasesAfter) > 0 {
		t.Errorf("the copies share %v", seen.AliasesAfter)
	}
	want, err := p.kernel.Inspect(t.Context(), "rows", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.kernel.Inspect(t.Context(), "guest:table", nil); err != nil || got != want {
		t.Errorf("the copy is %s, %v; want %s", got.Text, err, want.Text)
	}
	p.run(source.Plain, "rows = [{'f': len}]")
	seen = p.run(guestDialect, "# xstate: from py import rows")
	if f := seen.Failure; f == nil || f.Type != "NoPlainForm" || !strings.HasPrefix(f.Message, "rows[0].f: ") {
		t.Errorf("the failure is %+v", f)
	}
	if f := p.run(guestDialect, "# xstate: from py import nothing").Failure; f == nil || f.Name != "nothing" {
		t.Errorf("the failure is %+v, want that nothing is missing", f)
	}
}

// TestNoHandover: what looks like one, and is none.
func TestNoHandover(t *testing.T) {
	for _, text := range []string{
		"s = '''\n# xstate: from py import rows\n'''", "# xstate: from rust import rows\n1",
		"# xstate: from py import 1\n1",
		"# xstate: from guest import rows\n1",
	} {
		facts, err := languages.Analyze([]byte(text), guestDialect)
		if err != nil || len(facts.Nodes) != 1 {
			t.Errorf("%q has %d nodes, %v; want 1", text, len(facts.Nodes), err)
		}
	}
}

// TestGroups: a group is parked, stored and loaded in the language of its names.
func TestGroups(t *testing.T) {
	p := start(t)
	p.run(source.Plain, "x = 'python'")
	seen := p.run(guestDialect, "x = ['guest']")
	g := kernel.Group(seen.Writes[0].Digest)
	park := kernel.Binding{Park: []kernel.Parking{{Group: g, Names: []string{"guest:x"}}}, Unbind: []string{"guest:x"}}
	if err := p.kernel.Bind(t.Context(), park); err != nil {
		t.Fatal(err)
	}
	if f := p.run(guestDialect, "x").Failure; f == nil {
		t.Error("a parked name is bound")
	}
	if f := p.run(source.Plain, "x").Failure; f != nil {
		t.Errorf("Python's name: %+v", f)
	}
	if err := p.kernel.Bind(t.Context(), kernel.Binding{Unpark: []kernel.Group{g}}); err != nil {
		t.Fatal(err)
	}
	stored, err := p.kernel.Store(t.Context(), kernel.Storing{Names: []string{"guest:x"}})
	if err != nil || !stored.Done {
		t.Fatalf("Store = %+v, %v", stored, err)
	}
	other := start(t)
	loaded, err := other.kernel.Load(t.Context(), kernel.Loading{Names: []string{"guest:x"}, Data: stored.Data})
	if err != nil || loaded.Digests["guest:x"] != seen.Writes[0].Digest {
		t.Errorf("Load = %+v, %v; want %s", loaded, err, seen.Writes[0].Digest)
	}
}
