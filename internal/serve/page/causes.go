package page

import (
	"slices"
	"strconv"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// cause is what a run did with parts of a block that it treated alike, and why.
type cause struct {
	Parts    string // the node, or the first and the last of several
	Did      string
	Because  string
	By       string // the node that changed what was read, or failed
	Was, Now string
}

// causes collects what a run did with the nodes of one block.
type causes struct {
	list  []cause
	first string // node of the last cause
	known map[valueKey]*state.ValueInfo
}

// valueKey is a value that a key had.
type valueKey struct {
	key    depgraph.Key
	digest state.Digest
}

// add adds a node. Values that are given are those of the reason.
func (c *causes) add(node, did string, r state.Reason, was, now *state.ValueInfo) {
	x := cause{Parts: node, Did: did, Because: because(did, r), By: r.By}
	if r.Was != "" || r.Now != "" {
		if was == nil {
			was = c.known[valueKey{r.Key, r.Was}]
		}
		if now == nil {
			now = c.known[valueKey{r.Key, r.Now}]
		}
		x.Was, x.Now = described(was, r.Was), changed(was, r.Was, now, r.Now)
		if r.Now == "" && (did == "run" || did == "maybe") {
			x.Now = "not known yet"
		}
	}
	if n := len(c.list); n > 0 {
		last := c.list[n-1]
		last.Parts = x.Parts
		if last == x {
			c.list[n-1].Parts = c.first + " to " + node
			return
		}
	}
	c.first = node
	c.list = append(c.list, x)
}

// because is a reason in a sentence.
func because(did string, r state.Reason) string {
	switch {
	case r.Code == state.ReasonNew && did == "ran":
		return "it ran for the first time"
	case r.Code == state.ReasonReused && (did == "failed" || did == "fail"):
		return "it failed before, and its code and all that it reads are as they were then"
	}
	return query.Sentence(r)
}

// otherBlock is the block that is the cause of what a run did with a block; "": it is that block itself, or none.
func otherBlock(r state.Reason, id state.BlockID) string {
	if by := blockOf(r.By); by != string(id) {
		return by
	}
	return ""
}

// of adds the nodes of a block as a snapshot has them.
func (c *causes) of(b *query.BlockView) []cause {
	for i := range b.Nodes {
		n := &b.Nodes[i]
		c.add(n.Name, n.Status, n.Reason, nil, nil)
	}
	return c.list
}

// stepsBack is how far back the history is searched for the run before, or for the one that executed a block.
const stepsBack = 50

// runsBefore returns the runs before a step, the last first.
func (v *view) runsBefore(step state.StepNumber) []api.LogStep {
	limit := stepsBack
	log, err := ask[api.Log](v.r.Context(), v.p,
		&verb.Log{InSession: verb.In(v.Session), Limit: &limit, After: step})
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(log.Steps, func(s api.LogStep) bool { return s.Run == nil })
}

// diff asks how the program differs between two steps.
func (v *view) diff(from, to state.StepNumber) (*api.Diff, error) {
	return ask[api.Diff](v.r.Context(), v.p, &verb.Diff{
		InSession: verb.In(v.Session), From: strconv.Itoa(int(from)), To: strconv.Itoa(int(to)),
	})
}

// valuesAround returns what is recorded of the values that differ from those after the run before.
func (v *view) valuesAround(step state.StepNumber) map[valueKey]*state.ValueInfo {
	known := map[valueKey]*state.ValueInfo{}
	before := v.runsBefore(step)
	if len(before) == 0 {
		return known
	}
	d, err := v.diff(before[0].Number, step)
	if err != nil {
		return known
	}
	for _, b := range d.Blocks {
		for _, x := range b.Values {
			known[valueKey{x.Key, x.Was}], known[valueKey{x.Key, x.Now}] = x.WasValue, x.NowValue
		}
	}
	return known
}

// lastCauses says at which step a block ran last, if the run at now did not execute it, and why. There is no list if a
// later run recorded nothing else: the block has these causes still.
func (v *view) lastCauses(b *query.BlockView, now state.StepNumber) (at state.StepNumber, list []cause) {
	executed := func(b *query.BlockView) bool {
		return slices.ContainsFunc(b.Nodes, func(n query.NodeView) bool {
			return n.Trace != "" && n.Reason.Code != state.ReasonReused
		})
	}
	switch {
	case executed(b) && b.RanAt == now:
		return 0, nil
	case executed(b):
		return b.RanAt, nil
	}
	for _, step := range v.runsBefore(now + 1) {
		run := step.Number
		then, err := ask[api.QueryBlock](v.r.Context(), v.p, &verb.Query{
			InSession: verb.In(v.Session), Moment: verb.Moment{AtStep: &run}, Block: string(b.ID),
		})
		if err != nil {
			return 0, nil
		}
		if then.Block.RanAt == run && executed(then.Block) {
			c := causes{known: v.valuesAround(run)}
			return run, c.of(then.Block)
		}
	}
	return 0, nil
}

// List are the causes, in the order of the nodes.
func (c *causes) List() []cause { return c.list }
