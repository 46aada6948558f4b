package patch

import "slices"

// edits writes a matching down: first what goes, then from the first new block to the last what comes, moves or changes.
// Every block is put right behind the one before it, which is already in its place, so each edit holds when it is applied.
func (m *blockMatching) edits() []Edit {
	var out []Edit
	for _, i := range free(m.newOf) {
		out = append(out, Edit{Op: OpDelete, ID: m.old[i].ID, Block: m.old[i]})
	}
	ids, stays := m.ids(), m.stays()
	after := ""
	for j, b := range m.new {
		e := Edit{ID: ids[j], After: after, Block: b, Score: m.score[j], By: m.by[j]}
		e.Block.ID, after = ids[j], ids[j]
		i := m.oldOf[j]
		if i < 0 {
			e.Op = OpAppend
			out = append(out, e)
			continue
		}
		if !stays[j] {
			moved := e
			moved.Op, moved.Block = OpMove, m.old[i]
			out = append(out, moved)
		}
		if !b.same(m.old[i]) {
			e.Op, e.After = OpPatch, ""
			out = append(out, e)
		}
	}
	return out
}

// ids returns the ids of the new blocks: the matched keep theirs, no other takes one that was in use before.
func (m *blockMatching) ids() []string {
	used := make([]string, len(m.old))
	for i, b := range m.old {
		used[i] = b.ID
	}
	unmatched := free(m.oldOf)
	fresh := make([]Block, len(unmatched))
	for k, j := range unmatched {
		fresh[k] = m.new[j]
	}
	names := Names(fresh, used...)
	ids := make([]string, len(m.new))
	for j, i := range m.oldOf {
		if i >= 0 {
			ids[j] = m.old[i].ID
		}
	}
	for k, j := range unmatched {
		ids[j] = names[k]
	}
	return ids
}

// stays tells of every new block whether it stays where it is: a longest run of matched blocks that rises on both sides.
// All others must move, and no fewer can.
func (m *blockMatching) stays() []bool {
	var was, order []int
	for _, i := range m.oldOf {
		if i >= 0 {
			was = append(was, i)
		}
	}
	order = slices.Sorted(slices.Values(was))
	out := make([]bool, len(m.new))
	for _, p := range common(order, was) {
		out[m.newOf[order[p.i]]] = true
	}
	return out
}
