package patch

import (
	"cmp"
	"math"
	"slices"
)

// Match returns the edits that turn old, the blocks of a session, into new, the blocks of a file that was read again.
// Apply(old, Match(old, new)) has the sources, titles, dialects and order of new. The ids of old must be unique and not
// empty.
//
// Match recognises a block by its id, then by its text, then by its title or the name it defines, then by similarity.
// All other blocks are new. A recognised block keeps its id. Edits are few: no block moves that can stay.
func Match(old, new []Block) []Edit {
	return match(old, new).edits()
}

func match(old, new []Block) *blockMatching {
	m := newBlockMatching(old, new)
	m.byID()
	m.rest()
	return m
}

// rest matches the blocks that byID did not match.
func (m *blockMatching) rest() {
	m.byContent(func(b Block) string { return b.Title + "\x00" + b.Dialect + "\x00" + b.Source })
	m.byContent(func(b Block) string { return b.Source })
	m.byName()
	m.bySimilarity()
}

// blockMatching says which old block each new block is.
type blockMatching struct {
	old, new []Block
	oldOf    []int // by index of the new block; -1: none
	newOf    []int // by index of the old block; -1: none
	by       []By  // by index of the new block
	score    []float64
	in       interner
	seen     map[string]traits // by source
}

func newBlockMatching(old, new []Block) *blockMatching {
	m := &blockMatching{old: old, new: new, in: interner{}, seen: map[string]traits{}}
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

func (m *blockMatching) byID() {
	at := make(map[string]int, len(m.old))
	for i, b := range m.old {
		at[b.ID] = i
	}
	for j, b := range m.new {
		if i, ok := at[b.ID]; ok && b.ID != "" && m.newOf[i] < 0 {
			m.pair(i, j, ByID, m.likeness(i, j))
		}
	}
}

// byContent matches blocks of equal text. It first matches as many as possible in order, then those that moved.
func (m *blockMatching) byContent(key func(Block) string) {
	keys := interner{}
	number := func(blocks []Block, places []int) []int {
		out := make([]int, len(places))
		for k, p := range places {
			out[k] = keys.number(key(blocks[p]))
		}
		return out
	}
	oldAt, newAt := free(m.newOf), free(m.oldOf)
	a, b := number(m.old, oldAt), number(m.new, newAt)
	for _, p := range common(a, b) {
		m.pair(oldAt[p.i], newAt[p.j], ByContent, 1)
	}
	waiting := map[int][]int{}
	for k, i := range oldAt {
		if m.newOf[i] < 0 {
			waiting[a[k]] = append(waiting[a[k]], i)
		}
	}
	for k, j := range newAt {
		if w := waiting[b[k]]; m.oldOf[j] < 0 && len(w) > 0 {
			m.pair(w[0], j, ByContent, 1)
			waiting[b[k]] = w[1:]
		}
	}
}

// byName matches blocks with the same title. If several have it, the most similar come first.
func (m *blockMatching) byName() {
	named := map[string][]int{}
	for _, i := range free(m.newOf) {
		if t := m.old[i].Title; t != "" {
			named[t] = append(named[t], i)
		}
	}
	var found []candidate
	near := m.neighbourhood()
	for _, j := range free(m.oldOf) {
		for _, i := range closest(named[m.new[j].Title], near[j], maxCandidatesPerBlock) {
			found = append(found, candidate{i, j, m.likeness(i, j), distance(i, near[j])})
		}
	}
	m.assign(found, ByName)
}

func (m *blockMatching) bySimilarity() {
	var found []candidate
	near := m.neighbourhood()
	of := m.shortlist(free(m.newOf), near)
	for _, j := range free(m.oldOf) {
		for _, i := range of(j) {
			if s := m.likeness(i, j); s >= minLikeness {
				found = append(found, candidate{i, j, s, distance(i, near[j])})
			}
		}
	}
	m.assign(found, BySimilarity)
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
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.far, b.far), cmp.Compare(a.j, b.j), cmp.Compare(a.i, b.i))
	})
	for _, c := range found {
		if m.newOf[c.i] < 0 && m.oldOf[c.j] < 0 {
			m.pair(c.i, c.j, by, c.score)
		}
	}
}

// neighbourhood returns, for every new block, the expected index of its old block: the one after that of the matched
// block before it.
func (m *blockMatching) neighbourhood() []int {
	out := make([]int, len(m.new))
	at := 0
	for j, i := range m.oldOf {
		if i >= 0 {
			at = i
		}
		out[j] = at
		at++
	}
	return out
}

func distance(i, place int) int { return int(math.Abs(float64(i - place))) }

func (m *blockMatching) likeness(i, j int) float64 {
	a, b := m.old[i].Source, m.new[j].Source
	if a == b {
		return 1
	}
	return likeness(m.traits(a), m.traits(b))
}

func (m *blockMatching) traits(source string) traits {
	t, ok := m.seen[source]
	if !ok {
		t = m.in.traits(source)
		m.seen[source] = t
	}
	return t
}
