package state

import "context"

// memory holds records of results.db as they were decoded, for a store that stays open: to read and to verify a record
// costs ten times what it costs to find it here. It is valid as long as only this process writes the file and no result
// is removed. What it holds is shared, so nobody changes it.
type memory struct {
	foreignWrites, removals int // of the results, when the first record was put
	records                 map[string]any
	size                    int // bytes of the records in the file
}

// memorySize bounds the memory. Beyond it, all is forgotten: a program of that size is read from the file.
const memorySize = 8 << 20

// recall returns a record that remember kept, if the file still has it. The caller holds r.mu.
func (r *results) recall(bucket, key []byte) (any, bool) {
	if r.db == nil {
		return nil, false
	}
	writes, err := r.db.currentForeignWrites(context.Background())
	if m := &r.memory; err != nil || m.foreignWrites != writes || m.removals != r.removals {
		*m = memory{foreignWrites: writes, removals: r.removals}
	}
	value, ok := r.memory.records[string(bucket)+string(key)]
	return value, ok
}

// remember keeps a decoded record. The caller holds r.mu and has called recall before it read the record.
func (r *results) remember(bucket, key []byte, size int, value any) {
	m := &r.memory
	if m.size += size + len(key); m.size > memorySize || m.records == nil {
		m.records, m.size = map[string]any{}, size+len(key)
	}
	m.records[string(bucket)+string(key)] = value
}

// forget drops a record that changes. The caller holds r.mu.
func (r *results) forget(bucket, key []byte) { delete(r.memory.records, string(bucket)+string(key)) }
