package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// The content of workspace modules is state of the program, see modules.py. A module has a key if it was changed, or if
// loading it does or reads anything besides its own source. If a program state has another digest of that key, the
// engine unloads the module and runs the code that loaded or changed it again. Any other module may be loaded at any
// time.

// heldKey names what a workspace module holds; absent while it is not loaded, or as a quiet load leaves it.
func heldKey(module string) depgraph.Key { return depgraph.Key("held:" + module) }

// quietLoad identifies the load of a workspace module: by which code, with which options.
type quietLoad struct {
	code    state.Digest
	context state.Digest
}

// contextOf digests the options and the working directory, which no observation shows a module to depend on when it is
// loaded. Each use of the arguments and of the standard input is observed.
func (p *programState) contextOf() state.Digest {
	var lines []string
	for _, space := range []string{"conf", "cwd"} {
		for k, e := range p.keys.in(space) {
			if !started(k) && e.digest != p.pristine(k) {
				lines = append(lines, fmt.Sprintf("%s %s", k, e.digest))
			}
		}
	}
	if len(lines) == 0 {
		return state.Absent
	}
	slices.Sort(lines)
	return state.DigestOf([]byte(strings.Join(lines, "\n")))
}

// behind reports whether what the kernel has of a key is what p has, or what a node before p left: then running again
// what came after leads to p.
func (w *walk) behind(p *programState, at int, k depgraph.Key, have state.Digest) bool {
	if have == p.get(k).digest || have == state.Absent {
		return true
	}
	if p.get(k).digest == state.Absent {
		return false
	}
	return slices.ContainsFunc(w.outcomes[:at], func(out NodeOutcome) bool {
		return out.t != nil && slices.Contains(out.t.Writes, state.Access{Key: k, Digest: have})
	})
}

// unloadModules takes from the kernel the workspace modules that are not, or not so, loaded at p. It reports whether
// only a new interpreter will do. A node that is rebuilt needs only those that it read: else two nodes that set modules
// could each ask for an interpreter in which the other has not run yet.
func (w *walk) unloadModules(ctx context.Context, p *programState, at int) (stale bool, err error) {
	m := &w.e.kernelState
	var names []string
	var reads []state.Access // those of modules that are known to read no other module
	again := w.rebuilding[at]
	if again {
		reads = w.outcomes[at].t.Reads
	}
	for k, have := range m.moduleState {
		if again && !slices.ContainsFunc(reads, func(a state.Access) bool { return a.Key == k }) {
			continue
		}
		if !w.behind(p, at, k, have) {
			names = append(names, k.Name())
		}
	}
	for name, q := range m.quiet {
		by, known := w.first(q.code)
		known = known && by < at
		if known && w.contexts[by] != q.context ||
			!known &&
				(p.context != q.context || strings.Contains(name, ".")) { // a submodule is an attribute of its package
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return false, nil
	}
	slices.Sort(names)
	gone, err := w.e.kernel.Unload(ctx, names)
	m.unload(gone)
	return gone.Stale, err
}

// first returns the index of the first node of a code.
func (w *walk) first(code state.Digest) (int, bool) {
	if w.firsts == nil {
		w.firsts = map[state.Digest]int{}
		for i, n := range w.nodes {
			if _, twice := w.firsts[n.code]; !twice {
				w.firsts[n.code] = i
			}
		}
	}
	i, ok := w.firsts[code]
	return i, ok
}

// heldReads adds the keys of the modules and libraries that the node can reach to found.
func (x *execution) heldReads(found map[depgraph.Key]state.Digest) {
	for _, name := range x.seen.Imports.Modules {
		found[heldKey(name)] = x.pos.get(heldKey(name)).digest
	}
	x.loadReads(found)
}

// heldWrites returns the modules that the node changed or did not load quietly, and the libraries that it imported
// first. A module whose file the program writes counts as loaded not quietly, since its content differs from place to
// place.
func (x *execution) heldWrites(t *state.Trace) []state.Access {
	var writes []state.Access
	for name, q := range x.seen.Quiet {
		if _, ours := x.walk.e.cfg.Files[x.walk.e.baseState.Short(q[0])]; ours {
			x.seen.ModuleState[name] = state.Digest(q[1])
			delete(x.seen.Quiet, name)
		}
	}
	for name, d := range x.seen.ModuleState {
		k := heldKey(name)
		if d == kernel.Undigested {
			d = lineage(t, x.recorded, k)
			t.Info[k] = state.ValueInfo{Opaque: "what a package holds"}
		}
		writes = append(writes, state.Access{Key: k, Digest: d})
	}
	return append(writes, x.loadWrites()...)
}

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
		m.forget(name)
		if after.keys.of(depgraph.Var(name)).digest != state.Absent {
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
		m.rebound[x.node.facts.Defines[0]] = true
	}
}

