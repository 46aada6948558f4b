package runner

import "maps"

// bindOrder says in which order the names that are bound were bound. It may lie on another one, which must not change
// meanwhile, and has the order of that one except for names that it lists itself.
type bindOrder struct {
	under *bindOrder // nil: none
	at    map[string]int
	last  int
}

// newBindOrder returns an empty order, with room for some names.
func newBindOrder(room int) *bindOrder { return &bindOrder{at: make(map[string]int, room)} }

// of returns the place of a name, from 1; 0 if it is not bound.
func (o *bindOrder) of(name string) int {
	if i, own := o.at[name]; own || o.under == nil {
		return i
	}
	return o.under.of(name)
}

// add puts a name that is not bound at the end.
func (o *bindOrder) add(name string) {
	if o.of(name) == 0 {
		o.last++
		o.at[name] = o.last
	}
}

// remove notes that a name is not bound.
func (o *bindOrder) remove(name string) {
	if delete(o.at, name); o.under != nil {
		o.at[name] = 0
	}
}

// over returns an order that lies on o.
func (o *bindOrder) over() *bindOrder {
	return &bindOrder{under: o, at: map[string]int{}, last: o.last}
}

// clone returns an order that is the same, whatever becomes of o.
func (o *bindOrder) clone() *bindOrder {
	c := &bindOrder{at: map[string]int{}, last: o.last}
	if o.under != nil {
		c.at = o.under.clone().at
	}
	maps.Copy(c.at, o.at)
	return c
}
