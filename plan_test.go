package xstate_test

import (
	"context"
	"os"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// Tests compare every plan that the planner makes with a walk of the program.
func init() { os.Setenv("XSTATE_VERIFY", "plan") }

// judgePlan plans the program, and compares the plan with a walk.
func judgePlan(t *testing.T, ctx context.Context, session *xstate.Session) {
	t.Helper()
	if _, err := session.Plan(ctx, nil); err != nil {
		t.Error(err)
	}
}

// TestPlanEqualsRun compares a plan with the run after it where a block failed. Plans used to decide by rules of their own.
// They took the nodes after a blocked one of the same block for reused. They also took a block for reused that had looked
// up a name of the failed block by eval, which no text shows.
func TestPlanEqualsRun(t *testing.T) {
	p := plant(t, nil, "", "fails", "x = 1 / 0", "uses", "y = x\nimport math", "looks up", "print(eval('x'))", "other", "w = 2")
	p.again(runner.RunOptions{})
	plan, err := p.session.Plan(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	planned, err := plan.Blocks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, out := p.again(runner.RunOptions{})
	for i, b := range out.Blocks {
		for j, n := range b.Nodes {
			blocked := planned[i].Nodes[j].Action == runner.ActBlock
			if reason := planned[i].Nodes[j].Reason; blocked != (n.Status == state.StatusBlocked) || reason != n.Reason {
				t.Errorf("node %d of %q: planned %+v, ran %v %+v", j+1, b.ID, reason, n.Status, n.Reason)
			}
		}
	}
	if len(plan.Nodes) != 3 || plan.Total != 5 {
		t.Errorf("the plan lists %d nodes of %d, want the 3 blocked ones of 5", len(plan.Nodes), plan.Total)
	}
}
