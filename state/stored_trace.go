package state

import (
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/xstate-engine/xstate/depgraph"
)

// Access is a key with its digest when a node read or wrote it.
type Access struct {
	Key    depgraph.Key `cbor:"k"`
	Digest Digest       `cbor:"d,omitempty"` // Absent if there was no value
}

// ValueInfo describes a written value for people and queries, bounded in size.
type ValueInfo struct {
	Type  string `cbor:"type,omitempty" json:"type,omitempty"`
	Repr  string `cbor:"repr,omitempty" json:"repr,omitempty"`
	Shape string `cbor:"shape,omitempty" json:"shape,omitempty"`
	Bytes int64  `cbor:"bytes,omitempty" json:"bytes,omitempty"`

	// Deps are the names that code reachable from the value may load, sorted.
	Deps []string `cbor:"deps,omitempty" json:"-"`
	// Code holds the qualified names of the program's classes and functions that the value reaches, sorted; ["*"] if
	// they are too many.
	Code []string `cbor:"code,omitempty" json:"-"`
	// ReachesModules: the value reaches a function, class or object of a workspace module.
	ReachesModules bool `cbor:"rests,omitempty" json:"-"`
	// ModuleReferences are the names in workspace modules through which these hold a part of the value, as
	// "MODULE.NAME", sorted.
	ModuleReferences []string `cbor:"held,omitempty" json:"-"`
	// Opaque says why the value's digest is by lineage; "" if it is by content.
	Opaque string `cbor:"opaque,omitempty" json:"-"`
	// LifetimeSensitive: the value can observe when an object is freed, through a finalizer or a weak reference.
	LifetimeSensitive bool `cbor:"fragile,omitempty" json:"-"`
	// Handles are the open files that the value may use, each by the path at which it was first found open.
	Handles []string `cbor:"handles,omitempty" json:"-"`
}

// Alias records that two names reach a common mutable object: the names in order, and a digest of the paths by which
// each of them reaches it. Together with the content of both, it determines how they overlap.
type Alias []string

// Trace is the record of one execution of one node's code. Its identity is the digest of everything except Trust,
// Seconds, At and Info.
type Trace struct {
	Code   Digest   `cbor:"code"`
	Reads  []Access `cbor:"reads,omitempty"`  // sorted by key
	Writes []Access `cbor:"writes,omitempty"` // sorted by key; Absent: unbound or deleted

	// Sharing is a part of the inputs: b.append(1) changes a as well if a is the same list, and does not if b is a
	// separate, equal list. ReadAliases are the aliases among the names read.
	ReadAliases []Alias `cbor:"within,omitempty"`
	// AliasSensitive are the names read for which it matters whether any other name shares their objects, sorted.
	AliasSensitive []string `cbor:"touched,omitempty"`
	// AliasesBefore are all aliases that involve a name in AliasSensitive, before the execution.
	AliasesBefore []Alias `cbor:"around,omitempty"`
	// AliasesAfter are all aliases that involve a name in AliasSensitive or a name written, after the execution.
	AliasesAfter []Alias `cbor:"after,omitempty"`

	// BindOrder lists the names that the execution bound first, in order, if that order is not sorted. "-NAME" was
	// bound before and deleted meanwhile.
	BindOrder []string `cbor:"born,omitempty"`
	// FileOrder lists the files that the execution wrote in the order of their times, if there are several: programs
	// such as make compare times.
	FileOrder []string   `cbor:"ages,omitempty"`
	Outputs   Digest     `cbor:"outputs,omitempty"` // blob of the list of outputs, see Output
	Err       *ExecError `cbor:"err,omitempty"`
	// Ending says how the execution ended the program; nil if it did not. Its earlier writes are there all the same.
	Ending *Ending `cbor:"ending,omitempty"`
	// Marks: why the node is volatile or its reads inexact: "clock", "network", …
	Marks []string `cbor:"marks,omitempty"`

	// Outputs and errors can cite lines of blocks. CitedBlocks are those blocks, sorted, and CitedSource digests their
	// exact text. The trace is valid only for that text: a comment line in front changes the line numbers.
	CitedBlocks []string `cbor:"cites,omitempty"`
	CitedSource Digest   `cbor:"layout,omitempty"`

	// Bounds is the digest of the bounds under which it was executed; "": it had none.
	Bounds Digest `cbor:"bounds,omitempty"`
	// Denied is what the program tried and its bounds forbade, in order.
	Denied []Denial `cbor:"denied,omitempty"`

	// Limit is the time-out, in seconds, that stopped the execution; 0 when none did. The trace then says that the code
	// does not end within Limit on these reads, and is valid only under a time-out that is not longer.
	Limit float64 `cbor:"limit,omitempty"`
	// Once: the failure says nothing about the next execution. The trace is kept for questions, and never reused.
	Once bool `cbor:"once,omitempty"`

	// Trust says on whose word the store has the trace.
	Trust

	Seconds float64                    `cbor:"seconds"`
	At      time.Time                  `cbor:"at"`
	Info    map[depgraph.Key]ValueInfo `cbor:"info,omitempty"`
	// Paths has, of module: and program: keys, the files that witness the version.
	Paths map[depgraph.Key]string `cbor:"paths,omitempty"`
}

// Failure returns the error of the execution, or of the program that it ended with a code other than 0; nil if there is
// none.
func (t *Trace) Failure() *ExecError {
	if t.Err == nil && t.Ending != nil {
		return t.Ending.Err
	}
	return t.Err
}

