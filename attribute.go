package xstate

import (
	"context"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
)

// Attribute completes differences that Verify found in the run of step n: a value or file gets the block that wrote it
// last, and a block that reads, directly or not, what a volatile block gives gets the marks of that block, too.
func (s *Session) Attribute(ctx context.Context, n StepNumber, found []Difference) ([]Difference, error) {
	if len(found) == 0 {
		return found, nil
	}
	d, err := s.Dependencies(ctx, n)
	if err != nil {
		return nil, err
	}
	writers := map[Key]BlockID{}
	marks := map[BlockID][]string{}
	for i := range d.Snapshot.Blocks {
		b := &d.Snapshot.Blocks[i]
		for _, node := range b.Nodes {
			for _, w := range node.Writes {
				writers[w.Key] = b.ID
			}
		}
		for _, m := range b.Marks {
			marks[b.ID] = appendNew(marks[b.ID], m)
		}
	}
	d.spread(marks)
	found = slices.Clone(found)
	for i := range found {
		f := &found[i]
		if name, ok := strings.CutPrefix(f.What, "value "); ok {
			f.Block = writers[depgraph.Var(name)]
		} else if name, ok := strings.CutPrefix(f.What, "file "); ok {
			f.Block = writers[Key("file:"+name)]
		}
		for _, m := range marks[f.Block] {
			f.Marks = appendNew(f.Marks, m)
		}
	}
	return found, nil
}

// spread hands the marks of blocks on to those that were seen to read what they wrote.
func (d *Dependencies) spread(marks map[BlockID][]string) {
	for _, id := range d.Graph.NodeIDs() { // program order is a topological order
		to := d.nodes[id].block.ID
		for _, e := range d.Graph.Preds(id) {
			from := d.nodes[e.From]
			if from == nil || e.Hazard != depgraph.Flow || e.Basis&depgraph.Observed == 0 {
				continue
			}
			for _, m := range marks[from.block.ID] {
				marks[to] = appendNew(marks[to], m)
			}
		}
	}
}
