package state

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"

	"go.etcd.io/bbolt"
)

// An archive carries a session from one store into another: its creation record and its steps, byte for byte, so that
// the hashes of the chain stay valid. It also carries the sessions that it was forked from, up to the fork. Texts,
// traces, values and blobs travel by their digests; see Trace, Value and Blob.

// SessionArchive is the part of one session that an archive holds: its creation record, and its own steps up to Last.
type SessionArchive struct {
	Name     string     `json:"name"`
	Creation []byte     `json:"birth"` // CBOR; the first own step holds its digest
	First    StepNumber `json:"first"` // its first own step; the steps before it belong to the parent
	Last     StepNumber `json:"last"`  // First-1 if it has no own step
	Hash     Digest     `json:"hash"`  // that of step Last, or of the creation record
}

// RawStep is a step in its hashed form: the digest of Header is the step's hash, and Header holds the digest of Body.
type RawStep struct {
	Header, Body []byte
}

// SessionArchives returns what an archive of a session holds: its ancestors, the oldest first, then the session
// itself.
func (s *Store) SessionArchives(ctx context.Context, session string) (pasts []SessionArchive, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		pasts = nil
		l, head, err := s.find(tx, session)
		if err != nil {
			return err
		}
		// From the session up to its oldest ancestor; each contributes the steps up to where its child was forked.
		for last := head.Step; l != nil; l = l.parent {
			p := SessionArchive{
				Name:  l.creation.Name,
				First: l.forkStep() + 1,
				Last:  max(last, l.forkStep()),
				Hash:  l.hash,
			}
			var r sessionRecord
			if err := getRecord(tx, bucketSessions, []byte(p.Name), &r); err != nil {
				return damaged(historyFile, fmt.Sprintf("session %q cannot be read", p.Name), err)
			}
			p.Creation = bytes.Clone(r.Creation)
			if p.Last >= p.First {
				if _, _, p.Hash, err = s.readStep(tx, l, p.Last); err != nil {
					return err
				}
			}
			pasts = append(pasts, p)
			last = l.forkStep()
		}
		slices.Reverse(pasts)
		return nil
	})
	return pasts, err
}

// RawSteps yields the steps of an archived session in order. It reads them in pages, so that no transaction is open
// while the caller works. After an error it ends.
func (s *Store) RawSteps(ctx context.Context, p SessionArchive) iter.Seq2[RawStep, error] {
	return func(yield func(RawStep, error) bool) {
		for n := p.First; n <= p.Last; {
			var page []RawStep
			err := s.view(ctx, func(tx *bbolt.Tx) error {
				page = nil
				l, _, err := s.find(tx, p.Name)
				for ; err == nil && n+StepNumber(len(page)) <= p.Last && len(page) < maxPageSize; err = nil {
					at := n + StepNumber(len(page))
					_, packed, _, err := s.readStep(tx, l, at)
					if err != nil {
						return err
					}
					page = append(page, RawStep{bytes.Clone(packed.header), bytes.Clone(packed.body)})
				}
				return err
			})
			for _, step := range page {
				if !yield(step, nil) {
					return
				}
			}
			if err != nil {
				yield(RawStep{}, err)
				return
			}
			n += StepNumber(len(page))
		}
	}
}

// Changes decodes the changes of a raw step.
func (r RawStep) Changes() ([]Change, error) {
	var h stepHeader
	if err := decode(r.Header, &h); err != nil {
		return nil, err
	}
	return body(r.Body).changes(h.Number)
}

// Checks returns the digest of the source that holds the test facts recorded with the step; "" for most steps.
func (r RawStep) Checks() (Digest, error) {
	var h stepHeader
	if err := decode(r.Header, &h); err != nil || h.Tested == nil {
		return "", err
	}
	return h.Tested.Checks, nil
}

// CodeArchiveDamaged is the code of errors about an archive whose parts contradict each other.
const CodeArchiveDamaged Code = "archive-damaged"

func archiveDamaged(session string, n StepNumber, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if n > 0 {
		what = fmt.Sprintf("step %d of session %q: %s", n, session, what)
	} else {
		what = fmt.Sprintf("session %q: %s", session, what)
	}
	return &Error{
		Code:    CodeArchiveDamaged,
		Message: what,
		Hint:    "the archive differs from what was exported; nothing was imported",
	}
}

