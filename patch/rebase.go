package patch

import (
	"slices"

	"github.com/xstate-engine/xstate/patch/diff"
)

// Conflict is an edit that cannot be made on the changed list.
type Conflict struct {
	ID      string       `json:"block"`
	Op      Op           `json:"op"`
	Why     Why          `json:"why"`
	Clashes []diff.Clash `json:"clashes"` // for WhyEdited of OpPatch: the places
}

// Why is the reason for a conflict.
type Why string

const (
	WhyEdited  Why = "edited"  // the block was edited in the same place, or is to be deleted
	WhyDeleted Why = "deleted" // the block was deleted
	WhyExists  Why = "exists"  // another block has the id of the new one
	WhyMoved   Why = "moved"   // the block was moved elsewhere
)

// Rebase takes edits that were made on base and returns the same edits for now, a list that came from base in another
// way. It merges sources with Merge. A block that goes after a deleted block goes after the nearest remaining one
// before. Edits that now has already are left out. With a conflict it returns no edits.
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

// edit returns an edit for now, and whether it is still to be made.
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
	case was == nil: // the edit does not fit base, and apply will fail
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
			r.conflict(e, WhyEdited, []diff.Clash{{Line: 1, Base: was.block.Source, Ours: is.block.Source}})
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
	source, clashes := diff.Merge(was.Source, is.Source, e.Block.Source)
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

func (r *rebasing) conflict(e Edit, why Why, clashes []diff.Clash) {
	r.conflicts = append(r.conflicts,
		Conflict{ID: e.ID, Op: e.Op, Why: why, Clashes: append([]diff.Clash{}, clashes...)})
}

// anchor returns the block of now after which an edit puts a block that base has after the given one.
func (r *rebasing) anchor(after string) string {
	if l := r.base.byID[after]; l != nil {
		return r.common(r.base, l, r.now)
	}
	return ""
}

// common returns the first block, from one of a chain backwards, that the other chain has too.
func (r *rebasing) common(c *chain, from *link, other *chain) string {
	for l := from; l != &c.root; l = l.prev {
		if other.byID[l.block.ID] != nil {
			return l.block.ID
		}
	}
	return ""
}

// Renamed returns the edits with new ids for appended blocks whose id another block in now has.
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
