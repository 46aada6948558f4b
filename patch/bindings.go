package patch

import "strings"

// bindings are the names that a text binds and uses. They come from its syntax alone, so they are known even if
// the text does not parse.
type bindings struct {
	defines map[string]bool // functions and classes at the top level
	assigns map[string]bool // other names that its top level binds, imports aside
	imports map[string]bool
	free    map[string]bool // used, but not bound in the text
	reads   map[string]bool // used at its top level before it is bound there
	changes map[string]bool // x of x.a = , x[i] = , del x[i] and of the statement x.f(), at its top level
}

func newBindings() *bindings {
	return &bindings{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{},
		map[string]bool{}}
}

// binds reports whether a text binds one of these names at its top level.
func (b *bindings) binds(names map[string]bool) bool {
	return intersects(b.assigns, names) || intersects(b.defines, names) || intersects(b.imports, names)
}

// does reports whether a text binds or changes anything.
func (b *bindings) does() bool {
	return len(b.assigns)+len(b.defines)+len(b.imports)+len(b.changes) > 0
}

func nameSet(words string) map[string]bool {
	names := map[string]bool{}
	for _, name := range strings.Fields(words) {
		names[name] = true
	}
	return names
}

// intersects reports whether two sets have a common element.
func intersects(a, b map[string]bool) bool {
	for x := range a {
		if b[x] {
			return true
		}
	}
	return false
}
