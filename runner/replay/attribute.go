package replay

import (
	"context"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Attribute completes differences that Verify found in the run of step n. A value or file without a block gets the
// block that wrote it last. A block that reads, directly or not, what a volatile block gives gets the marks of that
// block, too.
func Attribute(ctx context.Context, s *Subject, n state.StepNumber, found []Difference) ([]Difference, error) {
	if len(found) == 0 {
		return found, nil
	}
	d, err := s.Dependencies(ctx, n)
	if err != nil {
		return nil, err
	}
	writers := map[depgraph.Key]state.BlockID{}
	marks := map[state.BlockID][]string{}
	for i := range d.Snapshot.Blocks {
		b := &d.Snapshot.Blocks[i]
		for _, node := range b.Nodes {
			for _, w := range node.Writes {
				writers[w.Key] = b.ID
			}
		}
		for _, m := range b.Marks {
			marks[b.ID] = query.AppendNew(marks[b.ID], m)
		}
	}
	d.SpreadMarks(marks)
	found = slices.Clone(found)
	for i := range found {
		f := &found[i]
		if f.Block == "" {
			f.Block = writers[keyOf(f.What)]
		}
		for _, m := range marks[f.Block] {
			f.Marks = query.AppendNew(f.Marks, m)
		}
	}
	return found, nil
}
