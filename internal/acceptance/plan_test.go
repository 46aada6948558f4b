package acceptance

import (
	"path/filepath"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// TestPlanEqualsRun compares a plan with the run after it where a block failed. Plans used to decide by rules of their
// own. They took the nodes after a blocked one of the same block for reused. They also took a block for reused that had
// looked up a name of the failed block by eval, which no text shows.
func TestPlanEqualsRun(t *testing.T) {
	dir := t.TempDir()
	s := xstatetest.OpenSession(t, xstatetest.OpenStore(t, filepath.Join(dir, xstate.StoreName)),
		xstate.SessionOptions{Python: xstatetest.Pythons()[0], Workspace: dir, Seed: 7})
	program := "# %% fails\nx = 1 / 0\n\n# %% uses\ny = x\nimport math\n\n# %% looks up\nprint(eval('x'))\n\n" +
		"# %% other\nw = 2\n"
	parsed, err := patch.Parse("prog.py", []byte(program))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context(), parsed.Blocks, xstate.Origin{}); err != nil {
		t.Fatal(err)
	}
	run := func() *xstate.Outcome {
		t.Helper()
		out, _, err := s.Run(t.Context(), runner.RunOptions{}, xstate.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	run()
	plan, err := s.Plan(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	planned, err := plan.Blocks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range run().Blocks {
		for j, n := range b.Nodes {
			blocked := planned[i].Nodes[j].Action == runner.ActBlock
			if reason := planned[i].Nodes[j].Reason; blocked != (n.Status == state.StatusBlocked) ||
				reason != n.Reason {
				t.Errorf("node %d of %q: planned %+v, ran %v %+v", j+1, b.ID, reason, n.Status, n.Reason)
			}
		}
	}
	if len(plan.Nodes) != 3 || plan.Total != 5 {
		t.Errorf("the plan lists %d nodes of %d, want the 3 blocked ones of 5", len(plan.Nodes), plan.Total)
	}
}
