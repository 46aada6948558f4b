package runner

import (
	"maps"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// follow updates the kernel state after a node that succeeded.
func (x *execution) follow(after *programState, t *state.Trace) {
	m := &x.walk.e.kernelState
	names := aliasedNames(after.aliases, m.aliases) // those bound for which something may be different now
	maps.DeleteFunc(names, func(name string, _ bool) bool { _, is := m.bound[name]; return !is })
	for _, a := range t.Writes {
		switch a.Key.Space() {
		case "var":
			names[a.Key.Name()] = true
			m.classes[a.Digest] = true // when it is a class; no other value has that digest
		case "rng", "conf", "cwd":
			m.hidden[a.Key] = entry{digest: a.Digest}
		}
	}
	x.followModules(after, t)
	m.followOpen(t)
	m.aliases = map[pair]state.Digest{}
	digests := groupDigests{of: after}
	for name := range names {
		delete(m.bound, name)
		if after.keys[depgraph.Var(name)].digest != state.Absent {
			m.bind(after, digests.get(name), []string{name})
		}
	}
	for name, value := range x.seen.Environ {
		m.environ[depgraph.Key("env:"+name)] = value
	}
	m.figures, m.modules = after.get(figuresKey).digest, after.get(modulesKey).digest
	m.running = after.get(runningKey).digest
	if x.node.facts.Kind == depgraph.KindDef {
		m.layouts[x.node.facts.Defines[0]] = x.node.layout
	}
}
