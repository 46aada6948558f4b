package bench

import (
	"github.com/xstate-engine/xstate/patch"
)

// byNames chooses the blocks that changed or did not run, and all blocks that depend on them through names, as
// reactive notebooks do. A block depends on the block that binds a name which it mentions. Assignments, imports and
// definitions in the text bind; a change in place does not. If several blocks bind a name, a block depends on the
// last one before it. A block that binds the name again runs again when an earlier binder did, because otherwise the
// value would be the earlier one's.
func (b *testbed) byNames(old []executedBlock, now []patch.Block) []bool {
	was := map[string]executedBlock{}
	before := map[string]map[string]string{} // block → name → the block that bound it
	binder := map[string]string{}
	for _, x := range old {
		was[x.ID] = x
		before[x.ID] = b.binders(x.Block, binder)
	}
	must := make([]bool, len(now))
	stale := map[string]bool{}   // blocks
	rebound := map[string]bool{} // names bound by blocks that run
	binder = map[string]string{}
	for i, x := range now {
		o, known := was[x.ID]
		from := b.binders(x, binder)
		must[i] = !known || o.Source != x.Source || !o.ran
		for name, who := range from {
			must[i] = must[i] || stale[who] || before[x.ID][name] != who
		}
		names := b.namesOf(x)
		must[i] = must[i] || overlap(names.binds, rebound)
		if must[i] {
			stale[x.ID] = true
			for name := range names.binds {
				rebound[name] = true
			}
		}
	}
	return must
}

// binders returns, for each name that a block mentions, the block that bound it. It adds the block's own names to
// binder.
func (b *testbed) binders(x patch.Block, binder map[string]string) map[string]string {
	from, names := map[string]string{}, b.namesOf(x)
	for name := range names.uses {
		if who := binder[name]; who != "" {
			from[name] = who
		}
	}
	for name := range names.binds {
		binder[name] = x.ID
	}
	return from
}

// namesOf returns the names that the text of a block binds, and those that it mentions before binding them.
func (b *testbed) namesOf(x patch.Block) blockNames {
	key := x.Dialect + "\n" + x.Source
	if n, known := b.names[key]; known {
		return n
	}
	n := blockNames{binds: map[string]bool{}, uses: map[string]bool{}}
	if f := b.editor.factsOf(x); f != nil {
		for i := range f.Nodes {
			node := &f.Nodes[i]
			for _, list := range [][]string{node.Uses, node.Later} {
				for _, name := range list {
					if !n.binds[name] {
						n.uses[name] = true
					}
				}
			}
			for _, list := range [][]string{node.Defines, node.Rebinds} {
				for _, name := range list {
					n.binds[name] = true
				}
			}
		}
	}
	b.names[key] = n
	return n
}

// nodes returns the number of nodes in a block.
func (b *testbed) nodes(x patch.Block) int {
	if f := b.editor.factsOf(x); f != nil {
		return len(f.Nodes)
	}
	return 0
}
