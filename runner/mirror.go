package runner

import (
	"maps"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// bound is what a name is bound to in the kernel.
type bound struct {
	joint  joint        // the group it is bound in
	digest state.Digest // its value
}

// mirror is what the engine knows of the kernel's state, so that only differences are sent.
//
// Invariant: two groups that are both bound, or parked, share no mutable object. A group is bound, parked and
// stored as a whole; when what a position wants of one of its names differs, all of it makes way.
type mirror struct {
	bound   map[string]bound         // name → the group it is bound in
	shares  map[pair]state.Digest    // of the bound names
	parked  map[joint][]string       // groups put aside, with their names
	hidden  map[depgraph.Key]entry   // rng, conf, cwd: absent is pristine
	environ map[depgraph.Key]*string // variables that differ from the base; nil: unset
	figures state.Digest             // display:figures
	modules state.Digest             // conf:modules
	layouts map[string]state.Digest  // function → layout of the definition that the bound object was made from
	classes map[state.Digest]bool    // classes of the program that the kernel can name
}

func newMirror() mirror {
	return mirror{bound: map[string]bound{}, shares: map[pair]state.Digest{}, parked: map[joint][]string{}, hidden: map[depgraph.Key]entry{},
		environ: map[depgraph.Key]*string{}, classes: map[state.Digest]bool{},
		layouts: map[string]state.Digest{}}
}

// isGroup reports whether j names a group of several names: their digests are SHA-256, those of single values are not.
func isGroup(j joint) bool { return len(j) == 64 }

// bind notes that names are bound to what they have at p, as one group.
func (m *mirror) bind(p *position, j joint, names []string) {
	for _, n := range names {
		m.bound[n] = bound{j, p.keys[depgraph.Var(n)].digest}
	}
	for pr, d := range p.shares {
		if slices.Contains(names, pr[0]) {
			m.shares[pr] = d
		}
	}
}

// unbind notes that a name is bound no more.
func (m *mirror) unbind(name string) {
	delete(m.bound, name)
	maps.DeleteFunc(m.shares, func(pr pair, _ state.Digest) bool { return pr[0] == name || pr[1] == name })
}
