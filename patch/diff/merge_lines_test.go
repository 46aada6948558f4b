package diff

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMerge(t *testing.T) {
	for _, c := range []struct {
		name, base, ours, theirs, want string
		clashes                        []Clash
	}{
		{name: "apart", base: "a\nb\nc", ours: "A\nb\nc", theirs: "a\nb\nC", want: "A\nb\nC"},
		{name: "touching", base: "a\nb", ours: "A\nb", theirs: "a\nB", want: "A\nB"},
		{name: "behind what goes", base: "a\nx", ours: "a\nx\ny", theirs: "a", want: "a\ny"},
		{name: "the same", base: "a\nb", ours: "a\nc", theirs: "a\nc", want: "a\nc"},
		{name: "the same and more", base: "a\nb\nz", ours: "a\nc\nz", theirs: "a\nc\nz\ny", want: "a\nc\nz\ny"},
		{name: "the same and a line next to it", base: "a\nb", ours: "A\nB", theirs: "A\nb", want: "A\nB"},
		{name: "the same and another", base: "a\nb\nc", ours: "A\nB\nc", theirs: "A\nb\nC", want: "A\nB\nC"},
		{name: "the same and two", base: "a\nb", ours: "A\nB", theirs: "A\nbb",
			clashes: []Clash{{1, "a\nb", "A\nB", "A\nbb"}}},
		{name: "one line", base: "a\nb\nc", ours: "a\nB\nc", theirs: "a\nbb\nc", clashes: []Clash{{2, "b", "B", "bb"}}},
		{name: "two insertions", base: "a\nb", ours: "a\nx\nb", theirs: "a\ny\nb", clashes: []Clash{{2, "", "x", "y"}}},
		{name: "inside what goes", base: "a\nb\nc\nd", ours: "a\nb\nx\nc\nd", theirs: "a\nd",
			clashes: []Clash{{2, "b\nc", "b\nx\nc", ""}}},
		{name: "further down", base: "a\nb\nc", ours: "0\n1\na\nb\nC", theirs: "a\nb\ncc",
			clashes: []Clash{{5, "c", "C", "cc"}}},
		{name: "from nothing", base: "", ours: "a", theirs: "b", clashes: []Clash{{1, "", "a", "b"}}},
		{name: "to nothing", base: "a", ours: "a", theirs: "", want: ""},
		{name: "line ends", base: "a\r\nb\r\nc", ours: "a\r\nb\r\nC", theirs: "A\r\nb\r\nc", want: "A\r\nb\r\nC"},
	} {
		got, clashes := Merge(c.base, c.ours, c.theirs)
		if got != c.want || !cmp.Equal(clashes, c.clashes) {
			t.Errorf("%s: Merge(%q, %q, %q) = %q, %+v, want %q, %+v", c.name, c.base, c.ours, c.theirs, got, clashes,
				c.want,
				c.clashes)
		}
	}
}

// TestMergeLaws: a change of one side alone is taken; the sides may be exchanged; changes of different lines all
// arrive.
func TestMergeLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func(n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = string(rune('a' + r.IntN(4)))
		}
		return out
	}
	edit := func(lines []string) []string {
		out := slices.Clone(lines)
		for range 1 + r.IntN(3) {
			at := r.IntN(len(out) + 1)
			out = slices.Replace(out, at, min(len(out), at+r.IntN(3)), text(r.IntN(3))...)
		}
		return out
	}
	merged := 0
	for range 3000 {
		lines := text(r.IntN(12))
		base, ours, theirs := strings.Join(lines, "\n"), strings.Join(edit(lines), "\n"),
			strings.Join(edit(lines), "\n")
		one, clashes := Merge(base, ours, theirs)
		other, sehsalc := Merge(base, theirs, ours)
		if one != other || len(clashes) != len(sehsalc) {
			t.Fatalf("Merge(%q, %q, %q) = %q, %v, the other way round %q, %v", base, ours, theirs, one, clashes, other,
				sehsalc)
		}
		if got, _ := Merge(base, base, theirs); got != theirs {
			t.Fatalf("Merge(%q, itself, %q) = %q", base, theirs, got)
		}
		if len(clashes) > 0 {
			continue
		}
		merged++
	}
	if merged < 300 {
		t.Errorf("%d of 3000 merges had no clash", merged)
	}
	for range 300 { // lines that are all different, each changed by one side at most
		var base, ours, theirs, want []string
		for i := range 20 {
			line := string(rune('A' + i))
			own, her := line, line
			switch r.IntN(3) {
			case 0:
				own += " ours"
			case 1:
				her += " theirs"
			}
			both := line + strings.TrimPrefix(own, line) + strings.TrimPrefix(her, line)
			base, ours, theirs, want = append(base, line), append(ours, own), append(theirs, her), append(want, both)
		}
		got, clashes := Merge(strings.Join(base, "\n"), strings.Join(ours, "\n"), strings.Join(theirs, "\n"))
		if got != strings.Join(want, "\n") {
			t.Fatalf("Merge of %q and %q = %q, %v, want %q", ours, theirs, got, clashes, want)
		}
	}
}

func TestCarry(t *testing.T) {
	for _, c := range []struct {
		old, new string
		want     []int
	}{
		{"a\nb\nc", "a\nx\nc", []int{0, -1, 2}},
		{"a\nb", "a\nb\nc", []int{0, 1, -1}},
		{"", "a", []int{-1}},
		{"a", "", []int{}},
	} {
		if got := Carry(c.old, c.new); !slices.Equal(got, c.want) {
			t.Errorf("Carry(%q, %q) = %v, want %v", c.old, c.new, got, c.want)
		}
	}
}

func FuzzMerge(f *testing.F) {
	f.Add("a\nb\nc", "a\nx\nc", "a\nb\ny")
	f.Add("", "a", "\n")
	f.Add("a\r\n\n", "a", "b\x00")
	f.Fuzz(func(t *testing.T, base, ours, theirs string) {
		one, clashes := Merge(base, ours, theirs)
		other, sehsalc := Merge(base, theirs, ours)
		if one != other || len(clashes) != len(sehsalc) {
			t.Errorf("Merge(%q, %q, %q) = %q, %v, the other way round %q, %v", base, ours, theirs, one, clashes, other,
				sehsalc)
		}
		if got, _ := Merge(base, ours, base); got != ours {
			t.Errorf("Merge(%q, %q, the first) = %q", base, ours, got)
		}
		if got, _ := Merge(base, ours, ours); got != ours {
			t.Errorf("Merge(%q, %q, the same) = %q", base, ours, got)
		}
		for j, i := range Carry(base, ours) {
			if i >= 0 && textLines(base)[i] != textLines(ours)[j] {
				t.Errorf("Carry(%q, %q): line %d is not line %d", base, ours, j, i)
			}
		}
	})
}