// clip makes the lists of a trace end where their memory does, so that appending to one does not write into it.
func (t *Trace) clip() {
	t.Reads, t.Writes, t.Marks = slices.Clip(t.Reads), slices.Clip(t.Writes), slices.Clip(t.Marks)
	t.ReadAliases, t.AliasesBefore = slices.Clip(t.ReadAliases), slices.Clip(t.AliasesBefore)
	t.AliasesAfter, t.AliasSensitive = slices.Clip(t.AliasesAfter), slices.Clip(t.AliasSensitive)
	t.BindOrder, t.CitedBlocks = slices.Clip(t.BindOrder), slices.Clip(t.CitedBlocks)
}

// StoredTrace is a trace with its identity.
type StoredTrace struct {
	Digest Digest
	Trace
}

// maxTraces is how many traces are stored for one code. Beyond that, the oldest are deleted.
const maxTraces = 32

// Identity returns the digest of the trace without its cost, times and descriptions: two executions with equal reads
// and writes are one trace.
func (t Trace) Identity() Digest {
	t.Seconds, t.At, t.Info, t.FileOrder, t.Trust = 0, time.Time{}, nil, nil, Trust{}
	return DigestOf(encode(t))
}

// PutTrace stores a trace as the newest of its code, among those of its tier. It is durable once the next run step is
// committed.
func (s *Store) PutTrace(t Trace) (Digest, error) {
	r, err := s.of(t.Tier)
	if err != nil {
		return "", err
	}
	id := t.Identity()
	if r != s.results { // caches of a code's traces cover both
		s.results.mu.Lock()
		s.results.noteTraced(t.Code)
		s.results.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newTraces == nil {
		r.newTraces = make(map[Digest][]Digest)
	}
	r.newTraces[t.Code] = moveToFront(r.newTraces[t.Code], id)
	r.noteTraced(t.Code)
	r.set(bucketTraces, id.key(), seal(bucketTraces, id.key(), encode(t)))
	return id, nil
}

// moveToFront puts a digest before the others of a list.
func moveToFront(list []Digest, id Digest) []Digest {
	return slices.Insert(slices.DeleteFunc(list, func(d Digest) bool { return d == id }), 0, id)
}

// Traces returns the traces of a code, newest first, at most 32. At most as many foreign ones follow.
func (s *Store) Traces(code Digest) ([]StoredTrace, error) {
	traces := s.results.traces(code)
	if s.foreign == nil {
		return traces, nil
	}
	for _, t := range s.foreign.traces(code) {
		if !slices.ContainsFunc(traces, func(own StoredTrace) bool { return own.Digest == t.Digest }) {
			t.Trust = Trust{Tier: TierForeign}
			traces = append(traces, t)
		}
	}
	return traces, nil
}

func (r *results) traces(code Digest) (traces []StoredTrace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range r.tracesOf(code) {
		if t, ok := r.trace(id); ok && t.Code == code {
			traces = append(traces, StoredTrace{id, t})
		}
	}
	return traces
}

// Trace returns one trace, if it still exists. Of an identity that is believed and foreign, it is the believed one: the
// identity does not cover how a trace describes values.
func (s *Store) Trace(id Digest) (Trace, bool, error) {
	r := s.results
	r.mu.Lock()
	t, ok := r.trace(id)
	r.mu.Unlock()
	if !ok && s.foreign != nil {
		s.foreign.mu.Lock()
		t, ok = s.foreign.trace(id)
		s.foreign.mu.Unlock()
		t.Trust = Trust{Tier: TierForeign}
	}
	return t, ok, nil
}

// tracesOf returns the digests of a code's traces, newest first: the pending ones, then those in the file. The caller
// holds r.mu.
func (r *results) tracesOf(code Digest) []Digest {
	var list []Digest
	key := code.key()
	if known, ok := r.recall(bucketByCode, key); ok {
		list = slices.Clone(known.([]Digest))
	} else {
		what := "the list of traces of code " + string(code)
		payload := r.getLocked(bucketByCode, key, what)
		if payload != nil {
			if err := decode(payload, &list); err != nil {
				r.note("%s in %s is damaged and counts as missing: %v", what, filepath.Base(r.path), err)
				list = nil
			}
		}
		r.memory.put(bucketByCode, key, len(payload), slices.Clone(list))
	}
	for _, id := range slices.Backward(r.newTraces[code]) {
		list = moveToFront(list, id)
	}
	return list[:min(len(list), maxTraces)]
}

// addTraces puts traces at the front of the list of a code, and deletes the oldest beyond maxTraces.
func (r *results) addTraces(tx *bbolt.Tx, code Digest, traces []Digest) error {
	var list []Digest
	if err := getRecord(tx, bucketByCode, code.key(), &list); err != nil {
		list = nil // no list, or a damaged one: which traces it named is lost
	}
	for _, id := range slices.Backward(traces) {
		list = moveToFront(list, id)
	}
	r.memory.forget(bucketByCode, code.key())
	for _, id := range list[min(len(list), maxTraces):] {
		r.memory.forget(bucketTraces, id.key())
		if err := tx.Bucket(bucketTraces).Delete(id.key()); err != nil {
			return err
		}
	}
	return putRecord(tx, bucketByCode, code.key(), list[:min(len(list), maxTraces)])
}

// trace reads one trace. The caller holds r.mu.
func (r *results) trace(id Digest) (t Trace, ok bool) {
	key := id.key()
	if known, ok := r.recall(bucketTraces, key); ok {
		return known.(Trace), true
	}
	what := "trace " + string(id)
	payload := r.getLocked(bucketTraces, key, what)
	if payload == nil {
		return t, false
	}
	if err := decode(payload, &t); err != nil {
		r.note("%s in %s is damaged and counts as missing: %v", what, filepath.Base(r.path), err)
		return Trace{}, false
	}
	t.clip()
	r.memory.put(bucketTraces, key, len(payload), t)
	return t, true
}
