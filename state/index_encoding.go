package state

import (
	"encoding/binary"
	"errors"

	"go.etcd.io/bbolt"
)

// Every query about the past reads an index, so its form is not CBOR but one that decodes in a single pass, without a
// copy of each id. It holds the number of blocks; for each block the number of its step, the number of the change in
// that step, and the length of its id, all as varints; then the ids. It is compressed as sources are.

// indexRecord is the older form of an index: a CBOR map. Its first byte differs from both codec bytes.
type indexRecord struct {
	Order   []BlockID    `cbor:"order"`
	Steps   []StepNumber `cbor:"steps"`
	Changes []uint32     `cbor:"changes"`
}

var errIndex = errors.New("it is not an index")

// encodeIndex returns an index in its stored form.
func encodeIndex(x *index) []byte {
	b := binary.AppendUvarint(nil, uint64(len(x.order)))
	for _, id := range x.order {
		p := x.lastChange[id]
		b = binary.AppendUvarint(b, uint64(p.Step))
		b = binary.AppendUvarint(b, uint64(p.Change))
		b = binary.AppendUvarint(b, uint64(len(id)))
	}
	for _, id := range x.order {
		b = append(b, id...)
	}
	return pack(b)
}

// decodeIndex reads either form. It checks every count against the bytes that are left before it allocates.
func decodeIndex(b []byte) (*index, error) {
	if len(b) > 0 && b[0] != codecRaw && b[0] != codecZstd {
		return decodeOldIndex(b)
	}
	b, err := unpack(b)
	if err != nil {
		return nil, err
	}
	number := func() uint64 {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			b = nil
			return 1 << 63 // larger than any valid number, so the checks below fail
		}
		b = b[size:]
		return n
	}
	count := number()
	if count > uint64(len(b)) {
		return nil, errIndex
	}
	x := &index{order: make([]BlockID, count), lastChange: make(map[BlockID]changeRef, count)}
	places, lengths := make([]changeRef, count), make([]uint64, count)
	for i := range places {
		step, change := number(), number()
		places[i], lengths[i] = changeRef{StepNumber(step), uint32(change)}, number()
	}
	ids := string(b)
	for i, n := range lengths {
		if n > uint64(len(ids)) {
			return nil, errIndex
		}
		id := BlockID(ids[:n])
		ids = ids[n:]
		x.order[i], x.lastChange[id] = id, places[i]
		x.bytes += entryBytes(id)
	}
	if len(ids) > 0 || len(x.lastChange) != len(x.order) {
		return nil, errIndex
	}
	return x, nil
}

// decodeOldIndex reads the older form, so that stores written by it stay readable.
func decodeOldIndex(b []byte) (*index, error) {
	var r indexRecord
	if err := decode(b, &r); err != nil {
		return nil, err
	}
	if len(r.Steps) != len(r.Order) || len(r.Changes) != len(r.Order) {
		return nil, errIndex
	}
	x := &index{order: r.Order, lastChange: make(map[BlockID]changeRef, len(r.Order))}
	for i, id := range r.Order {
		x.lastChange[id] = changeRef{r.Steps[i], r.Changes[i]}
		x.bytes += entryBytes(id)
	}
	if len(x.lastChange) != len(x.order) {
		return nil, errIndex
	}
	return x, nil
}

func putIndex(tx *bbolt.Tx, key []byte, x *index) error {
	return tx.Bucket(bucketIndexes).Put(key, seal(bucketIndexes, key, encodeIndex(x)))
}
