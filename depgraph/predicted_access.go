package depgraph

import "slices"

// accesses is the prediction of what a node reads and writes at its place in the program.
type accesses struct {
	reads   map[Key]bool
	writes  map[Key]bool // it may write these
	certain map[Key]bool // those of writes that are certain, or read first, so that earlier writers are hidden
	binds   map[Key]bool // those of writes that bind or unbind a name instead of changing a value
	fresh   []Key        // those of reads whose functions are not yet followed
	anyRead bool         // may read names that the text does not show
	anyBind bool         // may bind names that the text does not show
}

func newAccesses() *accesses {
	return &accesses{reads: map[Key]bool{}, writes: map[Key]bool{}, certain: map[Key]bool{}, binds: map[Key]bool{}}
}

// execution adds what executing a node does at once, without the calls it makes.
func (a *accesses) execution(n *Node) {
	if p := n.Part; p != nil { // an edit of the function edits the node
		for _, name := range []string{p.Function, p.Call} {
			if name != "" {
				a.reads[Var(name)] = true
			}
		}
	}
	for _, name := range n.Uses {
		a.read(Var(name))
	}
	a.bind(n.Defines)
	a.bind(n.Deletes)
	for _, name := range n.Deletes {
		if a.reads[Var(name)] {
			a.certain[Var(name)] = true
		}
	}
	for _, name := range n.Certain {
		a.certain[Var(name)] = true
	}
	a.mutations(n.Mutates)
	for _, e := range n.Effects {
		if !e.Later {
			a.effect(e)
		}
	}
	for _, d := range n.Dynamic {
		if !d.Later {
			a.dynamic(d)
		}
	}
}

// call adds what a call of the functions that a node made may do.
func (a *accesses) call(n *Node) {
	for _, name := range n.Later {
		a.read(Var(name))
	}
	a.bind(n.Rebinds)
	a.mutations(n.MutatesLater)
	for _, e := range n.Effects {
		if e.Later {
			a.effect(e)
		}
	}
	for _, d := range n.Dynamic {
		if d.Later {
			a.dynamic(d)
		}
	}
}

func (a *accesses) bind(names []string) {
	for _, name := range names {
		a.writes[Var(name)], a.binds[Var(name)] = true, true
	}
}

func (a *accesses) mutations(names []string) {
	for _, name := range names {
		a.both(Var(name))
	}
}

// both adds a read and a write that depends on it.
func (a *accesses) both(k Key) {
	a.read(k)
	a.writes[k], a.certain[k] = true, true
}

func (a *accesses) read(k Key) {
	if !a.reads[k] {
		a.reads[k] = true
		a.fresh = append(a.fresh, k)
	}
}

// effect adds the key of an effect.
func (a *accesses) effect(e Effect) {
	if e.Kind == EffectFile {
		a.read("cwd:") // the name may be relative
	}
	switch {
	case e.Key == "":
	case e.Mode == Reads:
		a.read(e.Key)
	case e.Mode == Writes:
		a.writes[e.Key], a.certain[e.Key] = true, true
	default:
		a.both(e.Key)
	}
}

// dynamic adds what a dynamic construct may access.
func (a *accesses) dynamic(d Dynamic) {
	a.anyRead = a.anyRead || d.Reads
	a.anyBind = a.anyBind || d.Binds
}

// sortedKeys returns the keys of a set in sorted order, so that edges always come in the same order.
func sortedKeys(set map[Key]bool) []Key {
	keys := make([]Key, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
