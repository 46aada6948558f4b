package state

import "fmt"

// Need is a definition that a stored value needs to be bound before it can be loaded.
type Need struct {
	Key    string `cbor:"key"`
	Digest Digest `cbor:"digest"`
}

// Value says where the content of a group of names that share objects is kept.
type Value struct {
	Group   Digest   `cbor:"joint"` // names the group by content; see runner
	Names   []string `cbor:"names"`
	Blob    Digest   `cbor:"blob"`
	Parts   []Digest `cbor:"parts,omitempty"` // blobs that follow Blob: the memory of large arrays, which other values may have as well
	Bytes   int64    `cbor:"bytes"`           // size of them all
	Needs   []Need   `cbor:"needs,omitempty"`
	Seconds float64  `cbor:"seconds"` // to compute it again
}

// PutValue records a stored value under its joint digest.
func (s *Store) PutValue(v Value) error {
	return s.results.put(bucketValues, v.Group.key(), encode(v))
}

// Value returns the record of a stored value, if there is one. Its blob may be gone all the same.
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

// Whole reports whether a stored value has all its blobs.
func (s *Store) HasBlobs(v Value) bool {
	for _, d := range append([]Digest{v.Blob}, v.Parts...) {
		if !s.blobs.has(d) {
			return false
		}
	}
	return true
}