// SessionImport is the input of ImportSessions. Steps and Source are called as steps need them.
type SessionImport struct {
	Sessions []SessionArchive // the oldest first
	Steps    func(i int) iter.Seq2[RawStep, error]
	Source   func(Digest) ([]byte, error)
	Records  map[string][]byte // records of the last of Sessions, CBOR by name
	Trust    Trust             // for what is new; TierOwn counts as TierForeign
}

// ImportSessions adds the sessions of an archive to the store, all or none, and returns how many steps are new. Steps
// that the store already has must be equal: a session that has fewer steps gets the rest, and one with different
// steps is a conflict. Before the transaction commits, every new step passes the checks of Check.
func (s *Store) ImportSessions(ctx context.Context, in SessionImport) (added int, err error) {
	r := sessionImporter{store: s, ctx: ctx, in: in}
	err = s.update(ctx, func(tx *bbolt.Tx) error {
		r.tx, r.added, r.chains, r.marks = tx, 0, nil, nil
		for i := range in.Sessions {
			if err := r.importSession(i); err != nil {
				return err
			}
		}
		if err := r.mark(); err != nil {
			return err
		}
		return r.verify()
	})
	if err != nil { // the cache may hold sessions that the failed transaction created
		s.forkChains.mu.Lock()
		for _, p := range in.Sessions {
			delete(s.forkChains.byName, p.Name)
		}
		s.forkChains.mu.Unlock()
	}
	return r.added, err
}

type sessionImporter struct {
	store  *Store
	ctx    context.Context
	in     SessionImport
	tx     *bbolt.Tx
	chains []*forkChain // the chains so far
	marks  []importMark
	added  int
}

// importMark is what an import did to a session.
type importMark struct {
	chain *forkChain
	isNew bool
	grown bool // it is new, or got a step
	whole bool // the archive has all of its steps
}

// importSession adds session i of the archive. Its parent, if it has one, is session i-1.
func (r *sessionImporter) importSession(i int) error {
	p := r.in.Sessions[i]
	var birth creationRecord
	if err := decode(p.Creation, &birth); err != nil || birth.Name != p.Name || p.Last+1 < p.First {
		return archiveDamaged(p.Name, 0, "its creation record belongs to another session")
	}
	l := &forkChain{creation: birth, hash: DigestOf(p.Creation)}
	if i > 0 {
		l.parent = r.chains[i-1]
	}
	if (birth.From == nil) != (l.parent == nil) || birth.From != nil && birth.From.Session != l.parent.creation.Name ||
		p.First != l.forkStep()+1 {
		return archiveDamaged(p.Name, 0, "its creation record does not name the session before it as its parent")
	}
	r.chains = append(r.chains, l)
	known, before := r.tx.Bucket(bucketSessions).Get([]byte(p.Name)) != nil, r.added
	head, err := r.session(l, p)
	if err != nil {
		return err
	}
	if l.id == 0 {
		return fmt.Errorf("state: internal error: session %q has no id", p.Name)
	}
	if err := r.steps(i, l, head); err != nil {
		return err
	}
	r.marks = append(r.marks, importMark{l, !known, !known || r.added > before, head.Step <= p.Last})
	// Records are mutable and belong to the end of the archived history. They are imported only into the session
	// itself, and not if the store's session is already further.
	if i < len(r.in.Sessions)-1 || head.Step >= p.Last && head.Step > 0 {
		return nil
	}
	for key, data := range r.in.Records {
		if key == recordTrust {
			continue // no session vouches for itself
		}
		if err := putSessionRecord(r.tx, l.id, key, data); err != nil {
			return err
		}
	}
	return nil
}

// mark records on whose word the store has the steps. Foreign sessions of one archive share an area; one that has an
// area keeps it. A session becomes trusted only where all of its steps came with what is trusted.
func (r *sessionImporter) mark() error {
	area := uint64(r.chains[len(r.chains)-1].id)
	for _, m := range r.marks {
		was, err := readTrust(r.tx, m.chain.id)
		if err != nil {
			return err
		}
		now := SessionTrust{Trust: r.in.Trust}
		if r.in.Trust.Tier == TierOwn {
			now.Tier = TierForeign
		}
		switch {
		case now.Tier == TierForeign && m.grown:
			now.Area = cmp.Or(was.Area, area)
			now.Here = was.Here || m.isNew && !r.store.isPlain(m.chain.creation.Workspace)
		case now.Tier == TierTrusted && m.whole && (m.grown || was.Tier == TierForeign):
		default:
			continue
		}
		if err := writeTrust(r.tx, m.chain.id, now); err != nil {
			return err
		}
	}
	return nil
}

