package state

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// The journal of calls is durable: the record of a call is all that keeps it from happening twice. It has a file of its
// own, calls.db, which exists once the store has a call. Contents of more than inlineContent bytes lie in bases/.
const callsFile = "calls.db"

// inlineContent bounds contents within records.
const inlineContent = 16 << 10

// The buckets of calls.db.
var (
	bucketCalls  = []byte("calls")  // id → Call
	bucketPlaces = []byte("places") // key, lineage, number → id
	bucketOffers = []byte("offers") // source → what it offered last

	callsBuckets = [][]byte{bucketFormat, bucketCalls, bucketPlaces, bucketOffers}
)

// journal opens calls.db. Without create it returns nil if the file is missing.
func (s *Store) journal(ctx context.Context, create bool) (*database, error) {
	s.callsMu.Lock()
	defer s.callsMu.Unlock()
	if s.calls != nil {
		return s.calls, nil
	}
	path := filepath.Join(s.dir, callsFile)
	if _, err := os.Lstat(path); !create && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	db, err := openDatabase(ctx, path,
		databaseOptions{readOnly: s.options.ReadOnly, wait: s.options.Wait, buckets: callsBuckets})
	s.calls = db
	return db, err
}

// PutCall stores a call durably. One without an ID is new and gets one. A place holds one call: if it has another, the
// error is ErrCallExists. Calls that are put at the same time share a transaction: each costs an fsync.
func (s *Store) PutCall(ctx context.Context, c *Call) error {
	return s.putCall(ctx, c, false)
}

// SettleCall stores a call as PutCall does, unless another process has stored an outcome of it meanwhile. The error is
// ErrCallExists then, and that outcome counts.
func (s *Store) SettleCall(ctx context.Context, c *Call) error {
	return s.putCall(ctx, c, true)
}

