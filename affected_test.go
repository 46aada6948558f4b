package xstate_test

import (
	"context"
	"os"
	"testing"

	"github.com/xstate-engine/xstate"
)

// Every plan of what is affected that a test asks for is compared with one of the whole program.
func init() { os.Setenv("XSTATE_VERIFY", "plan") }

// judgeAffected plans what is affected.
func judgeAffected(t *testing.T, ctx context.Context, session *xstate.Session) {
	t.Helper()
	if _, err := session.PlanChanges(ctx); err != nil {
		t.Error(err)
	}
}
