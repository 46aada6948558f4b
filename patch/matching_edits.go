package patch

import (
	"slices"

	"github.com/xstate-engine/xstate/patch/diff"
)

// edits turns a matching into edits. It deletes first; then it goes through the new blocks in order and appends, moves
// or patches. Each block goes directly after the block before it, which is in place already. So each edit is valid at
// its turn.
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

// ids returns the ids of the new blocks. Matched blocks keep theirs. No other block takes an id that was in use.
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

// stays reports, for every new block, whether it keeps its place. The blocks that stay are a longest run of matched
// blocks in the same order on both sides, so the fewest blocks move.
func (m *blockMatching) stays() []bool {
	var was, order []int
	for _, i := range m.oldOf {
		if i >= 0 {
			was = append(was, i)
		}
	}
	order = slices.Sorted(slices.Values(was))
	out := make([]bool, len(m.new))
	for _, p := range diff.Common(order, was) {
		out[m.newOf[order[p.I]]] = true
	}
	return out
}
