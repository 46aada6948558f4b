package runner

import (
	"slices"

	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/runner/sandbox/secret"
	"github.com/xstate-engine/xstate/state"
)

// What the bounds forbade is an input of the node: under other bounds the call would have succeeded. So a denial reads
// the key policy:ACTION TARGET, which has a value where the present bounds forbid it. A trace with a denial is valid
// under every policy that denies the same, and not where one allows it.

// markDenied marks a node that went on after a denial. Its result depends on the policy.
const markDenied = "denied"

// denialsOf returns what a report says was denied, each once and without secrets.
func denialsOf(denied []sandbox.Denial, secrets *secret.Set) (all []state.Denial) {
	for _, d := range denied {
		x := state.Denial{Action: d.Action, Target: secrets.Scrub(d.Target), Rule: secrets.Scrub(d.Rule)}
		if !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	return all
}
