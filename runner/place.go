package runner

import (
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// place is what a decision about a node queries: the state before the node, and the text of the program. A walk answers
// from its program state, the planner from its index, which notes each query.
type place interface {
	get(depgraph.Key) entry
	aliasesWithin([]state.Access) []state.Alias
	aliasesAround([]string) []state.Alias
	isLifetimeSensitive(name string) bool        // the value of name, or one that shares with it, is so
	layout(n *node, cited []string) state.Digest // see layoutOf
	nameOf(writer int) string                    // the name of an entry's writer
	ending() ending
}

// walkPlace is a place in a walk.
type walkPlace struct {
	*programState
	units []*unit
	nodes []*node
}

func (h walkPlace) layout(n *node, cited []string) state.Digest { return layoutOf(h.units, n, cited) }
func (h walkPlace) nameOf(writer int) string                    { return h.nodes[writer].id() }
func (h walkPlace) ending() ending                              { return h.end }

// firstChangedRead is the test of a trace's validity. It compares the reads and aliases of t with a place, and returns
// the first read that has another digest there: a file that changed, a name with another value. ok says that all are
// equal. The first difference ends it, so a trace that is not valid costs little.
func firstChangedRead(p place, t *state.Trace) (first state.Access, now entry, ok bool) {
	for _, a := range t.Reads {
		if e := p.get(a.Key); e.digest != a.Digest {
			return a, e, false
		}
	}
	// An execution reads these only if they exist: values with finalizers, figures that were begun, and what libraries
	// saw. So their absence from the reads is compared, too.
	reads := func(k depgraph.Key) bool {
		_, found := slices.BinarySearchFunc(t.Reads, state.Access{Key: k}, byKey)
		return found
	}
	for _, w := range t.Writes {
		if w.Key.Space() == "var" && p.isLifetimeSensitive(w.Key.Name()) && !reads(w.Key) {
			return state.Access{Key: w.Key}, p.get(w.Key), false
		}
	}
	if e := p.get(figuresKey); e.digest != state.Absent && !reads(figuresKey) {
		return state.Access{Key: figuresKey}, e, false
	}
	for _, w := range t.Writes { // so are files that it writes while they are open
		if w.Key.Space() != "file" {
			continue
		}
		if k := inodeKey(w.Key.Name()); p.get(k).digest != state.Absent && !reads(k) {
			return state.Access{Key: k}, p.get(k), false
		}
	}
	for _, a := range t.Reads {
		if a.Key.Space() != "module" {
			continue
		}
		k := loadKey(a.Key.Name())
		if e := p.get(k); saw(e.digest) != "" && !reads(k) {
			return state.Access{Key: k}, e, false
		}
	}
	if !slices.EqualFunc(p.aliasesWithin(t.Reads), t.ReadAliases, slices.Equal) ||
		!slices.EqualFunc(p.aliasesAround(t.AliasSensitive), t.AliasesBefore, slices.Equal) {
		return state.Access{}, entry{}, false
	}
	return state.Access{}, entry{}, true
}
