package state

import (
	"crypto/rand"

	"go.etcd.io/bbolt"
)

// Cursor is a point in the life of an open store. A caller that keeps results in memory passes it to TracedSince to
// learn which of them may have changed. The zero value lies before all others.
type Cursor struct {
	foreignWrites int // how often another process had written to results.db
	removals      int // how often results had been removed
	traced        int // how many traces had been put
}

// maxTracedCodes is for how many traces the store remembers the codes. A caller that asks less often gets ok false,
// and starts anew.
const maxTracedCodes = 1 << 14

// TracedSince returns the codes for which a trace was put since a cursor, and the current cursor. ok is false if
// other results may have come or gone since: through another process, Collect, or damage that was noticed.
func (s *Store) TracedSince(since Cursor) (codes []Digest, now Cursor, ok bool) {
	r := s.results
	r.mu.Lock()
	defer r.mu.Unlock()
	r.view(func(*bbolt.Tx) error { return nil }) // detects writes of another process
	now = Cursor{removals: r.removals, traced: r.droppedCodes + len(r.tracedCodes)}
	if r.db != nil {
		now.foreignWrites = r.db.foreignWriteCount()
	}
	if since.foreignWrites != now.foreignWrites || since.removals != now.removals || since.traced < r.droppedCodes {
		return nil, now, false
	}
	return r.tracedCodes[since.traced-r.droppedCodes:], now, true
}

// noteTraced records that a trace of a code was put. The caller holds r.mu.
func (r *results) noteTraced(code Digest) {
	if len(r.tracedCodes) == maxTracedCodes {
		r.tracedCodes, r.droppedCodes = nil, r.droppedCodes+maxTracedCodes
	}
	r.tracedCodes = append(r.tracedCodes, code)
}

// noteRemoval records that results were removed.
func (r *results) noteRemoval() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removals++
}

// ResultsGeneration names the set of stored results. The name changes when results are freed or lost, and not when
// results are added. It is for memos that depend on results that exist.
func (s *Store) ResultsGeneration() string {
	name, ok := s.Memo("generation", "")
	if !ok {
		return s.renewGeneration()
	}
	return string(name)
}

// renewGeneration must run before results are freed: then a crash in between leaves a new name, not memos of freed
// results.
func (s *Store) renewGeneration() string {
	name := rand.Text()
	if s.PutMemo("generation", "", []byte(name)) != nil {
		return name // read-only: a name that no memo has
	}
	s.results.flush()
	return name
}
