package runner

import (
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
)

// dynamic reports whether n, or a function it can reach, may read names in a way that is not observed. Then it counts
// as reading all of them, and which there are.
func (w *walk) dynamic(p *programState, n *node) bool {
	return w.constructs(p, n, kernel.Unobserved)
}

// constructs reports whether n, or a function it can reach, has a dynamic construct of a kind.
func (w *walk) constructs(p *programState, n *node, kind kernel.Construct) bool {
	has := func(n *node, now, later bool) bool {
		return slices.ContainsFunc(n.facts.Dynamic, func(d depgraph.Dynamic) bool {
			return (now && !d.Later || later && d.Later) && n.unit.language.Construct(d.What) == kind
		})
	}
	if has(n, true, n.facts.Kind == depgraph.KindStatement) {
		return true
	}
	if !w.hasDynamic || n.facts.Kind != depgraph.KindStatement {
		return false
	}
	for _, name := range w.closure(p, slices.Concat(n.facts.Uses, n.facts.Later)) {
		if e := p.keys.of(depgraph.Var(name)); e.writer >= 0 && has(w.nodes[e.writer], false, true) {
			return true
		}
	}
	return false
}

// listsSubclasses reports whether n may list the subclasses of a class, by its text or by what the kernel reported of
// the code that it can reach.
func (w *walk) listsSubclasses(p *programState, n *node) bool {
	return w.lists[n.index] || w.hasDynamic && w.constructs(p, n, kernel.ListsClasses)
}
