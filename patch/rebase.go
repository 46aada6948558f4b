package patch

import "slices"

// Conflict is an edit that cannot be made on a list that has changed.
type Conflict struct {
	ID      string  `json:"block"`
	Op      Op      `json:"op"`
	Why     Why     `json:"why"`
	Clashes []Clash `json:"clashes"` // of WhyEdited, for OpPatch: the places
}

// Why tells what stands in the way of an edit.
type Why string

const (
	WhyEdited  Why = "edited"  // the block was edited since, in the same place, or is to be deleted
	WhyDeleted Why = "deleted" // the block was deleted since
	WhyExists  Why = "exists"  // another block has the id of the one to be added
	WhyMoved   Why = "moved"   // the block was moved elsewhere since
)

// Rebase returns the edits, which were made on base, as edits of now, which came from base in another way: sources are merged
// (Merge), what goes after a block that is gone goes after the nearest one before it, and what was done already is left
// out. With a conflict there are no edits.
func Rebase(base, now []Block, edits []Edit) ([]Edit, []Conflict, error) {
	r := rebasing{}
	var err error
	if r.base, err = newChain(base); err != nil {
		return nil, nil, err
	}
	if r.now, err = newChain(now); err != nil {
		return nil, nil, err
	}
	for _, e := range edits {
		next, todo := r.edit(e)
		if err := r.base.apply(e); err != nil {
			return nil, nil, err
		}
		if !todo {
			continue
		}
		if err := r.now.apply(next); err != nil {
			return nil, nil, err
		}
		r.edits = append(r.edits, next)
	}
	if len(r.conflicts) > 0 {
		return nil, r.conflicts, nil
	}
	return r.edits, nil, nil
}

type rebasing struct {
	base, now *chain
	edits     []Edit
	conflicts []Conflict
}

// edit returns an edit as one of now, and whether it is to be made.
func (r *rebasing) edit(e Edit) (next Edit, todo bool) {
	was, is := r.base.byID[e.ID], r.now.byID[e.ID]
	switch {
	case e.Op == OpAppend && is == nil:
		e.After = r.anchor(e.After)
		return e, true
	case e.Op == OpAppend:
		if !is.block.same(e.Block) {
			r.conflict(e, WhyExists, nil)
		}
		return e, false
	case was == nil: // the edit does not fit base, as apply will say
		return e, false
	case is == nil:
		if e.Op != OpDelete {
			r.conflict(e, WhyDeleted, nil)
		}
		return e, false
	}
	switch e.Op {
	case OpPatch:
		return r.patch(e, was.block, is.block)
	case OpDelete:
		if !is.block.same(was.block) {
			r.conflict(e, WhyEdited, []Clash{{Line: 1, Base: was.block.Source, Ours: is.block.Source}})
			return e, false
		}
		return e, true
	}
	e.After = r.anchor(e.After)
	if r.common(r.base, was.prev, r.now) == r.common(r.now, is.prev, r.base) {
		return e, true
	}
	if is.prev.block.ID != e.After {
		r.conflict(e, WhyMoved, nil)
	}
	return e, false
}

func (r *rebasing) patch(e Edit, was, is Block) (Edit, bool) {
	source, clashes := Merge(was.Source, is.Source, e.Block.Source)
	if clashes != nil {
		r.conflict(e, WhyEdited, clashes)
		return e, false
	}
	e.Block.Source = source
	if e.Block.Title == was.Title {
		e.Block.Title = is.Title
	}
	if e.Block.Dialect == was.Dialect {
		e.Block.Dialect = is.Dialect
	}
	return e, !e.Block.same(is)
}

func (r *rebasing) conflict(e Edit, why Why, clashes []Clash) {
	r.conflicts = append(r.conflicts, Conflict{ID: e.ID, Op: e.Op, Why: why, Clashes: append([]Clash{}, clashes...)})
}

// anchor returns the block of now that what goes after a block of base goes after.
func (r *rebasing) anchor(after string) string {
	if l := r.base.byID[after]; l != nil {
		return r.common(r.base, l, r.now)
	}
	return ""
}

// common returns the first block, from one of a chain backwards, that the other chain has, too.
func (r *rebasing) common(c *chain, from *link, other *chain) string {
	for l := from; l != &c.root; l = l.prev {
		if other.byID[l.block.ID] != nil {
			return l.block.ID
		}
	}
	return ""
}

// Renamed returns the edits with other ids for what they append, where now has another block of that id.
func Renamed(edits []Edit, now []Block) []Edit {
	there := make(map[string]Block, len(now))
	var used []string
	for _, b := range now {
		there[b.ID] = b
		used = append(used, b.ID)
	}
	edits = slices.Clone(edits)
	names := map[string]string{}
	for i, e := range edits {
		if b, taken := there[e.ID]; e.Op == OpAppend && taken && !b.same(e.Block) {
			b = e.Block
			b.ID = ""
			names[e.ID] = Names([]Block{b}, used...)[0]
			used = append(used, names[e.ID])
		}
		for _, id := range []*string{&edits[i].ID, &edits[i].After} {
			if name, ok := names[*id]; ok {
				*id = name
			}
		}
		edits[i].Block.ID = edits[i].ID
	}
	return edits
}
