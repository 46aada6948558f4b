package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
)

// The result of a call is an input of the node that calls, see package journal. It is a key of the base, call:KEY#N: a
// trace is valid as long as the journal has the same result. How many equal calls the program has made is state of the
// program, count:KEY, or effect:SCOPE/KEY where the tool has effects. So a new equal call in front of another gives the
// later one a new number, and only that one happens. scope:SCOPE represents the effects on a scope so far, in order: a
// call that reads the scope reads it.
//
// A node that failed has made its calls all the same. They are counted when it succeeds.

// Spaces of these keys.
const (
	spaceCount  = "count"
	spaceEffect = "effect"
	spaceScope  = "scope"
	spaceTool   = "tool" // kind/name → the tool that the name means, see journal.ToolDigest
)

// toolKey returns the key of what a name means; "" if that never changes.
func toolKey(r journal.Request) depgraph.Key {
	if r.Kind != journal.KindTool && r.Kind != journal.KindModel {
		return ""
	}
	return depgraph.Key(fmt.Sprintf("%s:%s/%s", spaceTool, r.Kind, r.Tool))
}

// ToolOf returns the kind and name of the tool that a key names.
func ToolOf(k depgraph.Key) (kind journal.Kind, name string, ok bool) {
	if k.Space() != spaceTool {
		return "", "", false
	}
	of, name, _ := strings.Cut(k.Name(), "/")
	return journal.Kind(of), name, true
}

// countKey returns the key that counts the calls equal to c; "" if they are not counted.
func countKey(c *journal.Call) depgraph.Key {
	switch {
	case !c.Counted():
		return ""
	case c.Def.Class.Effects():
		return depgraph.Key(fmt.Sprintf("%s:%s/%s", spaceEffect, c.Def.Scope, c.Key))
	}
	return depgraph.Key(fmt.Sprintf("%s:%s", spaceCount, c.Key))
}

// countOf returns how many calls a digest of countKey represents.
func countOf(d state.Digest) int {
	text, _, _ := strings.Cut(string(d), ".")
	n, _ := strconv.Atoi(text)
	return n
}

// effectsOn digests the effects on a scope, in the order of the nodes that had them, and within a node in its own.
func (p *programState) effectsOn(scope string) entry {
	type effect struct {
		key    depgraph.Key
		writer int
		digest state.Digest
	}
	var found []effect
	last := -1
	for k, e := range p.keys.in(spaceEffect) {
		if strings.HasPrefix(k.Name(), scope+"/") {
			found, last = append(found, effect{k, e.writer, e.digest}), max(last, e.writer)
		}
	}
	if len(found) == 0 {
		return entry{writer: -1}
	}
	slices.SortFunc(found, func(a, b effect) int {
		return cmp.Or(cmp.Compare(a.writer, b.writer), cmp.Compare(sequenceOf(a.digest), sequenceOf(b.digest)),
			cmp.Compare(a.key, b.key))
	})
	text := "effects\n"
	for _, f := range found {
		text += fmt.Sprintf("%q %d\n", f.key, countOf(f.digest))
	}
	return entry{digest: state.DigestOf([]byte(text)), writer: last}
}

// sequenceOf returns the place of an effect among those of its node.
func sequenceOf(d state.Digest) int {
	_, text, _ := strings.Cut(string(d), ".")
	n, _ := strconv.Atoi(text)
	return n
}

// recordedCalls returns what the base state knows of recorded calls.
func recordedCalls(j *journal.Journal) func(depgraph.Key) state.Digest {
	if j == nil {
		return nil
	}
	return func(k depgraph.Key) state.Digest {
		if kind, name, ok := ToolOf(k); ok {
			return j.ToolDigest(context.Background(), kind, name)
		}
		at, _ := state.CallPlaceOf(k)
		d, err := j.Digest(context.Background(), at)
		if err != nil {
			return unknown // a node that needs it calls, and gets the error
		}
		return d
	}
}
