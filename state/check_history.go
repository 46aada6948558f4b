package state

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"
)

// Problem is a broken invariant.
type Problem struct {
	Invariant int        // its number in the documentation of the package
	File      string     // history.db, results.db or the path of a blob in the store
	Session   string     // "" if it does not belong to one session
	Step      StepNumber // 0 if it does not belong to one step
	Message   string
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Session != "" {
		fmt.Fprintf(&b, ": session %q", p.Session)
	}
	if p.Step != 0 {
		fmt.Fprintf(&b, " step %d", p.Step)
	}
	fmt.Fprintf(&b, ": %s (invariant %d)", p.Message, p.Invariant)
	return b.String()
}

// maxProblems bounds a report. A store with a thousand problems needs a backup, not a longer list.
const maxProblems = 1000

// Check verifies every invariant of the store and returns the broken ones, in order of files, sessions and steps. Its
// error says what prevented the check, not what the check found. Check writes nothing but pending results, and lets
// other processes write meanwhile.
func (s *Store) Check(ctx context.Context) ([]Problem, error) {
	c := &checker{
		store:    s,
		ctx:      ctx,
		database: s.history,
		versions: make(map[Digest]bool),
		owned:    make(map[sessionID]*forkChain),
	}
	err := c.history()
	if errors.Is(err, ErrDamaged) {
		c.add(Problem{Invariant: 1, File: historyFile, Message: err.Error()})
		err = nil
	}
	if err == nil {
		err = c.callRecords()
	}
	if err == nil {
		err = c.results()
	}
	if err == nil {
		err = c.usedTraces()
	}
	if err == nil {
		err = c.blobFiles()
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return c.problems, err
}

var errEnough = errors.New("enough problems")

// checker collects the problems of a store. ImportSessions uses one too, inside its own write transaction.
type checker struct {
	store    *Store
	ctx      context.Context
	problems []Problem

	database *database // the database being checked; nil: only what tx sees, the transaction of ImportSessions
	tx       *bbolt.Tx // the current read transaction
	of       *results  // being checked
	session  string
	versions map[Digest]bool          // sources read so far, and whether they are sound
	owned    map[sessionID]*forkChain // sessions found so far
}

func (c *checker) add(p Problem) {
	c.problems = append(c.problems, p)
}

// stop returns a reason to end the check, if there is one.
func (c *checker) stop() error {
	if len(c.problems) >= maxProblems {
		return errEnough
	}
	return c.ctx.Err()
}

func (c *checker) report(invariant int, step StepNumber, format string, args ...any) {
	c.add(Problem{
		Invariant: invariant,
		File:      historyFile,
		Session:   c.session,
		Step:      step,
		Message:   fmt.Sprintf(format, args...),
	})
}

// maxCheckRead bounds a read transaction of a check, because writers wait for it.
const maxCheckRead = 50 * time.Millisecond

// inShortReads calls next until it reports no more work, in read transactions of at most maxCheckRead. Between two of
// them other processes may write, so next must find its place again by key.
func (c *checker) inShortReads(next func() (more bool, err error)) error {
	for more := true; more; {
		if c.database == nil {
			var err error
			if more, err = next(); err != nil {
				return err
			}
			continue
		}
		err := c.database.view(c.ctx, func(tx *bbolt.Tx) (err error) {
			c.tx = tx
			for end := time.Now().Add(maxCheckRead); more && err == nil && time.Now().Before(end); {
				if err = c.stop(); err == nil {
					more, err = next()
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// each calls fn for every record of a bucket.
func (c *checker) each(bucket []byte, fn func(k, v []byte) error) error {
	var last []byte
	return c.inShortReads(func() (bool, error) {
		cursor := c.tx.Bucket(bucket).Cursor()
		k, v := cursor.Seek(last)
		if last != nil && bytes.Equal(k, last) {
			k, v = cursor.Next()
		}
		for range 100 { // per cursor: seeking for every record would take longer than reading it
			if k == nil {
				return false, nil
			}
			last = bytes.Clone(k)
			if err := fn(k, v); err != nil {
				return false, err
			}
			k, v = cursor.Next()
		}
		return k != nil, nil
	})
}

// history checks history.db: its pages, each session, then records that belong to none.
func (c *checker) history() error {
	if err := c.database.inspect(c.ctx); errors.Is(err, ErrDamaged) {
		c.report(1, 0, "%v", err)
	} else if err != nil {
		return err
	}
	var names []string
	err := c.each(bucketSessions, func(k, v []byte) error {
		c.session = string(k)
		if _, err := unseal(bucketSessions, k, v); err != nil {
			c.report(2, 0, "its record cannot be read: %v", err)
			return nil
		}
		names = append(names, c.session)
		return nil
	})
	for _, c.session = range names {
		if err == nil {
			err = c.checkSession()
		}
	}
	c.session = ""
	if err == nil {
		err = c.strays()
	}
	if err == nil {
		err = c.sources()
	}
	return err
}

// checkSession walks the steps of session c.session, 100 per call.
func (c *checker) checkSession() error {
	var walk *historyWalker
	var n StepNumber
	return c.inShortReads(func() (bool, error) {
		l, head, err := c.store.find(c.tx, c.session)
		if err != nil {
			c.report(2, 0, "%v", err)
			return false, nil
		}
		if walk == nil {
			c.owned[l.id] = l
			walk, n = c.newWalker(l), l.forkStep()+1
		}
		for range 100 {
			if n > head.Step {
				break
			}
			walk.step(n)
			n++
		}
		if n <= head.Step {
			return true, nil
		}
		if head.Step < l.forkStep() || walk.prev != "" && walk.prev != head.Hash {
			c.report(4, head.Step, "the head does not have the hash of the last step")
		}
		return false, nil
	})
}

// newWalker returns a walker at the beginning of a session.
func (c *checker) newWalker(l *forkChain) *historyWalker {
	walk := &historyWalker{checker: c, chain: l, prev: l.hash, time: l.creation.Created}
	if l.parent != nil {
		walk.startAtFork(l.creation.From)
	} else {
		walk.index, walk.versionOf = newIndex(), make(map[BlockID]Digest)
	}
	return walk
}

// historyWalker replays the steps of one session from the stored records alone, without caches, and compares each
// derived field with the stored one.
type historyWalker struct {
	*checker
	chain     *forkChain
	prev      Digest             // hash of the previous step; "" if that step is unreadable
	time      int64              // the previous step's
	index     *index             // program after the previous step; nil if it is not known
	versionOf map[BlockID]Digest // version of each block in it

	artifacts StepNumber // the step that holds the list of artifacts after the previous step
}

// startAtFork continues from the step that the session was forked from, after comparing its hash.
func (w *historyWalker) startAtFork(p *ForkPoint) {
	hash := w.chain.parent.hash
	if p.Step > 0 {
		h, _, at, err := w.store.readStep(w.tx, w.chain.parent, p.Step)
		if err != nil {
			w.report(2, 0, "the step it was forked from cannot be read: %v", err)
			return
		}
		hash, w.time, w.artifacts = at, h.Time, h.Artifacts
	}
	if hash != p.Hash {
		w.report(2, 0, "step %d of session %q is not the one it was forked from", p.Step, p.Session)
	}
	w.resetTo(p.Step)
}

// resetTo sets the program to the one after step n.
func (w *historyWalker) resetTo(n StepNumber) {
	w.index, w.versionOf = nil, make(map[BlockID]Digest)
	x, err := w.store.indexAt(w.tx, w.chain, n)
	if err != nil {
		return // reported at the step that is damaged
	}
	r := blockReader{tx: w.tx, chain: w.chain, offsetCache: &changeOffsets{}, memory: &blockMemory{}}
	for id, p := range x.lastChange {
		var b Block
		if err := r.read(id, p, &b); err != nil {
			return
		}
		w.versionOf[id] = b.Version
	}
	w.index = x
}

// step checks step n against the state after step n-1. After an unreadable step the program is not known, and then
// only what needs no program is checked.
func (w *historyWalker) step(n StepNumber) {
	key := stepKey(w.chain.id, n)
	value := w.tx.Bucket(bucketSteps).Get(key)
	if value == nil {
		w.report(3, n, "it is missing")
		w.prev, w.index = "", nil
		return
	}
	h, p, hash, err := openStep(key, n, value)
	if err != nil {
		w.report(3, n, "it cannot be read: %v", err)
		w.prev, w.index = "", nil
		return
	}
	if w.prev != "" && h.Prev != w.prev {
		w.report(4, n, "it does not follow from step %d: one of the two is not what was committed", n-1)
	}
	if h.Time < w.time {
		w.report(4, n, "its time is before that of the step before")
	}
	w.prev, w.time = hash, h.Time
	if h.Kind == KindRollback {
		w.resetTo(h.To)
	}
	w.declaration(&h)
	if h.Tested != nil && h.Tested.Checks != "" && !w.source(h.Tested.Checks) {
		w.report(6, n, "its test facts, source %s, are missing or damaged", h.Tested.Checks)
	}
	if DigestOf(p.body) != h.Body {
		w.report(5, n, "its changes are not those that were committed")
		w.index = nil
		return
	}
	changes, err := p.body.changes(n)
	if err != nil {
		w.report(5, n, "its changes cannot be read: %v", err)
		w.index = nil
		return
	}
	w.replay(&h, changes)
}

// declaration checks which step the header names as the holder of the list of artifacts, and the list itself.
func (w *historyWalker) declaration(h *stepHeader) {
	n := h.Number
	if h.Kind == KindRollback {
		w.artifacts = 0
		if h.To > 0 {
			to, _, _, err := w.store.readStep(w.tx, w.chain, h.To)
			if err != nil {
				return // reported at that step
			}
			w.artifacts = to.Artifacts
		}
	}
	if h.Declared != nil {
		w.artifacts = n
		if err := h.Declared.check(n); err != nil {
			w.report(13, n, "its declaration is invalid: %v", err)
		}
	}
	if h.Artifacts != w.artifacts {
		w.report(
			13,
			n,
			"it names step %d as the one that declares its artifacts, not step %d",
			h.Artifacts,
			w.artifacts,
		)
		w.artifacts = h.Artifacts
	}
}

// replay applies the changes of a step and compares its Was and Now.
func (w *historyWalker) replay(h *stepHeader, changes []Change) {
	n := h.Number
	// After damage the program is unknown. Applying changes to a wrong program would report the same damage once per
	// step.
	if w.index == nil {
		return
	}
	if h.Block != "" && w.versionOf[h.Block] != h.Was {
		w.report(8, n, "it says that block %q had version %q, not %q", h.Block, h.Was, w.versionOf[h.Block])
	}
	for i, change := range changes {
		if err := w.index.apply(change.Op, change.ID, change.After, changeRef{n, uint32(i)}); err != nil {
			w.report(5, n, "change %d does not fit the program: %v", i, err)
			w.index = nil
			return
		}
		w.applyVersion(n, change)
	}
	if h.Block != "" && w.versionOf[h.Block] != h.Now {
		w.report(8, n, "it says that block %q got version %q, not %q", h.Block, h.Now, w.versionOf[h.Block])
	}
	if h.Index {
		w.checkIndex(n)
	}
}

// applyVersion records the version that a change gives to its block, and checks the step numbers in the block's
// facts.
func (w *historyWalker) applyVersion(n StepNumber, change Change) {
	if change.Op == OpDelete {
		delete(w.versionOf, change.ID)
	}
	b := change.Block
	if b == nil {
		return
	}
	switch {
	case b.ID != change.ID:
		w.report(8, n, "a change of block %q carries block %q", change.ID, b.ID)
	case b.Edited == 0 || b.Edited > n || b.RanAt > n || b.Verified > n:
		w.report(8, n, "block %q refers to a later step", b.ID)
	case w.versionOf[b.ID] != b.Version && b.Edited != n:
		w.report(8, n, "block %q has a new version, but names step %d as its origin", b.ID, b.Edited)
	}
	w.versionOf[b.ID] = b.Version
	if !w.source(b.Version) {
		w.report(6, n, "the source of block %q, version %s, is missing or damaged", b.ID, b.Version)
	}
}

// checkIndex compares the stored index of step n with the replayed one.
func (w *historyWalker) checkIndex(n StepNumber) {
	kept, err := w.store.readIndex(w.tx, w.chain, n)
	if err != nil {
		w.report(7, n, "its index cannot be read: %v", err)
		return
	}
	if !slices.Equal(kept.order, w.index.order) {
		w.report(7, n, "its index differs from the steps in blocks or their order")
		return
	}
	for _, id := range kept.order {
		if kept.lastChange[id] != w.index.lastChange[id] {
			w.report(7, n, "its index differs from the steps in the facts of block %q", id)
			return
		}
	}
}

// source reports whether the text of a version exists and has its digest. It reads each version once.
func (c *checker) source(version Digest) bool {
	good, known := c.versions[version]
	if !known {
		text, err := getSource(c.tx, version)
		good = err == nil && DigestOf(text) == version
		c.versions[version] = good
	}
	return good
}

// strays checks the records that no session or step refers to.
func (c *checker) strays() error {
	for _, bucket := range [][]byte{bucketHeads, bucketSteps, bucketIndexes, bucketRecords} {
		err := c.each(bucket, func(k, v []byte) error {
			c.stray(bucket, k, v)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// owner returns the session with this id. A session may have been created after the check listed them, so it looks
// again.
func (c *checker) owner(id sessionID) *forkChain {
	if l := c.owned[id]; l != nil {
		return l
	}
	cursor := c.tx.Bucket(bucketSessions).Cursor()
	for k, _ := cursor.First(); k != nil; k, _ = cursor.Next() {
		if l, err := c.store.forkChain(c.tx, string(k), 0); err == nil && l.id == id {
			c.owned[id] = l
			return l
		}
	}
	return nil
}

// stray checks that a record belongs to a session, and to a step that the session stores.
func (c *checker) stray(bucket, k, v []byte) {
	if len(k) < 8 {
		c.report(3, 0, "bucket %s has a key of %d bytes", bucket, len(k))
		return
	}
	l := c.owner(sessionID(binary.BigEndian.Uint64(k)))
	if l == nil {
		c.report(3, 0, "bucket %s has a record of no session", bucket)
		return
	}
	name := l.creation.Name
	report := func(invariant int, n StepNumber, message string) {
		c.add(Problem{Invariant: invariant, File: historyFile, Session: name, Step: n, Message: message})
	}
	if bytes.Equal(bucket, bucketRecords) {
		if _, err := unseal(bucket, k, v); err != nil {
			report(9, 0, fmt.Sprintf("the record %q is damaged: %v", k[8:], err))
		}
		return
	}
	if bytes.Equal(bucket, bucketHeads) {
		return // read with its session
	}
	if len(k) != 16 {
		report(3, 0, fmt.Sprintf("bucket %s has a key of %d bytes", bucket, len(k)))
		return
	}
	n := StepNumber(binary.BigEndian.Uint64(k[8:]))
	var head headRecord
	if err := getRecord(c.tx, bucketHeads, l.id.key(), &head); err != nil {
		return // reported with the session
	}
	if n <= l.forkStep() || n > head.Step {
		report(3, n, "it is stored but not part of the session")
		return
	}
	if bytes.Equal(bucket, bucketIndexes) {
		if h, _, _, err := c.store.readStep(c.tx, l, n); err == nil && !h.Index {
			report(7, n, "it has an index, but its header says that it has none")
		}
	}
}

// sources checks the sources that no step refers to, too.
func (c *checker) sources() error {
	return c.each(bucketSources, func(k, _ []byte) error {
		var version Digest
		if err := version.UnmarshalBinary(k); err != nil || !c.source(version) {
			c.report(6, 0, "the source %s does not have the digest that names it", version)
		}
		return nil
	})
}
