package preflight

import (
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// source is a call whose result differs from run to run.
type source struct {
	Place
	name string
}

// varyingNode is a node that may vary: lines of a block.
type varyingNode struct {
	block    state.BlockID
	from, to int
	source   source
}

// varies reports whether a call differs from run to run, as far as its name shows. Generators are seeded.
func varies(c *depgraph.Call) bool {
	switch {
	case c.Name == "id", c.Effect == depgraph.EffectClock:
		return true
	case c.Effect == depgraph.EffectRandom:
		return slices.Contains([]string{"uuid", "secrets", "os"}, strings.Split(c.Name, ".")[0])
	}
	return false
}

// varying returns, for each node that may vary, where that comes from: a source in its text, or a name that it uses.
func (t *Text) varying() (found []varyingNode) {
	names := map[string]source{} // that the program binds to what varies
	for i := range t.Blocks {
		b := &t.Blocks[i]
		if b.Facts == nil {
			continue
		}
		for _, n := range b.Facts.Nodes {
			from, varies := b.varyingIn(&n)
			for _, name := range slices.Concat(n.Uses, n.Later) {
				if s, is := names[name]; is && !varies {
					from, varies = s, true
				}
			}
			for _, name := range n.Defines {
				delete(names, name)
				if varies {
					names[name] = from
				}
			}
			if varies {
				found = append(found, varyingNode{b.ID, n.Line, n.EndLine, from})
			}
		}
	}
	return found
}

// varyingIn returns the first source in the text of a node.
func (b *Block) varyingIn(n *depgraph.Node) (source, bool) {
	for i := range b.calls.Calls {
		if call := &b.calls.Calls[i]; n.Line <= call.Line && call.Line <= n.EndLine && varies(call) {
			return source{Place{b.ID, call.Line}, call.Name}, true
		}
	}
	return source{}, false
}
