package state

import (
	"crypto/rand"

	"go.etcd.io/bbolt"
)

// Who keeps in memory what results there are needs to know when there are others. A Mark is a time in the life of an open store.
// The zero value is before all.
type Cursor struct {
	turn  int // of results.db: how often another process had written to it
	taken int // how often results were taken away
	count int // traces put
}

// maxRecorded is how many codes are remembered of which a trace was put.
const maxRecorded = 1 << 14

// Recorded returns the codes of which a trace was put since a mark, and the mark of now. ok says that no other result has come or
// gone since: not by another process, by Collect, or by damage that was noticed.
func (s *Store) TracedSince(since Cursor) (codes []Digest, now Cursor, ok bool) {
	r := s.results
	r.mu.Lock()
	defer r.mu.Unlock()
	r.view(func(*bbolt.Tx) error { return nil }) // which notices that another process has written
	now = Cursor{taken: r.taken, count: r.dropped + len(r.recorded)}
	if r.db != nil {
		now.turn = r.db.turnOf()
	}
	if since.turn != now.turn || since.taken != now.taken || since.count < r.dropped {
		return nil, now, false
	}
	return r.recorded[since.count-r.dropped:], now, true
}

// record notes that a trace of a code was put. The lock is held.
func (r *results) record(code Digest) {
	if len(r.recorded) == maxRecorded {
		r.recorded, r.dropped = nil, r.dropped+maxRecorded
	}
	r.recorded = append(r.recorded, code)
}

// take notes that results were taken away.
func (r *results) take() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken++
}

// Generation names the results that there are: it is another one once some were freed, or all were lost. More of them do not
// change it. It is for memos that rest on what is there.
func (s *Store) ResultsGeneration() string {
	name, ok := s.Memo("generation", "")
	if !ok {
		return s.renewGeneration()
	}
	return string(name)
}

// renewGeneration must come before results are freed, so that it holds where that is not finished.
func (s *Store) renewGeneration() string {
	name := rand.Text()
	if s.PutMemo("generation", "", []byte(name)) != nil {
		return name // which no memo has
	}
	s.results.flush()
	return name
}
