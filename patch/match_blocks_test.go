package patch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/patch/syntax"
)

// session makes blocks with ids from sources. "title: source" gives a title.
func session(sources ...string) []Block {
	blocks := file(sources...)
	for i, id := range Names(blocks) {
		blocks[i].ID = id
	}
	return blocks
}

func file(sources ...string) []Block {
	var blocks []Block
	for _, s := range sources {
		title, source, ok := strings.Cut(s, ": ")
		if !ok {
			title, source = "", s
		}
		blocks = append(blocks, Block{Title: title, Source: source, Dialect: syntax.Python})
	}
	return blocks
}

// summary writes edits as "patch b2 0.50 similarity" and "move b3 after b1 …".
func summary(edits []Edit) []string {
	var out []string
	for _, e := range edits {
		s := fmt.Sprintf("%s %s", e.Op, e.ID)
		if e.Op == OpMove || e.Op == OpAppend {
			s += fmt.Sprintf(" after %q", e.After)
		}
		if e.By != "" {
			s += fmt.Sprintf(" %.2f %s", e.Score, e.By)
		}
		out = append(out, s)
	}
	return out
}

func TestMatch(t *testing.T) {
	fit := "model = Model(depth=3)\nmodel.fit(x, y)\nprint(model.score(x, y))"
	for _, c := range []struct {
		name     string
		old, new []Block
		want     []string
	}{
		{"nothing changed", session("a", "b", "a"), file("a", "b", "a"), nil},
		{"from nothing", nil, file("a", "f: def f()"), []string{`append b1 after ""`, `append f after "b1"`}},
		{"to nothing", session("a", "b"), nil, []string{"delete b1", "delete b2"}},
		{"insert", session("a", "b"), file("a", "x", "b"), []string{`append b3 after "b1"`}},
		{"insert first", session("a"), file("x", "a"), []string{`append b2 after ""`}},
		{"delete", session("a", "b", "c"), file("a", "c"), []string{"delete b2"}},
		{"delete one of equals", session("u: pass", "v: pass", "w: pass"), file("v: pass", "w: pass"),
			[]string{"delete u"}},
		{"move", session("a", "b", "c", "d"), file("b", "c", "a", "d"), []string{`move b1 after "b3" 1.00 content`}},
		{"move first", session("a", "b", "c"), file("c", "a", "b"), []string{`move b3 after "" 1.00 content`}},
		{"edit by similarity", session("import os", fit, "x"),
			file("import os", strings.Replace(fit, "3", "4", 1), "x"),
			[]string{"patch b2 0.92 similarity"}},
		{"edit of one line", session("import os", "x = load(1)"), file("import os", "x = load(2)"),
			[]string{"patch b2 0.67 similarity"}},
		{"indented", session("a = 1\nb = 2"), file("if c:\n    a = 1\n    b = 2"),
			[]string{"patch b1 0.80 similarity"}},
		{"another text", session("import os"), file("y = g(z)"), []string{"delete b1", `append b2 after ""`}},
		{"edit by name", session("f: def f(): pass", "a"), file("f: def f(x, y, z):\n  return x + y + z", "a"),
			[]string{"patch f 0.33 name"}},
		{"names of overloads", session("f: def f(a): pass", "f: def f(b): pass", "x"),
			file("f: def f(a): pass", "f: def f(b): return 1", "x"), []string{"patch f-2 0.67 name"}},
		{"renamed", session("f: def f(a):\n  b = a\n  return b"), file("g: def g(a):\n  b = a\n  return b"),
			[]string{"patch f 0.86 similarity"}},
		{"title only", session("one: a"), file("two: a"), []string{"patch one 1.00 content"}},
		{"swapped titles", session("one: a", "two: b"), file("two: a", "one: b"),
			[]string{"patch one 1.00 content", "patch two 1.00 content"}},
		{"moved and edited", session("a", "b", "f: def f(): pass"), file("f: def f(): x", "a", "b"),
			[]string{`move f after "" 0.67 name`, "patch f 0.67 name"}},
		{"by id", []Block{{ID: "k", Source: "a"}, {ID: "l", Source: "b"}},
			[]Block{{ID: "l", Source: "a"}, {ID: "k", Source: "b"}},
			[]string{"patch l 0.00 id", `move k after "l" 0.00 id`, "patch k 0.00 id"}},
		{"id before content", []Block{{ID: "b1", Source: "a"}},
			[]Block{{Source: "a"}, {ID: "cell", Source: "zz"}, {ID: "b1", Source: "yy"}},
			[]string{`append b2 after ""`, `append cell after "b2"`, "patch b1 0.00 id"}},
		{"nearest of equals", session("x = 1", "a", "x = 1 ", "b"), file("x = 2", "a", "x = 3", "b"),
			[]string{"patch b1 0.50 similarity", "patch b3 0.50 similarity"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			edits := Match(c.old, c.new)
			if d := cmp.Diff(c.want, summary(edits)); d != "" {
				t.Errorf("Match (-want +got):\n%s", d)
			}
			check(t, c.old, c.new, edits)
		})
	}
}

