package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
)

// PutSessionRecord keeps a small mutable value beside a session, durably. value must be encodable as CBOR.
// Records that go with a step are better given in its Draft: they are committed with it.
func (s *Store) PutSessionRecord(ctx context.Context, session, key string, value any) error {
	data, err := encoding.Marshal(value)
	if err != nil {
		return invalid(fmt.Sprintf("record %q: %v", key, err))
	}
	s.results.flush() // so that a crash from here on loses no blob that the record names
	return s.update(ctx, func(tx *bbolt.Tx) error {
		l, err := s.lineage(tx, session, 0)
		if err != nil {
			return err
		}
		return putSessionRecord(tx, l.id, key, data)
	})
}

// SessionRecord decodes a value kept by PutSessionRecord into value, or reports that there is none.
// A fork begins with the records its parent had when it was made.
func (s *Store) SessionRecord(ctx context.Context, session, key string, value any) (found bool, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		l, err := s.lineage(tx, session, 0)
		if err != nil {
			return err
		}
		err = getRecord(tx, bucketRecords, recordKey(l.id, key), value)
		switch {
		case errors.Is(err, errNoRecord):
			return verifyAll(tx, bucketRecords, l.id.key())
		case err != nil:
			return damaged(historyFile, fmt.Sprintf("the record %q of session %q cannot be read", key, session), err)
		}
		found = true
		return nil
	})
	return found, err
}

func recordKey(id sessionID, key string) []byte { return append(id.key(), key...) }

func putSessionRecord(tx *bbolt.Tx, id sessionID, key string, data []byte) error {
	k := recordKey(id, key)
	return tx.Bucket(bucketRecords).Put(k, seal(bucketRecords, k, data))
}

func copySessionRecords(tx *bbolt.Tx, from, to sessionID) error {
	records, err := sessionRecords(tx, from)
	if err != nil {
		return err
	}
	for key, data := range records {
		if err := putSessionRecord(tx, to, key, data); err != nil {
			return err
		}
	}
	return nil
}

func sessionRecords(tx *bbolt.Tx, id sessionID) (map[string][]byte, error) {
	records := make(map[string][]byte)
	c := tx.Bucket(bucketRecords).Cursor()
	prefix := id.key()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		data, err := unseal(bucketRecords, k, v)
		if err != nil {
			return nil, damaged(historyFile, fmt.Sprintf("the record %q cannot be read", k[len(prefix):]), err)
		}
		records[string(k[len(prefix):])] = bytes.Clone(data)
	}
	return records, nil
}
