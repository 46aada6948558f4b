package state

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"go.etcd.io/bbolt"
)

// changeRef locates a block's facts: change Change of step Step.
type changeRef struct {
	Step   StepNumber
	Change uint32
}

// index is the program after a step: the order of its blocks, and for each block the change that last set its facts.
// A block's facts are stored once, in the step that changed them; an index of ten thousand blocks takes a few hundred
// kilobytes. An index is stored when the steps since the last one have grown larger than it would be. So writing
// costs a constant factor, and reading any step costs at most one index and as many bytes of steps.
type index struct {
	order      []BlockID
	lastChange map[BlockID]changeRef
	bytes      uint64 // approximate size of the encoded index
}

// minReplayBytes is how many bytes of steps are always cheaper to replay than to store an index for.
const minReplayBytes = 4096

// entryBytes estimates what a block takes in a compressed index: its numbers hardly compress, its id does.
func entryBytes(id BlockID) uint64 { return 6 + uint64(len(id))/4 }

func newIndex() *index { return &index{lastChange: make(map[BlockID]changeRef)} }

// apply applies one change. Its error says why a change does not fit, and then the index is unchanged.
func (x *index) apply(op Op, id, after BlockID, at changeRef) error {
	_, known := x.lastChange[id]
	switch {
	case id == "":
		return fmt.Errorf("a block has no id")
	case op == OpInsert && known:
		return fmt.Errorf("there is already a block %q", id)
	case op != OpInsert && !known:
		return fmt.Errorf("there is no block %q", id)
	}
	switch op {
	case OpUpdate:
		x.lastChange[id] = at
		return nil
	case OpInsert:
		if err := x.insert(id, after); err != nil {
			return err
		}
		x.lastChange[id] = at
		x.bytes += entryBytes(id)
		return nil
	case OpMove:
		if after == id {
			return fmt.Errorf("block %q cannot go after itself", id)
		}
		// The position of after is looked up once the block is gone: it may shift by one.
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
		delete(x.lastChange, id)
		x.bytes -= entryBytes(id)
		return nil
	}
	return fmt.Errorf("operation %d is not known", op)
}

// insert puts a block after another one, or first. It leaves lastChange to the caller.
func (x *index) insert(id, after BlockID) error {
	i := 0
	if after != "" {
		if _, ok := x.lastChange[after]; !ok {
			return fmt.Errorf("there is no block %q to put %q after", after, id)
		}
		i = x.find(after) + 1
	}
	x.order = slices.Insert(x.order, i, id)
	return nil
}

// find returns the position of a block. It searches from the end, because most programs grow there.
func (x *index) find(id BlockID) int {
	for i := len(x.order) - 1; i >= 0; i-- {
		if x.order[i] == id {
			return i
		}
	}
	panic("state: internal error: block " + string(id) + " has a place but no position")
}

// headCache holds the index at the head of each session that was written or read. An entry is valid while its hash is
// the head's. mu guards the map, not the indexes: see take and read.
type headCache struct {
	mu   sync.Mutex
	byID map[sessionID]headIndex
}

type headIndex struct {
	hash  Digest
	index *index
}

// take removes an index from the cache, because a writer is about to change it.
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

// read returns a cached index, or nil. It is valid until the end of the caller's read transaction: the next writer
// changes it.
func (c *headCache) read(id sessionID, hash Digest) *index {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h, ok := c.byID[id]; ok && h.hash == hash {
		return h.index
	}
	return nil
}

// indexAt returns the index of the program after step n. The caller may change it. It reads steps backwards to the
// last stored index and replays them forwards.
func (s *Store) indexAt(tx *bbolt.Tx, l *forkChain, n StepNumber) (*index, error) {
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
			} // a damaged index is replayed from an earlier one: slower, and Check reports it
		}
		replay = append(replay, p)
		n = h.base()
	}
	for _, p := range slices.Backward(replay) {
		records, err := p.body.records(p.number)
		if err != nil {
			return nil, badStep(l, p.number, err)
		}
		// Only the positions matter here, so the block inside each change stays undecoded.
		for i, data := range records {
			var r changeRecord
			if err := decode(data, &r); err != nil {
				return nil, badStep(l, p.number, err)
			}
			if err := x.apply(r.Op, r.ID, r.After, changeRef{p.number, uint32(i)}); err != nil {
				return nil, badStep(l, p.number, err)
			}
		}
	}
	return x, nil
}

