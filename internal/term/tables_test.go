package term

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestCut: a line is cut by what is seen of it.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		line  string
		width int
		want  string
	}{
		{"short", 5, "short"},
		{"longer", 5, "long…"},
		{"\x1b[1mbold text\x1b[0m", 5, "\x1b[1mbold…\x1b[0m"},
		{"\x1b[1mbold\x1b[0m", 4, "\x1b[1mbold\x1b[0m"},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"},
	} {
		if got := Cut(c.line, c.width); got != c.want {
			t.Errorf("cut(%q, %d) = %q, want %q", c.line, c.width, got, c.want)
		}
	}
}

// TestNarrowed: the widest column gives way, the others stay.
func TestNarrowed(t *testing.T) {
	rows := [][]string{
		{"[1]", "load", strings.Repeat("a long reason ", 5), "12 ms"},
		{"[2]", "report", "none", "<1 ms"},
		{"  note"},
	}
	for _, width := range []int{30, 40, 60} {
		for line := range strings.Lines(Columns(narrowed(rows, width))) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("a line of %d columns, want at most %d: %q", n, width, line)
			}
		}
		text := Columns(narrowed(rows, width))
		if !strings.Contains(text, "…  12 ms\n") || !strings.Contains(text, "[2]  report  none") {
			t.Errorf("narrowed to %d:\n%s", width, text)
		}
	}
	if got, want := Columns(narrowed(rows, 100)), Columns(rows); got != want {
		t.Errorf("a table that fits was changed:\n%s", got)
	}
}
