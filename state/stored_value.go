package state

import "fmt"

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
}

// PutValue stores the description of a value under its group's digest.
func (s *Store) PutValue(v Value) error {
	return s.results.put(bucketValues, v.Group.key(), encode(v))
}

// Value returns the description of a stored value, if there is one. Its blobs may be missing; see HasBlobs.
func (s *Store) Value(joint Digest) (Value, bool, error) {
	what := fmt.Sprintf("value %s", joint)
	payload := s.results.get(bucketValues, joint.key(), what)
	if payload == nil {
		if s.options.Fallback != nil {
			return s.options.Fallback.Value(joint)
		}
		return Value{}, false, nil
	}
	var v Value
	if err := decode(payload, &v); err != nil || v.Group != joint {
		s.note("%s in %s is damaged and counts as missing", what, resultsFile)
		return Value{}, false, nil
	}
	return v, true, nil
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
