package runner

import (
	"iter"
	"maps"
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
)

// keyTable says what each key has that a node wrote. It keeps indexes, so that no node has to look at all keys: a
// program has thousands of names, and few keys of any other kind.
//
// Invariant: the indexes are a function of entries. Only set changes these, and it changes all of them with one entry.
//
// A table may lie on another one, which must not change meanwhile: it has the entries of that one, except for its own.
type keyTable struct {
	under   *keyTable // nil: none
	entries map[depgraph.Key]entry
	spaces  map[string]map[depgraph.Key]bool // the keys by their space, except for names
	coded   map[depgraph.Key]bool            // names that reach code of the program or a part of a module
	local   map[depgraph.Key]bool            // those of these that reach what a function of the program defines
	valued  int                              // how many names have a value, with those of the table under it
	recent  []string                         // names that were set since kernelState.agree, maybe twice
}

// newKeyTable returns an empty table, with room for some keys.
func newKeyTable(room int) *keyTable {
	return &keyTable{
		entries: make(map[depgraph.Key]entry, room),
		spaces:  map[string]map[depgraph.Key]bool{},
		coded:   map[depgraph.Key]bool{},
		local:   map[depgraph.Key]bool{},
	}
}

// over returns a table that lies on t.
func (t *keyTable) over() *keyTable {
	above := newKeyTable(0)
	above.under, above.valued = t, t.valued
	return above
}

// clone returns a table with the same entries, whatever becomes of t.
func (t *keyTable) clone() *keyTable {
	c := newKeyTable(0)
	if t.under == nil {
		c.entries, c.valued = maps.Clone(t.entries), t.valued
		c.coded, c.local = maps.Clone(t.coded), maps.Clone(t.local)
		for space, keys := range t.spaces {
			c.spaces[space] = maps.Clone(keys)
		}
		return c
	}
	for k, e := range t.all() {
		c.set(k, e)
	}
	return c
}

// find returns what a key has. ok says whether a node wrote it.
func (t *keyTable) find(k depgraph.Key) (e entry, ok bool) {
	if e, ok = t.entries[k]; !ok && t.under != nil {
		return t.under.find(k)
	}
	return e, ok
}

// of is find for a key that a node wrote; else it returns no entry.
func (t *keyTable) of(k depgraph.Key) entry {
	e, _ := t.find(k)
	return e
}

// set gives a key an entry.
func (t *keyTable) set(k depgraph.Key, e entry) {
	space := k.Space()
	if space != "var" {
		if t.spaces[space] == nil {
			t.spaces[space] = map[depgraph.Key]bool{}
		}
		t.spaces[space][k] = true
		t.entries[k] = e
		return
	}
	if t.of(k).hasValue() {
		t.valued--
	}
	if e.hasValue() {
		t.valued++
	}
	t.entries[k] = e
	t.recent = append(t.recent, k.Name())
	delete(t.coded, k)
	delete(t.local, k)
	if e.info == nil {
		return
	}
	if len(e.info.Code)+len(e.info.ModuleReferences) > 0 {
		t.coded[k] = true
	}
	for _, code := range e.info.Code {
		if name, _, _ := strings.Cut(code, "#"); strings.Contains(name, localMark) {
			t.local[k] = true
		}
	}
}

// localMark is in the qualified name of what a function defines.
const localMark = ".<locals>."

// all returns the keys with their entries.
func (t *keyTable) all() iter.Seq2[depgraph.Key, entry] {
	return func(yield func(depgraph.Key, entry) bool) {
		for k, e := range t.entries {
			if !yield(k, e) {
				return
			}
		}
		if t.under == nil {
			return
		}
		for k, e := range t.under.all() {
			if _, own := t.entries[k]; !own && !yield(k, e) {
				return
			}
		}
	}
}

// in returns the keys of a space, except for names, with their entries.
func (t *keyTable) in(space string) iter.Seq2[depgraph.Key, entry] {
	return t.indexed(func(t *keyTable) map[depgraph.Key]bool { return t.spaces[space] })
}

// reachingCode returns the names that reach code of the program or a part of a module.
func (t *keyTable) reachingCode() iter.Seq2[depgraph.Key, entry] {
	return t.indexed(func(t *keyTable) map[depgraph.Key]bool { return t.coded })
}

// reachingLocal returns those that reach what a function of the program defines.
func (t *keyTable) reachingLocal() iter.Seq2[depgraph.Key, entry] {
	return t.indexed(func(t *keyTable) map[depgraph.Key]bool { return t.local })
}

// indexed returns the keys of an index.
func (t *keyTable) indexed(index func(*keyTable) map[depgraph.Key]bool) iter.Seq2[depgraph.Key, entry] {
	return func(yield func(depgraph.Key, entry) bool) {
		for k := range index(t) {
			if !yield(k, t.entries[k]) {
				return
			}
		}
		if t.under == nil {
			return
		}
		for k, e := range t.under.indexed(index) {
			if _, own := t.entries[k]; !own && !yield(k, e) {
				return
			}
		}
	}
}
