package statetest

import (
	"context"
	"testing"

	"github.com/xstate-engine/xstate/state"
)

// CheckedOpen opens the store in dir. When the test ends, it checks every invariant and closes the store. It skips
// the check if the test has closed the store itself.
func CheckedOpen(t testing.TB, dir string, o state.Options) *state.Store {
	t.Helper()
	s, err := state.Open(context.Background(), dir, o)
	if err != nil {
		t.Fatalf("open store: %v", err)
	}
	t.Cleanup(func() {
		problems, err := s.Check(context.Background())
		if err != nil && state.CodeOf(err) != state.CodeClosed {
			t.Errorf("check store: %v", err)
		}
		for _, p := range problems {
			t.Errorf("check store: %v", p)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	return s
}
