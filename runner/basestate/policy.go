package basestate

import (
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// Denied is the digest of a policy: key whose action the bounds of the program forbid.
const Denied state.Digest = "denied"

// PolicyKey returns the key of something that was denied.
func PolicyKey(d state.Denial) depgraph.Key { return depgraph.Key("policy:" + d.String()) }

// policyDigest answers whether the present bounds forbid what a policy: key names.
func policyDigest(k depgraph.Key, forbids func(action, target string) bool) state.Digest {
	action, target, _ := strings.Cut(k.Name(), " ")
	if forbids != nil && forbids(action, target) {
		return Denied
	}
	return state.Absent
}
