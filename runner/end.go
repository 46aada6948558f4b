package runner

import (
	"fmt"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// failedKey says whether a node before has failed. Only the end of the program reads it: an interpreter that ends with
// an error may leave out a part of what it does else.
const failedKey depgraph.Key = "process:failed"

// endOf adds the end of a script to its nodes, in the last block that has some. file is that of the script; "" where
// the program is none, or an interpreter of a session lives on after it.
func endOf(file string, o keyOptions, units []*unit, nodes []*node) []*node {
	if file == "" || len(nodes) == 0 {
		return nodes
	}
	u := nodes[len(nodes)-1].unit
	u.end = &node{
		index: len(nodes),
		unit:  u,
		text:  u,
		at:    len(u.nodes),
		facts: &depgraph.Node{Kind: depgraph.KindEnd, Tokens: fmt.Sprintf("the end of %q", file),
			Line: nodes[len(nodes)-1].facts.Line},
	}
	u.end.code = o.codeDigest(u.end)
	u.end.layout = u.end.code
	return append(nodes, u.end)
}

// isEnd reports whether the node is the end of the program.
func (n *node) isEnd() bool { return n.facts.Kind == depgraph.KindEnd }

// isLeft reports whether there is something to do at the end of the program n. Where a node has ended the program, or
// the interpreter has ended by a failure, that has been done.
func isLeft(p place, n *node) bool {
	return !p.ending().sure && !p.hasDied() && p.get(kernel.KeyEnd.In(n.unit.space())).digest != state.Absent
}

// all are the nodes of a unit with the end of the program, if that is there.
func (u *unit) all(there func(end *node) bool) []*node {
	if u.end == nil || !there(u.end) {
		return u.nodes
	}
	return append(u.nodes[:len(u.nodes):len(u.nodes)], u.end)
}

// readEnd adds to found what the end of the program reads whatever it does.
func (x *execution) readEnd(found map[depgraph.Key]state.Digest) {
	if !x.node.isEnd() {
		return
	}
	for _, k := range []depgraph.Key{failedKey, kernel.KeyEnd.In(x.node.unit.space())} {
		found[k] = x.pos.get(k).digest
	}
}
