package patch

import (
	"errors"
	"fmt"
)

// Op is what an edit does.
type Op string

const (
	OpAppend Op = "append" // Block becomes a new block directly after After
	OpPatch  Op = "patch"  // the block ID becomes Block
	OpMove   Op = "move"   // the block ID goes directly after After
	OpDelete Op = "delete" // the block ID goes away
)

// By tells how a block of a re-read program was recognised.
type By string

const (
	ByID         By = "id"         // both give the same id
	ByContent    By = "content"    // both hold the same text
	ByName       By = "name"       // both have the same title, or define the same name
	BySimilarity By = "similarity" // enough of the text is the same
	ByDefinition By = "definition" // both define the same names
	ByAnswer     By = "answer"     // it failed, and the other came next
	ByPart       By = "part"       // it has the definitions that the other consists of, among others
	ByPlace      By = "place"      // it stands where the other stood
	ByProgram    By = "program"    // it is the whole program, written again
	ByNothing    By = "new"        // it was not recognised
)

// Edit is one change to a list of blocks. It prints as data: nothing in it refers to the lists it came from.
type Edit struct {
	Op    Op
	ID    string  // the block concerned; for OpAppend the id it gets
	After string  // for OpAppend and OpMove: the block it follows; "" for the first place
	Block Block   // the block as it is afterwards, with its ID; for OpDelete as it was
	Score float64 // for OpPatch and OpMove: how alike the two texts are, 0 to 1; 0 also when their lengths differ threefold
	By    By      // for OpPatch and OpMove: how the block was recognised
}

// Errors of Apply.
var (
	ErrNoBlock     = errors.New("no such block")
	ErrDuplicateID = errors.New("two blocks have the same id")
)

// Apply makes the edits one after another and returns the new list. The ids of blocks must be unique and not empty.
// When an edit cannot be made, the error names it, wraps ErrNoBlock or ErrDuplicateID, and no list is returned.
func Apply(blocks []Block, edits []Edit) ([]Block, error) {
	c, err := newChain(blocks)
	if err != nil {
		return nil, err
	}
	for i, e := range edits {
		if err := c.apply(e); err != nil {
			return nil, fmt.Errorf("edit %d, %s %q: %w", i+1, e.Op, e.ID, err)
		}
	}
	return c.blocks(), nil
}

// link is a block between its neighbours.
type link struct {
	block      Block
	prev, next *link
}

// chain is a ring of links with a root that holds no block, so that an edit costs the same at any place.
// A slice would cost 10,000 edits of a program of 10,000 blocks 5·10^7 copies of a block.
type chain struct {
	root link
	byID map[string]*link
}

func newChain(blocks []Block) (*chain, error) {
	c := &chain{byID: make(map[string]*link, len(blocks))}
	c.root.prev, c.root.next = &c.root, &c.root
	for _, b := range blocks {
		if err := c.insert(c.root.prev, b); err != nil {
			return nil, fmt.Errorf("block %q: %w", b.ID, err)
		}
	}
	return c, nil
}

func (c *chain) apply(e Edit) error {
	if e.Op == OpAppend {
		at, err := c.at(e.After)
		if err != nil {
			return err
		}
		e.Block.ID = e.ID
		return c.insert(at, e.Block)
	}
	l := c.byID[e.ID]
	if l == nil {
		return ErrNoBlock
	}
	switch e.Op {
	case OpPatch:
		l.block = e.Block
		l.block.ID = e.ID
	case OpDelete:
		l.unlink()
		delete(c.byID, e.ID)
	case OpMove:
		return c.move(l, e.After)
	default:
		return fmt.Errorf("unknown operation %q", e.Op)
	}
	return nil
}

func (c *chain) move(l *link, after string) error {
	if after == l.block.ID {
		return fmt.Errorf("after itself: %w", ErrNoBlock)
	}
	at, err := c.at(after)
	if err != nil {
		return err
	}
	l.unlink()
	l.insertAfter(at)
	return nil
}

// at returns the link after which something goes.
func (c *chain) at(id string) (*link, error) {
	if id == "" {
		return &c.root, nil
	}
	if l := c.byID[id]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("after %q: %w", id, ErrNoBlock)
}

func (c *chain) insert(at *link, b Block) error {
	if b.ID == "" || c.byID[b.ID] != nil {
		return ErrDuplicateID
	}
	l := &link{block: b}
	l.insertAfter(at)
	c.byID[b.ID] = l
	return nil
}

func (c *chain) blocks() []Block {
	out := make([]Block, 0, len(c.byID))
	for l := c.root.next; l != &c.root; l = l.next {
		out = append(out, l.block)
	}
	return out
}

func (l *link) insertAfter(at *link) {
	l.prev, l.next = at, at.next
	at.next.prev = l
	at.next = l
}

func (l *link) unlink() {
	l.prev.next, l.next.prev = l.next, l.prev
}
