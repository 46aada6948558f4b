package preflight

import (
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// undefined is a name that is read and that nothing defines.
type undefined struct {
	Place
	name string
	// later: only a function reads it. below: the block that defines it, though after it is read.
	later bool
	below state.BlockID
}

// undefinedNames returns the names that nobody defines: of the code that runs with the program, before it; of
// functions, anywhere. Where code binds names that the text does not show, every name may be defined.
func (t *Text) undefinedNames(builtin func(string) bool) (found []undefined) {
	anywhere := map[string]state.BlockID{}
	for i := range t.Blocks {
		if t.Blocks[i].Facts == nil {
			return nil // what it defines is not known
		}
		for _, n := range t.Blocks[i].Facts.Nodes {
			for _, name := range slices.Concat(n.Defines, n.Rebinds) {
				anywhere[name] = t.Blocks[i].ID
			}
			for _, d := range n.Dynamic {
				if d.Binds {
					return nil
				}
			}
		}
	}
	defined, said := map[string]bool{}, map[string]bool{}
	add := func(u undefined) {
		if !builtin(u.name) && !said[u.name] {
			said[u.name] = true
			found = append(found, u)
		}
	}
	for i := range t.Blocks {
		b := &t.Blocks[i]
		for _, n := range b.Facts.Nodes {
			for _, name := range n.Uses {
				if !defined[name] && !slices.Contains(n.Defines, name) {
					add(undefined{Place{b.ID, b.lineOf(&n, name)}, name, false, anywhere[name]})
				}
			}
			for _, name := range n.Later {
				if _, known := anywhere[name]; !known {
					add(undefined{Place{b.ID, b.lineOf(&n, name)}, name, true, ""})
				}
			}
			for _, name := range slices.Concat(n.Defines, n.Rebinds) {
				defined[name] = true
			}
		}
	}
	return found
}

// lineOf returns the line of a node that has a name first, or else the node's own.
func (b *Block) lineOf(n *depgraph.Node, name string) int {
	word := regexp.MustCompile(`(^|[^\w.])` + regexp.QuoteMeta(name) + `($|\W)`)
	lines := strings.Split(string(b.Facts.Code), "\n")
	for line := n.Line; line <= min(n.EndLine, len(lines)); line++ {
		if word.MatchString(lines[line-1]) {
			return line
		}
	}
	return n.Line
}
