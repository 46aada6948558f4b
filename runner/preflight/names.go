package preflight

import (
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/depgraph/languages"
	"github.com/xstate-engine/xstate/internal/lang"
	"github.com/xstate-engine/xstate/state"
)

// undefined is a name that is read and that nothing defines.
type undefined struct {
	Place
	name string
	// later: only a function reads it. below: the block that defines it, though after it is read.
	later bool
	below state.BlockID
	// other is the space of another language that has a value of the name; "": none is known.
	other string
}

// undefinedNames returns the undefined names. Code that runs with the program needs a definition before it, a function
// anywhere. If code binds names that the text does not show, every name may be defined. The names of languages without
// an offer are not judged.
func (t *Text) undefinedNames(offers map[string]Offer) (found []undefined) {
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
	add := func(b *Block, n *depgraph.Node, key string, later bool) {
		space, name := nameIn(key)
		offer, judged := offers[space]
		if !judged || offer.Builtins[name] || said[key] || t.maybe(space, name) {
			return
		}
		said[key] = true
		line := b.lineOf(n, name)
		if space == lang.SpaceJS && line == 0 {
			return // the function that an element of JSX calls
		}
		u := undefined{Place: Place{b.ID, max(line, n.Line)}, name: name, later: later, below: anywhere[key]}
		if _, known := anywhere[name]; known && space != "" {
			u.other = "py"
		}
		if _, known := anywhere[languages.Name(lang.SpaceJS, name)]; known && space == "" {
			u.other = lang.SpaceJS
		}
		found = append(found, u)
	}
	for i := range t.Blocks {
		b := &t.Blocks[i]
		for _, n := range b.Facts.Nodes {
			for _, name := range n.Uses {
				if !defined[name] && !slices.Contains(n.Defines, name) {
					add(b, &n, name, false)
				}
			}
			for _, name := range n.Later {
				if _, known := anywhere[name]; !known {
					add(b, &n, name, true)
				}
			}
			for _, name := range slices.Concat(n.Defines, n.Rebinds) {
				defined[name] = true
			}
		}
	}
	return found
}

// nameIn returns the space of a name in the program, and the name as its language writes it.
func nameIn(name string) (space, plain string) {
	space, key := depgraph.Var(name).Cut()
	return space, key.Name()
}

// maybe reports whether a name of JavaScript need not be defined: the program asks for its type, which works without
// it, or has it as a member of this, which in a plain function is the global object.
func (t *Text) maybe(space, name string) bool {
	if space != lang.SpaceJS {
		return false
	}
	asks := regexp.MustCompile(`\b(typeof\s*\(?\s*|(this|globalThis)\s*\??\.\s*)` +
		regexp.QuoteMeta(name) + `($|[^\w$])`)
	return slices.ContainsFunc(t.Blocks, func(b Block) bool { return b.space == space && asks.Match(b.Facts.Code) })
}

// lineOf returns the line of a node that has a name first, not as a member; 0: none has it.
func (b *Block) lineOf(n *depgraph.Node, name string) int {
	word := regexp.MustCompile(`(^|[^\w.$]|\.\.\.)` + regexp.QuoteMeta(name) + `($|\W)`)
	lines := strings.Split(string(b.Facts.Code), "\n")
	for line := n.Line; line <= min(n.EndLine, len(lines)); line++ {
		if word.MatchString(lines[line-1]) {
			return line
		}
	}
	return 0
}
