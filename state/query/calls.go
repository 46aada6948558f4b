package query

import (
	"context"
	"slices"

	"github.com/xstate-engine/xstate/state"
)

// CallFilter says which calls are wanted. The zero value wants all.
type CallFilter struct {
	Waiting bool             // those that wait for a decision, and that the present program makes
	Tool    string           // those of this tool or model
	Block   state.BlockID    // those that this block made
	Since   state.StepNumber // those that were made after this step
}

func (f CallFilter) wants(c *state.Call) bool {
	return (!f.Waiting || c.Waits() != nil) && (f.Tool == "" || f.Tool == c.Tool) &&
		(f.Block == "" || f.Block == c.Caller.Block) && (f.Since == 0 || c.Caller.Step >= f.Since)
}

// CallView is the record of a call, as it concerns a session.
type CallView struct {
	state.Call
	Used   bool // the results of the present program depend on it
	Served bool // another session made it, and this one is served its result
}

// Calls returns the calls that the session made, and those of other sessions that its present program is served, the
// newest first.
func (h *History) Calls(ctx context.Context, f CallFilter) ([]CallView, error) {
	blocks, _, err := h.Program(ctx)
	if err != nil {
		return nil, err
	}
	used, err := h.callsUsed(blocks)
	if err != nil {
		return nil, err
	}
	lineage, err := h.store.Lineage(ctx, h.name)
	if err != nil {
		return nil, err
	}
	var found []CallView
	err = h.store.Calls(ctx, 1, func(c *state.Call) bool {
		v := CallView{Call: *c, Served: c.Caller.Session != h.name}
		if h.store.Serves(c, lineage) {
			v.Used = used[c.Place()]
		}
		if (v.Used || !v.Served && (!f.Waiting || mayMake(blocks, c))) && f.wants(c) {
			found = append(found, v)
		}
		return true
	})
	slices.Reverse(found)
	return found, err
}

// mayMake reports whether a program may make a call on which none of its results depends: the block has not run since,
// or not in its present version.
func mayMake(blocks []state.ProgramBlock, c *state.Call) bool {
	return slices.ContainsFunc(blocks, func(b state.ProgramBlock) bool {
		return b.ID == c.Caller.Block &&
			(b.Before == nil || b.Before.RanAt < b.Before.Edited || b.Before.RanAt <= c.Caller.Step)
	})
}

// callsUsed returns the places of the calls that the results of a program depend on.
func (h *History) callsUsed(blocks []state.ProgramBlock) (map[state.CallPlace]bool, error) {
	used := map[state.CallPlace]bool{}
	for _, b := range blocks {
		if b.Before == nil || b.Before.RanAt < b.Before.Edited {
			continue // nothing is known yet of what this version calls
		}
		for _, n := range b.Before.Nodes {
			if n.Trace == "" {
				continue
			}
			t, ok, err := h.store.Trace(n.Trace)
			if err != nil {
				return nil, err
			}
			if ok {
				CallsRead(&t, used)
			}
		}
	}
	return used, nil
}

// CallsRead adds the places of the calls that a trace depends on.
func CallsRead(t *state.Trace, into map[state.CallPlace]bool) {
	for _, r := range t.Reads {
		if p, ok := state.CallPlaceOf(r.Key); ok {
			into[p] = true
		}
	}
}

// Effects returns calls with effects that the session made after a step and that the recorded results of the present
// program do not depend on, the newest first: effects that a rollback to that step leaves behind.
func (h *History) Effects(ctx context.Context, after state.StepNumber) ([]state.Call, error) {
	all, err := h.Calls(ctx, CallFilter{Since: after})
	var left []state.Call
	for i := range all {
		c := &all[i]
		if c.Effects() && c.State == state.CallAnswered && c.Kind == "tool" && !c.Used && !c.Served &&
			c.Caller.Block != "" { // else it took an effect back
			left = append(left, c.Call)
		}
	}
	return left, err
}
