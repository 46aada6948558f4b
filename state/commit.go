package state

import (
	"context"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"
)

// Draft is a step to be committed.
type Draft struct {
	Kind   Kind
	Origin Origin
	// Block: the one block it concerns; Commit fills it in when all changes are of one block and it is not a run
	Block  BlockID
	Run    *RunSummary // for KindRun
	To     StepNumber  // for KindRollback: the changes apply to the program after that step
	Undoes StepNumber  // the edit that this one reverts; 0: none

	Verified  *Verification // for KindDeclare
	Repeated  *Repetition   // for KindDeclare
	Tested    *Testing      // for KindDeclare
	Applied   *Application  // for KindDeclare
	Text      *TextEdit     // for KindDeclare
	Placement *Placement    // when a patch made it
	Nth       int           // see Step.Nth
	Decided   *CallDecision // for KindApprove

	Artifact *Artifact // for KindDeclare: declared in place of one of the same name
	Drop     string    // for KindDeclare: the name of an artifact whose declaration is removed

	Changes []Change       // applied in order
	Sources [][]byte       // texts of the versions in Changes; the store may have them already
	Records map[string]any // session records written with the step, see PutSessionRecord
}

// Commit appends one step for each draft, all or none, if the session's head is still base. It returns the steps with
// their changes once they are on disk. If the head is elsewhere, the error has CodeConflict and wraps a *Conflict.
//
// In the blocks of Changes it fills in Edited where the version is new, and RanAt for a run.
func (s *Store) Commit(ctx context.Context, session string, base StepNumber, drafts []Draft) ([]Step, error) {
	if s.options.ReadOnly {
		return nil, errReadOnly
	}
	// Order matters: results before history. After a crash in between, the store has traces that no step names, which
	// is harmless. The other way round a run step would name traces that do not exist.
	if slices.ContainsFunc(drafts, func(d Draft) bool { return d.Kind == KindRun }) {
		s.results.flush() // first, so that a crash loses no result that the step refers to
	}
	var steps []Step
	var w stepWriter
	err := s.update(ctx, func(tx *bbolt.Tx) error {
		l, head, err := s.find(tx, session)
		if err != nil {
			return err
		}
		if head.Step != base {
			return s.conflict(tx, l, base, head.Step)
		}
		// take removes the cached index, because this transaction is about to change it. If the transaction fails,
		// the next reader rebuilds the index from the file; a changed index of a failed commit must never be seen.
		w = stepWriter{store: s, tx: tx, chain: l, head: head}
		if w.index = s.heads.take(l.id, head.Hash); w.index == nil &&
			(head.Replay >= max(minReplayBytes, head.Index) || slices.ContainsFunc(drafts, Draft.needsIndex)) {
			if w.index, err = s.indexAt(tx, l, head.Step); err != nil {
				return err
			}
		}
		for i, d := range drafts {
			step, err := w.draft(d)
			if err != nil {
				return fmt.Errorf("draft %d (%s): %w", i, d.Kind, err)
			}
			steps = append(steps, step)
		}
		return w.finish()
	})
	if err != nil {
		return nil, err
	}
	if w.index != nil {
		s.heads.put(w.chain.id, w.head.Hash, w.index)
	}
	return steps, nil
}

// needsIndex reports whether the draft must be checked against the program. Other drafts, such as runs that reused
// everything, are committed without reading the index.
func (d Draft) needsIndex() bool {
	return len(d.Changes) > 0 || d.Block != "" || d.Kind == KindRollback
}

// conflict returns the error of a commit whose base is not the head, with the steps that the caller has not seen.
func (s *Store) conflict(tx *bbolt.Tx, l *forkChain, base, head StepNumber) error {
	c := &Conflict{Session: l.creation.Name, Base: base, Head: head}
	for n := base + 1; n <= head && len(c.Since) < conflictSteps; n++ {
		h, _, hash, err := s.readStep(tx, l, n)
		if err != nil {
			return err
		}
		c.Since = append(c.Since, h.step(hash))
	}
	return &Error{
		Code:    CodeConflict,
		Message: "the program changed meanwhile",
		Hint:    "read the steps since then, then try again on the new head",
		Err:     c,
	}
}

// stepWriter appends steps to a session in one transaction.
type stepWriter struct {
	store *Store
	tx    *bbolt.Tx
	chain *forkChain
	head  headRecord
	index *index // the index at head; nil when no draft needs it

	declared  *Declaration // the artifacts at head, once declare has read them
	artifacts *StepNumber  // the step that holds their list; nil until declare has read it
}

