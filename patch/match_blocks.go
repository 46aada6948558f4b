package patch

import "github.com/xstate-engine/xstate/patch/diff"

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
	keys := diff.Interner{}
	number := func(blocks []Block, places []int) []int {
		out := make([]int, len(places))
		for k, p := range places {
			out[k] = keys.Number(key(blocks[p]))
		}
		return out
	}
	oldAt, newAt := free(m.newOf), free(m.oldOf)
	a, b := number(m.old, oldAt), number(m.new, newAt)
	for _, p := range diff.Common(a, b) {
		m.pair(oldAt[p.I], newAt[p.J], ByContent, 1)
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
			if s := m.likeness(i, j); s >= diff.MinLikeness {
				found = append(found, candidate{i, j, s, distance(i, near[j])})
			}
		}
	}
	m.assign(found, BySimilarity)
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