// session finds the session in the store, or creates it, and returns its head.
func (r *sessionImporter) session(l *forkChain, p SessionArchive) (headRecord, error) {
	head := headRecord{Step: l.forkStep(), Hash: l.hash, Time: l.creation.Created}
	var known sessionRecord
	if r.tx.Bucket(bucketSessions).Get([]byte(p.Name)) == nil {
		parent := sessionID(0)
		if l.parent != nil {
			parent = l.parent.id
			base, _, _, err := r.store.readStep(r.tx, l.parent, l.forkStep())
			if err != nil && l.forkStep() > 0 {
				return head, err
			}
			head.Replay = base.Replay
		}
		made, err := createSession(r.tx, l.creation, parent)
		if err != nil {
			return head, err
		}
		if made.hash != l.hash {
			return head, archiveDamaged(p.Name, 0, "its creation record is not in the form that this version writes")
		}
		l.id = made.id
		return head, putRecord(r.tx, bucketHeads, l.id.key(), head)
	}
	if err := getRecord(r.tx, bucketSessions, []byte(p.Name), &known); err != nil {
		return head, damaged(historyFile, fmt.Sprintf("session %q cannot be read", p.Name), err)
	}
	if !bytes.Equal(known.Creation, p.Creation) {
		return head, &Error{
			Code:    CodeSessionExists,
			Message: fmt.Sprintf("the store has a different session %q", p.Name),
			Hint:    "import into a store of its own: `--store DIR`",
		}
	}
	l.id = known.ID
	return head, getRecord(r.tx, bucketHeads, l.id.key(), &head)
}

// steps compares the steps that the store has with those of the archive, and adds the others.
func (r *sessionImporter) steps(i int, l *forkChain, head headRecord) error {
	p := r.in.Sessions[i]
	had, n := head.Step, p.First
	var x *index
	for raw, err := range r.in.Steps(i) {
		if err == nil {
			err = r.ctx.Err()
		}
		if err != nil {
			return err
		}
		if n > p.Last {
			return archiveDamaged(p.Name, n, "the archive's list of sessions does not include it")
		}
		// The hash of a step covers all steps before it, so equal hashes mean equal histories.
		if n <= had {
			if _, _, hash, err := r.store.readStep(r.tx, l, n); err != nil || hash != DigestOf(raw.Header) {
				return &Error{
					Code:    CodeConflict,
					Message: fmt.Sprintf("the session %q of the store has another step %d", p.Name, n),
					Hint:    "import into a store of its own: `--store DIR`",
					Err:     err,
				}
			}
		} else {
			if x == nil {
				if x, err = r.store.indexAt(r.tx, l, n-1); err != nil {
					return err
				}
			}
			if x, err = r.step(l, n, raw, x, &head); err != nil {
				return err
			}
		}
		n++
	}
	if n != p.Last+1 {
		return archiveDamaged(p.Name, n, "it is missing")
	}
	if had < p.Last && head.Hash != p.Hash {
		return archiveDamaged(p.Name, p.Last, "its hash differs from the one in the archive's list of sessions")
	}
	return putRecord(r.tx, bucketHeads, l.id.key(), head)
}

