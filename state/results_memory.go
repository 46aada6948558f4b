package state

// memory holds records of results.db as they were decoded, for a store that stays open: to read and to verify a record
// costs ten times what it costs to find it here. It is valid as long as only this process writes the file and no result
// is removed. Its records are shared, so callers must not change them.
type memory struct {
	foreignWrites, removals int // counts of the results, when the first record was put
	records                 map[string]any
	size                    int // bytes of the records in the file
}

// memorySize bounds the memory. Beyond it, all is forgotten: a program of that size is read from the file.
const memorySize = 8 << 20

// get returns a record. The results, with so many foreign writes and removals, are those of its file.
func (m *memory) get(foreignWrites, removals int, bucket, key []byte) (any, bool) {
	if m.foreignWrites != foreignWrites || m.removals != removals {
		*m = memory{foreignWrites: foreignWrites, removals: removals}
	}
	value, ok := m.records[string(append(append(make([]byte, 0, 64), bucket...), key...))]
	return value, ok
}

// put keeps a decoded record that has so many bytes in the file. The caller has called get before it read the record.
func (m *memory) put(bucket, key []byte, size int, value any) {
	if m.size += size + len(key); m.size > memorySize || m.records == nil {
		m.records, m.size = map[string]any{}, size+len(key)
	}
	m.records[string(bucket)+string(key)] = value
}

// forget drops a record that changes.
func (m *memory) forget(bucket, key []byte) { delete(m.records, string(bucket)+string(key)) }
