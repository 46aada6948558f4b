package patch

import (
	"fmt"
	"strings"
)

// hunk is a run of changes that are close enough to be shown together.
type hunk []change

func hunks(changes []change, context int) []hunk {
	var out []hunk
	for k, c := range changes {
		if k > 0 && c.oldStart-changes[k-1].oldEnd <= 2*context {
			out[len(out)-1] = append(out[len(out)-1], c)
			continue
		}
		out = append(out, hunk{c})
	}
	return out
}

func (h hunk) write(out *strings.Builder, a, b []string, context int) {
	first, last := h[0], h[len(h)-1]
	from, to := max(0, first.oldStart-context), min(len(a), last.oldEnd+context)
	newFrom, newTo := first.newStart-(first.oldStart-from), last.newEnd+(to-last.oldEnd)
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(from, to), span(newFrom, newTo))
	at := from
	for _, c := range h {
		writeLines(out, " ", a[at:c.oldStart])
		writeLines(out, "-", a[c.oldStart:c.oldEnd])
		writeLines(out, "+", b[c.newStart:c.newEnd])
		at = c.oldEnd
	}
	writeLines(out, " ", a[at:to])
}

// span writes a range of lines as its first line and its length. It omits a length of 1. For an empty range, it writes
// the line before.
func span(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func writeLines(out *strings.Builder, sign string, lines []string) {
	for _, l := range lines {
		out.WriteString(sign + l)
		if !strings.HasSuffix(l, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