// step adds one step and applies its changes to x. It checks only what later steps need; verify does the rest.
func (r *sessionImporter) step(l *forkChain, n StepNumber, raw RawStep, x *index, head *headRecord) (*index, error) {
	name := l.creation.Name
	var h stepHeader
	if err := decode(raw.Header, &h); err != nil || h.Number != n || h.base() >= n || h.Undoes >= n {
		return nil, archiveDamaged(name, n, "its header cannot be read")
	}
	if h.Prev != head.Hash || DigestOf(raw.Body) != h.Body {
		return nil, archiveDamaged(name, n, "the chain of hashes is broken")
	}
	key := stepKey(l.id, n)
	if err := r.tx.Bucket(bucketSteps).Put(key, packStep(key, raw.Header, raw.Body)); err != nil {
		return nil, err
	}
	changes, err := body(raw.Body).changes(n)
	if err != nil {
		return nil, archiveDamaged(name, n, "its changes cannot be read: %v", err)
	}
	if h.Kind == KindRollback {
		if x, err = r.store.indexAt(r.tx, l, h.To); err != nil {
			return nil, err
		}
	}
	if h.Tested != nil && h.Tested.Checks != "" {
		if err := r.source(name, n, h.Tested.Checks); err != nil {
			return nil, err
		}
	}
	for i, c := range changes {
		if c.Block != nil {
			if err := r.source(name, n, c.Block.Version); err != nil {
				return nil, err
			}
		}
		if err := x.apply(c.Op, c.ID, c.After, changeRef{n, uint32(i)}); err != nil {
			return nil, archiveDamaged(name, n, "its changes do not fit the program: %v", err)
		}
	}
	if h.Index {
		if err := putIndex(r.tx, key, x); err != nil {
			return nil, err
		}
	}
	*head = headRecord{Step: n, Hash: DigestOf(raw.Header), Time: h.Time, Replay: h.Replay}
	r.added++
	return x, nil
}

// source adds the text of a version, unless the store has it.
func (r *sessionImporter) source(session string, n StepNumber, version Digest) error {
	if hasSource(r.tx, version) {
		return nil
	}
	text, err := r.in.Source(version)
	if err != nil {
		return err
	}
	if DigestOf(text) != version {
		return archiveDamaged(session, n, "the text of version %s does not have that digest", version)
	}
	return putSource(r.tx, text)
}

// verify runs the checks of Check over the imported sessions inside the transaction, so that a bad archive leaves
// nothing behind.
func (r *sessionImporter) verify() error {
	c := &checker{
		store:    r.store,
		ctx:      r.ctx,
		tx:       r.tx,
		versions: make(map[Digest]bool),
		owned:    make(map[sessionID]*forkChain),
	}
	for _, p := range r.in.Sessions {
		c.session = p.Name
		if err := c.checkSession(); err != nil && err != errEnough {
			return err
		}
	}
	if len(c.problems) > 0 {
		return archiveDamaged(c.problems[0].Session, c.problems[0].Step, "%s", c.problems[0].Message)
	}
	return nil
}

// SessionRecords returns the records of a session that an archive holds, CBOR by name.
func (s *Store) SessionRecords(ctx context.Context, session string) (records map[string][]byte, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		l, err := s.forkChain(tx, session, 0)
		if err != nil {
			return err
		}
		records, err = recordsOf(tx, l.id)
		delete(records, recordTrust)
		return err
	})
	return records, err
}

// PutBlobFrom stores the content of r if its digest is d, and reports whether it did. Otherwise it stores nothing.
func (s *Store) PutBlobFrom(d Digest, size int64, r io.Reader) (bool, error) {
	if s.blobs.readOnly {
		return false, errReadOnly
	}
	if _, ok := d.raw(); !ok || s.blobs.has(d) {
		return ok, nil
	}
	if size > 4*inlineSize {
		err := s.blobs.write(BlobRef{d, size}, io.LimitReader(r, size))
		return err == nil, err
	}
	content, err := io.ReadAll(io.LimitReader(r, size+1))
	if err != nil || DigestOf(content) != d {
		return false, err
	}
	_, err = s.PutBlob(content)
	return err == nil, err
}

// EncodeTrace returns a trace in its stored form. Archives name a trace by its Identity.
func EncodeTrace(t Trace) []byte { return encode(t) }

// DecodeTrace is the inverse of EncodeTrace.
func DecodeTrace(data []byte) (t Trace, err error) {
	err = decode(data, &t)
	return t, err
}

// EncodeCall returns the record of a call in its stored form.
func EncodeCall(c Call) []byte { return encode(c) }

// DecodeCall is the inverse of EncodeCall.
func DecodeCall(data []byte) (c Call, err error) {
	err = callDecoding.Unmarshal(data, &c)
	return c, err
}

// EncodeValue returns a value in its stored form.
func EncodeValue(v Value) []byte { return encode(v) }

// DecodeValue is the inverse of EncodeValue.
func DecodeValue(data []byte) (v Value, err error) {
	err = decode(data, &v)
	return v, err
}