// draft checks a draft against the program and appends it.
func (w *stepWriter) draft(d Draft) (Step, error) {
	n := w.head.Step + 1
	// A rollback applies its changes to an earlier program, so the index at the head is of no use.
	if d.Kind == KindRollback {
		if d.To >= n {
			return Step{}, noStep(w.chain.creation.Name, d.To, n-1)
		}
		x, err := w.store.indexAt(w.tx, w.chain, d.To)
		if err != nil {
			return Step{}, err
		}
		w.index = x
	} else if d.To != 0 {
		return Step{}, invalid("only a rollback has a step to return to")
	}
	for _, text := range d.Sources {
		if err := putSource(w.tx, text); err != nil {
			return Step{}, err
		}
	}
	if err := w.putRecords(d.Records); err != nil {
		return Step{}, err
	}
	d, versions, err := w.complete(n, d)
	if err != nil {
		return Step{}, err
	}
	return w.append(d, versions)
}

// putRecords writes session records.
func (w *stepWriter) putRecords(records map[string]any) error {
	for key, value := range records {
		data, err := encoding.Marshal(value)
		if err != nil {
			return invalid(fmt.Sprintf("record %q: %v", key, err))
		}
		if err := putSessionRecord(w.tx, w.chain.id, key, data); err != nil {
			return err
		}
	}
	return nil
}

// versions are the versions of the one block that a step concerns, before and after it.
type versions struct{ was, now Digest }

// complete applies the changes to the index and returns a copy of the draft with all derived fields set.
func (w *stepWriter) complete(n StepNumber, d Draft) (Draft, *versions, error) {
	// The caller keeps its slice: Edited and RanAt are set in a copy.
	d.Changes = slices.Clone(d.Changes)
	if d.Block == "" && d.Kind != KindRun {
		d.Block = onlyBlock(d.Changes)
	}
	var v versions
	var err error
	if d.Block != "" {
		if v.was, err = w.version(d.Block, n, d.Changes); err != nil {
			return d, nil, err
		}
	}
	for i := range d.Changes {
		if err := w.change(n, d.Kind, d.Changes[:i], &d.Changes[i]); err != nil {
			return d, nil, err
		}
	}
	if d.Block != "" {
		if v.now, err = w.version(d.Block, n, d.Changes); err != nil {
			return d, nil, err
		}
	}
	return d, &v, nil
}

// onlyBlock returns the block that all changes are of, or "".
func onlyBlock(changes []Change) BlockID {
	var only BlockID
	for _, c := range changes {
		id := c.ID
		if id == "" && c.Block != nil {
			id = c.Block.ID
		}
		if only != "" && id != only {
			return ""
		}
		only = id
	}
	return only
}

// change checks, completes and applies one change of step n. The changes in done come before it in the same step.
func (w *stepWriter) change(n StepNumber, kind Kind, done []Change, c *Change) error {
	if (c.Block != nil) != (c.Op == OpInsert || c.Op == OpUpdate) {
		return invalid("an insert or update, and nothing else, carries a block")
	}
	if c.Block != nil {
		b := *c.Block
		if c.ID == "" {
			c.ID = b.ID
		}
		if b.ID != c.ID {
			return invalid(fmt.Sprintf("the change is of block %q but carries %q", c.ID, b.ID))
		}
		was, err := w.version(b.ID, n, done)
		if err != nil {
			return err
		}
		if was != b.Version {
			if !hasSource(w.tx, b.Version) {
				return invalid(fmt.Sprintf("the source of block %q is not in the store", b.ID))
			}
			b.Edited = n
		}
		if kind == KindRun {
			b.RanAt = n
		}
		c.Block = &b
	}
	if err := w.index.apply(c.Op, c.ID, c.After, changeRef{n, uint32(len(done))}); err != nil {
		return invalid(err.Error())
	}
	return nil
}

func invalid(message string) error { return &Error{Code: CodeInvalid, Message: message} }

// version returns the version of a block in the program after the changes in done, or Absent.
func (w *stepWriter) version(id BlockID, n StepNumber, done []Change) (Digest, error) {
	p, ok := w.index.lastChange[id]
	if !ok {
		return Absent, nil
	}
	if p.Step == n {
		return done[p.Change].Block.Version, nil
	}
	var b Block
	r := blockReader{tx: w.tx, chain: w.chain, offsetCache: &w.store.offsets, memory: &w.store.known}
	if err := r.read(id, p, &b); err != nil {
		return Absent, err
	}
	return b.Version, nil
}

