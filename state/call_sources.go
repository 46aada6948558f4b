package state

import (
	"context"
	"errors"

	"go.etcd.io/bbolt"
)

// The last offer of a source of tools is kept beside the calls: to serve a record, its tool must be known, and the
// source may be gone by then.

// PutOffers keeps what a source of tools offers, in place of what it offered before.
func (s *Store) PutOffers(ctx context.Context, source string, offers []byte) error {
	if s.options.ReadOnly {
		return errReadOnly
	}
	db, err := s.journal(ctx, true)
	if err != nil {
		return err
	}
	return db.update(ctx, func(tx *bbolt.Tx) error { return putRecord(tx, bucketOffers, []byte(source), offers) })
}

// Offers returns what a source offered last; nil where that is not known.
func (s *Store) Offers(ctx context.Context, source string) (offers []byte, err error) {
	db, err := s.journal(ctx, false)
	if db == nil || err != nil {
		return nil, err
	}
	err = db.view(ctx, func(tx *bbolt.Tx) error {
		if err := getRecord(tx, bucketOffers, []byte(source), &offers); !errors.Is(err, errNoRecord) {
			return err
		}
		return nil
	})
	return offers, err
}
