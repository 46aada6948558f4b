package patch

import (
	"errors"
	"fmt"
)

// Op is the kind of an edit.
type Op string

const (
	OpAppend Op = "append" // Block becomes a new block directly after After
	OpPatch  Op = "patch"  // the block ID becomes Block
	OpMove   Op = "move"   // the block ID goes directly after After
	OpDelete Op = "delete" // the block ID is removed
)

// By says how a block of a program was recognised when the program was read again.
type By string

const (
	ByID         By = "id"         // both have the same id
	ByContent    By = "content"    // both have the same text
	ByName       By = "name"       // both have the same title, or define the same name
	BySimilarity By = "similarity" // their texts are similar enough
	ByDefinition By = "definition" // both define the same names
	ByAnswer     By = "answer"     // the old block failed, and the new one came next
	ByPart       By = "part"       // the new text consists of definitions that the old block has among others
	ByKept       By = "kept"       // the old block failed, and the new one is what it did before that
	ByPlace      By = "place"      // both are at the same place
	ByProgram    By = "program"    // the text is the whole program, written again
	ByNothing    By = "new"        // it was not recognised
)

// Edit is one change to a list of blocks. It is plain data and does not refer to the lists it came from.
type Edit struct {
	Op    Op
	ID    string  // the block to change; for OpAppend, its new id
	After string  // for OpAppend and OpMove: the block it follows; "" for the first place
	Block Block   // the block after the edit, with its ID; for OpDelete, the block before
	Score float64 // for OpPatch and OpMove: similarity of the texts, 0 to 1; also 0 if their lengths differ threefold
	By    By      // for OpPatch and OpMove: how the block was recognised
}

// These are the errors of Apply.
var (
	ErrNoBlock     = errors.New("no such block")
	ErrDuplicateID = errors.New("two blocks have the same id")
)

// Apply makes the edits in order and returns the new list. The ids of the blocks must be unique and not empty. If an
// edit cannot be made, Apply returns no list. The error then names the edit and wraps ErrNoBlock or ErrDuplicateID.
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

// link is a block and its neighbours.
type link struct {
	block      Block
	prev, next *link
}

// chain is a ring of links, so that an edit costs the same at any place. Its root holds no block. With a slice, 10,000
// edits of a program of 10,000 blocks would copy 5·10^7 blocks.
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

// at returns the link after which an edit puts a block.
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
