package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
)

// PutSessionRecord stores a small mutable value with a session, durably. CBOR must be able to encode value. A record
// that belongs to a step is better put into its Draft, which commits both together.
func (s *Store) PutSessionRecord(ctx context.Context, session, key string, value any) error {
	data, err := encoding.Marshal(value)
	if err != nil {
		return invalid(fmt.Sprintf("record %q: %v", key, err))
	}
	s.results.flush() // first, so that a crash loses no blob that the record names
	return s.update(ctx, func(tx *bbolt.Tx) error {
		l, err := s.forkChain(tx, session, 0)
		if err != nil {
			return err
		}
		return putSessionRecord(tx, l.id, key, data)
	})
}

// SessionRecord decodes a value stored by PutSessionRecord into value, and reports whether there is one. A fork
// begins with the records that its parent has at the time of the fork.
func (s *Store) SessionRecord(ctx context.Context, session, key string, value any) (found bool, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		l, err := s.forkChain(tx, session, 0)
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

// DecodeSessionRecord decodes a record of an archive into value, as SessionRecord would.
func DecodeSessionRecord(data []byte, value any) error { return decode(data, value) }

// recordKey puts the session first, so that the records of a session are adjacent.
func recordKey(id sessionID, key string) []byte { return append(id.key(), key...) }

func putSessionRecord(tx *bbolt.Tx, id sessionID, key string, data []byte) error {
	k := recordKey(id, key)
	return tx.Bucket(bucketRecords).Put(k, seal(bucketRecords, k, data))
}

// recordTrust is the session record that holds a SessionTrust. No archive carries it: a session cannot vouch for
// itself.
const recordTrust = "trust"

// readTrust returns the trust of a session.
func readTrust(tx *bbolt.Tx, id sessionID) (t SessionTrust, err error) {
	err = getRecord(tx, bucketRecords, recordKey(id, recordTrust), &t)
	if errors.Is(err, errNoRecord) {
		return SessionTrust{}, verifyAll(tx, bucketRecords, id.key())
	}
	if err != nil {
		return t, damaged(historyFile, fmt.Sprintf("the record %q of a session cannot be read", recordTrust), err)
	}
	return t, nil
}

func writeTrust(tx *bbolt.Tx, id sessionID, t SessionTrust) error {
	return putSessionRecord(tx, id, recordTrust, encode(t))
}

// copySessionRecords copies all records of a session to its fork.
func copySessionRecords(tx *bbolt.Tx, from, to sessionID) error {
	records, err := recordsOf(tx, from)
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

// recordsOf returns all records of a session, CBOR by name.
func recordsOf(tx *bbolt.Tx, id sessionID) (map[string][]byte, error) {
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
