package toy

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/languages"
	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/patch/syntax"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/kernel"
)

const program = `#!/usr/bin/env sums

; %% prices
a = 3
b = 4

; %% total
total = a + b

; %% report
print total + 1
`

func blocks(t *testing.T, name, text string) []patch.Block {
	t.Helper()
	p, err := patch.Parse(name, []byte(text))
	if err != nil {
		t.Fatalf("Parse(%s): %v", name, err)
	}
	for i := range p.Blocks {
		if p.Blocks[i].Dialect != sums {
			t.Errorf("block %d of %s is in %q", i, name, p.Blocks[i].Dialect)
		}
		p.Blocks[i].ID = p.Blocks[i].Title
	}
	return p.Blocks
}

// TestLevels: each language has what its row promises, at every level.
func TestLevels(t *testing.T) {
	for _, d := range lang.Dialects() {
		v, _ := lang.Of(d)
		if s := syntax.Of(string(d)); s.Comment != v.Language.Comment ||
			(s == syntax.Of("python")) != (v.Language.Name == "python") {
			t.Errorf("%s has no syntax: import its package in patch", d)
		}
		if _, _, err := depgraph.AnalyserOf(d); err != nil {
			t.Errorf("%v: import its package in depgraph/languages", err)
		}
		if _, err := kernel.Lookup(d); err != nil {
			t.Errorf("%v: import its package in xstate.go", err)
		}
	}
}

// TestFiles: a program is read from every kind of file, and written to it.
func TestFiles(t *testing.T) {
	var want []string
	all := blocks(t, "p.sums", program)
	for _, b := range all {
		want = append(want, b.Title+": "+b.Source)
	}
	if d := cmp.Diff([]string{
		"prices: a = 3\nb = 4", "total: total = a + b", "report: print total + 1",
	}, want); d != "" {
		t.Errorf("blocks (-want +got):\n%s", d)
	}
	for kind, name := range map[patch.Kind]string{
		patch.KindCells: "q.sums", patch.KindMarkdown: "q.md", patch.KindNotebook: "q.ipynb",
	} {
		data, err := patch.New(kind, all, nil)
		if err != nil {
			t.Fatalf("New(%s): %v", kind, err)
		}
		var got []string
		for _, b := range blocks(t, name, string(data)) {
			got = append(got, b.Title+": "+b.Source)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", kind, d)
		}
	}
	blocks(t, "p", program) // its line "#!" says the language
	if got := len(blocks(t, "script.sums", "a = 1\n\nb = a\n")); got != 2 {
		t.Errorf("a script has %d blocks, want 2", got)
	}
	if blocks(t, "broken.sums", "a = 1\n\n= 3\n\nb = a\n"); patch.IsScript([]byte(program)) {
		t.Error("a program with cells is a script")
	}
}

// TestPatches: a fence of a reply changes the block that it names, and an omission is refused.
func TestPatches(t *testing.T) {
	file, err := patch.Parse("p.sums", []byte(program))
	if err != nil {
		t.Fatal(err)
	}
	on := patch.Subject{Name: "p.sums", File: file, Blocks: blocks(t, "p.sums", program)}
	p, err := patch.Read("Two more:\n\n```sums name=total\ntotal = a + b + 2\n```\n", "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := patch.Revise(p, on)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(program, "total = a + b", "total = a + b + 2", 1); string(r.Text) != want {
		t.Errorf("the patched file is\n%s", r.Text)
	}
	if p, err = patch.Read("; %% total\n; ... rest unchanged ...\ntotal = a\n", patch.FormatBlock); err != nil {
		t.Fatal(err)
	}
	if r, err = patch.Revise(p, on); err == nil {
		t.Errorf("an omission is accepted: %s", r.Text)
	}
}

// TestFacts: names lie in the space of the language, and a comment asks for values of another one.
func TestFacts(t *testing.T) {
	f, err := languages.Analyze([]byte("; xstate: from py import rows as n\nm = n + 1"), sums)
	if err != nil {
		t.Fatal(err)
	}
	var got [][2]string
	for _, n := range f.Nodes {
		got = append(got, [2]string{strings.Join(n.Uses, " "), strings.Join(n.Defines, " ")})
	}
	if d := cmp.Diff([][2]string{{"rows", "sums:n"}, {"sums:n", "sums:m"}}, got); d != "" {
		t.Errorf("uses and defines (-want +got):\n%s", d)
	}
	if space, key := depgraph.Key("var:sums:m").Cut(); space != sums || key != "var:m" {
		t.Errorf("Cut = %q, %q", space, key)
	}
	if s, err := languages.Symbols([]byte("a = 1"), sums); err != nil || s["a"] == "" {
		t.Errorf("Symbols = %q, %v", s, err)
	}
}

// TestToy runs a program, also beside a block in Python that takes a value. After an edit only what it affects runs.
func TestToy(t *testing.T) {
	ctx, folder := t.Context(), t.TempDir()
	store, err := xstate.Open(ctx, filepath.Join(folder, xstate.StoreName), xstate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	session, err := store.Session(ctx, "sums", xstate.SessionOptions{Workspace: folder})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	all := append(blocks(t, "p.sums", program), patch.Block{ID: "python", Dialect: "python",
		Source: "# xstate: from sums import total\nprint(total * 2)"})
	for _, b := range all {
		if _, err := session.Append(ctx, b, "", xstate.Origin{}); err != nil {
			t.Fatal(err)
		}
	}
	run := func(want string) {
		t.Helper()
		outcome, _, err := session.Run(ctx, runner.RunOptions{}, xstate.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range outcome.Blocks {
			text := fmt.Sprint(b.ID, " ", b.Status)
			for _, o := range b.Outputs {
				text += " " + strings.TrimSpace(o.Text)
			}
			if b.Err != nil {
				text += " " + b.Err.Message
			}
			got = append(got, text)
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("the run: %s\nwant: %s", got, want)
		}
	}
	edit := func(block xstate.BlockID, text string) {
		t.Helper()
		if _, err := session.Patch(ctx, block, text, xstate.Origin{}); err != nil {
			t.Fatal(err)
		}
	}
	run("prices ran, total ran, report ran 8, python ran 14")
	run("prices reused, total reused, report reused 8, python reused 14")
	edit("prices", "a = 4\nb = 3")
	run("prices ran, total ran, report reused 8, python reused 14")
	edit("report", "print b + 1")
	run("prices reused, total reused, report ran 4, python reused 14")
	edit("total", "total = c")
	run("prices reused, total failed c has no value, report reused 4, python blocked")
	edit("total", "total a")
	run("prices reused, total failed this is not a sum, report reused 4, python failed total has no value")
}
