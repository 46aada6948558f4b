package runner

import (
	"fmt"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// lineage names what t wrote to k and what cannot be named by content: by the code and inputs that made it. Options and
// the working directory count as not read while the program has not changed them: libraries read some only once and
// remember them.
//
// recorded is the trace of an earlier execution of the node at this state, or nil. A value that it named by lineage
// keeps its name: the same code made both from the same state. The reads of the two may differ all the same, because an
// import reads nothing if the interpreter has the library already.
func lineage(t, recorded *state.Trace, k depgraph.Key) state.Digest {
	if d := lineageIn(recorded, k); d != state.Absent {
		return d
	}
	var b strings.Builder
	fmt.Fprintf(&b, "lineage %q\ncode %s\n", k, t.Code)
	for _, a := range t.Reads {
		if s := a.Key.Space(); a.Digest == state.Absent && (s == "conf" || s == "cwd") {
			continue
		}
		fmt.Fprintf(&b, "%q %s\n", a.Key, a.Digest)
	}
	for _, list := range [][]state.Alias{t.ReadAliases, t.AliasesBefore} {
		for _, s := range list {
			fmt.Fprintf(&b, "%q\n", []string(s))
		}
	}
	return state.DigestOf([]byte(b.String()))
}

// lineageIn returns what t wrote to k, if that is a lineage.
func lineageIn(t *state.Trace, k depgraph.Key) state.Digest {
	if t == nil {
		return state.Absent
	}
	info, described := t.Info[k]
	if info.Opaque == "" && k != figuresKey && k != runningKey && k.Space() != spaceOpen &&
		(k != modulesKey || !described) {
		return state.Absent
	}
	for _, a := range t.Writes {
		if a.Key == k {
			return a.Digest
		}
	}
	return state.Absent
}
