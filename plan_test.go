package xstate_test

import (
	"context"
	"os"
	"testing"

	"github.com/xstate-engine/xstate"
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
