package bench

import (
	"github.com/xstate-engine/xstate/patch"
)

// byNames chooses the blocks whose code is another or did not run, and all that names connect to them, as reactive notebooks
// do: a block depends on the block that binds a name which it mentions. Binds are assignments, imports and definitions that the text shows;
// a change in place is none. Where a name is bound by several blocks, a block depends on the last one before it, and one that
// binds the name again is run again when one before it was, or the value would be that of the earlier one.
func (b *testbed) byNames(old []executedBlock, now []patch.Block) []bool {
	was := map[string]executedBlock{}
	before := map[string]map[string]string{} // block → name → who bound it
	binder := map[string]string{}
	for _, x := range old {
		was[x.ID] = x
		before[x.ID] = b.binders(x.Block, binder)
	}
	must := make([]bool, len(now))
	stale := map[string]bool{}   // blocks
	rebound := map[string]bool{} // names that a block which runs binds
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

// binders tells by which block each name that a block mentions was bound, and notes what it binds itself.
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

// namesOf returns the names that the text of a block binds, and those it mentions without binding them first.
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

// nodes returns how many nodes a block has.
func (b *testbed) nodes(x patch.Block) int {
	if f := b.editor.factsOf(x); f != nil {
		return len(f.Nodes)
	}
	return 0
}
