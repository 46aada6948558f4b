package runner

import (
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
)

// namesToBind returns the names to bind before n runs: those that its text uses, and those that its last execution
// read. For a node that can read names that its text does not show, it returns all names. A name that is missing costs
// a second execution, see execute.
func (w *walk) namesToBind(p *programState, n *node) []string {
	if w.dynamic(p, n) {
		return p.allNames(n)
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

// lifetimeSensitiveNames returns the names that n rebinds or deletes and whose values are lifetime-sensitive: their end
// has an effect.
func (p *programState) lifetimeSensitiveNames(n *node) []string {
	var names []string
	for _, name := range slices.Concat(n.facts.Defines, n.facts.Deletes) {
		if p.isLifetimeSensitive(name) {
			names = append(names, name)
		}
	}
	return names
}

// namesReachingSameCode returns every name that reaches a class or function of the program, if one of names does. An
// assignment to a class is visible to its subclasses and to all their instances, and these form no group.
func (w *walk) namesReachingSameCode(p *programState, names []string) []string {
	if !slices.ContainsFunc(w.closure(p, names), p.reachesCode) {
		return nil
	}
	return slices.DeleteFunc(p.names(), func(name string) bool { return !p.reachesCode(name) })
}

// inSpace returns the names that lie in the space of a language.
func inSpace(names []string, space string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		of, _ := depgraph.Var(name).Cut()
		return of != space
	})
}

// allNames returns the names of the node's language that have a value here, sorted.
func (p *programState) allNames(n *node) []string { return inSpace(p.names(), n.unit.space()) }
