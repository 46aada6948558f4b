package patch

import (
	"cmp"
	"math"
	"slices"

	"github.com/xstate-engine/xstate/patch/diff"
)

// blockMatching says which old block each new block is.
type blockMatching struct {
	old, new []Block
	oldOf    []int // by index of the new block; -1: none
	newOf    []int // by index of the old block; -1: none
	by       []By  // by index of the new block
	score    []float64
	in       diff.Interner
	seen     map[string]diff.Traits // by source
}

func newBlockMatching(old, new []Block) *blockMatching {
	m := &blockMatching{old: old, new: new, in: diff.Interner{}, seen: map[string]diff.Traits{}}
	m.oldOf, m.newOf = slices.Repeat([]int{-1}, len(new)), slices.Repeat([]int{-1}, len(old))
	m.by, m.score = make([]By, len(new)), make([]float64, len(new))
	return m
}

func (m *blockMatching) pair(i, j int, by By, score float64) {
	m.oldOf[j], m.newOf[i], m.by[j], m.score[j] = i, j, by, score
}

// free returns the indexes that are not matched yet.
func free(match []int) []int {
	var out []int
	for i, m := range match {
		if m < 0 {
			out = append(out, i)
		}
	}
	return out
}

// candidate is a possible match.
type candidate struct {
	i, j  int
	score float64
	far   int // distance of the old block from where the new block's neighbours would put it
}

// assign makes the best matches first. Among equal scores it prefers the smaller distance, then the earlier block.
func (m *blockMatching) assign(found []candidate, by By) {
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.far, b.far), cmp.Compare(a.j, b.j),
			cmp.Compare(a.i, b.i))
	})
	for _, c := range found {
		if m.newOf[c.i] < 0 && m.oldOf[c.j] < 0 {
			m.pair(c.i, c.j, by, c.score)
		}
	}
}

func distance(i, place int) int { return int(math.Abs(float64(i - place))) }

func (m *blockMatching) likeness(i, j int) float64 {
	a, b := m.old[i].Source, m.new[j].Source
	if a == b {
		return 1
	}
	return diff.Likeness(m.traits(a), m.traits(b))
}

func (m *blockMatching) traits(source string) diff.Traits {
	t, ok := m.seen[source]
	if !ok {
		t = m.in.Traits(source)
		m.seen[source] = t
	}
	return t
}
