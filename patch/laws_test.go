package patch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate/patch/diff"
	"github.com/xstate-engine/xstate/patch/syntax"
)

// FuzzRead checks the laws of patches for any text. Nothing panics. A refused patch changes nothing. The inverse undoes
// an applied patch. A printed patch reads as the same patch.
func FuzzRead(f *testing.F) {
	for _, x := range fixtures(f) {
		for name, text := range x.before {
			f.Add(x.patch, name, text)
		}
	}
	f.Fuzz(func(t *testing.T, patch, name, text string) {
		for _, format := range append(Formats(), "") {
			p, err := Read(patch, format)
			if err != nil {
				continue
			}
			checkPrintedIfSaid(t, p)
			before := map[string]string{name: text}
			if hasBlocks(p) {
				continue
			}
			r, err := p.Apply(before)
			if d := cmp.Diff(map[string]string{name: text}, before); d != "" {
				t.Fatalf("the texts given were changed:\n%s", d)
			}
			if err == nil {
				checkUndone(t, r, before)
				checkTaken(t, p, before[name], r.Texts[name])
			}
		}
	})
}

// checkTaken checks that every removed line is one that the hunk removes, except for white space and punctuation,
// however loosely the hunk matched.
func checkTaken(t *testing.T, p *Patch, before, after string) {
	t.Helper()
	said := map[string]bool{}
	for _, s := range p.Sections {
		if s.Act != ActUpdate || s.To != "" {
			return
		}
		for _, h := range s.Hunks {
			if h.Manner != ByLines {
				return
			}
			for _, line := range diff.SplitLines(h.Old) {
				said[squeezed(line)] = true
			}
		}
	}
	old := diff.SplitLines(before)
	for _, c := range diff.Changes(bares(old), bares(diff.SplitLines(after))) {
		for _, line := range old[c.OldStart:c.OldEnd] {
			if !said[squeezed(line)] {
				t.Fatalf("the line %q went, which no hunk says: %q became %q", line, before, after)
			}
		}
	}
}

func hasBlocks(p *Patch) bool {
	for _, s := range p.Sections {
		if s.Act == ActEmit || s.Act == ActInsert {
			return true
		}
	}
	return false
}

// said returns a patch in which blocks that name no language are Python, as they are printed.
func said(p *Patch) *Patch {
	q := &Patch{Format: p.Format}
	for _, s := range p.Sections {
		if s.Act == ActEmit && s.Dialect == "" {
			s.Dialect = syntax.Python
		}
		q.Sections = append(q.Sections, s)
	}
	return q
}

func checkPrintedIfSaid(t *testing.T, p *Patch) {
	t.Helper()
	text, err := p.Print(p.Format)
	if err != nil {
		return
	}
	q, err := Read(text, p.Format)
	if err != nil {
		t.Fatalf("%s: what is printed cannot be read: %v\n%s", p.Format, err, text)
	}
	if d := cmp.Diff(said(p), said(q)); d != "" {
		t.Fatalf("%s: printed and read (-first +second):\n%s\n%s", p.Format, d, text)
	}
}

// FuzzCompare prints the patch between any two texts in every format that can express it. Read and applied, it must
// turn the first text into the second.
func FuzzCompare(f *testing.F) {
	for _, x := range fixtures(f) {
		for name, text := range x.before {
			f.Add(text, x.after[name])
		}
	}
	f.Fuzz(func(t *testing.T, old, new string) {
		if !utf8.ValidString(old) || !utf8.ValidString(new) {
			return // no program is
		}
		if strings.Contains(unix(old)+unix(new), "\r") {
			return // diffs cannot say it
		}
		for _, format := range Formats() {
			if format == FormatBlock {
				continue
			}
			checkCompared(t, format, old, new)
		}
	})
}

