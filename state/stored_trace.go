package state

import (
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/xstate-engine/xstate/depgraph"
)

// Access is a key with the digest it had.
type Access struct {
	Key    depgraph.Key `cbor:"k"`
	Digest Digest       `cbor:"d,omitempty"` // Absent: there was no value
}

// ValueInfo describes a written value for people and queries, bounded in size.
type ValueInfo struct {
	Type  string `cbor:"type,omitempty" json:"type,omitempty"`
	Repr  string `cbor:"repr,omitempty" json:"repr,omitempty"`
	Shape string `cbor:"shape,omitempty" json:"shape,omitempty"`
	Bytes int64  `cbor:"bytes,omitempty" json:"bytes,omitempty"`

	Deps             []string `cbor:"deps,omitempty" json:"-"`   // names that code reachable from the value may load, sorted
	Code             []string `cbor:"code,omitempty" json:"-"`   // qualified names of the program's classes and functions that it reaches, sorted; ["*"]: of many
	ReachesModules   bool     `cbor:"rests,omitempty" json:"-"`  // it reaches a function, class or object of a workspace module
	ModuleReferences []string `cbor:"held,omitempty" json:"-"`   // what workspace modules hold a part of it by, "MODULE.NAME", sorted
	Opaque           string   `cbor:"opaque,omitempty" json:"-"` // why its digest is by lineage and not by content; "" when it is by content

	LifetimeSensitive bool `cbor:"fragile,omitempty" json:"-"` // it may notice that an object goes
}

// Share says that two names reach a common mutable object: the names in order, and a digest of the places at which
// each of them does. With the content of both, it determines how they overlap.
type Alias []string

// Trace is the record of one execution of one node's code. Its identity is the digest of everything but Cost and Info.
type Trace struct {
	Code           Digest                     `cbor:"code"`
	Reads          []Access                   `cbor:"reads,omitempty"`   // sorted by key
	Writes         []Access                   `cbor:"writes,omitempty"`  // sorted by key; Absent: unbound or deleted
	ReadAliases    []Alias                    `cbor:"within,omitempty"`  // sharing among the names read
	AliasSensitive []string                   `cbor:"touched,omitempty"` // names read whose sharing with any other name matters, sorted
	AliasesBefore  []Alias                    `cbor:"around,omitempty"`  // all sharing that involves Touched, before
	AliasesAfter   []Alias                    `cbor:"after,omitempty"`   // all sharing that involves what was touched or written, after
	BindOrder      []string                   `cbor:"born,omitempty"`    // names that were not bound before, in order, where that is not sorted; "-NAME" was, and was deleted meanwhile
	Outputs        Digest                     `cbor:"outputs,omitempty"` // blob of the output events, see runner
	Err            *ExecError                 `cbor:"err,omitempty"`
	Marks          []string                   `cbor:"marks,omitempty"`  // why the node is volatile or its reads inexact: "clock", "network", …
	CitedBlocks    []string                   `cbor:"cites,omitempty"`  // blocks whose lines its outputs or its error cite, sorted
	CitedSource    Digest                     `cbor:"layout,omitempty"` // digest of the exact text of those blocks: the trace holds only for it
	Seconds        float64                    `cbor:"seconds"`
	At             time.Time                  `cbor:"at"`
	Info           map[depgraph.Key]ValueInfo `cbor:"info,omitempty"`
	Paths          map[depgraph.Key]string    `cbor:"paths,omitempty"` // for module: keys, the file that witnesses the version
}

// StoredTrace is a trace with its identity.
type StoredTrace struct {
	Digest Digest
	Trace
}

// maxTraces is how many traces are kept for one code; the oldest go first.
const maxTraces = 32

// Identity returns the digest of everything in the trace but its cost, time and descriptions.
func (t Trace) Identity() Digest {
	t.Seconds, t.At, t.Info = 0, time.Time{}, nil
	return DigestOf(encode(t))
}

// PutTrace records a trace as the newest of its code. It is durable when the next run step is.
func (s *Store) PutTrace(t Trace) (Digest, error) {
	if s.options.ReadOnly {
		return "", errReadOnly
	}
	id := t.Identity()
	r := s.results
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.added == nil {
		r.added = make(map[Digest][]Digest)
	}
	r.added[t.Code] = ahead(r.added[t.Code], id)
	r.record(t.Code)
	r.set(bucketTraces, id.key(), seal(bucketTraces, id.key(), encode(t)))
	return id, nil
}

// ahead puts a digest before the others of a list.
func ahead(list []Digest, id Digest) []Digest {
	return slices.Insert(slices.DeleteFunc(list, func(d Digest) bool { return d == id }), 0, id)
}

// Traces returns the traces of a code, newest first, at most 32.
func (s *Store) Traces(code Digest) ([]StoredTrace, error) {
	r := s.results
	r.mu.Lock()
	defer r.mu.Unlock()
	var traces []StoredTrace
	for _, id := range r.tracesOf(code) {
		if t, ok := r.trace(id); ok && t.Code == code {
			traces = append(traces, StoredTrace{id, t})
		}
	}
	return traces, nil
}

// Trace returns one trace, if it is still there.
func (s *Store) Trace(id Digest) (Trace, bool, error) {
	r := s.results
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.trace(id)
	return t, ok, nil
}

// tracesOf returns the digests of a code's traces, newest first. The lock is held.
func (r *results) tracesOf(code Digest) []Digest {
	what := fmt.Sprintf("the list of traces of code %s", code)
	var list []Digest
	if payload := r.getLocked(bucketByCode, code.key(), what); payload != nil {
		if err := decode(payload, &list); err != nil {
			r.note("%s in %s is damaged and counts as missing: %v", what, resultsFile, err)
			list = nil
		}
	}
	for _, id := range slices.Backward(r.added[code]) {
		list = ahead(list, id)
	}
	return list[:min(len(list), maxTraces)]
}

// addTraces puts traces at the head of the list of a code, and takes those at its end away that are too many.
func addTraces(tx *bbolt.Tx, code Digest, traces []Digest) error {
	var list []Digest
	if err := getRecord(tx, bucketByCode, code.key(), &list); err != nil {
		list = nil // none, or damaged: then its traces cannot be told from others
	}
	for _, id := range slices.Backward(traces) {
		list = ahead(list, id)
	}
	for _, id := range list[min(len(list), maxTraces):] {
		if err := tx.Bucket(bucketTraces).Delete(id.key()); err != nil {
			return err
		}
	}
	return putRecord(tx, bucketByCode, code.key(), list[:min(len(list), maxTraces)])
}

func (r *results) trace(id Digest) (t Trace, ok bool) {
	what := fmt.Sprintf("trace %s", id)
	payload := r.getLocked(bucketTraces, id.key(), what)
	if payload == nil {
		return t, false
	}
	if err := decode(payload, &t); err != nil {
		r.note("%s in %s is damaged and counts as missing: %v", what, resultsFile, err)
		return Trace{}, false
	}
	return t, true
}
