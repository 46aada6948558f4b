package rule

import (
	"context"
	"time"

	"github.com/xstate-engine/xstate/runner/sandbox/policy"
	"github.com/xstate-engine/xstate/state"
)

// LastRun is a run whose spending is asked: its step, the run before it, and what is recorded of it.
type LastRun struct {
	Before, Step state.StepNumber
	Summary      *state.RunSummary // nil: there is no run
}

// SpentOf returns, for each budget, what the record says was spent of it. Those of the scope run count that run of the
// session. known is false for an amount that the record does not have: the time of processors.
func SpentOf(
	ctx context.Context, store *state.Store, session string, run LastRun, budgets []policy.Budget,
) (spent []int64, known []bool, err error) {
	p := &spending{session: session}
	if err := store.Calls(ctx, 0, func(c *state.Call) bool {
		if c.Caller.Agent != "" {
			p.record(policy.ScopeAgent+c.Caller.Agent, c)
		}
		if c.Caller.Session != session {
			return true
		}
		p.record(policy.ScopeSession, c)
		if c.Caller.Step >= run.Before && c.Caller.Step < run.Step {
			p.record(policy.ScopeRun, c)
		}
		return true
	}); err != nil {
		return nil, nil, err
	}
	if s := run.Summary; s != nil {
		p.of(policy.ScopeRun).wall = time.Duration(s.Seconds * float64(time.Second))
		p.of(policy.ScopeRun).executions = int64(s.Nodes.Ran + s.Nodes.Failed)
	}
	for _, b := range budgets {
		spent = append(spent, p.of(b.Scope).amount(b.What))
		known = append(known, b.What != policy.BudgetCPU)
	}
	return spent, known, nil
}
