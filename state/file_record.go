package state

// FileRecord records a file that the program writes: what it was before the program, and what the program left.
type FileRecord struct {
	Base Digest `cbor:"base,omitempty"` // Absent if there was none; the content is the blob of that digest
	Left Digest `cbor:"left,omitempty"` // what the last run left on disk
	Mode Digest `cbor:"mode,omitempty"` // the base's, see basestate.ModeDigest
	Time int64  `cbor:"time,omitempty"` // when the base last changed, in nanoseconds
	// Edited says that the base is an edit of the file after the program wrote it.
	Edited bool `cbor:"edited,omitempty"`
}

// EncodeFileRecords returns the records of files, by name, in the form of a session record.
func EncodeFileRecords(files map[string]FileRecord) []byte { return encode(files) }