func (s *Store) putCall(ctx context.Context, c *Call, settle bool) error {
	if s.options.ReadOnly {
		return errReadOnly
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	put := &callPut{call: c, settle: settle, fresh: c.ID == 0, done: make(chan struct{})}
	s.callsMu.Lock()
	s.callPuts = append(s.callPuts, put)
	first := !s.puttingCalls
	s.puttingCalls = true
	s.callsMu.Unlock()
	if first {
		s.putCalls(context.WithoutCancel(ctx))
	}
	<-put.done
	return put.err
}

// callPut is a call that waits for its transaction.
type callPut struct {
	call   *Call
	settle bool // see SettleCall
	fresh  bool // it has no ID yet
	err    error
	done   chan struct{}
}

// putCalls writes the calls that wait, until none does.
func (s *Store) putCalls(ctx context.Context) {
	for {
		s.callsMu.Lock()
		batch := s.callPuts
		s.callPuts = nil
		s.puttingCalls = len(batch) > 0
		s.callsMu.Unlock()
		if len(batch) == 0 {
			return
		}
		db, err := s.journal(ctx, true)
		if err == nil {
			err = db.update(ctx, func(tx *bbolt.Tx) error {
				for _, put := range batch {
					if put.err = put.write(tx); put.err != nil && !errors.Is(put.err, ErrCallExists) {
						return put.err
					}
				}
				return nil
			})
		}
		for _, put := range batch {
			if put.err = cmp.Or(err, put.err); put.err != nil && put.fresh {
				put.call.ID = 0
			}
			close(put.done)
		}
	}
}

func (put *callPut) write(tx *bbolt.Tx) error {
	c := put.call
	if c.ID != 0 {
		var stored Call
		if put.settle {
			err := getRecord(tx, bucketCalls, c.ID.key(), &stored)
			if err != nil {
				return damaged(callsFile, fmt.Sprintf("the record of call %d cannot be read", c.ID), err)
			}
		}
		if stored.State.Ended() && stored.Again == "" {
			return ErrCallExists
		}
		return putRecord(tx, bucketCalls, c.ID.key(), c)
	}
	place := callPlace(c.Key, c.Within, c.Number)
	if tx.Bucket(bucketPlaces).Get(place) != nil {
		return ErrCallExists
	}
	id, err := tx.Bucket(bucketCalls).NextSequence()
	if err != nil {
		return err
	}
	c.ID = CallID(id)
	if err := putRecord(tx, bucketPlaces, place, c.ID); err != nil {
		return err
	}
	return putRecord(tx, bucketCalls, c.ID.key(), c)
}

// UpdateCall changes the record of a call as change says, durably. No other process changes it in between. If change
// reports an error, nothing is written. change uses no store.
func (s *Store) UpdateCall(ctx context.Context, id CallID, change func(*Call) error) (*Call, error) {
	if s.options.ReadOnly {
		return nil, errReadOnly
	}
	if _, err := s.Call(ctx, id); err != nil { // also without a journal
		return nil, err
	}
	db, err := s.journal(ctx, true)
	if err != nil {
		return nil, err
	}
	var c *Call
	err = db.update(ctx, func(tx *bbolt.Tx) error {
		c = new(Call)
		if err := getRecord(tx, bucketCalls, id.key(), c); err != nil {
			return damaged(callsFile, fmt.Sprintf("the record of call %d cannot be read", id), err)
		}
		if err := change(c); err != nil {
			return err
		}
		return putRecord(tx, bucketCalls, id.key(), c)
	})
	return c, err
}

// ErrCallExists says that a call of the same key and number is recorded.
var ErrCallExists = errors.New("the journal has this call")

// CallAt returns the call of a key and number; nil if there is none. A foreign one comes after one that is believed.
func (s *Store) CallAt(ctx context.Context, key Digest, within uint64, number int) (found *Call, err error) {
	found, err = s.callAt(ctx, key, within, number)
	if found == nil && err == nil && s.Foreign() {
		found, err = s.callAt(ctx, key, foreignCall(s.area, within != 0), number)
	}
	return found, err
}

func (s *Store) callAt(ctx context.Context, key Digest, within uint64, number int) (found *Call, err error) {
	db, err := s.journal(ctx, false)
	if db == nil || err != nil {
		return nil, err
	}
	err = db.view(ctx, func(tx *bbolt.Tx) error {
		var id CallID
		err := getRecord(tx, bucketPlaces, callPlace(key, within, number), &id)
		if errors.Is(err, errNoRecord) {
			return nil
		}
		if err == nil {
			found = new(Call)
			err = getRecord(tx, bucketCalls, id.key(), found)
		}
		if err != nil {
			return damaged(callsFile, fmt.Sprintf("the record of call %d cannot be read", id), err)
		}
		return nil
	})
	return found, err
}

// Serves reports whether a call may serve the sessions of a lineage, as s sees the store.
func (s *Store) Serves(c *Call, lineage uint64) bool {
	if c.Foreign() {
		return s.Foreign() && c.Within&^effectsBit == foreignCall(s.area, false)
	}
	return c.Within == 0 || c.Within == lineage
}

// ForeignCall makes a call one that serves only the session of s. It has no place in the store yet.
func (s *Store) ForeignCall(c *Call) { c.Within = foreignCall(s.area, c.Effects()) }

// Call returns a call by its ID. The error is ErrNoCall if there is none.
func (s *Store) Call(ctx context.Context, id CallID) (*Call, error) {
	none := &Error{Code: CodeNoCall, Message: fmt.Sprintf("there is no call %d", id), Hint: "`xstate calls`"}
	db, err := s.journal(ctx, false)
	if err != nil {
		return nil, err
	}
	if db == nil {
		return nil, none
	}
	found := new(Call)
	err = db.view(ctx, func(tx *bbolt.Tx) error {
		err := getRecord(tx, bucketCalls, id.key(), found)
		if err != nil && !errors.Is(err, errNoRecord) {
			return damaged(callsFile, fmt.Sprintf("the record of call %d cannot be read", id), err)
		}
		return err
	})
	if errors.Is(err, errNoRecord) {
		return nil, none
	}
	return found, err
}

// HasCalls reports whether the store has calls, as far as that is known without reading them.
func (s *Store) HasCalls() bool {
	_, err := os.Lstat(filepath.Join(s.dir, callsFile))
	return err == nil
}

// Calls hands out the calls from an ID on, in the order in which they began, until fn returns false.
func (s *Store) Calls(ctx context.Context, from CallID, fn func(*Call) bool) error {
	db, err := s.journal(ctx, false)
	if db == nil || err != nil {
		return err
	}
	for more := true; more; { // in pages, so that fn may use the store
		var page []*Call
		err := db.view(ctx, func(tx *bbolt.Tx) error {
			cursor := tx.Bucket(bucketCalls).Cursor()
			for k, v := cursor.Seek(from.key()); k != nil && len(page) < 256; k, v = cursor.Next() {
				payload, err := unseal(bucketCalls, k, v)
				c := new(Call)
				if err == nil {
					err = decode(payload, c)
				}
				if err != nil {
					return damaged(callsFile, fmt.Sprintf("the record of call %x cannot be read", k), err)
				}
				page = append(page, c)
			}
			return nil
		})
		if err != nil {
			return err
		}
		more = len(page) == 256
		for _, c := range page {
			if from = c.ID + 1; !fn(c) {
				return nil
			}
		}
	}
	return nil
}

// ContentOf makes a content of JSON, durably if it is large.
func (s *Store) ContentOf(data []byte) (Content, error) {
	c := Content{Digest: DigestOf(data), Size: int64(len(data))}
	if len(data) <= inlineContent {
		c.Inline = data
		return c, nil
	}
	if s.bases.readOnly {
		return c, errReadOnly
	}
	if s.bases.has(c.Digest) {
		return c, nil
	}
	return c, s.bases.write(BlobRef{c.Digest, c.Size}, bytes.NewReader(data))
}

// Read returns the bytes of a content.
func (s *Store) Read(c Content) ([]byte, error) {
	if c.Inline != nil || c.Size == 0 {
		return c.Inline, nil
	}
	data, ok, err := s.Blob(c.Digest)
	if err == nil && !ok {
		err = damaged(basesDir, fmt.Sprintf("the content %s of a call is missing", c.Digest), nil)
	}
	return data, err
}

func callPlace(key Digest, within uint64, number int) []byte {
	b := binary.BigEndian.AppendUint64(key.key(), within)
	return binary.BigEndian.AppendUint32(b, uint32(number))
}
