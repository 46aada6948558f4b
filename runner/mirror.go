package runner

import (
	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// mirror is what the engine knows of the kernel's state, so that only differences are sent.
//
// Invariant: two groups that are both bound, or parked, share no mutable object. A group is bound, parked and
// stored as a whole; when what a position wants of one of its names differs, all of it makes way.
type mirror struct {
	bound   map[string]joint         // name → the group it is bound in
	parked  map[joint][]string       // groups put aside, with their names
	hidden  map[depgraph.Key]entry   // rng, conf, cwd: absent is pristine
	environ map[depgraph.Key]*string // variables that differ from the base; nil: unset
	figures state.Digest             // display:figures
	modules state.Digest             // conf:modules
	layouts map[string]state.Digest  // function → layout of the definition that the bound object was made from
	classes map[state.Digest]bool    // classes of the program that the kernel can name
}

func newMirror() mirror {
	return mirror{bound: map[string]joint{}, parked: map[joint][]string{}, hidden: map[depgraph.Key]entry{},
		environ: map[depgraph.Key]*string{}, classes: map[state.Digest]bool{},
		layouts: map[string]state.Digest{}}
}

// isGroup reports whether j names a group of several names: their digests are SHA-256, those of single values are not.
func isGroup(j joint) bool { return len(j) == 64 }
