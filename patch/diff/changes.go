package diff

import (
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// SplitLines cuts a text after every line end. Together, the lines are the text; an empty text has none.
func SplitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// Change is a range of lines, from OldStart to before OldEnd, and the range that replaces it in the other text. Lines
// count from 0. A range may be empty, but not both.
type Change struct {
	OldStart, OldEnd, NewStart, NewEnd int
}

// Changes returns the changes between two lists of lines, in order and without overlap.
func Changes(a, b []string) []Change {
	var out []Change
	at := Pair{}
	for _, p := range append(Same(a, b), Pair{len(a), len(b)}) {
		if p != at {
			out = append(out, Change{at.I, p.I, at.J, p.J})
		}
		at = Pair{p.I + 1, p.J + 1}
	}
	return out
}

// maxLinesPlain is the largest number of lines for the plain O(ND) comparison, which then takes at most some 10^7
// steps. A longer text is first cut at the lines that occur once on both sides (patience diff).
const maxLinesPlain = 8_000

// Same returns the lines that two texts share, by a shortest edit script up to 8,000 lines of both together, in order.
func Same(a, b []string) []Pair {
	in := Interner{}
	x, y := make([]int, len(a)), make([]int, len(b))
	for i, s := range a {
		x[i] = in.Number(s)
	}
	for j, s := range b {
		y[j] = in.Number(s)
	}
	if len(a)+len(b) <= maxLinesPlain {
		return compare(x, y)
	}
	var out []Pair
	at := Pair{}
	for _, p := range append(anchors(x, y), Pair{len(x), len(y)}) {
		for _, q := range between(x[at.I:p.I], y[at.J:p.J]) {
			out = append(out, Pair{at.I + q.I, at.J + q.J})
		}
		if p.I < len(x) {
			out = append(out, p)
		}
		at = Pair{p.I + 1, p.J + 1}
	}
	return out
}

func between(x, y []int) []Pair {
	if len(x)+len(y) <= maxLinesPlain {
		return compare(x, y)
	}
	return Common(x, y)
}

// anchors returns the lines that occur once on both sides, as many as are in the same order.
func anchors(x, y []int) []Pair {
	inX, inY := places(x), places(y)
	once := func(list []int) (at, items []int) {
		for i, v := range list {
			if len(inX[v]) == 1 && len(inY[v]) == 1 {
				at, items = append(at, i), append(items, v)
			}
		}
		return at, items
	}
	atX, onceX := once(x)
	atY, onceY := once(y)
	var out []Pair
	for _, p := range Common(onceX, onceY) {
		out = append(out, Pair{atX[p.I], atY[p.J]})
	}
	return out
}

// compare returns the equal lines of a shortest edit script (Myers 1986).
func compare(x, y []int) []Pair {
	if len(x) == 0 || len(y) == 0 {
		return nil
	}
	d := diffmatchpatch.New()
	d.DiffTimeout = 0 // no clock: equal input, equal output
	local := map[int]rune{}
	var out []Pair
	i, j := 0, 0
	for _, e := range d.DiffMainRunes(runes(x, local), runes(y, local), false) {
		n := len([]rune(e.Text))
		switch e.Type {
		case diffmatchpatch.DiffDelete:
			i += n
		case diffmatchpatch.DiffInsert:
			j += n
		case diffmatchpatch.DiffEqual:
			for range n {
				out = append(out, Pair{i, j})
				i, j = i+1, j+1
			}
		}
	}
	return out
}

// runes maps every number to a rune, because go-diff compares runes. There are at most maxLinesPlain of them. That is
// far below the surrogates, which go-diff would lose because it converts to strings.
func runes(list []int, local map[int]rune) []rune {
	out := make([]rune, len(list))
	for i, v := range list {
		r, ok := local[v]
		if !ok {
			r = rune(len(local) + 1)
			local[v] = r
		}
		out[i] = r
	}
	return out
}
