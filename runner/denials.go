package runner

import (
	"fmt"
	"maps"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/runner/sandbox/secret"
	"github.com/xstate-engine/xstate/state"
)

// A denial is an input of the node: under other bounds the call would have succeeded. So it reads the key policy:ACTION
// TARGET, which has a value if the present bounds forbid the action. A trace with a denial is valid under every policy
// that denies the same, and not where one allows it.

// markDenied marks a node that went on after a denial. Its result depends on the policy.
const markDenied = "denied"

// boundsDigest names bounds.
func boundsDigest(b *sandbox.Bounds) state.Digest {
	if b == nil {
		return ""
	}
	return state.DigestOf(fmt.Appendf(nil, "bounds %+v", *b))
}

// forbidden returns what the present bounds forbid of what a trace of a block in a dialect did under other bounds, as a
// policy: key; "": nothing is known. A fresh run would be denied it.
func (x *boundary) forbidden(d depgraph.Dialect, t *state.Trace, path func(name string) string) depgraph.Key {
	if x.digest == "" || t.Bounds == x.digest {
		return ""
	}
	forbids := x.in(d)
	try := func(action, target string) depgraph.Key {
		if forbids(action, target) == "" {
			return ""
		}
		k := basestate.PolicyKey(state.Denial{Action: action, Target: target})
		if slices.ContainsFunc(t.Reads, func(a state.Access) bool { return a.Key == k }) {
			return "" // it was denied then, too, or hidden
		}
		return k
	}
	for _, a := range t.Reads {
		if action, name := lookOf(a.Key); name != "" && a.Digest != state.Absent {
			if k := try(action, path(name)); k != "" {
				return k
			}
		}
	}
	for _, a := range t.Writes {
		if a.Key.Space() == "file" {
			if k := try("write", path(a.Key.Name())); k != "" {
				return k
			}
		}
	}
	if slices.Contains(t.Marks, "network") {
		return try("connect", "another machine")
	}
	return ""
}

// lookOf returns which file or folder a key is about, and what a node that reads the key does there: read or look. The
// name of other keys is "".
func lookOf(k depgraph.Key) (action, name string) {
	switch k.Space() {
	case "file":
		return "read", k.Name()
	case "dir":
		folder, _ := k.Listing()
		return "read", folder
	case "stat", "mode", "time":
		return sandbox.ActionLook, k.Name()
	}
	return "", ""
}

// hidden returns the keys of what the bounds hid from a block in a dialect among what it looked at: without them, that
// is there.
func (x *boundary) hidden(
	d depgraph.Dialect, looked map[depgraph.Key]state.Digest, path func(name string) string,
) (keys []depgraph.Key) {
	if x.digest == "" {
		return nil
	}
	forbids := x.in(d)
	for k, digest := range looked {
		action, name := lookOf(k)
		if name == "" || digest == state.Absent {
			continue
		}
		if p := path(name); forbids(action, p) != "" {
			keys = append(keys, basestate.PolicyKey(state.Denial{Action: action, Target: p}))
		}
	}
	return keys
}

// dropHidden leaves out of what a node read what it says of hidden files, as far as the bounds are known to hide them.
// A look did not show what is there, so it may be edited or removed.
func dropHidden(found map[depgraph.Key]state.Digest, hidden map[string]bool, path func(name string) string) {
	maps.DeleteFunc(found, func(k depgraph.Key, _ state.Digest) bool {
		action, name := lookOf(k)
		if name == "" || !hidden[path(name)] {
			return false
		}
		return found[basestate.PolicyKey(state.Denial{Action: action, Target: path(name)})] != state.Absent
	})
}

// boundary are the bounds of an engine.
type boundary struct {
	digest  state.Digest // "": there are none
	forbids func(action, target string) string
	// in is the same for the interpreter of a dialect, which may read its packages
	in func(d depgraph.Dialect) func(action, target string) string
}

// newBoundary returns the bounds of programs in some languages.
func newBoundary(s sandbox.Spec, languages kernel.Languages, environ map[string]string) boundary {
	common, known := sandbox.Forbidding(s), map[depgraph.Dialect]func(action, target string) string{}
	in := func(d depgraph.Dialect) func(action, target string) string {
		if known[d] == nil {
			known[d] = common
			if l, err := languages.Of(d); err == nil {
				known[d] = sandbox.Forbidding(l.Sandboxed(s, environ))
			}
		}
		return known[d]
	}
	return boundary{digest: boundsDigest(s.Bounds), forbids: common, in: in}
}

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
