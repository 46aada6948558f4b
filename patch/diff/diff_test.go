package diff

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnified(t *testing.T) {
	for _, c := range []struct {
		old, new string
		context  int
		want     string
	}{
		{"a\n", "a\n", 3, ""},
		{"", "", 3, ""},
		{"", "a\nb\n", 3, "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"a\n", "", 3, "@@ -1 +0,0 @@\n-a\n"},
		{"a\n", "a", 3, "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"},
		{"a\nb", "c\nb", 3, "@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n"},
		{"1\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\n4x\n5\n6\n7\n", 1, "@@ -3,3 +3,3 @@\n 3\n-4\n+4x\n 5\n"},
		{"1\n2\n3\n4\n5\n", "0\n1\n2\n3\n4\n5\n6\n", 1, "@@ -1 +1,2 @@\n+0\n 1\n@@ -5 +6,2 @@\n 5\n+6\n"},
		{"1\n2\n3\n", "1\n3\n", 0, "@@ -2 +1,0 @@\n-2\n"},
		{"a\r\n", "a\n", -1, "@@ -1 +1 @@\n-a\r\n+a\n"},
	} {
		want := c.want
		if want != "" {
			want = "--- a\n+++ b c\t\n" + want
		}
		if d := cmp.Diff(want, Unified("a", "b c", c.old, c.new, c.context)); d != "" {
			t.Errorf("Unified(%q, %q, %d) (-want +got):\n%s", c.old, c.new, c.context, d)
		}
	}
}

func TestStat(t *testing.T) {
	if added, removed := Stat("a\nb\nc\n", "a\nx\ny\nc"); added != 3 || removed != 2 {
		t.Errorf("Stat = %d, %d, want 3, 2", added, removed)
	}
}

// randomText returns lines of which many are equal, sometimes without a final line end.
func randomText(r *rand.Rand, lines, kinds int) string {
	var b strings.Builder
	for range r.IntN(lines + 1) {
		fmt.Fprintf(&b, "line %d\n", r.IntN(kinds))
	}
	if r.IntN(4) == 0 {
		return strings.TrimSuffix(b.String(), "\n")
	}
	return b.String()
}

// edited changes, adds and removes some lines.
func edited(r *rand.Rand, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		switch r.IntN(12) {
		case 0:
			fmt.Fprintf(&b, "new %d\n", r.IntN(9))
		case 1:
		case 2:
			b.WriteString("line 1\n" + line)
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

// The system's patch must turn the old text into the new one with our diff, and diff may not find more changed lines
// than ours has.
func TestPatchAccepts(t *testing.T) {
	for _, tool := range []string{"patch", "diff"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is needed to judge diffs: %v", tool, err)
		}
	}
	r := rand.New(rand.NewPCG(7, 7))
	for i := range 60 {
		old := randomText(r, 60, 1+r.IntN(40))
		if i > 55 {
			old = randomText(r, 12_000, 300) + "once\n" // long enough to be cut at anchors
		}
		checkPatch(t, old, edited(r, old), r.IntN(4))
	}
	for _, c := range [][2]string{{"", "a"}, {"a", ""}, {"a", "a\n"}, {"a\nb", "a\nb\nc"}, {"\n", "\n\n"},
		{"a\r\nb\r\n", "a\r\nc\r\n"}} {
		checkPatch(t, c[0], c[1], 3)
	}
}

func checkPatch(t *testing.T, old, new string, context int) {
	t.Helper()
	diff := Unified("a", "b", old, new, context)
	if diff == "" {
		if old != new {
			t.Errorf("Unified(%q, %q) is empty", old, new)
		}
		return
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("patch", "-s", "-u", "--binary", "-o", out, in)
	cmd.Stdin = strings.NewReader(diff)
	if message, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("patch: %v %s\n%s", err, message, diff)
	}
	got, err := os.ReadFile(out)
	if err != nil && new != "" { // patch removes a file that becomes empty
		t.Fatal(err)
	}
	if string(got) != new {
		t.Fatalf("patch with\n%s\ngives %q, want %q", diff, got, new)
	}
	checkMinimal(t, in, new, diff)
}

// checkMinimal compares the number of changed lines with that of diff, which is no minimum for long texts either.
func checkMinimal(t *testing.T, in, new, ours string) {
	t.Helper()
	cmd := exec.Command("diff", "-d", "-u", in, "-")
	cmd.Stdin = strings.NewReader(new)
	theirs, _ := cmd.Output() // exits with 1 when there are differences
	if a, b := changed(ours), changed(string(theirs)); a > b+b/10 {
		t.Errorf("our diff changes %d lines, diff -d %d:\n%s", a, b, ours)
	}
}

func changed(diff string) int {
	n := 0
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-") {
			n++
		}
	}
	return n
}

// FuzzDiff applies a diff by hand. Context and removed lines must be the old text; context and added lines must be the
// new one.
func FuzzDiff(f *testing.F) {
	f.Add("a\nb\n", "a\nc")
	f.Add("", "\n")
	f.Add("a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n")
	f.Add("x", "x\n")
	f.Fuzz(func(t *testing.T, old, new string) {
		diff := Unified("o", "n", old, new, 1<<30)
		if diff == "" {
			if old != new {
				t.Fatalf("Unified(%q, %q) is empty", old, new)
			}
			return
		}
		if a, b := side(diff, '-'), side(diff, '+'); a != old || b != new {
			t.Fatalf("Unified(%q, %q) = %q shows %q and %q", old, new, diff, a, b)
		}
	})
}

// side returns the text that a diff with full context shows on one side.
func side(diff string, sign byte) string {
	var out []string
	own := false
	for i, line := range strings.SplitAfter(diff, "\n") {
		switch {
		case i < 3 || line == "":
		case line[0] == '\\':
			if own {
				out[len(out)-1] = strings.TrimSuffix(out[len(out)-1], "\n")
			}
		default:
			if own = line[0] == sign || line[0] == ' '; own {
				out = append(out, line[1:])
			}
		}
	}
	return strings.Join(out, "")
}
