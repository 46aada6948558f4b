package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"
	"go.etcd.io/bbolt"

	"github.com/xstate-engine/xstate/internal/parents"
)

// SessionMeta is what a session is created with. It does not change.
type SessionMeta struct {
	// Workspace: absolute path of the directory that the program runs in; stored relative to the store if it lies
	// below the store's parent
	Workspace string
	Python    string    // the chosen interpreter
	Seed      uint64    // base entropy of the program's random number generators
	Created   time.Time // zero means now
}

// ForkPoint is the step at which a session was forked from another one.
type ForkPoint struct {
	Session string     `cbor:"session" json:"session"`
	Step    StepNumber `cbor:"step" json:"step"`
	Hash    Digest     `cbor:"hash" json:"hash"` // that step's
}

// Session is one program and its history.
type Session struct {
	Name string
	SessionMeta
	From *ForkPoint // nil if it began empty
	Head StepNumber // 0 before the first step
	Hash Digest     // that of step Head; before the first step, of the creation record
	// Trust says on whose word the store has its steps.
	Trust SessionTrust
}

type sessionRecord struct {
	ID       sessionID       `cbor:"id"`
	Parent   sessionID       `cbor:"parent,omitempty"`
	Creation cbor.RawMessage `cbor:"birth"`
}

// creationRecord is hashed: the first step of the session holds its digest.
type creationRecord struct {
	Name      string     `cbor:"name"`
	Workspace string     `cbor:"workspace"`
	Python    string     `cbor:"python"`
	Seed      uint64     `cbor:"seed"`
	Created   int64      `cbor:"created"` // nanoseconds since 1970
	From      *ForkPoint `cbor:"from,omitempty"`
}

// headRecord is the last step of a session, with what a commit needs to know about it.
type headRecord struct {
	Step   StepNumber `cbor:"n"`
	Hash   Digest     `cbor:"hash"`
	Time   int64      `cbor:"t"`
	Replay uint64     `cbor:"replay"`          // as in stepHeader
	Index  uint64     `cbor:"index,omitempty"` // approximate size of an index of the program; 0: not known
}

// forkChain is a session with the sessions that it was forked from: the steps up to the fork point belong to the
// parent.
type forkChain struct {
	id       sessionID
	creation creationRecord
	hash     Digest // that of the creation record
	parent   *forkChain
}

// Lineage numbers the family of forks that a session belongs to: it and all that share its first steps.
func (s *Store) Lineage(ctx context.Context, session string) (root uint64, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		l, err := s.forkChain(tx, session, 0)
		if err != nil {
			return err
		}
		for l.parent != nil {
			l = l.parent
		}
		root = uint64(l.id)
		return nil
	})
	return root, err
}

// owner returns the session that stores step n.
func (l *forkChain) owner(n StepNumber) sessionID {
	for l.parent != nil && n <= l.creation.From.Step {
		l = l.parent
	}
	return l.id
}

// forkStep returns the step at which the session was forked; 0 if it was not.
func (l *forkChain) forkStep() StepNumber {
	if l.parent == nil {
		return 0
	}
	return l.creation.From.Step
}

// forkChainCache caches fork chains by name. They do not change, so an entry is valid for as long as the store is
// open.
type forkChainCache struct {
	mu     sync.Mutex
	byName map[string]*forkChain
}

const maxSessionName = 512

// CreateSession creates an empty session.
func (s *Store) CreateSession(ctx context.Context, name string, meta SessionMeta) (Session, error) {
	birth := creationRecord{Name: name, Workspace: s.relative(meta.Workspace), Python: meta.Python, Seed: meta.Seed}
	if meta.Created.IsZero() {
		meta.Created = s.options.Now()
	}
	birth.Created = meta.Created.UnixNano()
	err := s.update(ctx, func(tx *bbolt.Tx) error {
		l, err := createSession(tx, birth, 0)
		if err != nil {
			return err
		}
		return putRecord(tx, bucketHeads, l.id.key(), headRecord{Hash: l.hash, Time: birth.Created})
	})
	if err != nil {
		return Session{}, err
	}
	return s.Session(ctx, name)
}

// Fork creates a session that shares the steps of from up to at. Its first own step has KindFork. Fork copies nothing
// but the session's records, which are small.
func (s *Store) Fork(ctx context.Context, name, from string, at StepNumber, origin Origin) (Session, error) {
	return s.ForkIn(ctx, name, "", ForkPoint{Session: from, Step: at}, Draft{Origin: origin})
}

