package state

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"

	"go.etcd.io/bbolt"
)

// A session can be taken out of a store and put into another one: its birth and steps, byte for byte, so that the hashes
// that chain them stay what they are, and those of the sessions that it was forked from, as far as it shares them. Texts,
// traces, values and blobs go by their digests, see Trace, Value and Blob.

// Past is what is taken of one session: its birth, and its own steps up to Last.
type SessionArchive struct {
	Name     string     `json:"name"`
	Creation []byte     `json:"birth"` // CBOR; its digest is what the first own step chains to
	First    StepNumber `json:"first"` // its first own step
	Last     StepNumber `json:"last"`  // First-1: none
	Hash     Digest     `json:"hash"`  // of step Last, or of the birth
}

// RawStep is a step as it is hashed: the digest of Header is the step's hash, and Header holds the digest of Body.
type RawStep struct {
	Header, Body []byte
}

// Pasts returns what there is to take of a session: its ancestors, the oldest first, and itself.
func (s *Store) SessionArchives(ctx context.Context, session string) (pasts []SessionArchive, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		pasts = nil
		l, head, err := s.find(tx, session)
		if err != nil {
			return err
		}
		for last := head.Step; l != nil; l = l.parent {
			p := SessionArchive{Name: l.birth.Name, First: l.start() + 1, Last: max(last, l.start()), Hash: l.hash}
			var r sessionRecord
			if err := getRecord(tx, bucketSessions, []byte(p.Name), &r); err != nil {
				return damaged(historyFile, fmt.Sprintf("session %q cannot be read", p.Name), err)
			}
			p.Creation = bytes.Clone(r.Birth)
			if p.Last >= p.First {
				if _, _, p.Hash, err = s.readStep(tx, l, p.Last); err != nil {
					return err
				}
			}
			pasts = append(pasts, p)
			last = l.start()
		}
		slices.Reverse(pasts)
		return nil
	})
	return pasts, err
}