// append writes a completed draft as the next step. It also writes an index when one is due: when replaying the steps
// since the last index would read more bytes than an index. A rollback continues with the Replay of the step that it
// returns to, because that is the step from which its program is replayed.
func (w *stepWriter) append(d Draft, v *versions) (Step, error) {
	n := w.head.Step + 1
	if err := d.Origin.Check(); err != nil {
		return Step{}, invalid(err.Error())
	}
	if d.Tested != nil && d.Tested.Checks != "" && !hasSource(w.tx, d.Tested.Checks) {
		return Step{}, invalid("the source that holds the test facts is not in the store")
	}
	if d.Undoes >= n {
		return Step{}, noStep(w.chain.creation.Name, d.Undoes, n-1)
	}
	if err := w.declare(n, d); err != nil {
		return Step{}, err
	}
	packed := packBody(n, d.Changes)
	h := stepHeader{
		Number:   n,
		Kind:     d.Kind,
		Block:    d.Block,
		Run:      d.Run,
		To:       d.To,
		Undoes:   d.Undoes,
		Verified: d.Verified,
		Repeated: d.Repeated,
		Tested:   d.Tested,
		Applied:  d.Applied,
		Text:     d.Text,
		Placed:   d.Placement,
		Nth:      d.Nth,
		Decided:  d.Decided,
		Prev:     w.head.Hash,
		Body:     DigestOf(packed),
	}
	// The clock may have been set back. Step times must not go back, because StepBefore searches them.
	h.Time = max(w.store.options.Now().UnixNano(), w.head.Time)
	h.Artifacts = *w.artifacts
	if h.Artifacts == n {
		h.Declared = w.declared
	}
	if !d.Origin.empty() {
		h.Origin = &d.Origin
	}
	if v != nil {
		h.Was, h.Now = v.was, v.now
	}
	h.Replay = w.head.Replay
	if d.Kind == KindRollback {
		h.Replay = 0
		if d.To > 0 {
			to, _, _, err := w.store.readStep(w.tx, w.chain, d.To)
			if err != nil {
				return Step{}, err
			}
			h.Replay = to.Replay
		}
	}
	h.Replay += uint64(len(packed) + len(encode(h)) + stepFrame)
	if w.index != nil && h.Replay > max(minReplayBytes, w.index.bytes) {
		h.Index, h.Replay = true, 0
		if err := putIndex(w.tx, stepKey(w.chain.id, n), w.index); err != nil {
			return Step{}, err
		}
	}
	header := encode(h)
	key := stepKey(w.chain.id, n)
	b := w.tx.Bucket(bucketSteps)
	b.FillPercent = 0.9 // keys arrive in order, so pages need little room for inserts
	if err := b.Put(key, packStep(key, header, packed)); err != nil {
		return Step{}, err
	}
	w.head = headRecord{Step: n, Hash: DigestOf(header), Time: h.Time, Replay: h.Replay, Index: w.head.Index}
	if w.index != nil {
		w.head.Index = w.index.bytes
	}
	step := h.step(w.head.Hash)
	step.Changes = d.Changes
	return step, nil
}

// declare sets declared and artifacts to what they are after step n.
func (w *stepWriter) declare(n StepNumber, d Draft) error {
	if w.artifacts == nil || d.Kind == KindRollback {
		base := n - 1
		if d.Kind == KindRollback {
			base = d.To
		}
		declared, at, err := w.store.declaredAt(w.tx, w.chain, base)
		if err != nil {
			return err
		}
		w.declared, w.artifacts = declared, &at
	}
	name := d.Drop
	switch {
	case d.Artifact == nil && d.Drop == "":
		return nil
	case d.Kind != KindDeclare || d.Artifact != nil && d.Drop != "":
		return invalid("only a declaration declares or drops an artifact, and only one of the two")
	case d.Artifact != nil:
		name = d.Artifact.Name
	case w.declared.Artifact(name) == nil:
		return invalid(fmt.Sprintf("there is no artifact %q to drop", name))
	}
	next := w.declared.with(name, d.Artifact, n)
	if err := next.check(n); CodeOf(err) != "" {
		return err
	} else if err != nil {
		return invalid(err.Error())
	}
	w.declared, w.artifacts = next, &n
	return nil
}

// finish writes the head record.
func (w *stepWriter) finish() error {
	return putRecord(w.tx, bucketHeads, w.chain.id.key(), w.head)
}
