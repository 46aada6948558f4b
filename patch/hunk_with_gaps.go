package patch

import (
	"strings"

	"github.com/xstate-engine/xstate/patch/diff"
)

// maxGapLines limits the lines that a hunk may leave out between two of its lines.
const maxGapLines = 8

// linesWithGaps finds a hunk that leaves out lines between those it keeps: a doc string, a comment, a blank line. The
// removed lines must be adjacent and occur once in the text. All other lines must be around them, in order.
func (l *locator) linesWithGaps(h *Hunk, from int) ([]replacement, *ApplyError) {
	old, fresh := diff.SplitLines(h.Old), diff.SplitLines(h.New)
	changes := diff.Changes(bares(old), bares(fresh))
	at := l.aligned(old, changes, from)
	if at == nil {
		return nil, nil
	}
	there := make([]string, len(old))
	for k, i := range at {
		there[k] = l.full(i)
	}
	m, ok := indentMapOf(old, there)
	if !ok {
		return nil, nil
	}
	end := l.lineEnd(at[0])
	var out strings.Builder
	next := at[0] // the next line of the text to write
	for _, c := range changes {
		stop := at[len(at)-1] + 1
		if c.OldStart < len(old) {
			stop = at[c.OldStart]
		}
		out.WriteString(l.span(next, max(next, stop)))
		if s := out.String(); s != "" && s[len(s)-1] != '\n' && c.NewEnd > c.NewStart {
			out.WriteString(end)
		}
		for _, line := range fresh[c.NewStart:c.NewEnd] {
			out.WriteString(m.indent(bare(line)) + end)
		}
		next = stop + c.OldEnd - c.OldStart
	}
	last := at[len(at)-1] + 1
	out.WriteString(l.span(next, last))
	text := out.String()
	if last == l.len() {
		text = l.lastEnd(h, text, end)
	}
	return []replacement{{start: l.from[at[0]], end: l.from[last], text: text, how: Fuzzy, line: at[0]}}, nil
}

// aligned returns the line of each old line of a hunk, or nil.
func (l *locator) aligned(old []string, changes []diff.Change, from int) []int {
	first := -1
	for _, c := range changes {
		if c.OldEnd > c.OldStart {
			first = c.OldStart
			want := l.numbers(old[c.OldStart:c.OldEnd], Punctuation)
			if want == nil {
				return nil
			}
			found := l.find(want, from, 2, Punctuation)
			if len(found) != 1 {
				return nil
			}
			at := l.around(old, first, found[0])
			if at == nil || !together(at, changes) {
				return nil
			}
			return at
		}
	}
	return nil
}

// around returns the lines of all old lines if old line k is at the given line. Each is the nearest one beyond its
// neighbour.
func (l *locator) around(old []string, k, line int) []int {
	at := make([]int, len(old))
	at[k] = line
	for j := k - 1; j >= 0; j-- {
		if at[j] = l.closest(old[j], at[j+1]-1, -1); at[j] < 0 {
			return nil
		}
	}
	for j := k + 1; j < len(old); j++ {
		if at[j] = l.closest(old[j], at[j-1]+1, 1); at[j] < 0 {
			return nil
		}
	}
	return at
}

// closest returns the nearest matching line in a direction, or -1 if there is none within maxGapLines.
func (l *locator) closest(line string, from, step int) int {
	want := l.number(line, Punctuation)
	for i, n := from, 0; want >= 0 && i >= 0 && i < l.len() && n <= maxGapLines; i, n = i+step, n+1 {
		if l.keys[Punctuation][i] == want {
			return i
		}
	}
	return -1
}

// together reports whether the hunk leaves out no line between the lines that it removes, nor at an insertion.
func together(at []int, changes []diff.Change) bool {
	for _, c := range changes {
		for k := c.OldStart; k < c.OldEnd-1; k++ {
			if at[k+1] != at[k]+1 {
				return false
			}
		}
		if k := c.OldStart; c.OldEnd == k && k > 0 && k < len(at) && at[k] != at[k-1]+1 {
			return false
		}
	}
	return true
}
