package runner

import (
	"cmp"
	"maps"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// bound is what a name is bound to in the kernel.
type bound struct {
	groupDigest groupDigest  // the group it is bound in
	digest      state.Digest // its value's digest
	bytes       int64        // approximate size
	took        float64      // seconds that it took to compute
	handles     []string     // open files that it may use, see open_files.go
}

// parked is a group that the kernel keeps alive, unbound, for nodes that need it later.
type parked struct {
	names   []string
	bytes   int64    // about what it holds
	took    float64  // seconds that it took to compute
	handles []string // open files that it may use
}

// citation is the text of a block that the kernel has.
type citation struct {
	text   string
	future string // features in force
}

// kernelState is what the engine knows of the kernel's state, so that it sends differences only.
//
// Invariant: two groups that are both bound, or parked, share no mutable object. A group is bound, parked and stored as
// a whole. Where a program state has another value for one of its names, the whole group is unbound.
type kernelState struct {
	bound       map[string]bound              // name → the group it is bound in
	grouped     map[string]bool               // those of these names whose group has several
	agreed      *programState                 // see differing; nil: none
	rebound     map[string]bool               // names that were bound since agree
	aliases     map[pair]state.Digest         // among the bound names
	parked      map[groupDigest]parked        // groups that the kernel keeps alive
	outlines    outlines                      // outlines of earlier values whose memory the kernel may have
	hidden      map[depgraph.Key]entry        // rng, conf, cwd: absent is pristine
	environ     map[depgraph.Key]*string      // variables that differ from the base; nil means unset
	open        map[depgraph.Key]state.Digest // open: keys of the files that it has open
	figures     state.Digest                  // display:figures
	modules     state.Digest                  // conf:modules
	running     state.Digest                  // process:running
	moduleState map[depgraph.Key]state.Digest // held: keys, see modules.go
	loads       map[depgraph.Key]state.Digest // load: keys, see libraries.go
	first       map[depgraph.Key]state.Digest // load: keys → the trace that the kernel was given, see firstImports
	quiet       map[string]quietLoad          // workspace modules that may be loaded at any place
	layouts     map[string]state.Digest       // function → layout of the definition that the bound object was made from
	classes     map[state.Digest]bool         // classes of the program that the kernel can name
	texts       map[string]citation           // texts of the blocks, by file name
}

func newKernelState() kernelState {
	return kernelState{
		bound:       map[string]bound{},
		grouped:     map[string]bool{},
		rebound:     map[string]bool{},
		aliases:     map[pair]state.Digest{},
		parked:      map[groupDigest]parked{},
		hidden:      map[depgraph.Key]entry{},
		environ:     map[depgraph.Key]*string{},
		open:        map[depgraph.Key]state.Digest{},
		moduleState: map[depgraph.Key]state.Digest{},
		loads:       map[depgraph.Key]state.Digest{},
		first:       map[depgraph.Key]state.Digest{},
		quiet:       map[string]quietLoad{},
		classes:     map[state.Digest]bool{},
		layouts:     map[string]state.Digest{},
	}
}

// aliasedNames returns the names that share objects with others.
func aliasedNames(all ...map[pair]state.Digest) map[string]bool {
	found := map[string]bool{}
	for _, aliases := range all {
		for pr := range aliases {
			found[pr[0]], found[pr[1]] = true, true
		}
	}
	return found
}

// isGroup reports whether j names a group of several names. Their digests are SHA-256; those of single values are
// shorter.
func isGroup(j groupDigest) bool { return len(j) == 64 }

// bind notes that names are bound to their values at p, as one group.
func (m *kernelState) bind(p *programState, j groupDigest, names []string) {
	for _, n := range names {
		e := p.keys.of(depgraph.Var(n))
		b := bound{groupDigest: j, digest: e.digest, took: e.took}
		if e.info != nil {
			b.bytes, b.handles = e.info.Bytes, e.info.Handles
		}
		m.put(n, b)
	}
	for pr, d := range p.aliases {
		if slices.Contains(names, pr[0]) {
			m.aliases[pr] = d
		}
	}
}

// put notes what a name is bound to.
func (m *kernelState) put(name string, b bound) {
	m.bound[name], m.rebound[name] = b, true
	if delete(m.grouped, name); isGroup(b.groupDigest) {
		m.grouped[name] = true
	}
}

// forget notes that a name is bound to nothing.
func (m *kernelState) forget(name string) {
	delete(m.bound, name)
	delete(m.grouped, name)
}

// differing returns the names among which are all that may be bound otherwise than at p: for each node asks, and a
// program has thousands of names. shared are those that share objects, here or at p.
//
// Invariant: at agree, a bound name that is not shared and in no group of several has its value at p, made from its
// definition as it reads now. Later the name and its definition are the same (else it is in rebound), and so is its
// value at p (else keyTable noted it).
func (m *kernelState) differing(p *programState, shared map[string]bool) map[string]bool {
	found := maps.Clone(m.grouped)
	if m.agreed != p {
		for name := range m.bound {
			found[name] = true
		}
		return found
	}
	maps.Copy(found, shared)
	maps.Copy(found, m.rebound)
	for _, name := range p.keys.recent {
		found[name] = true
	}
	return found
}

// agree notes that the names are bound as at p, as far as they are bound.
func (m *kernelState) agree(p *programState) {
	m.agreed, m.rebound = p, map[string]bool{}
	p.keys.recent = nil
}

// missing returns the names that have a value at p and are not bound. The names that are bound have a value at p.
func (m *kernelState) missing(p *programState) (names []string) {
	if len(m.bound) == p.keys.valued {
		return nil // as nearly always: the rest looks at all names
	}
	for k, e := range p.keys.all() {
		if _, bound := m.bound[k.Name()]; k.Space() == "var" && !bound && e.hasValue() {
			names = append(names, k.Name())
		}
	}
	return names
}

// park notes that the group of the names set is parked.
func (m *kernelState) park(j groupDigest, set []string) {
	g := parked{names: set}
	for _, n := range set {
		g.bytes += m.bound[n].bytes
		g.took = max(g.took, m.bound[n].took)
		for _, k := range m.bound[n].handles {
			g.handles = appendNew(g.handles, k)
		}
	}
	m.parked[j] = g
}

// evict forgets parked groups until the rest takes at most limit bytes. It begins with those that took the least time
// to compute for their size. It returns their digests.
func (m *kernelState) evict(limit int64) []groupDigest {
	held := int64(0)
	for _, g := range m.parked {
		held += g.bytes
	}
	if held <= limit {
		return nil
	}
	worth := func(j groupDigest) float64 { return m.parked[j].took / float64(m.parked[j].bytes+1) }
	var gone []groupDigest
	cheapest := func(a, b groupDigest) int { return cmp.Or(cmp.Compare(worth(a), worth(b)), cmp.Compare(a, b)) }
	for _, j := range slices.SortedFunc(maps.Keys(m.parked), cheapest) {
		if held <= limit {
			break
		}
		held -= m.parked[j].bytes
		delete(m.parked, j)
		gone = append(gone, j)
	}
	return gone
}

// unbind notes that a name is no longer bound.
func (m *kernelState) unbind(name string) {
	m.forget(name)
	maps.DeleteFunc(m.aliases, func(pr pair, _ state.Digest) bool { return pr[0] == name || pr[1] == name })
}