// RawSteps yields the steps of a past in order. After an error it ends.
func (s *Store) RawSteps(ctx context.Context, p SessionArchive) iter.Seq2[RawStep, error] {
	return func(yield func(RawStep, error) bool) {
		for n := p.First; n <= p.Last; {
			var page []RawStep
			err := s.view(ctx, func(tx *bbolt.Tx) error {
				page = nil
				l, _, err := s.find(tx, p.Name)
				for ; err == nil && n+StepNumber(len(page)) <= p.Last && len(page) < stepsPage; err = nil {
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

// Checks returns the digest of the source that tells what is known of tests since the step; "" for most steps.
func (r RawStep) Checks() (Digest, error) {
	var h stepHeader
	if err := decode(r.Header, &h); err != nil || h.Tested == nil {
		return "", err
	}
	return h.Tested.Checks, nil
}

// CodeForged is the code of errors about an archive whose parts do not fit one another.
const CodeArchiveDamaged Code = "archive-damaged"

func forged(session string, n StepNumber, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if n > 0 {
		what = fmt.Sprintf("step %d of session %q: %s", n, session, what)
	} else {
		what = fmt.Sprintf("session %q: %s", session, what)
	}
	return &Error{Code: CodeArchiveDamaged, Message: what, Hint: "the archive is not what was exported; nothing was imported"}
}

// Incoming is what Restore asks for.
type SessionImport struct {
	Sessions []SessionArchive // the oldest first
	Steps    func(i int) iter.Seq2[RawStep, error]
	Source   func(Digest) ([]byte, error)
	Records  map[string][]byte // session records of the last of Pasts, CBOR
}

// Restore puts the sessions of another store into this one, all or nothing, and returns how many steps are new. What is there
// already must be the same: a session that has fewer of the steps gets the rest, one that has others is a conflict. All
// that Check verifies of them is verified first.
func (s *Store) ImportSessions(ctx context.Context, in SessionImport) (added int, err error) {
	r := restorer{store: s, ctx: ctx, in: in}
	err = s.update(ctx, func(tx *bbolt.Tx) error {
		r.tx, r.added, r.lines = tx, 0, nil
		for i := range in.Sessions {
			if err := r.past(i); err != nil {
				return err
			}
		}
		return r.verify()
	})
	if err != nil { // what a lineage was taken for is not so
		s.births.mu.Lock()
		for _, p := range in.Sessions {
			delete(s.births.byName, p.Name)
		}
		s.births.mu.Unlock()
	}
	return r.added, err
}

type restorer struct {
	store *Store
	ctx   context.Context
	in    SessionImport
	tx    *bbolt.Tx
	lines []*lineage // of the pasts so far
	added int
}

func (r *restorer) past(i int) error {
	p := r.in.Sessions[i]
	var birth birthRecord
	if err := decode(p.Creation, &birth); err != nil || birth.Name != p.Name || p.Last+1 < p.First {
		return forged(p.Name, 0, "its birth is not that of this session")
	}
	l := &lineage{birth: birth, hash: DigestOf(p.Creation)}
	if i > 0 {
		l.parent = r.lines[i-1]
	}
	if (birth.From == nil) != (l.parent == nil) || birth.From != nil && birth.From.Session != l.parent.birth.Name || p.First != l.start()+1 {
		return forged(p.Name, 0, "it was not forked from the session before it")
	}
	r.lines = append(r.lines, l)
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
	if i < len(r.in.Sessions)-1 || head.Step >= p.Last && head.Step > 0 {
		return nil
	}
	for key, data := range r.in.Records {
		if err := putSessionRecord(r.tx, l.id, key, data); err != nil {
			return err
		}
	}
	return nil
}

// session finds a session that is here already, or makes it, and returns where it is.
func (r *restorer) session(l *lineage, p SessionArchive) (headRecord, error) {
	head := headRecord{Step: l.start(), Hash: l.hash, Time: l.birth.Created}
	var known sessionRecord
	if r.tx.Bucket(bucketSessions).Get([]byte(p.Name)) == nil {
		parent := sessionID(0)
		if l.parent != nil {
			parent = l.parent.id
			base, _, _, err := r.store.readStep(r.tx, l.parent, l.start())
			if err != nil && l.start() > 0 {
				return head, err
			}
			head.Replay = base.Replay
		}
		made, err := createSession(r.tx, l.birth, parent)
		if err != nil {
			return head, err
		}
		if made.hash != l.hash {
			return head, forged(p.Name, 0, "its birth is not written as this version writes it")
		}
		l.id = made.id
		return head, putRecord(r.tx, bucketHeads, l.id.key(), head)
	}
	if err := getRecord(r.tx, bucketSessions, []byte(p.Name), &known); err != nil {
		return head, damaged(historyFile, fmt.Sprintf("session %q cannot be read", p.Name), err)
	}
	if !bytes.Equal(known.Birth, p.Creation) {
		return head, &Error{Code: CodeSessionExists, Message: fmt.Sprintf("the store has another session %q", p.Name), Hint: "import into a store of its own: --store DIR"}
	}
	l.id = known.ID
	return head, getRecord(r.tx, bucketHeads, l.id.key(), &head)
}

// steps compares those that are here and adds the others.
func (r *restorer) steps(i int, l *lineage, head headRecord) error {
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
			return forged(p.Name, n, "it is not announced")
		}
		if n <= had {
			if _, _, hash, err := r.store.readStep(r.tx, l, n); err != nil || hash != DigestOf(raw.Header) {
				return &Error{Code: CodeConflict, Message: fmt.Sprintf("the session %q of the store has another step %d", p.Name, n), Hint: "import into a store of its own: --store DIR", Err: err}
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
		return forged(p.Name, n, "it is missing")
	}
	if had < p.Last && head.Hash != p.Hash {
		return forged(p.Name, p.Last, "its hash is not the one announced")
	}
	return putRecord(r.tx, bucketHeads, l.id.key(), head)
}

// step adds one; verify looks whether it is sound.
func (r *restorer) step(l *lineage, n StepNumber, raw RawStep, x *index, head *headRecord) (*index, error) {
	name := l.birth.Name
	var h stepHeader
	if err := decode(raw.Header, &h); err != nil || h.Number != n || h.base() >= n || h.Undoes >= n {
		return nil, forged(name, n, "its header cannot be read")
	}
	if h.Prev != head.Hash || DigestOf(raw.Body) != h.Body {
		return nil, forged(name, n, "the chain of hashes is broken")
	}
	key := stepKey(l.id, n)
	if err := r.tx.Bucket(bucketSteps).Put(key, packStep(key, raw.Header, raw.Body)); err != nil {
		return nil, err
	}
	changes, err := body(raw.Body).changes(n)
	if err != nil {
		return nil, forged(name, n, "its changes cannot be read: %v", err)
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
		if err := x.apply(c.Op, c.ID, c.After, place{n, uint32(i)}); err != nil {
			return nil, forged(name, n, "its changes do not fit the program: %v", err)
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

func (r *restorer) source(session string, n StepNumber, version Digest) error {
	if hasSource(r.tx, version) {
		return nil
	}
	text, err := r.in.Source(version)
	if err != nil {
		return err
	}
	if DigestOf(text) != version {
		return forged(session, n, "the text of version %s is another", version)
	}
	return putSource(r.tx, text)
}

// verify checks the sessions as Check does, before they are kept.
func (r *restorer) verify() error {
	c := &checker{store: r.store, ctx: r.ctx, tx: r.tx, versions: make(map[Digest]bool), owned: make(map[sessionID]*lineage)}
	for _, p := range r.in.Sessions {
		c.session = p.Name
		if err := c.oneSession(); err != nil && err != errEnough {
			return err
		}
	}
	if len(c.problems) > 0 {
		return forged(c.problems[0].Session, c.problems[0].Step, "%s", c.problems[0].Message)
	}
	return nil
}

// RecordsOf returns the records of a session, CBOR by name.
func (s *Store) SessionRecords(ctx context.Context, session string) (records map[string][]byte, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		l, err := s.lineage(tx, session, 0)
		if err != nil {
			return err
		}
		records, err = sessionRecords(tx, l.id)
		return err
	})
	return records, err
}

// PutBlobFrom keeps what r gives if it is the content of d, and says so; else nothing is kept.
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

// EncodeTrace and DecodeTrace, and the same of values, are for archives: a trace is known by its Identity.
func EncodeTrace(t Trace) []byte { return encode(t) }

// DecodeTrace is the inverse of EncodeTrace.
func DecodeTrace(data []byte) (t Trace, err error) {
	err = decode(data, &t)
	return t, err
}

// EncodeValue returns a value as it is kept.
func EncodeValue(v Value) []byte { return encode(v) }

// DecodeValue is the inverse of EncodeValue.
func DecodeValue(data []byte) (v Value, err error) {
	err = decode(data, &v)
	return v, err
}
