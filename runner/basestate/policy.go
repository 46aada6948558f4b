package basestate

import (
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// PolicyKey returns the key of something that was denied.
func PolicyKey(d state.Denial) depgraph.Key { return depgraph.Key("policy:" + d.String()) }

// policyDigest answers how the present bounds forbid what a policy: key names. It is Absent if they allow it.
func policyDigest(k depgraph.Key, forbids func(action, target string) string) state.Digest {
	if forbids == nil {
		return state.Absent
	}
	action, target, _ := strings.Cut(k.Name(), " ")
	return state.Digest(forbids(action, target))
}
