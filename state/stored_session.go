package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"
	"go.etcd.io/bbolt"
)

// SessionMeta is what a session is born with. It does not change.
type SessionMeta struct {
	Workspace string    // absolute path of the directory the program runs in; kept relative to the store where that can be
	Python    string    // the interpreter chosen
	Seed      uint64    // base entropy of the program's random number generators
	Created   time.Time // zero means now
}

// ForkPoint is where a session left another one.
type ForkPoint struct {
	Session string     `cbor:"session" json:"session"`
	Step    StepNumber `cbor:"step" json:"step"`
	Hash    Digest     `cbor:"hash" json:"hash"` // of that step
}

// Session is one program and its history.
type Session struct {
	Name string
	SessionMeta
	From *ForkPoint // nil when it began empty
	Head StepNumber // 0 before the first step
	Hash Digest     // of the step Head; of the birth record before the first step
}

// sessionID orders the keys of a session; it means nothing outside its store.
type sessionID uint64

type sessionRecord struct {
	ID     sessionID       `cbor:"id"`
	Parent sessionID       `cbor:"parent,omitempty"`
	Birth  cbor.RawMessage `cbor:"birth"`
}

// birthRecord is hashed: its digest is what the first step of the session chains to.
type birthRecord struct {
	Name      string     `cbor:"name"`
	Workspace string     `cbor:"workspace"`
	Python    string     `cbor:"python"`
	Seed      uint64     `cbor:"seed"`
	Created   int64      `cbor:"created"` // nanoseconds since 1970
	From      *ForkPoint `cbor:"from,omitempty"`
}

// headRecord is where a session is.
type headRecord struct {
	Step   StepNumber `cbor:"n"`
	Hash   Digest     `cbor:"hash"`
	Time   int64      `cbor:"t"`
	Replay uint64     `cbor:"replay"`          // as in stepHeader
	Index  uint64     `cbor:"index,omitempty"` // about how large an index would be; 0: not known
}

// lineage is a session with those it was forked from: the steps up to the fork point are the parent's.
type lineage struct {
	id     sessionID
	birth  birthRecord
	hash   Digest // of the birth record
	parent *lineage
}

// owner returns the session that keeps step n.
func (l *lineage) owner(n StepNumber) sessionID {
	for l.parent != nil && n <= l.birth.From.Step {
		l = l.parent
	}
	return l.id
}

func (l *lineage) start() StepNumber {
	if l.parent == nil {
		return 0
	}
	return l.birth.From.Step
}

// births caches lineages by name: they do not change.
type births struct {
	mu     sync.Mutex
	byName map[string]*lineage
}

const maxSessionName = 512

// CreateSession makes an empty session.
func (s *Store) CreateSession(ctx context.Context, name string, meta SessionMeta) (Session, error) {
	birth := birthRecord{Name: name, Workspace: s.relative(meta.Workspace), Python: meta.Python, Seed: meta.Seed}
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

// Fork makes a session that shares the steps of from up to at, with a step of its own that says so.
// It copies nothing but the session's records, which are small.
func (s *Store) Fork(ctx context.Context, name, from string, at StepNumber, origin Origin) (Session, error) {
	err := s.update(ctx, func(tx *bbolt.Tx) error {
		parent, head, err := s.find(tx, from)
		if err != nil {
			return err
		}
		if at > head.Step {
			return noStep(from, at, head.Step)
		}
		point := headRecord{Hash: parent.hash, Time: parent.birth.Created}
		if at > 0 {
			h, _, hash, err := s.readStep(tx, parent, at)
			if err != nil {
				return err
			}
			point = headRecord{Step: at, Hash: hash, Time: h.Time, Replay: h.Replay}
		}
		birth := parent.birth
		birth.Name, birth.Created = name, s.options.Now().UnixNano()
		birth.From = &ForkPoint{Session: from, Step: at, Hash: point.Hash}
		l, err := createSession(tx, birth, parent.id)
		if err != nil {
			return err
		}
		l.parent = parent
		w := stepWriter{store: s, tx: tx, line: l, head: point}
		w.head.Hash = l.hash
		if _, err := w.append(Draft{Kind: KindFork, Origin: origin}, nil); err != nil {
			return err
		}
		if err := copySessionRecords(tx, parent.id, l.id); err != nil {
			return err
		}
		return w.finish()
	})
	if err != nil {
		return Session{}, err
	}
	return s.Session(ctx, name)
}

func createSession(tx *bbolt.Tx, birth birthRecord, parent sessionID) (*lineage, error) {
	if birth.Name == "" || len(birth.Name) > maxSessionName || strings.ContainsRune(birth.Name, 0) {
		return nil, &Error{Code: CodeInvalid, Message: fmt.Sprintf("%q cannot be the name of a session", birth.Name), Hint: fmt.Sprintf("use 1 to %d bytes of text", maxSessionName)}
	}
	b := tx.Bucket(bucketSessions)
	if b.Get([]byte(birth.Name)) != nil {
		return nil, &Error{Code: CodeSessionExists, Message: fmt.Sprintf("the session %q exists already", birth.Name), Hint: "choose another name, or go on with that session"}
	}
	n, err := b.NextSequence()
	if err != nil {
		return nil, err
	}
	raw := encode(birth)
	record := sessionRecord{ID: sessionID(n), Parent: parent, Birth: raw}
	if err := putRecord(tx, bucketSessions, []byte(birth.Name), record); err != nil {
		return nil, err
	}
	return &lineage{id: sessionID(n), birth: birth, hash: DigestOf(raw)}, nil
}

// Session returns a session as it is now, or ErrNoSession.
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

// Head returns the last step of a session and its hash. Before the first step it is 0 and the hash of the session's birth.
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
	b := l.birth
	return Session{
		Name:        name,
		SessionMeta: SessionMeta{Workspace: s.absolute(b.Workspace), Python: b.Python, Seed: b.Seed, Created: time.Unix(0, b.Created).UTC()},
		From:        b.From, Head: head.Step, Hash: head.Hash,
	}, nil
}

