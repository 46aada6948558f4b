package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"
)

// results is the disposable half of the store. Nothing depends on it for correctness, so its failures are not errors:
// a record that cannot be read is a miss, one that cannot be written is dropped, and both add a notice.
//
// Writes gather in memory and reach the file in batches without fsync, flushDelay after the first of a batch at the
// latest. A crash of the process loses at most the last batch; a crash of the machine may lose the file. Other
// processes write the same file; a batch is applied on top of their writes.
type results struct {
	note    func(format string, args ...any)
	path    string
	options databaseOptions

	mu        sync.Mutex
	db        *database // nil if the file is missing in a read-only store, or closed
	pending   map[string]map[string][]byte
	newTraces map[Digest][]Digest // code → its pending traces, newest first
	size      int
	timer     *time.Timer // flushes; nil where nothing is pending
	memory    memory

	tracedCodes  []Digest // codes of which a trace was put, see Recorded; after so many as were dropped
	droppedCodes int
	removals     int // how often results were taken away; at first 1, so that no mark is the zero value
}

// Bounds of what is pending in memory: its bytes, and its time.
const (
	flushSize  = 1 << 20
	flushDelay = 400 * time.Millisecond
)

// openResults opens a file of results. It quarantines a damaged file and creates an empty one.
func openResults(ctx context.Context, path string, o databaseOptions, note func(string, ...any)) (*results, error) {
	o.noSync, o.buckets = true, resultsBuckets
	r := &results{note: note, path: path, options: o, removals: 1}
	was, err := os.Lstat(r.path)
	if errors.Is(err, fs.ErrNotExist) && o.readOnly {
		return r, nil
	}
	r.db, err = openDatabase(ctx, r.path, o)
	if !errors.Is(err, ErrDamaged) {
		return r, err
	}
	return r, r.replaceDamaged(ctx, was, err)
}

// replaceDamaged quarantines the file and creates an empty one. A read-only store continues without results.
func (r *results) replaceDamaged(ctx context.Context, bad os.FileInfo, why error) error {
	r.db = nil
	r.removals++
	if r.options.readOnly {
		r.note("%v; cached results are not available", why)
		return nil
	}
	r.note("%v; the file was quarantined, and results will be recomputed", why)
	d := &database{name: filepath.Base(r.path), path: r.path, options: r.options}
	err := d.openGate()
	if err == nil {
		err = errors.Join(d.replace(ctx, bad), d.close())
	}
	if err == nil {
		r.db, err = openDatabase(ctx, r.path, r.options)
	}
	return err
}

// put stores a payload under its seal. It keeps the slice, so the caller must not change it.
func (r *results) put(bucket, key, payload []byte) error {
	if r.options.readOnly {
		return errReadOnly
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(bucket, key, seal(bucket, key, payload))
	return nil
}

// set stores a sealed value; nil deletes. The caller holds r.mu.
func (r *results) set(bucket, key, value []byte) {
	if r.pending == nil {
		r.pending = make(map[string]map[string][]byte)
	}
	if r.pending[string(bucket)] == nil {
		r.pending[string(bucket)] = make(map[string][]byte)
	}
	r.memory.forget(bucket, key)
	r.pending[string(bucket)][string(key)] = value
	if r.size += len(key) + len(value); r.size > flushSize {
		r.flushLocked()
	} else if r.timer == nil && r.db != nil {
		r.timer = time.AfterFunc(flushDelay, r.flush)
	}
}

// get returns the payload under key, or nil. what names the record in a notice.
func (r *results) get(bucket, key []byte, what string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.getLocked(bucket, key, what)
}

// getLocked is get for a caller that holds r.mu. Pending writes come before the file.
func (r *results) getLocked(bucket, key []byte, what string) []byte {
	// A pending nil is a deletion, which hides what the file still holds.
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
		r.note("%s in %s is damaged and counts as missing: %v", what, filepath.Base(r.path), err)
		return nil
	}
	return payload
}

// recall returns a record that the memory has, if the file still has it. The caller holds r.mu.
func (r *results) recall(bucket, key []byte) (any, bool) {
	if r.db == nil {
		return nil, false
	}
	writes, err := r.db.currentForeignWrites(context.Background())
	if err != nil {
		return nil, false
	}
	return r.memory.get(writes, r.removals, bucket, key)
}

// view runs fn in a read transaction, if there is a file. The caller holds r.mu.
func (r *results) view(fn func(*bbolt.Tx) error) {
	if r.db == nil {
		return
	}
	if err := r.db.view(context.Background(), fn); err != nil {
		r.handleFailure("read", err)
	}
}

// handleFailure adds a notice and, if the file is damaged, replaces it.
func (r *results) handleFailure(what string, err error) {
	if !errors.Is(err, ErrDamaged) {
		r.note("results were not %s: %v", what, err)
		return
	}
	// Another process may find the same damage. bad names the file that this one saw: replace leaves a newer file
	// alone.
	bad := r.db.info()
	_ = r.db.close()
	if err := r.replaceDamaged(context.Background(), bad, err); err != nil {
		r.note("%v", err)
	}
}

// flush writes what is pending.
func (r *results) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flushLocked()
}

// flushLocked is flush for a caller that holds r.mu. Records that cannot be written are dropped: keeping them would let
// memory grow.
func (r *results) flushLocked() {
	pending, added := r.pending, r.newTraces
	r.pending, r.newTraces, r.size = nil, nil, 0
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	if len(pending)+len(added) == 0 || r.db == nil || r.options.readOnly {
		return
	}
	err := r.db.update(context.Background(), func(tx *bbolt.Tx) error {
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
		for code, traces := range added {
			if err := r.addTraces(tx, code, traces); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.memory = memory{} // it may hold what was pending
		r.handleFailure("kept", err)
	}
}

// sortedKeys puts keys in order: bbolt writes ordered keys to fewer pages.
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
	err := r.db.close()
	r.db = nil
	return fileError("close "+filepath.Base(r.path), err)
}

// Flush writes the results that are pending, so that other processes find them.
func (s *Store) Flush() {
	s.results.flush()
	if s.foreign != nil {
		s.foreign.flush()
	}
}

// PutMemo stores a small value that can be recomputed, such as the digest of a file with some size and time.
func (s *Store) PutMemo(space, key string, value []byte) error {
	return s.results.put(bucketMemo, memoKey(space, key), value)
}

// Memo returns a value stored by PutMemo, if it still exists.
func (s *Store) Memo(space, key string) ([]byte, bool) {
	value := s.results.get(bucketMemo, memoKey(space, key), fmt.Sprintf("memo %s %s", space, key))
	return value, value != nil
}

// memoKey hashes space and key, because keys such as paths may exceed bbolt's limit for keys.
func memoKey(space, key string) []byte {
	return DigestOf(fmt.Appendf(nil, "%q %q", space, key)).key()
}
