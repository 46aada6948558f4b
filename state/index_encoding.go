package state

import (
	"encoding/binary"
	"errors"

	"go.etcd.io/bbolt"
)

// An index is read by every question about the past, so it is not CBOR but what can be read in one pass without a copy of
// each id: the number of blocks, and for each the number of its step, that of the change in it, and the length of its
// id, all as varints; then the ids. It is packed as sources are.

// indexRecord is the form of earlier indexes, a CBOR map, which begins with another byte.
type indexRecord struct {
	Order   []BlockID    `cbor:"order"`
	Steps   []StepNumber `cbor:"steps"`
	Changes []uint32     `cbor:"changes"`
}

var errIndex = errors.New("it is not an index")

func encodeIndex(x *index) []byte {
	b := binary.AppendUvarint(nil, uint64(len(x.order)))
	for _, id := range x.order {
		p := x.places[id]
		b = binary.AppendUvarint(b, uint64(p.Step))
		b = binary.AppendUvarint(b, uint64(p.Change))
		b = binary.AppendUvarint(b, uint64(len(id)))
	}
	for _, id := range x.order {
		b = append(b, id...)
	}
	return pack(b)
}

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
			return 1 << 63 // more than there can be of anything
		}
		b = b[size:]
		return n
	}
	count := number()
	if count > uint64(len(b)) {
		return nil, errIndex
	}
	x := &index{order: make([]BlockID, count), places: make(map[BlockID]place, count)}
	places, lengths := make([]place, count), make([]uint64, count)
	for i := range places {
		step, change := number(), number()
		places[i], lengths[i] = place{StepNumber(step), uint32(change)}, number()
	}
	ids := string(b)
	for i, n := range lengths {
		if n > uint64(len(ids)) {
			return nil, errIndex
		}
		id := BlockID(ids[:n])
		ids = ids[n:]
		x.order[i], x.places[id] = id, places[i]
		x.bytes += entryBytes(id)
	}
	if len(ids) > 0 || len(x.places) != len(x.order) {
		return nil, errIndex
	}
	return x, nil
}

func decodeOldIndex(b []byte) (*index, error) {
	var r indexRecord
	if err := decode(b, &r); err != nil {
		return nil, err
	}
	if len(r.Steps) != len(r.Order) || len(r.Changes) != len(r.Order) {
		return nil, errIndex
	}
	x := &index{order: r.Order, places: make(map[BlockID]place, len(r.Order))}
	for i, id := range r.Order {
		x.places[id] = place{r.Steps[i], r.Changes[i]}
		x.bytes += entryBytes(id)
	}
	if len(x.places) != len(x.order) {
		return nil, errIndex
	}
	return x, nil
}

func putIndex(tx *bbolt.Tx, key []byte, x *index) error {
	return tx.Bucket(bucketIndexes).Put(key, seal(bucketIndexes, key, encodeIndex(x)))
}
