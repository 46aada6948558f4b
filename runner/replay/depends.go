package replay

import (
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/languages"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// restsOn is the last block of a program with all its dependencies.
func restsOn(program []state.ProgramBlock, planned []runner.PlanBlock) []state.ProgramBlock {
	var blocks []depgraph.BlockFacts
	read := make([]languages.Block, len(program))
	for i := range program {
		facts, err := languages.Analyze([]byte(program[i].Source), program[i].Dialect)
		if err != nil {
			facts = nil
		}
		read[i] = languages.Block{Dialect: program[i].Dialect, Facts: facts}
	}
	unfolding := languages.Unfold(read)
	for i := range program {
		facts := &depgraph.Facts{}
		if read[i].Facts != nil {
			facts = unfolding.Of(i, read[i].Facts)
		}
		f := depgraph.BlockFacts{ID: string(program[i].ID), Facts: facts}
		for j := range planned[i].Nodes {
			var seen depgraph.Access
			// The trace may belong to other code. Then it is a hint, and the analysis adds the rest.
			if t := planned[i].Nodes[j].Last; t != nil {
				seen = depgraph.Access{Reads: keysOf(t.Reads), Writes: keysOf(t.Writes)}
			}
			f.Observed = append(f.Observed, seen)
		}
		blocks = append(blocks, f)
	}
	g := depgraph.Build(blocks)
	last := program[len(program)-1].ID
	needed := map[state.BlockID]bool{last: true}
	ids := g.NodeIDs()
	reached := map[depgraph.NodeID]bool{}
	for _, id := range slices.Backward(ids) { // program order is a topological order
		block := blockOfID(id)
		if reached[id] = reached[id] || block == last; !reached[id] {
			continue
		}
		needed[block] = true
		for _, e := range g.Preds(id) {
			if e.Hazard == depgraph.Flow {
				reached[e.From] = true
			}
		}
	}
	for i := range program { // what fails keeps its readers from running, and needs no edge for it
		if planned[i].Err != nil {
			needed[program[i].ID] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(program), func(x state.ProgramBlock) bool { return !needed[x.ID] })
}

func keysOf(list []state.Access) []depgraph.Key {
	keys := []depgraph.Key{}
	for _, a := range list {
		keys = append(keys, a.Key)
	}
	return keys
}

// blockOfID is the block of a node of the graph.
func blockOfID(id depgraph.NodeID) state.BlockID {
	return state.BlockID(id.Block())
}
