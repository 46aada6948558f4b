package runner

import (
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
)

// wanted returns the names to bind before n runs: those its text uses and those its earlier executions read, or all
// there are when it can read names that its text does not show.
func (w *walk) namesToBind(p *programState, n *node) []string {
	if w.dynamic(p, n) {
		return p.names()
	}
	names := slices.Clone(n.facts.Uses)
	names = append(names, n.facts.Mutates...)
	if n.facts.Kind == depgraph.KindStatement {
		names = append(names, n.facts.Later...)
	}
	names = append(names, n.facts.Deletes...)
	names = append(names, p.lifetimeSensitiveNames(n)...)
	if planted := p.get(modulesKey).info; planted != nil {
		names = append(names, planted.Deps...)
	}
	if len(n.facts.Mutates)+len(n.facts.MutatesLater) > 0 {
		names = append(names, w.namesReachingSameCode(p, names)...)
	}
	names = append(names, w.moduleNames(p, n, names)...)
	if traces, err := w.e.traces(n.code); err == nil && len(traces) > 0 {
		for _, a := range traces[0].Reads {
			if a.Key.Space() == "var" {
				names = append(names, a.Key.Name())
			}
		}
	}
	return names
}

// fragile returns the names that n binds anew or deletes and whose values somebody may notice go.
func (p *programState) lifetimeSensitiveNames(n *node) []string {
	var names []string
	for _, name := range slices.Concat(n.facts.Defines, n.facts.Deletes) {
		if p.isLifetimeSensitive(name) {
			names = append(names, name)
		}
	}
	return names
}

// softly returns every name that reaches a class or function of the program, if one of names does: what is assigned to a
// class is seen by its subclasses and by all their instances, and they are no group.
func (w *walk) namesReachingSameCode(p *programState, names []string) []string {
	if !slices.ContainsFunc(w.closure(p, names), p.reachesCode) {
		return nil
	}
	return slices.DeleteFunc(p.names(), func(name string) bool { return !p.reachesCode(name) })
}
