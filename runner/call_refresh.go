package runner

import (
	"context"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
)

// refreshCalls makes calls again that the results of a program depend on, also those within recorded steps. Their nodes
// do not run for that. A walk then finds which results differ.
func (e *Engine) refreshCalls(
	ctx context.Context, blocks []state.ProgramBlock, by state.Caller, o *journal.Refreshing,
) ([]journal.Refreshed, error) {
	if o == nil || e.cfg.Journal == nil {
		return nil, nil
	}
	found := map[state.CallID]bool{}
	for _, b := range blocks {
		if b.Before == nil {
			continue
		}
		for _, n := range b.Before.Nodes {
			if n.Trace == "" {
				continue
			}
			t, ok, err := e.cfg.Store.Trace(n.Trace)
			if err != nil {
				return nil, err
			}
			if ok {
				if err := e.readCalls(ctx, t.Reads, found); err != nil {
					return nil, err
				}
			}
		}
	}
	all := journal.Refreshing{Tool: o.Tool, Caller: by}
	err := e.cfg.Store.Calls(ctx, 0, func(c *state.Call) bool {
		if found[c.Parent] {
			found[c.ID] = true // a call began after the step that it is within
		}
		if found[c.ID] {
			all.Calls = append(all.Calls, *c)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	return e.cfg.Journal.Refresh(ctx, all)
}

// readCalls adds the calls among the reads of a trace to found.
func (e *Engine) readCalls(ctx context.Context, reads []state.Access, found map[state.CallID]bool) error {
	for _, r := range reads {
		at, ok := state.CallPlaceOf(r.Key)
		if !ok {
			continue
		}
		c, err := e.cfg.Journal.Recorded(ctx, at)
		if err != nil {
			return err
		}
		if c != nil {
			found[c.ID] = true
		}
	}
	return nil
}