// check checks the laws of Match.
func check(t *testing.T, old, new []Block, edits []Edit) {
	t.Helper()
	got, err := Apply(old, edits)
	if err != nil {
		t.Fatalf("Apply: %v\n%v", err, summary(edits))
	}
	if len(got) != len(new) {
		t.Fatalf("Apply gives %d blocks, want %d\n%v", len(got), len(new), summary(edits))
	}
	for i := range new {
		if !got[i].same(new[i]) {
			t.Fatalf("Apply gives %q at %d, want %q\n%v", got[i].Source, i, new[i].Source, summary(edits))
		}
	}
	touched := map[string]bool{}
	for _, e := range edits {
		touched[string(e.Op)+e.ID] = true
		if e.Op == OpAppend && touched["delete"+e.ID] {
			t.Errorf("%s is deleted and comes back as another block", e.ID)
		}
	}
	if again := Match(got, got); len(again) > 0 {
		t.Errorf("Match of a list with itself = %v, want nothing", summary(again))
	}
}

// One deleted, inserted or moved block must be one edit, in any list, including lists with repetitions.
func TestSingleEdits(t *testing.T) {
	const seed = 5
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2_000 {
		var sources []string
		for range 1 + r.IntN(12) {
			sources = append(sources, fmt.Sprintf("v%d", r.IntN(8)))
		}
		old := session(sources...)
		at, to := r.IntN(len(old)), r.IntN(len(old))
		for _, c := range []struct {
			op  Op
			new []string
		}{
			{OpDelete, remove(sources, at)},
			{OpAppend, insert(sources, to, "v"+fmt.Sprint(r.IntN(9)))},
			{OpMove, insert(remove(sources, at), to, sources[at])},
		} {
			new := file(c.new...)
			edits := Match(old, new)
			check(t, old, new, edits)
			if len(edits) > 1 || len(edits) == 1 && edits[0].Op != c.op {
				t.Errorf("seed %d: %s in %v to %v = %v, want one %s at most", seed, c.op, sources, c.new,
					summary(edits), c.op)
			}
		}
	}
}

func remove(list []string, at int) []string {
	return append(append([]string{}, list[:at]...), list[at+1:]...)
}

func insert(list []string, at int, s string) []string {
	return append(append(append([]string{}, list[:at]...), s), list[at:]...)
}

// Random lists of similar texts, by seed.
func FuzzMatch(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		old := session(randomSources(r)...)
		var new []Block
		if r.IntN(4) == 0 {
			new = file(randomSources(r)...)
		} else {
			new = mutate(r, old)
		}
		check(t, old, new, Match(old, new))
	})
}

func randomSources(r *rand.Rand) []string {
	var out []string
	for range r.IntN(30) {
		var lines []string
		for range 1 + r.IntN(3) {
			lines = append(lines, fmt.Sprintf("%c = %c(%d)", 'a'+r.IntN(4), 'f'+r.IntN(3), r.IntN(3)))
		}
		s := strings.Join(lines, "\n")
		if r.IntN(3) == 0 {
			s = fmt.Sprintf("%c: ", 'A'+r.IntN(4)) + s
		}
		out = append(out, s)
	}
	return out
}

// mutate imitates a person at work: some cells are edited, moved, copied or deleted, and some keep their ids.
func mutate(r *rand.Rand, old []Block) []Block {
	var out []Block
	for _, b := range old {
		b.Line = r.IntN(100)
		if r.IntN(3) > 0 {
			b.ID = ""
		}
		switch r.IntN(8) {
		case 0:
			continue
		case 1:
			b.Source += fmt.Sprintf("\nprint(%d)", r.IntN(5))
		case 2:
			b.Source = fmt.Sprintf("q = %d", r.IntN(5))
		case 3:
			out = append(out, b)
		}
		at := len(out)
		if r.IntN(6) == 0 {
			at = r.IntN(at + 1)
		}
		out = append(out[:at:at], append([]Block{b}, out[at:]...)...)
	}
	return out
}

func TestApplyErrors(t *testing.T) {
	blocks := session("a", "b")
	for _, c := range []struct {
		edit Edit
		want error
	}{
		{Edit{Op: OpDelete, ID: "no"}, ErrNoBlock},
		{Edit{Op: OpPatch, ID: "no"}, ErrNoBlock},
		{Edit{Op: OpMove, ID: "no"}, ErrNoBlock},
		{Edit{Op: OpMove, ID: "b1", After: "no"}, ErrNoBlock},
		{Edit{Op: OpAppend, ID: "c", After: "no"}, ErrNoBlock},
		{Edit{Op: OpAppend, ID: "b1"}, ErrDuplicateID},
		{Edit{Op: OpAppend}, ErrDuplicateID},
		{Edit{Op: OpMove, ID: "b1", After: "b1"}, ErrNoBlock},
	} {
		if got, err := Apply(blocks, []Edit{c.edit}); !errors.Is(err, c.want) || got != nil {
			t.Errorf("Apply(%+v) = %v, %v, want %v", c.edit, got, err, c.want)
		}
	}
	if _, err := Apply(append(blocks, blocks[0]), nil); !errors.Is(err, ErrDuplicateID) {
		t.Errorf("Apply to repeated ids = %v, want %v", err, ErrDuplicateID)
	}
	if _, err := Apply(blocks, []Edit{{Op: "turn", ID: "b1"}}); err == nil {
		t.Error("Apply of an unknown operation = nil")
	}
}
