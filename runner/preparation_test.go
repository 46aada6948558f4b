package runner

import (
	"testing"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// TestPreparation: a plan counts the start of an interpreter and the imports that it repeats for what runs. One had
// foretold 87 ms for a run of 789 ms.
func TestPreparation(t *testing.T) {
	trace := func(writes string, reads ...depgraph.Key) *state.Trace {
		t := &state.Trace{Writes: []state.Access{{Key: depgraph.Var(writes), Digest: "d"}}}
		for _, k := range reads {
			t.Reads = append(t.Reads, state.Access{Key: k, Digest: "v"})
		}
		return t
	}
	importing := func(seconds float64, name string, reads ...depgraph.Key) PlanNode {
		return PlanNode{Action: ActReuse, Seconds: seconds, Facts: &depgraph.Node{Kind: depgraph.KindImport},
			Last: trace(name, reads...)}
	}
	before := PlanBlock{Nodes: []PlanNode{
		importing(1, "np", "module:numpy"),
		importing(2, "pd", "module:numpy", "module:pandas"),
		importing(4, "plt", "module:matplotlib"),
		importing(8, "sk", "module:sklearn"),
		{Action: ActReuse, Facts: &depgraph.Node{}, Last: trace("df", "module:pandas")},
		{Action: ActReuse, Facts: &depgraph.Node{}, Last: trace("n")},
	}}
	using := func(action Action, last *state.Trace, names ...string) PlanBlock {
		return PlanBlock{Nodes: []PlanNode{{Action: action, Facts: &depgraph.Node{Uses: names}, Last: last}}}
	}
	again := importing(16, "pd", "module:numpy", "module:pandas")
	again.Action = ActRun
	for _, test := range []struct {
		name           string
		blocks         []PlanBlock
		start, imports float64
	}{
		{"nothing runs", []PlanBlock{before}, 0, 0},
		{"no packages", []PlanBlock{before, using(ActRun, nil, "n")}, 0.5, 0},
		{"the package of a value", []PlanBlock{before, using(ActRun, nil, "df")}, 0.5, 3},
		{"what it read", []PlanBlock{before, using(ActMaybe, trace("x", "module:matplotlib"))}, 0.5, 4},
		{"an import that runs", []PlanBlock{before, {Nodes: []PlanNode{again}}, using(ActRun, nil, "df")}, 0.5, 0},
	} {
		p := newPlan(test.blocks)
		p.start = 0.5
		start, imports, err := p.Preparation(t.Context())
		if start != test.start || imports != test.imports || err != nil {
			t.Errorf("%s: Preparation() = %g, %g, %v, want %g, %g",
				test.name, start, imports, err, test.start, test.imports)
		}
	}
}
