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
	Invariant int        // its number in the package documentation
	File      string     // history.db, results.db or the path of a blob in the store
	Session   string     // "" when it is not of one session
	Step      StepNumber // 0 when it is not of one step
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

// maxProblems bounds a report: after these, what is wrong is clear.
const maxProblems = 1000

// Check verifies every invariant of the store and returns what is broken, in order of files, sessions and steps. The
// error is for what keeps it from looking, not for what it finds. It changes nothing, and lets others write meanwhile.
func (s *Store) Check(ctx context.Context) ([]Problem, error) {
	c := &checker{store: s, ctx: ctx, database: s.history, versions: make(map[Digest]bool), owned: make(map[sessionID]*lineage)}
	err := c.history()
	if errors.Is(err, ErrDamaged) {
		c.add(Problem{Invariant: 1, File: historyFile, Message: err.Error()})
		err = nil
	}
	if err == nil {
		err = c.results()
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

type checker struct {
	store    *Store
	ctx      context.Context
	problems []Problem

	database *database // that is looked at; nil: what tx sees, in which a session is being restored
	tx       *bbolt.Tx // of this turn
	session  string
	versions map[Digest]bool // verified sources: whether they are good
	owned    map[sessionID]*lineage
}

func (c *checker) add(p Problem) {
	c.problems = append(c.problems, p)
}

// stop returns the reason to look no further, if there is one.
func (c *checker) stop() error {
	if len(c.problems) >= maxProblems {
		return errEnough
	}
	return c.ctx.Err()
}

func (c *checker) bad(invariant int, step StepNumber, format string, args ...any) {
	c.add(Problem{Invariant: invariant, File: historyFile, Session: c.session, Step: step, Message: fmt.Sprintf(format, args...)})
}

// checkTurn is how long others wait at most for a check to let them write.
const checkTurn = 50 * time.Millisecond

// turns calls one until it has no more to do, in transactions that are short.
func (c *checker) turns(one func() (more bool, err error)) error {
	for more := true; more; {
		if c.database == nil {
			var err error
			if more, err = one(); err != nil {
				return err
			}
			continue
		}
		err := c.database.view(c.ctx, func(tx *bbolt.Tx) (err error) {
			c.tx = tx
			for end := time.Now().Add(checkTurn); more && err == nil && time.Now().Before(end); {
				if err = c.stop(); err == nil {
					more, err = one()
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
	return c.turns(func() (bool, error) {
		cursor := c.tx.Bucket(bucket).Cursor()
		k, v := cursor.Seek(last)
		if last != nil && bytes.Equal(k, last) {
			k, v = cursor.Next()
		}
		for range 100 { // a cursor for each would take longer than the records
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

func (c *checker) history() error {
	if err := c.database.inspect(c.ctx); errors.Is(err, ErrDamaged) {
		c.bad(1, 0, "%v", err)
	} else if err != nil {
		return err
	}
	var names []string
	err := c.each(bucketSessions, func(k, v []byte) error {
		c.session = string(k)
		if _, err := unseal(bucketSessions, k, v); err != nil {
			c.bad(2, 0, "its record cannot be read: %v", err)
			return nil
		}
		names = append(names, c.session)
		return nil
	})
	for _, c.session = range names {
		if err == nil {
			err = c.oneSession()
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

func (c *checker) oneSession() error {
	var walk *walker
	var n StepNumber
	return c.turns(func() (bool, error) {
		l, head, err := c.store.find(c.tx, c.session)
		if err != nil {
			c.bad(2, 0, "%v", err)
			return false, nil
		}
		if walk == nil {
			c.owned[l.id] = l
			walk, n = c.begin(l), l.start()+1
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
		if head.Step < l.start() || walk.prev != "" && walk.prev != head.Hash {
			c.bad(4, head.Step, "the head does not have the hash of the last step")
		}
		return false, nil
	})
}

// begin returns a walker that is where the session begins.
func (c *checker) begin(l *lineage) *walker {
	walk := &walker{checker: c, line: l, prev: l.hash, time: l.birth.Created}
	if l.parent != nil {
		walk.from(l.birth.From)
	} else {
		walk.index, walk.facts = newIndex(), make(map[BlockID]Digest)
	}
	return walk
}

// walker goes through the steps of one session as an auditor would, from nothing but the records.
type walker struct {
	*checker
	line  *lineage
	prev  Digest             // hash of the step before; "" when it could not be read
	time  int64              // of the step before
	index *index             // program after the step before; nil when it is not known
	facts map[BlockID]Digest // version of each block in it

	artifacts StepNumber // the step that says which artifacts there are after the step before
}

func (w *walker) from(p *ForkPoint) {
	hash := w.line.parent.hash
	if p.Step > 0 {
		h, _, at, err := w.store.readStep(w.tx, w.line.parent, p.Step)
		if err != nil {
			w.bad(2, 0, "the step it was forked from cannot be read: %v", err)
			return
		}
		hash, w.time, w.artifacts = at, h.Time, h.Artifacts
	}
	if hash != p.Hash {
		w.bad(2, 0, "step %d of session %q is not the one it was forked from", p.Step, p.Session)
	}
	w.restore(p.Step)
}

// restore sets the program to the one after an earlier step.
func (w *walker) restore(n StepNumber) {
	w.index, w.facts = nil, make(map[BlockID]Digest)
	x, err := w.store.indexAt(w.tx, w.line, n)
	if err != nil {
		return // reported at the step that is damaged
	}
	r := blockReader{tx: w.tx, line: w.line, marks: &landmarks{}}
	for id, p := range x.places {
		var b Block
		if err := r.read(id, p, &b); err != nil {
			return
		}
		w.facts[id] = b.Version
	}
	w.index = x
}

func (w *walker) step(n StepNumber) {
	key := stepKey(w.line.id, n)
	value := w.tx.Bucket(bucketSteps).Get(key)
	if value == nil {
		w.bad(3, n, "it is missing")
		w.prev, w.index = "", nil
		return
	}
	h, p, hash, err := openStep(key, n, value)
	if err != nil {
		w.bad(3, n, "it cannot be read: %v", err)
		w.prev, w.index = "", nil
		return
	}
	if w.prev != "" && h.Prev != w.prev {
		w.bad(4, n, "it does not follow from step %d: one of the two is not what was committed", n-1)
	}
	if h.Time < w.time {
		w.bad(4, n, "its time is before that of the step before")
	}
	w.prev, w.time = hash, h.Time
	if h.Kind == KindRollback {
		w.restore(h.To)
	}
	w.declaration(&h)
	if h.Tested != nil && h.Tested.Checks != "" && !w.source(h.Tested.Checks) {
		w.bad(6, n, "what it tells of tests, source %s, is missing or damaged", h.Tested.Checks)
	}
	if DigestOf(p.body) != h.Body {
		w.bad(5, n, "its changes are not those that were committed")
		w.index = nil
		return
	}
	changes, err := p.body.changes(n)
	if err != nil {
		w.bad(5, n, "its changes cannot be read: %v", err)
		w.index = nil
		return
	}
	w.replay(&h, changes)
}

// declaration looks at what a step says of artifacts.
func (w *walker) declaration(h *stepHeader) {
	n := h.Number
	if h.Kind == KindRollback {
		w.artifacts = 0
		if h.To > 0 {
			to, _, _, err := w.store.readStep(w.tx, w.line, h.To)
			if err != nil {
				return // reported at that step
			}
			w.artifacts = to.Artifacts
		}
	}
	if h.Declared != nil {
		w.artifacts = n
		if err := h.Declared.check(n); err != nil {
			w.bad(13, n, "what it declares cannot be: %v", err)
		}
	}
	if h.Artifacts != w.artifacts {
		w.bad(13, n, "it says that step %d declares what artifacts there are, not step %d", h.Artifacts, w.artifacts)
		w.artifacts = h.Artifacts
	}
}

func (w *walker) replay(h *stepHeader, changes []Change) {
	n := h.Number
	if w.index == nil {
		return
	}
	if h.Block != "" && w.facts[h.Block] != h.Was {
		w.bad(8, n, "it says that block %q had version %q, not %q", h.Block, h.Was, w.facts[h.Block])
	}
	for i, change := range changes {
		if err := w.index.apply(change.Op, change.ID, change.After, place{n, uint32(i)}); err != nil {
			w.bad(5, n, "change %d does not fit the program: %v", i, err)
			w.index = nil
			return
		}
		w.fact(n, change)
	}
	if h.Block != "" && w.facts[h.Block] != h.Now {
		w.bad(8, n, "it says that block %q got version %q, not %q", h.Block, h.Now, w.facts[h.Block])
	}
	if h.Index {
		w.snapshot(n)
	}
}

func (w *walker) fact(n StepNumber, change Change) {
	if change.Op == OpDelete {
		delete(w.facts, change.ID)
	}
	b := change.Block
	if b == nil {
		return
	}
	switch {
	case b.ID != change.ID:
		w.bad(8, n, "a change of block %q carries block %q", change.ID, b.ID)
	case b.Edited == 0 || b.Edited > n || b.RanAt > n || b.Verified > n:
		w.bad(8, n, "block %q is said to be of a later step", b.ID)
	case w.facts[b.ID] != b.Version && b.Edited != n:
		w.bad(8, n, "block %q has a new version that is said to be of step %d", b.ID, b.Edited)
	}
	w.facts[b.ID] = b.Version
	if !w.source(b.Version) {
		w.bad(6, n, "the source of block %q, version %s, is missing or damaged", b.ID, b.Version)
	}
}

func (w *walker) snapshot(n StepNumber) {
	kept, err := w.store.readIndex(w.tx, w.line, n)
	if err != nil {
		w.bad(7, n, "its index cannot be read: %v", err)
		return
	}
	if !slices.Equal(kept.order, w.index.order) {
		w.bad(7, n, "its index has other blocks, or another order, than the steps")
		return
	}
	for _, id := range kept.order {
		if kept.places[id] != w.index.places[id] {
			w.bad(7, n, "its index has other facts of block %q than the steps", id)
			return
		}
	}
}

func (c *checker) source(version Digest) bool {
	good, known := c.versions[version]
	if !known {
		text, err := getSource(c.tx, version)
		good = err == nil && DigestOf(text) == version
		c.versions[version] = good
	}
	return good
}

// strays looks for records that belong to no session or step.
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

// owner returns the session with this number, which may be newer than the check.
func (c *checker) owner(id sessionID) *lineage {
	if l := c.owned[id]; l != nil {
		return l
	}
	cursor := c.tx.Bucket(bucketSessions).Cursor()
	for k, _ := cursor.First(); k != nil; k, _ = cursor.Next() {
		if l, err := c.store.lineage(c.tx, string(k), 0); err == nil && l.id == id {
			c.owned[id] = l
			return l
		}
	}
	return nil
}

func (c *checker) stray(bucket, k, v []byte) {
	if len(k) < 8 {
		c.bad(3, 0, "bucket %s has a key of %d bytes", bucket, len(k))
		return
	}
	l := c.owner(sessionID(binary.BigEndian.Uint64(k)))
	if l == nil {
		c.bad(3, 0, "bucket %s has a record of no session", bucket)
		return
	}
	name := l.birth.Name
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
	if n <= l.start() || n > head.Step {
		report(3, n, "it is kept but not part of the session")
		return
	}
	if bytes.Equal(bucket, bucketIndexes) {
		if h, _, _, err := c.store.readStep(c.tx, l, n); err == nil && !h.Index {
			report(7, n, "it has an index that it does not know of")
		}
	}
}

func (c *checker) sources() error {
	return c.each(bucketSources, func(k, _ []byte) error {
		var version Digest
		if err := version.UnmarshalBinary(k); err != nil || !c.source(version) {
			c.bad(6, 0, "the source %s is not the text of its name", version)
		}
		return nil
	})
}
