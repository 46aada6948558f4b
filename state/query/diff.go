package query

import (
	"context"
	"maps"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/patch/diff"
	"github.com/xstate-engine/xstate/state"
)

// BlockChange describes how one block differs between two steps.
type BlockChange struct {
	ID      state.BlockID `json:"id"`
	Op      string        `json:"op"`                // append, patch, move, delete; "" if only its outcome differs
	Diff    string        `json:"diff,omitempty"`    // the source's, unified
	Was     string        `json:"was,omitempty"`     // status before
	Now     string        `json:"now,omitempty"`     // status after
	Outputs string        `json:"outputs,omitempty"` // how outputs and error changed, unified
	Values  []ValueChange `json:"values,omitempty"`  // what it writes, where both were run
}

// ValueChange is a key that a block writes with a different value than before.
type ValueChange struct {
	Key      depgraph.Key     `json:"key"`
	Was      state.Digest     `json:"was"` // "": it wrote none
	Now      state.Digest     `json:"now"`
	WasValue *state.ValueInfo `json:"was_value,omitempty"`
	NowValue *state.ValueInfo `json:"now_value,omitempty"`
}

// Diff compares this snapshot with another one, of this session or of another, block by block. First come the blocks of
// the other program, in its order, then the blocks that it lacks. Blocks are matched by their ids.
func (s *Snapshot) Diff(now *Snapshot) []BlockChange {
	old := s
	moved := map[state.BlockID]bool{}
	for _, e := range patch.Match(SnapshotBlocks(old), SnapshotBlocks(now)) {
		if e.Op == patch.OpMove {
			moved[state.BlockID(e.ID)] = true
		}
	}
	before := map[state.BlockID]*BlockView{}
	for i := range old.Blocks {
		before[old.Blocks[i].ID] = &old.Blocks[i]
	}
	changes := []BlockChange{}
	for i := range now.Blocks {
		b := &now.Blocks[i]
		c := changeOf(before[b.ID], b)
		delete(before, b.ID)
		if c.Op == "" && moved[b.ID] {
			c.Op = string(patch.OpMove)
		}
		if c.Op != "" || c.Outputs != "" || c.Was != c.Now || len(c.Values) > 0 {
			changes = append(changes, c)
		}
	}
	for i := range old.Blocks {
		if b := &old.Blocks[i]; before[b.ID] != nil {
			changes = append(changes, changeOf(b, nil))
		}
	}
	return changes
}

func changeOf(old, now *BlockView) BlockChange {
	c := BlockChange{}
	var was, is BlockView
	switch {
	case old == nil:
		c.ID, c.Op, is = now.ID, string(patch.OpAppend), *now
		c.Now = outcome(now)
	case now == nil:
		c.ID, c.Op, was = old.ID, string(patch.OpDelete), *old
		c.Was = outcome(old)
	default:
		c.ID, was, is = now.ID, *old, *now
		if old.Version != now.Version || old.Title != now.Title {
			c.Op = string(patch.OpPatch)
		}
		c.Was, c.Now = outcome(old), outcome(now)
	}
	c.Diff = UnifiedDiff(c.ID, was.Source, is.Source)
	if old != nil && now != nil && now.Status != "new" {
		c.Outputs = diff.Unified(
			"a/"+string(c.ID)+" (output)",
			"b/"+string(c.ID)+" (output)",
			shown(old),
			shown(now),
			3,
		)
		c.Values = valueChanges(old, now)
	}
	return c
}

// valueChanges compares the values that two versions of a block wrote. A version that did not run has nothing to
// compare.
func valueChanges(old, now *BlockView) []ValueChange {
	if old.Status == "new" || now.Status == "new" {
		return nil
	}
	was, is := old.Writes(), now.Writes()
	keys := maps.Clone(was)
	maps.Copy(keys, is)
	var found []ValueChange
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if a, b := was[k], is[k]; a.Digest != b.Digest {
			found = append(
				found,
				ValueChange{Key: k, Was: a.Digest, Now: b.Digest, WasValue: a.Value, NowValue: b.Value},
			)
		}
	}
	return found
}

// UnifiedDiff returns the unified diff of two sources of a block.
func UnifiedDiff(id state.BlockID, was, now string) string {
	return diff.Unified("a/"+string(id), "b/"+string(id), lined(was), lined(now), 3)
}

// outcome is a status that ignores reuse: two programs do not differ because a result was executed in one and reused in
// the other.
func outcome(b *BlockView) string {
	switch b.Status {
	case "ran", "reused":
		return "done"
	}
	return b.Status
}

// shown is the output of a block, as text.
func shown(b *BlockView) string {
	if e := ErrorText(b.Error); e != "" {
		return Text(b.Outputs) + e + "\n"
	}
	return Text(b.Outputs)
}

// lined ends the last line of a source. Sources have no line end there, and a diff would report that each time.
func lined(source string) string {
	if source == "" {
		return ""
	}
	return source + "\n"
}

// SnapshotOf returns a snapshot of a program of which only the text is known.
func SnapshotOf(blocks []patch.Block) *Snapshot {
	s := &Snapshot{}
	for i, b := range blocks {
		s.Blocks = append(
			s.Blocks,
			BlockView{ID: state.BlockID(b.ID), Index: i, Title: b.Title, Dialect: depgraph.Dialect(b.Dialect),
				Version: state.DigestOf([]byte(b.Source)), Source: b.Source},
		)
	}
	return s
}

// Patch returns a patch in the given format that turns the program of this snapshot into that of a later one, block by
// block.
func (s *Snapshot) Patch(now *Snapshot, f patch.Format) (string, error) {
	old, new := map[string]string{}, map[string]string{}
	var names []string
	for _, b := range now.Blocks {
		names = append(names, string(b.ID))
		new[string(b.ID)] = lined(b.Source)
	}
	for _, b := range s.Blocks {
		if old[string(b.ID)] = lined(b.Source); new[string(b.ID)] == "" {
			names = append(names, string(b.ID))
		}
	}
	return patch.Compare(f, names, old, new).Print(f)
}

// Writes are the variables and files that the block wrote.
func (b *BlockView) Writes() map[depgraph.Key]AccessView {
	all := map[depgraph.Key]AccessView{}
	for _, n := range b.Nodes {
		for _, w := range n.Writes {
			if space := w.Key.Space(); space == "var" || space == "file" {
				all[w.Key] = w
			}
		}
	}
	return all
}

// Diff compares the program after step from with the program after step to.
func (h *History) Diff(ctx context.Context, from, to state.StepNumber) ([]BlockChange, error) {
	old, err := h.At(ctx, from)
	if err != nil {
		return nil, err
	}
	now, err := h.At(ctx, to)
	if err != nil {
		return nil, err
	}
	return old.Diff(now), nil
}
