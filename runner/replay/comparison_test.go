package replay

import (
	"testing"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// TestEqualInputs: a library that another node imported before, or that nothing has imported yet, differs only by what
// it saw or printed. "load:sysconfig is gone" was the cause of divergences that had others.
func TestEqualInputs(t *testing.T) {
	c := &comparison{}
	for _, x := range []struct {
		key      depgraph.Key
		was, now state.Digest
		equal    bool
	}{
		{"load:sysconfig", "loaded", state.Absent, true},
		{"load:sysconfig", state.Absent, "loaded", true},
		{"load:sysconfig", "loaded 0a", state.Absent, false},
		{"load:sysconfig", "loaded 0a", "loaded", false},
		{"load:sysconfig", "loaded 0a", "loaded 0b", false},
		{"load:this", "printed", state.Absent, false},
		{"env:HOME", "0a", state.Absent, false},
		{"env:HOME", "0a", "0a", true},
	} {
		if got := c.equal(x.key, x.was, x.now); got != x.equal {
			t.Errorf("equal(%s, %q, %q) = %t, want %t", x.key, x.was, x.now, got, x.equal)
		}
	}
}
