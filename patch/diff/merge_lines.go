package diff

import (
	"cmp"
	"slices"
	"strings"
)

// Clash is a place that two texts changed in different ways.
type Clash struct {
	Line   int    `json:"line"` // 1-based, in ours
	Base   string `json:"base"`
	Ours   string `json:"ours"`
	Theirs string `json:"theirs"`
}

// Merge applies to ours the changes from base to theirs: a three-way merge by lines, like diff3. Changes that touch do
// not clash, because their order is known. Changes that overlap clash, and so do two insertions at one place. They do
// not clash if they are equal, or if for each replaced line only one side changed it or both changed it in the same
// way. With a clash, the text is "".
func Merge(base, ours, theirs string) (string, []Clash) {
	switch {
	case theirs == base || ours == theirs:
		return ours, nil
	case ours == base:
		return theirs, nil
	}
	m := merging{base: textLines(base), sides: [2][]string{textLines(ours), textLines(theirs)}}
	for side := range m.sides {
		for _, c := range Changes(m.base, m.sides[side]) {
			m.changes = append(m.changes, sideChange{c, side})
		}
	}
	slices.SortStableFunc(m.changes, func(a, b sideChange) int {
		return cmp.Or(cmp.Compare(a.OldStart, b.OldStart), cmp.Compare(a.OldEnd, b.OldEnd))
	})
	for len(m.changes) > 0 {
		m.group()
	}
	if len(m.clashes) > 0 {
		return "", m.clashes
	}
	return strings.Join(append(m.out, m.base[m.at:]...), "\n"), nil
}

// Carry returns, for every line of a new text, the line of the old text that it is, or -1 if it is new. It uses a
// shortest edit script.
func Carry(old, new string) []int {
	b := textLines(new)
	out := slices.Repeat([]int{-1}, len(b))
	for _, p := range Same(textLines(old), b) {
		out[p.J] = p.I
	}
	return out
}

// textLines returns the lines of a text without their line ends. A block has no line end at its end, and the last line
// must compare equal if a line follows it in the other text.
func textLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

type sideChange struct {
	Change
	side int // 0: ours, 1: theirs
}

type merging struct {
	base    []string
	sides   [2][]string
	changes []sideChange // the remaining ones, by their place in base
	at      int          // lines of base that are merged
	shift   int          // by how many lines ours is longer so far
	out     []string
	clashes []Clash
}

// group merges the first change and all changes that overlap with it.
func (m *merging) group() {
	from, to, n := m.changes[0].OldStart, m.changes[0].OldEnd, 1
	for ; n < len(m.changes); n++ {
		c := m.changes[n]
		if c.OldStart >= to && (c.OldEnd > to || from < to) { // two insertions at one place overlap
			break
		}
		to = max(to, c.OldEnd)
	}
	var text [2][]string
	var changed [2]bool
	for side := range m.sides {
		text[side], changed[side] = m.side(side, m.changes[:n], from, to)
	}
	m.out = append(m.out, m.base[m.at:from]...)
	switch {
	case !changed[1] || slices.Equal(text[0], text[1]):
		m.out = append(m.out, text[0]...)
	case !changed[0]:
		m.out = append(m.out, text[1]...)
	case len(text[0]) == to-from && len(text[1]) == to-from && m.lineByLine(from, text):
	default:
		m.clashes = append(m.clashes, Clash{Line: from + m.shift + 1, Base: strings.Join(m.base[from:to], "\n"),
			Ours: strings.Join(text[0], "\n"), Theirs: strings.Join(text[1], "\n")})
	}
	m.shift += len(text[0]) - (to - from)
	m.at, m.changes = to, m.changes[n:]
}

// lineByLine merges a range with equal numbers of lines on both sides, line by line. It fails if both sides changed a
// line differently.
func (m *merging) lineByLine(from int, text [2][]string) bool {
	var out []string
	for i, base := range m.base[from : from+len(text[0])] {
		switch ours, theirs := text[0][i], text[1][i]; {
		case ours == theirs, theirs == base:
			out = append(out, ours)
		case ours == base:
			out = append(out, theirs)
		default:
			return false
		}
	}
	m.out = append(m.out, out...)
	return true
}

// side returns the text of one side for a range of base, and whether the side changed it.
func (m *merging) side(side int, changes []sideChange, from, to int) (text []string, changed bool) {
	at := from
	for _, c := range changes {
		if c.side != side {
			continue
		}
		text = append(append(text, m.base[at:c.OldStart]...), m.sides[side][c.NewStart:c.NewEnd]...)
		at, changed = c.OldEnd, true
	}
	return append(text, m.base[at:to]...), changed
}