func checkCompared(t *testing.T, f Format, old, new string) {
	t.Helper()
	was, is := map[string]string{"p.py": old}, map[string]string{"p.py": new}
	text, err := Compare(f, []string{"p.py"}, was, is).Print(f)
	if err != nil || text == "" {
		return
	}
	q, err := Read(text, f)
	if codeOf(err) == string(CodePatch) && old == new {
		return
	}
	if err != nil {
		t.Fatalf("%s: Read: %v\n%s", f, err, text)
	}
	r, err := q.Apply(was)
	if err != nil {
		t.Fatalf("%s: Apply: %v\n%q", f, err, text)
	}
	want, got := is["p.py"], r.Texts["p.py"]
	if f != FormatEditor && f != FormatStrings && f != FormatCell {
		want, got = unix(want), unix(got) // by lines, line ends are those of the text
	}
	// they have no words for a missing line end
	if f == FormatSearch || f == FormatV4A || f == FormatEditor && old == "" {
		want, got = strings.TrimRight(want, "\n"), strings.TrimRight(got, "\n")
	}
	if got != want {
		t.Fatalf("%s: made %q of %q, want %q; by\n%s", f, got, old, want, text)
	}
}

// BenchmarkPatch reads and applies patches that are expensive to read or to place. Ten times the hunks should take ten
// times as long.
func BenchmarkPatch(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(heavy)) {
		for _, n := range []int{1000, 10_000} {
			patch, text := heavy[name](n)
			b.Run(fmt.Sprintf("shape=%s/n=%d", strings.ReplaceAll(name, " ", "-"), n), func(b *testing.B) {
				b.SetBytes(int64(len(patch) + len(text)))
				for b.Loop() {
					p, err := Read(patch, "")
					if err == nil && !hasBlocks(p) {
						_, _ = p.Apply(map[string]string{"p.py": text})
					}
				}
			})
		}
	}
}

// heavy returns patches of n hunks that are expensive to read or to place.
var heavy = map[string]func(n int) (patch, text string){
	"unified": func(n int) (string, string) {
		old, new := numbered(n, "old"), numbered(n, "new")
		text, _ := Compare(FormatUnified, []string{"p.py"}, map[string]string{"p.py": old},
			map[string]string{"p.py": new}).Print(FormatUnified)
		return text, old
	},
	"search-replace": func(n int) (string, string) {
		return searchBlocks(n, "old", "new"), numbered(n, "old")
	},
	"each on the one before": func(n int) (string, string) {
		var out strings.Builder
		out.WriteString("p.py\n")
		for i := range n {
			fmt.Fprintf(&out, "<<<<<<< SEARCH\nv = %d\n=======\nv = %d\n>>>>>>> REPLACE\n", i, i+1)
		}
		return out.String(), "v = 0\n" + numbered(n, "old")
	},
	"all lines alike": func(n int) (string, string) {
		return "--- a/p.py\n+++ b/p.py\n" + strings.Repeat("@@ -1,3 +1,3 @@\n x\n-x\n+y\n x\n", n),
			strings.Repeat("x\n", 10*n)
	},
	"half of all lines alike": func(n int) (string, string) {
		return "--- a/p.py\n+++ b/p.py\n@@ @@\n" + strings.Repeat(" x\n", 5*n) + "-y\n", strings.Repeat("x\n", 10*n)
	},
	"nothing fits": func(n int) (string, string) {
		return strings.Replace(searchBlocks(n, "old", "new"), "old = 1\n", "odd = 1\n", 1), numbered(n, "old")
	},
	"inserts": func(n int) (string, string) {
		calls := make([]string, n)
		for i := range calls {
			calls[i] = fmt.Sprintf(`{"command": "insert", "path": "p.py", "insert_line": %d, "insert_text": "x"}`, i)
		}
		return "[" + strings.Join(calls, ",") + "]", numbered(n, "old")
	},
	"open brackets": func(n int) (string, string) { return strings.Repeat("[\n", 100*n), "" },
	"open texts":    func(n int) (string, string) { return strings.Repeat("{\"command\": \"\n", 10*n), "" },
	"10 MB": func(n int) (string, string) {
		old := strings.Repeat(strings.Repeat("x", 99)+"\n", 10*n)
		return "--- a/p.py\n+++ b/p.py\n@@ -1 +1 @@\n" + strings.Repeat("+"+strings.Repeat("y", 98)+"\n", 10*n) +
				" x\n",
			"x\n" + old
	},
}

