package state

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"go.etcd.io/bbolt"
)

// A program is kept as an index: the order of its blocks, and for each the change that last gave it its facts. A block's
// facts are stored once, in the step that changed them; an index of ten thousand blocks is a few hundred kilobytes. An
// index is written when the steps since the last one have grown larger than it would be, so that writing costs a
// constant factor and reading any step costs at most one index and as many bytes of steps.

// place says where a block's facts are: change Change of step Step.
type place struct {
	Step   StepNumber
	Change uint32
}

type index struct {
	order  []BlockID
	places map[BlockID]place
	bytes  uint64 // about the size of the encoded index
}

// indexMinGap is how many bytes of steps are always cheaper to replay than an index is to keep.
const indexMinGap = 4096

// entryBytes is what a block takes in a packed index, about: numbers hardly become smaller, ids do.
func entryBytes(id BlockID) uint64 { return 6 + uint64(len(id))/4 }

func newIndex() *index { return &index{places: make(map[BlockID]place)} }

// apply does one change. It says what is wrong with a change that does not fit.
func (x *index) apply(op Op, id, after BlockID, at place) error {
	_, known := x.places[id]
	switch {
	case id == "":
		return fmt.Errorf("a block has no id")
	case op == OpInsert && known:
		return fmt.Errorf("there is a block %q already", id)
	case op != OpInsert && !known:
		return fmt.Errorf("there is no block %q", id)
	}
	switch op {
	case OpUpdate:
		x.places[id] = at
		return nil
	case OpInsert:
		if err := x.insert(id, after); err != nil {
			return err
		}
		x.places[id] = at
		x.bytes += entryBytes(id)
		return nil
	case OpMove:
		if after == id {
			return fmt.Errorf("block %q cannot go after itself", id)
		}
		from := x.find(id)
		x.order = slices.Delete(x.order, from, from+1)
		if err := x.insert(id, after); err != nil {
			x.order = slices.Insert(x.order, from, id)
			return err
		}
		return nil
	case OpDelete:
		i := x.find(id)
		x.order = slices.Delete(x.order, i, i+1)
		delete(x.places, id)
		x.bytes -= entryBytes(id)
		return nil
	}
	return fmt.Errorf("operation %d is not known", op)
}

func (x *index) insert(id, after BlockID) error {
	i := 0
	if after != "" {
		if _, ok := x.places[after]; !ok {
			return fmt.Errorf("there is no block %q to put %q after", after, id)
		}
		i = x.find(after) + 1
	}
	x.order = slices.Insert(x.order, i, id)
	return nil
}

// find looks from the end: most programs grow there.
func (x *index) find(id BlockID) int {
	for i := len(x.order) - 1; i >= 0; i-- {
		if x.order[i] == id {
			return i
		}
	}
	panic("state: internal error: block " + string(id) + " has a place but no position")
}

// headCache keeps the index at the head of each session that was written or read, as long as its hash is the head's.
type headCache struct {
	mu   sync.Mutex
	byID map[sessionID]headIndex
}

type headIndex struct {
	hash  Digest
	index *index
}

// take removes the index from the cache, for a writer to change.
func (c *headCache) take(id sessionID, hash Digest) *index {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok := c.byID[id]
	delete(c.byID, id)
	if !ok || h.hash != hash {
		return nil
	}
	return h.index
}

func (c *headCache) put(id sessionID, hash Digest, x *index) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID == nil {
		c.byID = make(map[sessionID]headIndex)
	}
	c.byID[id] = headIndex{hash, x}
}

// read returns a cached index, or nil. It is for the transaction that reads it: the next writer changes it.
func (c *headCache) read(id sessionID, hash Digest) *index {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h, ok := c.byID[id]; ok && h.hash == hash {
		return h.index
	}
	return nil
}

// indexAt returns the index of the program after step n, which the caller may change.
func (s *Store) indexAt(tx *bbolt.Tx, l *lineage, n StepNumber) (*index, error) {
	var replay []packedStep
	x := newIndex()
	for n > 0 {
		h, p, _, err := s.readStep(tx, l, n)
		if err != nil {
			return nil, err
		}
		if h.Index {
			if kept, err := s.readIndex(tx, l, n); err == nil {
				x = kept
				break
			} // else it is replayed from further back: slower, and Check names it
		}
		replay = append(replay, p)
		n = h.base()
	}
	for _, p := range slices.Backward(replay) {
		records, err := p.body.records(p.number)
		if err != nil {
			return nil, badStep(l, p.number, err)
		}
		for i, data := range records {
			var r changeRecord
			if err := decode(data, &r); err != nil {
				return nil, badStep(l, p.number, err)
			}
			if err := x.apply(r.Op, r.ID, r.After, place{p.number, uint32(i)}); err != nil {
				return nil, badStep(l, p.number, err)
			}
		}
	}
	return x, nil
}

func (s *Store) readIndex(tx *bbolt.Tx, l *lineage, n StepNumber) (*index, error) {
	key := stepKey(l.owner(n), n)
	value := tx.Bucket(bucketIndexes).Get(key)
	if value == nil {
		return nil, errNoRecord
	}
	payload, err := unseal(bucketIndexes, key, value)
	if err != nil {
		return nil, err
	}
	return decodeIndex(payload)
}