// find returns the lineage and head of a session.
func (s *Store) find(tx *bbolt.Tx, name string) (*lineage, headRecord, error) {
	var head headRecord
	l, err := s.lineage(tx, name, 0)
	if err != nil {
		return nil, head, err
	}
	if err := getRecord(tx, bucketHeads, l.id.key(), &head); err != nil {
		return nil, head, damaged(historyFile, fmt.Sprintf("the head of session %q cannot be read", name), err)
	}
	return l, head, nil
}

const maxForkDepth = 1 << 16 // a bound for damaged records that point in a circle

func (s *Store) lineage(tx *bbolt.Tx, name string, depth int) (*lineage, error) {
	s.births.mu.Lock()
	l := s.births.byName[name]
	s.births.mu.Unlock()
	if l != nil {
		return l, nil
	}
	var r sessionRecord
	if err := getRecord(tx, bucketSessions, []byte(name), &r); errors.Is(err, errNoRecord) {
		if err := verifyAll(tx, bucketSessions, nil); err != nil {
			return nil, err
		}
		return nil, &Error{Code: CodeNoSession, Message: fmt.Sprintf("there is no session %q", name), Hint: "xstate log lists the sessions of the store"}
	} else if err != nil {
		return nil, damaged(historyFile, fmt.Sprintf("session %q cannot be read", name), err)
	}
	l = &lineage{id: r.ID, hash: DigestOf(r.Birth)}
	if err := decode(r.Birth, &l.birth); err != nil {
		return nil, damaged(historyFile, fmt.Sprintf("the birth of session %q cannot be read", name), err)
	}
	if (l.birth.From == nil) != (r.Parent == 0) || depth > maxForkDepth {
		return nil, damaged(historyFile, fmt.Sprintf("session %q has no proper parent", name), nil)
	}
	if l.birth.From != nil {
		parent, err := s.lineage(tx, l.birth.From.Session, depth+1)
		if err != nil {
			return nil, damaged(historyFile, fmt.Sprintf("the session that %q was forked from cannot be read", name), err)
		}
		l.parent = parent
	}
	s.births.mu.Lock()
	defer s.births.mu.Unlock()
	if s.births.byName == nil {
		s.births.byName = make(map[string]*lineage)
	}
	s.births.byName[name] = l
	return l, nil
}

// verifyAll opens every sealed record under a prefix. It is asked when a record is not found: a damaged key must not
// pass for absence.
func verifyAll(tx *bbolt.Tx, bucket, prefix []byte) error {
	c := tx.Bucket(bucket).Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if _, err := unseal(bucket, k, v); err != nil {
			return damaged(historyFile, fmt.Sprintf("a record of bucket %s cannot be read", bucket), err)
		}
	}
	return nil
}

func noStep(session string, n, head StepNumber) error {
	return &Error{Code: CodeNoStep, Message: fmt.Sprintf("session %q has no step %d", session, n), Hint: fmt.Sprintf("its last step is %d", head)}
}

// relative returns path relative to the directory that holds the store when it lies within, so that both can be moved.
func (s *Store) relative(path string) string {
	if path == "" {
		return ""
	}
	if rel, err := filepath.Rel(filepath.Dir(s.dir), path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

func (s *Store) absolute(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(s.dir), filepath.FromSlash(path))
}