// numbered returns about a hundred bytes for each of n, with one line that a patch changes.
func numbered(n int, word string) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "# the value of number %d, which is not that of the others\nif %d:\n    x = %d\n"+
			"%s = %d\n\n\n\n\n",
			i, i, i, word, i)
	}
	return out.String()
}

func searchBlocks(n int, old, new string) string {
	var out strings.Builder
	out.WriteString("p.py\n")
	for i := range n {
		fmt.Fprintf(&out, "<<<<<<< SEARCH\n    x = %d\n%s = %d\n=======\n    x = %d\n%s = %d\n"+
			">>>>>>> REPLACE\n", i, old, i,
			i, new, i)
	}
	return out.String()
}

// FuzzInTurn compares editor calls that are applied one after another, each to the result of the last, with one patch
// of all of them.
func FuzzInTurn(f *testing.F) {
	f.Add("a\nb\nc\na\n", "b|x\ny;y|z;1+n;c|;0+a")
	f.Add("a\nb\n", "a|b\na;a\nb|c;0+q;0+r;3+s")
	f.Add("x x\ny\n", "x x|x;x|y\ny;2+k")
	f.Fuzz(func(t *testing.T, text, script string) {
		if strings.Contains(text+script, "\r") {
			return // the line end of a new line is that of its neighbours, which may be new as well
		}
		var hunks []Hunk
		for one := range strings.SplitSeq(script, ";") {
			if old, new, ok := strings.Cut(one, "|"); ok && old != "" {
				hunks = append(hunks, Hunk{Manner: ByText, Old: old, New: new})
			} else if at, new, ok := strings.Cut(one, "+"); ok && len(at) == 1 && at[0] >= '0' && at[0] <= '9' {
				hunks = append(hunks, Hunk{New: endLast(new), Line: int(at[0]-'0') + 1})
			}
		}
		want := map[string]string{"p.py": text}
		for _, h := range hunks {
			r, err := (&Patch{Format: FormatEditor, Sections: []Section{{Act: ActUpdate, Name: "p.py",
				Hunks: []Hunk{h}}}}).Apply(want)
			if err != nil {
				return // one by one they do not fit
			}
			want = r.Texts
		}
		before := map[string]string{"p.py": text}
		r, err := (&Patch{Format: FormatEditor, Sections: []Section{{Act: ActUpdate, Name: "p.py",
			Hunks: hunks}}}).Apply(before)
		if err != nil {
			t.Fatalf("Apply = %v, one by one it is %q", err, want["p.py"])
		}
		if r.Texts["p.py"] != want["p.py"] {
			t.Fatalf("Apply makes %q of %q, one by one it is %q", r.Texts["p.py"], text, want["p.py"])
		}
		checkUndone(t, r, before)
	})
}

// BenchmarkRevise applies a patch of n hunks to a program of one block of about 100 n bytes, and to one of n blocks.
func BenchmarkRevise(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		text := numbered(n, "old")
		one, many := "# %% one\n"+strings.ReplaceAll(text, "\n\n\n\n\n", "\n"),
			strings.ReplaceAll(text, "\n\n\n\n\n", "\n# %%\n")
		for shape, text := range map[string]string{"one-block": one, "n-blocks": many} {
			p, err := Parse("p.py", []byte(text))
			if err != nil {
				b.Fatal(err)
			}
			on := Subject{Name: "p.py", File: p, Blocks: slices.Clone(p.Blocks)}
			for i, id := range Names(p.Blocks) {
				on.Blocks[i].ID = id
			}
			change, err := Read(searchBlocks(n, "old", "new"), "")
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("shape=%s/n=%d", shape, n), func(b *testing.B) {
				for b.Loop() {
					if _, err := Revise(change, on); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