// ForkIn is Fork for a session that runs in another folder; "" is that of the other session. The hash of the point is
// not used. The records of the draft replace those of the other session.
func (s *Store) ForkIn(ctx context.Context, name, workspace string, from ForkPoint, d Draft) (Session, error) {
	d.Kind = KindFork
	err := s.update(ctx, func(tx *bbolt.Tx) error {
		from, at := from.Session, from.Step
		parent, head, err := s.find(tx, from)
		if err != nil {
			return err
		}
		if at > head.Step {
			return noStep(from, at, head.Step)
		}
		point := headRecord{Hash: parent.hash, Time: parent.creation.Created}
		if at > 0 {
			h, _, hash, err := s.readStep(tx, parent, at)
			if err != nil {
				return err
			}
			point = headRecord{Step: at, Hash: hash, Time: h.Time, Replay: h.Replay}
		}
		birth := parent.creation
		birth.Name, birth.Created = name, s.options.Now().UnixNano()
		birth.From = &ForkPoint{Session: from, Step: at, Hash: point.Hash}
		trust, err := readTrust(tx, parent.id)
		if err != nil {
			return err
		}
		switch {
		case workspace != "":
			birth.Workspace = s.relative(workspace)
		case trust.Here:
			birth.Workspace = s.relative(s.home())
		}
		l, err := createSession(tx, birth, parent.id)
		if err != nil {
			return err
		}
		l.parent = parent
		w := stepWriter{store: s, tx: tx, chain: l, head: point}
		w.head.Hash = l.hash
		if _, err := w.append(d, nil); err != nil {
			return err
		}
		if err := copySessionRecords(tx, parent.id, l.id); err != nil {
			return err
		}
		if err := w.putRecords(d.Records); err != nil {
			return err
		}
		if trust.Here {
			trust.Here = false
			if err := writeTrust(tx, l.id, trust); err != nil {
				return err
			}
		}
		return w.finish()
	})
	if err != nil {
		return Session{}, err
	}
	return s.Session(ctx, name)
}

// Family returns the session and all sessions that share an ancestor with it, sorted by name. They are the versions of
// one program.
func (s *Store) Family(ctx context.Context, name string) ([]Session, error) {
	all, err := s.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	parents := map[string]string{}
	for _, x := range all {
		if x.From != nil {
			parents[x.Name] = x.From.Session
		}
	}
	root := func(name string) string {
		for parents[name] != "" {
			name = parents[name]
		}
		return name
	}
	return slices.DeleteFunc(all, func(x Session) bool { return root(x.Name) != root(name) }), nil
}

// createSession writes the creation record under a new id.
func createSession(tx *bbolt.Tx, birth creationRecord, parent sessionID) (*forkChain, error) {
	if birth.Name == "" || len(birth.Name) > maxSessionName || strings.ContainsRune(birth.Name, 0) {
		return nil, &Error{
			Code:    CodeInvalid,
			Message: fmt.Sprintf("%q cannot be the name of a session", birth.Name),
			Hint:    fmt.Sprintf("use 1 to %d bytes of text", maxSessionName),
		}
	}
	// Ids come from the bucket's sequence and are never reused: keys of a damaged session must not become those of a
	// new one.
	b := tx.Bucket(bucketSessions)
	if b.Get([]byte(birth.Name)) != nil {
		return nil, SessionExists(birth.Name)
	}
	n, err := b.NextSequence()
	if err != nil {
		return nil, err
	}
	raw := encode(birth)
	record := sessionRecord{ID: sessionID(n), Parent: parent, Creation: raw}
	if err := putRecord(tx, bucketSessions, []byte(birth.Name), record); err != nil {
		return nil, err
	}
	return &forkChain{id: sessionID(n), creation: birth, hash: DigestOf(raw)}, nil
}

// Session returns the current state of a session, or ErrNoSession.
func (s *Store) Session(ctx context.Context, name string) (session Session, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		session, err = s.session(tx, name)
		return err
	})
	return session, err
}

// Sessions returns all sessions, sorted by name.
func (s *Store) Sessions(ctx context.Context) (all []Session, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucketSessions).Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			session, err := s.session(tx, string(k))
			if err != nil {
				return err
			}
			all = append(all, session)
		}
		return nil
	})
	return all, err
}

// Head returns the last step of a session and its hash. Before the first step they are 0 and the hash of the creation
// record.
func (s *Store) Head(ctx context.Context, session string) (n StepNumber, hash Digest, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		_, head, err := s.find(tx, session)
		n, hash = head.Step, head.Hash
		return err
	})
	return n, hash, err
}

func (s *Store) session(tx *bbolt.Tx, name string) (Session, error) {
	l, head, err := s.find(tx, name)
	if err != nil {
		return Session{}, err
	}
	trust, err := readTrust(tx, l.id)
	if err != nil {
		return Session{}, err
	}
	b := l.creation
	if trust.Here {
		b.Workspace = s.home()
	}
	return Session{
		Name:  name,
		Trust: trust,
		SessionMeta: SessionMeta{
			Workspace: s.absolute(b.Workspace),
			Python:    b.Python,
			Seed:      b.Seed,
			Created:   time.Unix(0, b.Created).UTC(),
		},
		From: b.From, Head: head.Step, Hash: head.Hash,
	}, nil
}

