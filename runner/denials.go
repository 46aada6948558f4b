package runner

import (
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/state"
)

// What the bounds forbade is an input of the node: under other bounds the call would have succeeded. So a denial reads
// the key policy:ACTION TARGET, which has a value where the present bounds forbid it. A trace with a denial is valid
// under every policy that denies the same, and not where one allows it.

// markDenied marks a node that went on after a denial. Its result is one of several: it depends on the policy.
const markDenied = "denied"

// denials takes the denials of the execution into its trace.
func (x *execution) denials(t *state.Trace, found map[depgraph.Key]state.Digest) {
	for _, d := range x.seen.Denied {
		denied := state.Denial{Action: d.Action, Target: x.walk.e.cfg.Secrets.Scrub(d.Target), Rule: d.Rule}
		if slices.Contains(t.Denied, denied) {
			continue
		}
		t.Denied = append(t.Denied, denied)
		found[basestate.PolicyKey(denied)] = basestate.Denied
	}
	if len(t.Denied) > 0 && x.seen.Failure == nil {
		x.seen.Marks = appendNew(x.seen.Marks, markDenied)
	}
}
