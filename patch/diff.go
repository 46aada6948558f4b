package patch

import (
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// splitLines cuts a text after every line end.
func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// change is a range of lines, from oldStart to before oldEnd, and the range that replaces it in the other text.
type change struct {
	oldStart, oldEnd, newStart, newEnd int
}

// changesOf returns the changes between two lists of lines, in order and without overlap.
func changesOf(a, b []string) []change {
	var out []change
	at := pair{}
	for _, p := range append(sameLines(a, b), pair{len(a), len(b)}) {
		if p != at {
			out = append(out, change{at.i, p.i, at.j, p.j})
		}
		at = pair{p.i + 1, p.j + 1}
	}
	return out
}

// maxLinesPlain is the largest number of lines for the plain O(ND) comparison, which then takes at most some 10^7
// steps. A longer text is first cut at the lines that occur once on both sides (patience diff).
const maxLinesPlain = 8_000

func sameLines(a, b []string) []pair {
	in := interner{}
	x, y := make([]int, len(a)), make([]int, len(b))
	for i, s := range a {
		x[i] = in.number(s)
	}
	for j, s := range b {
		y[j] = in.number(s)
	}
	if len(a)+len(b) <= maxLinesPlain {
		return compare(x, y)
	}
	var out []pair
	at := pair{}
	for _, p := range append(anchors(x, y), pair{len(x), len(y)}) {
		for _, q := range between(x[at.i:p.i], y[at.j:p.j]) {
			out = append(out, pair{at.i + q.i, at.j + q.j})
		}
		if p.i < len(x) {
			out = append(out, p)
		}
		at = pair{p.i + 1, p.j + 1}
	}
	return out
}

func between(x, y []int) []pair {
	if len(x)+len(y) <= maxLinesPlain {
		return compare(x, y)
	}
	return common(x, y)
}

// anchors returns the lines that occur once on both sides, as many as are in the same order.
func anchors(x, y []int) []pair {
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
	var out []pair
	for _, p := range common(onceX, onceY) {
		out = append(out, pair{atX[p.i], atY[p.j]})
	}
	return out
}

// compare returns the equal lines of a shortest edit script (Myers 1986).
func compare(x, y []int) []pair {
	if len(x) == 0 || len(y) == 0 {
		return nil
	}
	d := diffmatchpatch.New()
	d.DiffTimeout = 0 // no clock: equal input, equal output
	local := map[int]rune{}
	var out []pair
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
				out = append(out, pair{i, j})
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