// followModules updates the kernel state after a node that wrote t and left the program state after.
func (x *execution) followModules(after *programState, t *state.Trace) {
	m := &x.walk.e.kernelState
	x.followLoads(after)
	for _, a := range t.Writes {
		if a.Key.Space() == "held" {
			m.moduleState[a.Key] = a.Digest
			delete(m.quiet, a.Key.Name())
		}
	}
	for name := range x.seen.Quiet {
		m.quiet[name] = quietLoad{x.node.code, x.pos.context}
	}
}

// unload records that modules were unloaded, and with them names that depend on them.
func (m *kernelState) unload(r kernel.Unloaded) {
	if len(r.Modules) > 0 {
		debugf("kernel", "unload %v, drop %v", r.Modules, r.Dropped)
	}
	for _, name := range r.Modules {
		delete(m.moduleState, heldKey(name))
		delete(m.quiet, name)
	}
	for _, name := range r.Dropped {
		m.unbind(name)
	}
	for _, d := range r.Classes {
		delete(m.classes, d)
	}
	if len(r.Modules) > 0 {
		m.parked = map[groupDigest]parked{}
	}
}

// moduleNames returns names that n can reach through a workspace module that holds a part of their values, since what n
// makes may share with them. If n imports, it adds the names of workspace packages, which may gain an attribute. If n
// can reach sys.modules, it adds all names that are modules or depend on them.
func (w *walk) moduleNames(p *programState, n *node, names []string) []string {
	info := func(name string) state.ValueInfo {
		if info := p.keys.of(depgraph.Var(name)).info; info != nil {
			return *info
		}
		return state.ValueInfo{}
	}
	if w.hasDynamic && w.constructs(p, n, kernel.ReachesModules) {
		return slices.DeleteFunc(
			p.names(),
			func(name string) bool { return !info(name).ReachesModules && info(name).Type != "module" },
		)
	}
	var found []string
	for k := range p.moduleState {
		if k.Space() == "var" {
			found = append(found, k.Name())
		}
	}
	slices.Sort(found)
	if len(n.facts.Imports) == 0 {
		if len(found) > 0 &&
			!slices.ContainsFunc(w.closure(p, names), func(name string) bool { return info(name).ReachesModules }) {
			return nil
		}
		return found
	}
	return append(
		found,
		slices.DeleteFunc(
			p.names(),
			func(name string) bool { return !info(name).ReachesModules || info(name).Type != "module" },
		)...)
}

// nextState returns the first of the nodes to run again for modules to be as p has them, or -1. Values that were made
// before it and can only be made again go first: they are made from modules as they were then.
func (w *walk) nextState(p *programState, at int, namesToBind []string) int {
	m := &w.e.kernelState
	first := -1
	consider := func(i int) {
		if i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	if e := p.get(modulesKey); e.digest != m.modules {
		consider(e.writer)
	}
	for k := range p.moduleState {
		if e := p.keys.of(k); k.Space() == "held" && e.digest != m.moduleState[k] {
			consider(e.writer)
		}
	}
	consider(w.nextLoad(p, at))
	consider(w.nextRunning(p, at))
	if first < 0 {
		return -1
	}
	for _, name := range w.closure(p, namesToBind) {
		if _, live := m.bound[name]; live {
			continue
		}
		j, names := p.groupDigest(name)
		writer := p.writer(names)
		if writer >= first {
			continue
		}
		if parked, ok := m.parked[j]; ok && slices.Equal(parked.names, names) {
			continue
		}
		if v, ok, err := w.e.value(j); err != nil || !ok || v.Blob == "" || w.definition(p, name) != nil {
			consider(writer)
		}
	}
	return first
}

// dottedImport is a dotted name that a node may have imported.
type dottedImport struct {
	node int
	name string
}

// submodules returns the dotted names that nodes before at have imported, by their text. Submodules are attributes of
// their package only for code that imports them, and an interpreter that loaded only the package has none of them.
func (w *walk) submodules(at int) (names []string) {
	for ; w.dottedAt < at; w.dottedAt++ {
		if t := w.outcomes[w.dottedAt].t; t == nil || t.Err != nil {
			continue
		}
		for _, im := range w.nodes[w.dottedAt].facts.Imports {
			if im.Level != 0 || im.Later {
				continue
			}
			if strings.Contains(im.Module, ".") {
				w.dotted = append(w.dotted, dottedImport{w.dottedAt, im.Module})
			}
			for _, name := range im.Names {
				if name != "*" {
					w.dotted = append(w.dotted, dottedImport{w.dottedAt, im.Module + "." + name})
				}
			}
		}
	}
	for _, d := range w.dotted {
		if d.node < at {
			names = append(names, d.name)
		}
	}
	return names
}
