package syntax

import "strings"

// Bindings are the names that a text binds and uses. They come from its syntax alone, so they are known even if
// the text does not parse.
type Bindings struct {
	Defines map[string]bool // functions and classes at the top level
	Assigns map[string]bool // other names that its top level binds, imports aside
	Imports map[string]bool // names that imports bind at its top level
	Free    map[string]bool // used, but not bound in the text
	Reads   map[string]bool // used at its top level before it is bound there
	Changes map[string]bool // x of x.a = , x[i] = , del x[i] and of the statement x.f(), at its top level
}

// NewBindings returns bindings without names.
func NewBindings() *Bindings {
	return &Bindings{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{},
		map[string]bool{}}
}

// Binds reports whether a text binds one of these names at its top level.
func (b *Bindings) Binds(names map[string]bool) bool {
	return Intersects(b.Assigns, names) || Intersects(b.Defines, names) || Intersects(b.Imports, names)
}

// Does reports whether a text binds or changes anything.
func (b *Bindings) Does() bool {
	return len(b.Assigns)+len(b.Defines)+len(b.Imports)+len(b.Changes) > 0
}

// Names returns the set of the words of a text.
func Names(words string) map[string]bool {
	names := map[string]bool{}
	for _, name := range strings.Fields(words) {
		names[name] = true
	}
	return names
}

// Intersects reports whether two sets have a common element.
func Intersects(a, b map[string]bool) bool {
	for x := range a {
		if b[x] {
			return true
		}
	}
	return false
}