// find returns the fork chain and head of a session.
func (s *Store) find(tx *bbolt.Tx, name string) (*forkChain, headRecord, error) {
	var head headRecord
	l, err := s.forkChain(tx, name, 0)
	if err != nil {
		return nil, head, err
	}
	if err := getRecord(tx, bucketHeads, l.id.key(), &head); err != nil {
		return nil, head, damaged(historyFile, fmt.Sprintf("the head of session %q cannot be read", name), err)
	}
	return l, head, nil
}

const maxForkDepth = 1 << 16 // damaged records may form a circle

// forkChain reads a session's creation record and those of its ancestors. depth is the number of descendants read so
// far.
func (s *Store) forkChain(tx *bbolt.Tx, name string, depth int) (*forkChain, error) {
	s.forkChains.mu.Lock()
	l := s.forkChains.byName[name]
	s.forkChains.mu.Unlock()
	if l != nil {
		return l, nil
	}
	var r sessionRecord
	if err := getRecord(tx, bucketSessions, []byte(name), &r); errors.Is(err, errNoRecord) {
		if err := verifyAll(tx, bucketSessions, nil); err != nil {
			return nil, err
		}
		return nil, &Error{
			Code:    CodeNoSession,
			Message: fmt.Sprintf("there is no session %q", name),
			Hint:    "`xstate log` lists the sessions of the store",
		}
	} else if err != nil {
		return nil, damaged(historyFile, fmt.Sprintf("session %q cannot be read", name), err)
	}
	l = &forkChain{id: r.ID, hash: DigestOf(r.Creation)}
	if err := decode(r.Creation, &l.creation); err != nil {
		return nil, damaged(historyFile, fmt.Sprintf("the creation record of session %q cannot be read", name), err)
	}
	// Parent is not hashed, From is. A record in which they disagree is damaged or forged.
	if (l.creation.From == nil) != (r.Parent == 0) || depth > maxForkDepth {
		return nil, damaged(historyFile, fmt.Sprintf("session %q has no proper parent", name), nil)
	}
	if l.creation.From != nil {
		parent, err := s.forkChain(tx, l.creation.From.Session, depth+1)
		if err != nil {
			return nil, damaged(
				historyFile,
				fmt.Sprintf("the session that %q was forked from cannot be read", name),
				err,
			)
		}
		l.parent = parent
	}
	s.forkChains.mu.Lock()
	defer s.forkChains.mu.Unlock()
	if s.forkChains.byName == nil {
		s.forkChains.byName = make(map[string]*forkChain)
	}
	s.forkChains.byName[name] = l
	return l, nil
}

// verifyAll opens every sealed record under a prefix. It runs when a record is not found: a record under a damaged
// key must not pass for a missing one.
func verifyAll(tx *bbolt.Tx, bucket, prefix []byte) error {
	c := tx.Bucket(bucket).Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if _, err := unseal(bucket, k, v); err != nil {
			return damaged(historyFile, fmt.Sprintf("a record of bucket %s cannot be read", bucket), err)
		}
	}
	return nil
}

// noStep is the error for a step beyond the head, or for step 0 where a step is needed.
func noStep(session string, n, head StepNumber) error {
	return &Error{
		Code:    CodeNoStep,
		Message: fmt.Sprintf("session %q has no step %d", session, n),
		Hint:    fmt.Sprintf("its last step is %d", head),
	}
}

// home returns the folder that holds the store.
func (s *Store) home() string { return filepath.Dir(s.dir) }

// isPlain reports whether the workspace of a creation record is one that a foreign archive may name: the folder that
// holds the store or one below it, and nothing hidden, as are the store and the hooks of a repository.
func (s *Store) isPlain(workspace string) bool {
	if workspace == "" || workspace == "." {
		return true
	}
	if in, err := filepath.Rel(s.dir, s.absolute(workspace)); err != nil || filepath.IsLocal(in) ||
		!filepath.IsLocal(filepath.FromSlash(workspace)) {
		return false
	}
	return !slices.ContainsFunc(strings.Split(workspace, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".")
	})
}

// relative returns a path relative to the directory that holds the store, if it lies below, so that both can be moved
// together.
func (s *Store) relative(path string) string {
	if path == "" {
		return ""
	}
	if rel := parents.Below(filepath.Dir(s.dir), path); rel != "" {
		return filepath.ToSlash(rel)
	}
	return path
}

// absolute is the inverse of relative.
func (s *Store) absolute(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(s.dir), filepath.FromSlash(path))
}