// readIndex returns the stored index of a step.
func (s *Store) readIndex(tx *bbolt.Tx, l *forkChain, n StepNumber) (*index, error) {
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

// readStep returns the header of a step of the session, after verifying its seal, with the step's hash.
func (s *Store) readStep(tx *bbolt.Tx, l *forkChain, n StepNumber) (stepHeader, packedStep, Digest, error) {
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

// badStep is the error for a step that cannot be read.
func badStep(l *forkChain, n StepNumber, err error) error {
	return damaged(historyFile, fmt.Sprintf("step %d of session %q cannot be read", n, l.creation.Name), err)
}

// ProgramAt returns the blocks of the program after step n, in order.
func (s *Store) ProgramAt(ctx context.Context, session string, n StepNumber) ([]Block, error) {
	program, _, err := s.FirstBlocks(ctx, session, n, 0)
	return program, err
}

// FirstBlocks returns the first blocks of the program after step n, at most limit unless limit is 0, and the number of
// all blocks.
func (s *Store) FirstBlocks(
	ctx context.Context,
	session string,
	n StepNumber,
	limit int,
) (program []Block, total int, err error) {
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
		r := blockReader{tx: tx, chain: l, offsetCache: &s.offsets, memory: &s.known}
		for i, id := range x.order[:limit] {
			if err := r.read(id, x.lastChange[id], &program[i]); err != nil {
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

// BlockOrder returns the ids of the blocks of the program after step n, in order.
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

// LastBlock returns the id of the last block of the program after step n; "" if it has no blocks.
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

// BlockAt returns one block of the program after step n without reading the others.
func (s *Store) BlockAt(
	ctx context.Context,
	session string,
	n StepNumber,
	id BlockID,
) (block Block, found bool, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		l, x, err := s.programIndex(tx, session, n)
		if err != nil {
			return err
		}
		var p changeRef
		if p, found = x.lastChange[id]; !found {
			return nil
		}
		r := blockReader{tx: tx, chain: l, offsetCache: &s.offsets, memory: &s.known}
		return r.read(id, p, &block)
	})
	return block, found && err == nil, err
}

// programIndex returns the index of the program after step n, for the read transaction tx. The caller must not change
// it.
func (s *Store) programIndex(tx *bbolt.Tx, session string, n StepNumber) (*forkChain, *index, error) {
	l, head, err := s.find(tx, session)
	if err != nil {
		return nil, nil, err
	}
	if n > head.Step {
		return nil, nil, noStep(session, n, head.Step)
	}
	// Only the index at the head is cached: most queries ask for it, and every commit needs it.
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

// blockReader reads the facts of blocks. It locates the parts of each step once, because blocks of one step are read
// together.
type blockReader struct {
	tx          *bbolt.Tx
	chain       *forkChain
	offsetCache *changeOffsets
	memory      *blockMemory
	steps       map[StepNumber]openBody
}

type openBody struct {
	body    body
	offsets []int
}

// read decodes the facts of a block from the change that p refers to.
func (r *blockReader) read(id BlockID, p changeRef, into *Block) error {
	o, err := r.open(p.Step)
	if err != nil {
		return badStep(r.chain, p.Step, err)
	}
	key := blockMemoryKey{session: r.chain.owner(p.Step), step: p.Step, change: p.Change}
	if known, ok := o.body.sum(int(p.Change)); ok {
		key.sum = known
		if b, ok := r.memory.get(key); ok && b.ID == id {
			*into = b
			return nil
		}
	}
	data, err := o.record(p)
	if err != nil {
		return badStep(r.chain, p.Step, err)
	}
	var record changeRecord
	if err := decode(data, &record); err != nil {
		return badStep(r.chain, p.Step, err)
	}
	if record.ID != id || len(record.Block) == 0 {
		return badStep(r.chain, p.Step, fmt.Errorf("change %d is not of block %q", p.Change, id))
	}
	if err := decode(record.Block, into); err != nil {
		return badStep(r.chain, p.Step, err)
	}
	r.memory.put(key, *into)
	return nil
}

// open locates the parts of a step.
func (r *blockReader) open(n StepNumber) (openBody, error) {
	o, ok := r.steps[n]
	if ok {
		return o, nil
	}
	value := r.tx.Bucket(bucketSteps).Get(stepKey(r.chain.owner(n), n))
	if value == nil {
		return o, errNoRecord
	}
	packed, err := unpackStep(n, value)
	if err != nil {
		return o, err
	}
	o.body = packed.body
	if o.offsets, err = r.offsetCache.ofBody(r.chain.owner(n), n, o.body); err != nil {
		return o, err
	}
	if r.steps == nil {
		r.steps = make(map[StepNumber]openBody)
	}
	r.steps[n] = o
	return o, nil
}

// record returns the verified bytes of the change that p refers to. Only that change is verified, not the whole step.
func (o *openBody) record(p changeRef) ([]byte, error) {
	data, err := o.body.change(o.offsets, int(p.Change))
	if err != nil {
		return nil, err
	}
	return data, o.body.verify(p.Step, int(p.Change), data)
}