// readStep returns the verified header of a step that the session has.
func (s *Store) readStep(tx *bbolt.Tx, l *lineage, n StepNumber) (stepHeader, packedStep, Digest, error) {
	key := stepKey(l.owner(n), n)
	value := tx.Bucket(bucketSteps).Get(key)
	if value == nil {
		return stepHeader{}, packedStep{}, "", badStep(l, n, errNoRecord)
	}
	h, p, hash, err := openStep(key, n, value)
	if err != nil {
		return h, p, "", badStep(l, n, err)
	}
	return h, p, hash, nil
}

func badStep(l *lineage, n StepNumber, err error) error {
	return damaged(historyFile, fmt.Sprintf("step %d of session %q cannot be read", n, l.birth.Name), err)
}

// ProgramAt returns the program of a session after step n, in order.
func (s *Store) ProgramAt(ctx context.Context, session string, n StepNumber) ([]Block, error) {
	program, _, err := s.FirstBlocks(ctx, session, n, 0)
	return program, err
}

// ProgramStart returns the first blocks of the program after step n, at most limit of them unless it is 0, and how many
// there are.
func (s *Store) FirstBlocks(ctx context.Context, session string, n StepNumber, limit int) (program []Block, total int, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		l, x, err := s.programIndex(tx, session, n)
		if err != nil {
			return err
		}
		total = len(x.order)
		if limit == 0 || limit > total {
			limit = total
		}
		program = make([]Block, limit)
		r := blockReader{tx: tx, line: l, marks: &s.landmarks}
		for i, id := range x.order[:limit] {
			if err := r.read(id, x.places[id], &program[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return program, total, nil
}

// Order returns the ids of the blocks of the program after step n, in order.
func (s *Store) BlockOrder(ctx context.Context, session string, n StepNumber) (order []BlockID, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		_, x, err := s.programIndex(tx, session, n)
		if err == nil {
			order = slices.Clone(x.order)
		}
		return err
	})
	return order, err
}

// LastBlock returns the last block of the program after step n, "" when it has none.
func (s *Store) LastBlock(ctx context.Context, session string, n StepNumber) (last BlockID, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		_, x, err := s.programIndex(tx, session, n)
		if err == nil && len(x.order) > 0 {
			last = x.order[len(x.order)-1]
		}
		return err
	})
	return last, err
}

// BlockAt returns one block of the program after step n, without reading the others.
func (s *Store) BlockAt(ctx context.Context, session string, n StepNumber, id BlockID) (block Block, found bool, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		l, x, err := s.programIndex(tx, session, n)
		if err != nil {
			return err
		}
		var p place
		if p, found = x.places[id]; !found {
			return nil
		}
		r := blockReader{tx: tx, line: l, marks: &s.landmarks}
		return r.read(id, p, &block)
	})
	return block, found && err == nil, err
}

// programIndex returns the index of the program after step n, for a transaction that reads.
func (s *Store) programIndex(tx *bbolt.Tx, session string, n StepNumber) (*lineage, *index, error) {
	l, head, err := s.find(tx, session)
	if err != nil {
		return nil, nil, err
	}
	if n > head.Step {
		return nil, nil, noStep(session, n, head.Step)
	}
	if n != head.Step {
		x, err := s.indexAt(tx, l, n)
		return l, x, err
	}
	if x := s.heads.read(l.id, head.Hash); x != nil {
		return l, x, nil
	}
	x, err := s.indexAt(tx, l, n)
	if err == nil {
		s.heads.put(l.id, head.Hash, x)
	}
	return l, x, err
}

// blockReader reads the facts of blocks, finding its way in each step once.
type blockReader struct {
	tx    *bbolt.Tx
	line  *lineage
	marks *landmarks
	steps map[StepNumber]openBody
}

type openBody struct {
	body  body
	marks []int
}

func (r *blockReader) read(id BlockID, p place, into *Block) error {
	data, err := r.record(p)
	if err != nil {
		return badStep(r.line, p.Step, err)
	}
	var record changeRecord
	if err := decode(data, &record); err != nil {
		return badStep(r.line, p.Step, err)
	}
	if record.ID != id || len(record.Block) == 0 {
		return badStep(r.line, p.Step, fmt.Errorf("change %d is not of block %q", p.Change, id))
	}
	if err := decode(record.Block, into); err != nil {
		return badStep(r.line, p.Step, err)
	}
	return nil
}

func (r *blockReader) record(p place) ([]byte, error) {
	o, ok := r.steps[p.Step]
	if !ok {
		value := r.tx.Bucket(bucketSteps).Get(stepKey(r.line.owner(p.Step), p.Step))
		if value == nil {
			return nil, errNoRecord
		}
		packed, err := unpackStep(p.Step, value)
		if err != nil {
			return nil, err
		}
		o.body = packed.body
		if o.marks, err = r.marks.of(r.line.owner(p.Step), p.Step, o.body); err != nil {
			return nil, err
		}
		if r.steps == nil {
			r.steps = make(map[StepNumber]openBody)
		}
		r.steps[p.Step] = o
	}
	data, err := o.body.change(o.marks, int(p.Change))
	if err != nil {
		return nil, err
	}
	return data, o.body.verify(p.Step, int(p.Change), data)
}
