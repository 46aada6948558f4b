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

// Names collects the bindings of a text while a language walks it from top to bottom.
type Names struct {
	*Bindings
	Inner int // number of enclosing functions and classes, whose names are theirs

	bound, used, before map[string]bool
}

// NewNames returns an empty collection.
func NewNames() *Names {
	return &Names{Bindings: NewBindings(), bound: map[string]bool{}, used: map[string]bool{}, before: map[string]bool{}}
}

// Use adds a name that the text uses.
func (n *Names) Use(name string) {
	n.used[name] = true
	n.Read(name)
}

// Read adds a name that the text changes, and so reads, if it binds the name: "x += 1".
func (n *Names) Read(name string) {
	if n.Inner == 0 && !n.before[name] {
		n.Reads[name] = true
	}
}

// Bind adds a name that the text binds anywhere.
func (n *Names) Bind(name string) { n.bound[name] = true }

// Has makes names bound at the top level for what follows.
func (n *Names) Has(names ...string) {
	for _, name := range names {
		n.before[name] = true
	}
}

// All returns the bindings at the end of the text.
func (n *Names) All() *Bindings {
	for name := range n.used {
		if !n.bound[name] {
			n.Free[name] = true
		}
	}
	return n.Bindings
}

// Binds reports whether a text binds one of these names at its top level.
func (b *Bindings) Binds(names map[string]bool) bool {
	return Intersects(b.Assigns, names) || Intersects(b.Defines, names) || Intersects(b.Imports, names)
}

// Does reports whether a text binds or changes anything.
func (b *Bindings) Does() bool {
	return len(b.Assigns)+len(b.Defines)+len(b.Imports)+len(b.Changes) > 0
}

// Words returns the set of the words of a text.
func Words(words string) map[string]bool {
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
