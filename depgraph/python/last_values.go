package python

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/xstate-engine/xstate/depgraph"
)

// In IPython "_" is the value of the last cell that had one other than None, "__" that of the cell before it, "___" of
// the one before that, and "_3" is the value of cell 3. Here these are names that such a cell binds at its end: its
// node keeps the value, see depgraph.Node.Keeps. So they are variables like others, and a cell that reads "_" depends
// on the nearest cell before it that has a value. Cells count from 1 as in a fresh run of all.
//
// Nodes keep values only where a block reads such a name. Each keeps what is read alone: to bind "__" a node reads "_",
// and so would depend on each value before it. A program that binds "_", "__" or "___" itself ends IPython's use of
// them at that moment. Here it has no such use at all, so a block that reads one before that fails.

// lastValue matches the names that IPython gives to values of cells.
var lastValue = regexp.MustCompile(`^(_{1,3}|_[1-9][0-9]{0,8})$`)

// ReadsLastValues reports whether a block reads a name that IPython gives to the value of a cell.
func ReadsLastValues(f *depgraph.Facts) bool { return f != nil && len(lastValues(f)) > 0 }

func lastValues(f *depgraph.Facts) (names []string) {
	for i := range f.Nodes {
		for _, list := range [][]string{f.Nodes[i].Uses, f.Nodes[i].Later} {
			for _, name := range list {
				if name[0] == '_' && lastValue.MatchString(name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// Keep changes what Unfold found: nodes that show the value of a cell keep it where blocks read it. The elements of
// program are as for Unfold. All of its blocks are IPython.
func Keep(program []*depgraph.Facts, found depgraph.Unfolding) {
	wanted := map[string]bool{}
	for _, f := range program {
		if f != nil {
			for _, name := range lastValues(f) {
				wanted[name] = true
			}
		}
	}
	if len(wanted) == 0 {
		return
	}
	for _, f := range program {
		for i := range nodesOf(f) {
			n := &f.Nodes[i]
			for _, list := range [][]string{n.Defines, n.Deletes, n.Rebinds} {
				for _, name := range list {
					if delete(wanted, name); name == "_" || name == "__" || name == "___" {
						wanted["_"], wanted["__"], wanted["___"] = false, false, false
					}
				}
			}
		}
	}
	var recent []string
	for i, name := range []string{"_", "__", "___"} {
		if wanted[name] {
			recent = []string{"_", "__", "___"}[:i+1]
		}
	}
	for i, f := range program {
		names := slices.Clone(recent)
		if own := "_" + strconv.Itoa(i+1); wanted[own] {
			names = append(names, own)
		}
		if len(names) > 0 && f != nil && !f.Quiet {
			keep(found, i, f, names)
		}
	}
}

func nodesOf(f *depgraph.Facts) []depgraph.Node {
	if f == nil {
		return nil
	}
	return f.Nodes
}

// keep has the last node of a block keep its value under names, if it has one.
func keep(found depgraph.Unfolding, block int, f *depgraph.Facts, names []string) {
	nodes := slices.Clone(found.Of(block, f).Nodes)
	if len(nodes) == 0 || !nodes[len(nodes)-1].Expr {
		return
	}
	n := &nodes[len(nodes)-1]
	n.Keeps = names
	n.Defines = union(n.Defines, names)
	for i, name := range []string{"__", "___"} {
		if slices.Contains(names, name) {
			n.Uses = union(n.Uses, []string{"_", "__"}[i:i+1])
		}
	}
	found.Nodes[block] = nodes
}

// union returns the names of two lists, sorted, each once.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
