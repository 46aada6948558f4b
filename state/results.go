package state

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"go.etcd.io/bbolt"
)

// results is the disposable half of the store. Nothing in it is needed for truth, so no failure of it is an error: a
// record that cannot be read is a miss, one that cannot be written is dropped, and both leave a notice. Writes gather in
// memory and reach the file in batches without fsync; a crash of the process loses at most the last batch, a crash of
// the machine may lose the file.
type results struct {
	note     func(format string, args ...any)
	readOnly bool

	mu      sync.Mutex
	db      *database // nil when it is missing and may not be made
	lost    bool      // db gave way while in use; it is set aside when the store closes
	dirty   bool      // db was written to
	pending map[string]map[string][]byte
	size    int
}

// flushSize is how many bytes may wait in memory.
const flushSize = 1 << 20

// openResults opens results.db. One that is damaged is set aside and replaced by an empty one.
func openResults(dir string, readOnly bool, note func(string, ...any)) (*results, error) {
	r := &results{note: note, readOnly: readOnly}
	path := filepath.Join(dir, resultsFile)
	o := databaseOptions{readOnly: readOnly, noSync: true, buckets: resultsBuckets}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if readOnly {
			return r, nil
		}
		if err := createDatabase(path, resultsBuckets); err != nil {
			return nil, err
		}
	}
	var err error
	r.db, err = openDatabase(path, o)
	if !errors.Is(err, ErrDamaged) {
		return r, err
	}
	if readOnly {
		note("%v; recorded results are not available", err)
		return r, nil
	}
	aside, moveErr := setAside(path)
	if moveErr != nil {
		return nil, moveErr
	}
	note("%v; it was set aside as %s, and results will be computed again", err, filepath.Base(aside))
	if err := createDatabase(path, resultsBuckets); err != nil {
		return nil, err
	}
	r.db, err = openDatabase(path, o)
	return r, err
}

// setAside renames a damaged file to the first free name path.damaged-N.
func setAside(path string) (string, error) {
	for n := 1; ; n++ {
		aside := fmt.Sprintf("%s.damaged-%d", path, n)
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			return aside, fileError("set "+filepath.Base(path)+" aside", os.Rename(path, aside))
		}
	}
}

// put keeps a sealed payload; it copies nothing.
func (r *results) put(bucket, key, payload []byte) error {
	if r.readOnly {
		return errReadOnly
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(bucket, key, seal(bucket, key, payload))
	return nil
}

// set is put with the lock held; a nil value deletes.
func (r *results) set(bucket, key, value []byte) {
	if r.pending == nil {
		r.pending = make(map[string]map[string][]byte)
	}
	if r.pending[string(bucket)] == nil {
		r.pending[string(bucket)] = make(map[string][]byte)
	}
	r.pending[string(bucket)][string(key)] = value
	if r.size += len(key) + len(value); r.size > flushSize {
		r.flushLocked()
	}
}

// get returns the payload under key, or nil. what names the record in a notice.
func (r *results) get(bucket, key []byte, what string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.getLocked(bucket, key, what)
}

func (r *results) getLocked(bucket, key []byte, what string) []byte {
	value, waiting := r.pending[string(bucket)][string(key)]
	if !waiting {
		r.view(func(tx *bbolt.Tx) error {
			value = bytes.Clone(tx.Bucket(bucket).Get(key))
			return nil
		})
	}
	if value == nil {
		return nil
	}
	payload, err := unseal(bucket, key, value)
	if err != nil {
		r.note("%s in %s is damaged and counts as missing: %v", what, resultsFile, err)
		return nil
	}
	return payload
}

// view runs fn with the lock held, unless the file is lost.
func (r *results) view(fn func(*bbolt.Tx) error) {
	if r.db == nil || r.lost {
		return
	}
	if err := r.db.view(fn); err != nil {
		r.lose(err)
	}
}

func (r *results) lose(err error) {
	r.lost = true
	r.note("%v; results will be computed again", err)
}

// flush writes what is pending.
func (r *results) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flushLocked()
}

func (r *results) flushLocked() {
	pending := r.pending
	r.pending, r.size = nil, 0
	if len(pending) == 0 || r.db == nil || r.lost || r.readOnly {
		return
	}
	r.dirty = true
	err := r.db.update(func(tx *bbolt.Tx) error {
		for bucket, records := range pending {
			b := tx.Bucket([]byte(bucket))
			for _, key := range sortedKeys(records) {
				err := error(nil)
				if value := records[key]; value == nil {
					err = b.Delete([]byte(key))
				} else {
					err = b.Put([]byte(key), value)
				}
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, ErrDamaged):
		r.lose(err)
	case err != nil:
		r.note("results were not kept: %v", err)
	}
}

func sortedKeys(m map[string][]byte) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (r *results) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flushLocked()
	if r.db == nil {
		return nil
	}
	var err error
	if r.dirty && !r.lost {
		err = r.db.bolt.Sync()
	}
	err = errors.Join(err, r.db.close())
	if r.lost && !r.readOnly {
		_, asideErr := setAside(r.db.path)
		err = errors.Join(err, asideErr)
	}
	r.db = nil
	return fileError("close "+resultsFile, err)
}

// PutMemo keeps a small value that can be computed again, such as the digest of a file with this size and time.
func (s *Store) PutMemo(space, key string, value []byte) error {
	return s.results.put(bucketMemo, memoKey(space, key), value)
}

// Memo returns a value kept by PutMemo, if it is still there.
func (s *Store) Memo(space, key string) ([]byte, bool) {
	value := s.results.get(bucketMemo, memoKey(space, key), fmt.Sprintf("memo %s %s", space, key))
	return value, value != nil
}

// memoKey hashes: keys such as paths may be longer than a database key can.
func memoKey(space, key string) []byte {
	return DigestOf(fmt.Appendf(nil, "%q %q", space, key)).key()
}
