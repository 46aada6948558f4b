package diff

import (
	"fmt"
	"strings"
)

// Hunk is a run of changes that are close enough to be shown together.
type Hunk []Change

// Hunks groups changes: two belong together if at most twice context lines, which do not change, lie between them.
func Hunks(changes []Change, context int) []Hunk {
	var out []Hunk
	for k, c := range changes {
		if k > 0 && c.OldStart-changes[k-1].OldEnd <= 2*context {
			out[len(out)-1] = append(out[len(out)-1], c)
			continue
		}
		out = append(out, Hunk{c})
	}
	return out
}

func (h Hunk) write(out *strings.Builder, a, b []string, context int) {
	first, last := h[0], h[len(h)-1]
	from, to := max(0, first.OldStart-context), min(len(a), last.OldEnd+context)
	newFrom, newTo := first.NewStart-(first.OldStart-from), last.NewEnd+(to-last.OldEnd)
	fmt.Fprintf(out, "@@ -%s +%s @@\n", Span(from, to), Span(newFrom, newTo))
	at := from
	for _, c := range h {
		WriteLines(out, " ", a[at:c.OldStart])
		WriteLines(out, "-", a[c.OldStart:c.OldEnd])
		WriteLines(out, "+", b[c.NewStart:c.NewEnd])
		at = c.OldEnd
	}
	WriteLines(out, " ", a[at:to])
}

// Span writes a range of lines, which count from 0, as its first line, counted from 1, and its length. It omits a
// length of 1. For an empty range, it writes the line before.
func Span(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

// WriteLines writes lines behind a sign. A line without a line end gets one, and the note of diff that says so.
func WriteLines(out *strings.Builder, sign string, lines []string) {
	for _, l := range lines {
		out.WriteString(sign + l)
		if !strings.HasSuffix(l, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
