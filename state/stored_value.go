package state

import (
	"fmt"
	"path/filepath"
)

// Need is a definition that must be bound before a stored value can be loaded: unpickling an instance needs its
// class.
type Need struct {
	Key    string `cbor:"key"`
	Digest Digest `cbor:"digest"`
}

// Value describes the stored content of a group of names that share objects.
type Value struct {
	Group Digest   `cbor:"joint"` // names the group by content; package runner computes it
	Names []string `cbor:"names"`
	Blob  Digest   `cbor:"blob"`
	// Parts: blobs that follow Blob: the memory of large arrays, which other values may share
	Parts   []Digest `cbor:"parts,omitempty"`
	Bytes   int64    `cbor:"bytes"` // total size of the blobs
	Needs   []Need   `cbor:"needs,omitempty"`
	Seconds float64  `cbor:"seconds"` // to recompute it
	// Trust says on whose word the blobs are the group. Code that loads a foreign one must expect bytes made to harm.
	Trust
}

// PutValue stores the description of a value under its group's digest, among those of its tier.
func (s *Store) PutValue(v Value) error {
	r, err := s.of(v.Tier)
	if err != nil {
		return err
	}
	return r.put(bucketValues, v.Group.key(), encode(v))
}

// Value returns the description of a stored value, if there is one: a believed one, unless it has no content. Its blobs
// may be missing; see HasBlobs.
func (s *Store) Value(joint Digest) (Value, bool, error) {
	v, ok := s.results.value(joint)
	if (!ok || v.Blob == "") && s.foreign != nil {
		if other, has := s.foreign.value(joint); has {
			other.Trust = Trust{Tier: TierForeign}
			return other, true, nil
		}
	}
	if !ok && s.options.Fallback != nil {
		return s.options.Fallback.Value(joint)
	}
	return v, ok, nil
}

func (r *results) value(joint Digest) (v Value, ok bool) {
	what := fmt.Sprintf("value %s", joint)
	payload := r.get(bucketValues, joint.key(), what)
	if payload == nil {
		return Value{}, false
	}
	if err := decode(payload, &v); err != nil || v.Group != joint {
		r.note("%s in %s is damaged and counts as missing", what, filepath.Base(r.path))
		return Value{}, false
	}
	return v, true
}

// HasBlob reports whether the store has a blob.
func (s *Store) HasBlob(d Digest) bool { return s.blobs.has(d) }

// HasBlobs reports whether all blobs of a stored value exist.
func (s *Store) HasBlobs(v Value) bool {
	for _, d := range append([]Digest{v.Blob}, v.Parts...) {
		if !s.blobs.has(d) {
			return false
		}
	}
	return true
}
