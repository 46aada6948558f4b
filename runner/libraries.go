package runner

import (
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// A library is imported once, and what it read of files and environment then stays in it. So its import is state of the
// program if it read something or printed. It has a key load:NAME. The node that imports it first writes the key, and
// nodes that import it again read it. If the library read something that differs between machines, every node that uses
// it reads the key. Only the first import reads what the library looked at, even if the interpreter has the library
// from elsewhere. Only a new interpreter imports it again. See libraries.py.

// loadKey names how a library was imported: absent, "loaded" or "printed", with a digest of what it saw that is not on
// every machine.
func loadKey(top string) depgraph.Key { return depgraph.Key("load:" + top) }

// saw returns the digest at the end of what a load: key has; "" where all was as usual.
func saw(d state.Digest) string {
	_, digest, _ := strings.Cut(string(d), " ")
	return digest
}

// imports reports whether the text of a node imports a module or what lies in it.
func (n *node) imports(module string) bool {
	return slices.ContainsFunc(n.facts.Imports, func(im depgraph.Import) bool {
		return im.Level == 0 && (im.Module == module || strings.HasPrefix(im.Module, module+"."))
	})
}

// mayImport reports whether node at, or a function that it may call, imports a module by its text.
func (w *walk) mayImport(p *programState, at int, module string) bool {
	n := w.nodes[at]
	return n.imports(module) ||
		n.facts.Kind == depgraph.KindStatement &&
			slices.ContainsFunc(w.closure(p, slices.Concat(n.facts.Uses, n.facts.Later)), func(name string) bool {
				e := p.keys.of(depgraph.Var(name))
				return e.writer >= 0 && w.nodes[e.writer].imports(module)
			})
}

// misloaded reports whether the kernel has a library that saw something else than at p. Whether it can have one that
// was not imported yet is for it to say, see outdated in libraries.py.
func (w *walk) misloaded(p *programState, at int) bool {
	for k, have := range w.e.kernelState.loads {
		if p.get(k).digest != state.Absent && !w.behind(p, at, k, have) {
			return true
		}
	}
	return false
}

// nextLoad returns a node to run again before the kernel imports a library by itself, or -1: what that looks at is not
// what it was where the program imports it, or it prints and node at may import it.
func (w *walk) nextLoad(p *programState, at int) int {
	for _, k := range p.loads() {
		e := p.keys.of(k)
		if _, there := w.e.kernelState.loads[k]; there || w.outcomes[e.writer].t == nil {
			continue
		}
		if e.printed() && w.mayImport(p, at, k.Name()) || !w.seesTheSame(p, e.writer) {
			return e.writer
		}
	}
	return -1
}

// printed reports whether the import of a library, by the entry of its load: key, printed.
func (e entry) printed() bool { return strings.HasPrefix(string(e.digest), "printed") }

// seesTheSame reports whether libraries that node i imported would look at the same at p.
func (w *walk) seesTheSame(p *programState, i int) bool {
	for _, a := range w.outcomes[i].t.Reads {
		switch a.Key.Space() {
		case "env", "isset", "file", "stat":
			if p.get(a.Key).digest != a.Digest && !p.ownChange(a, i) && !p.ownChanges(a, i) {
				return false
			}
		case "conf":
			if a.Key == argumentsKey && p.get(a.Key).digest != a.Digest {
				return false
			}
		}
	}
	return true
}

// whereFound is hidden state on which it depends which library an import finds, and what that does.
var whereFound = []depgraph.Key{"cwd", "conf:sys.path", modulesKey, "conf:interpreter", "conf:locale"}

// librariesAt returns the modules of libraries that imports before p name, in their order, as far as a new interpreter
// imports the same.
// by are the nodes of these imports.
func (w *walk) librariesAt(p *programState) (modules []string, by []int) {
	if slices.ContainsFunc(whereFound, func(k depgraph.Key) bool { return p.get(k).digest != p.pristine(k) }) {
		return nil, nil
	}
	for i, n := range w.nodes {
		if n.facts.Kind != depgraph.KindImport || w.outcomes[i].t == nil || !w.seesTheSame(p, i) {
			continue
		}
		for _, im := range n.facts.Imports {
			top, _, _ := strings.Cut(im.Module, ".")
			if e := p.get(loadKey(top)); im.Level == 0 && e.digest != state.Absent && !e.printed() {
				modules, by = append(modules, im.Module), append(by, i)
			}
		}
	}
	return modules, by
}

// setByImport is the type of a variable of the environment that only imports of libraries set in its node.
const setByImport = "set by an import"

// ownChange reports whether a variable that node i read has another value at p only because a library set it in node i
// when it was imported. The engine can give the variable its former value when it imports the libraries of node i
// again.
func (p *programState) ownChange(read state.Access, i int) bool {
	name := read.Key.Name()
	switch read.Key.Space() {
	case "isset":
		if read.Digest != state.Absent {
			return false // what it had is not known
		}
	case "env":
	default:
		return false
	}
	e := p.get(depgraph.Key("env:" + name))
	return e.writer == i && e.info != nil && e.info.Type == setByImport
}

// ownChanges reports whether the whole environment, which node i read, differs at p only by what libraries set when
// node i and later ones imported them. A library that starts a child process reads it: matplotlib does, to list fonts.
func (p *programState) ownChanges(read state.Access, i int) bool {
	of, plain := read.Key.Cut()
	return (plain == envAll || plain == envOfChildren) && p.environment(of, func(e entry) bool {
		return e.writer >= i && e.info != nil && e.info.Type == setByImport
	}) == read.Digest
}

// loads returns the keys of the libraries that were imported before p, sorted.
func (p *programState) loads() []depgraph.Key {
	var found []depgraph.Key
	for k := range p.moduleState {
		if k.Space() == "load" {
			found = append(found, k)
		}
	}
	slices.Sort(found)
	return found
}

// loadReads notes the libraries that the node imported, and what those saw that it uses.
func (x *execution) loadReads(found map[depgraph.Key]state.Digest) {
	for top := range x.seen.Imports.Loads {
		found[loadKey(top)] = x.pos.get(loadKey(top)).digest
	}
	for top := range x.seen.Imports.Libraries {
		if d := x.pos.get(loadKey(top)).digest; saw(d) != "" {
			found[loadKey(top)] = d
		}
	}
}

// loadWrites returns the libraries that the node imported first, or of which it imported a part that saw more.
func (x *execution) loadWrites() []state.Access {
	var writes []state.Access
	for top, d := range x.seen.Imports.Loads {
		if was := x.pos.get(loadKey(top)).digest; was == state.Absent || saw(d) != saw(was) {
			writes = append(writes, state.Access{Key: loadKey(top), Digest: d})
		}
	}
	return writes
}

// followLoads updates the kernel state after a node that left the program state after.
func (x *execution) followLoads(after *programState) {
	for _, top := range x.seen.Restored { // the environment was that of this program state
		if d := x.pos.get(loadKey(top)).digest; d != state.Absent {
			x.walk.e.kernelState.loads[loadKey(top)] = d
		}
	}
	for top, d := range x.seen.Imports.Loads {
		if now := after.get(loadKey(top)).digest; now != state.Absent {
			d = now
		}
		x.walk.e.kernelState.loads[loadKey(top)] = d
	}
}
