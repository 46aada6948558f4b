package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
)

const (
	historyFile = "history.db"
	resultsFile = "results.db"

	formatVersion = 1 // both files'; raise it when an older version would misread the new one
	pageSize      = 4096
	growBy        = 1 << 20     // bytes that a file grows by at once; every growth costs an fsync
	boltWait      = time.Second // for a foreign program that has the file open; ours wait at the gate

	// freeList is how bbolt keeps the free list in memory; the file is the same. Each commit sorts and writes the
	// list. After large transactions have left 54,000 free pages, a commit takes 2.7 ms with a map, most of it
	// sorting, and 0.9 ms with an array. Not writing the list (NoFreelistSync) would save another 0.1 ms, but then
	// each opening reads every page: for a million blocks that is 780 MB, and 3 s instead of 3 ms.
	freeList = bbolt.FreelistArrayType
)

// The buckets of both files. None is nested.
var (
	bucketFormat = []byte("format")

	// history.db
	bucketSessions = []byte("sessions") // name → creation record
	bucketHeads    = []byte("heads")    // session → head
	bucketSteps    = []byte("steps")    // session, number → header and changes
	bucketIndexes  = []byte("indexes")  // session, number → index of the program after that step
	bucketSources  = []byte("sources")  // digest → text of a version
	bucketRecords  = []byte("records")  // session, key → mutable record

	// results.db
	bucketTraces = []byte("traces") // digest → trace
	bucketByCode = []byte("bycode") // code → digests of its traces, newest first
	bucketValues = []byte("values") // digest of the group → value
	bucketInline = []byte("inline") // digest → small blob
	bucketMemo   = []byte("memo")   // space, key → bytes

	historyBuckets = [][]byte{
		bucketFormat,
		bucketSessions,
		bucketHeads,
		bucketSteps,
		bucketIndexes,
		bucketSources,
		bucketRecords,
	}
	resultsBuckets = [][]byte{bucketFormat, bucketTraces, bucketByCode, bucketValues, bucketInline, bucketMemo}

	formatKey = []byte("format")
)

// database is one bbolt file that several processes share. It is locked for each transaction: by readers together, by a
// writer alone. In between, bbolt keeps the file open. Pages that bbolt has in memory are valid while the file's meta
// pages are those that it read; otherwise the file is reopened.
//
// bbolt trusts its pages: on a garbled file it panics, reads outside its mapping or recurses without end. So the
// pages are inspected before bbolt opens the file (inspection_memo.go skips inspections that were done before), and
// every transaction is guarded.
type database struct {
	name    string // the file's name, for messages
	path    string
	options databaseOptions
	// a writer locks it before it waits for the readers to leave; nil if it cannot be created
	gate *os.File
	// set once bbolt has panicked or a failed write could not be reverted; after that nothing is written
	broken atomic.Pointer[Error]

	// locked shared to read through an open handle, and exclusively for everything else; guards the fields below
	mu     sync.RWMutex
	open   *handle     // nil when the file is closed
	leased bool        // open is locked for reading, until lease fires
	lease  *time.Timer // ends the lease
	closed bool

	lastMetas     metas // the meta pages when this process last opened or wrote the file
	foreignWrites int   // how often they had changed when it opened the file
}

// handle is the file as bbolt has opened it.
type handle struct {
	bolt     *bbolt.DB
	file     *os.File // the descriptor that bbolt uses, so that its locks are ours
	info     os.FileInfo
	metas    metas // as bbolt read or wrote them
	writable bool
}

type databaseOptions struct {
	readOnly bool
	noSync   bool
	wait     time.Duration
	buckets  [][]byte
}

// openDatabase opens the file at path and verifies its format. It creates a missing file, unless the options forbid
// it.
func openDatabase(ctx context.Context, path string, o databaseOptions) (*database, error) {
	d := &database{name: filepath.Base(path), path: path, options: o}
	if err := d.openGate(); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && !o.readOnly {
		if err := d.replace(ctx, nil); err != nil {
			return nil, errors.Join(err, d.close())
		}
	}
	if err := d.view(ctx, func(*bbolt.Tx) error { return nil }); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// openGate opens the lock file beside the database. A read-only store must not create the file. If it cannot open one
// either, it does without.
func (d *database) openGate() (err error) {
	path := strings.TrimSuffix(d.path, filepath.Ext(d.path)) + ".lock"
	if d.options.readOnly {
		d.gate, err = os.Open(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil
		}
	} else {
		d.gate, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	}
	return fileError("open "+d.name, err)
}

// openBolt opens a locked file with bbolt, after inspecting its pages.
func (d *database) openBolt(f *os.File, write bool) error {
	info, err := f.Stat() // the size under the lock, not before it
	if err != nil {
		return errors.Join(fileError("open "+d.name, err), f.Close())
	}
	m, err := readMetas(f)
	if err != nil || !d.isKnownSound(info, m) {
		if err := inspectFile(f, info); err != nil {
			return errors.Join(err, f.Close())
		}
		d.rememberSound(info, m)
	}
	if m != d.lastMetas {
		d.lastMetas, d.foreignWrites = m, d.foreignWrites+1
	}
	h := &handle{file: f, info: info, metas: m, writable: write}
	err = d.guard("open", func() (err error) {
		h.bolt, err = bbolt.Open(d.path, fileMode, &bbolt.Options{
			Timeout:      boltWait,
			FreelistType: freeList,
			ReadOnly:     !write,
			NoSync:       d.options.noSync,
			PageSize:     pageSize,
			NoStatistics: true,
			OpenFile:     func(string, int, os.FileMode) (*os.File, error) { return f, nil },
		})
		if err == nil {
			h.bolt.AllocSize = growBy
			err = h.bolt.View(d.checkFormat)
		}
		return err
	})
	if err != nil {
		if h.bolt != nil {
			d.closeHandle(h)
		}
		f.Close() // bbolt closed it as well, unless it panicked
		return fileError("open "+d.name, err)
	}
	d.open = h
	return nil
}

type formatRecord struct {
	Format uint `cbor:"format"`
}

func (d *database) checkFormat(tx *bbolt.Tx) error {
	b := tx.Bucket(bucketFormat)
	if b == nil {
		return damaged(d.name, "it has no format record", nil)
	}
	var f formatRecord
	if err := getRecord(tx, bucketFormat, formatKey, &f); err != nil {
		return damaged(d.name, "its format record cannot be read", err)
	}
	if f.Format > formatVersion {
		return &Error{
			Code: CodeNewer,
			Message: fmt.Sprintf(
				"%s has format %d; this xstate knows formats up to %d",
				d.name,
				f.Format,
				formatVersion,
			),
			Hint: "install a newer xstate, or choose another store with `--store DIR`",
		}
	}
	for _, name := range d.options.buckets {
		if tx.Bucket(name) == nil {
			return damaged(d.name, fmt.Sprintf("the bucket %q is missing", name), nil)
		}
	}
	return nil
}

// replace quarantines the damaged file and creates an empty database in its place. bad is nil if there was no file.
// If another process has replaced the file meanwhile, it does nothing.
func (d *database) replace(ctx context.Context, bad os.FileInfo) error {
	back, err := d.passGate(ctx, true)
	if err != nil {
		return err
	}
	defer back()
	now, err := os.Lstat(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fileError("open "+d.name, err)
	case bad == nil || !os.SameFile(bad, now):
		return nil
	default:
		if err := quarantine(d.path); err != nil {
			return err
		}
	}
	return createDatabase(d.path, d.options.buckets)
}

// quarantine renames a damaged file to the first free name path.damaged-N.
func quarantine(path string) error {
	for n := 1; ; n++ {
		target := fmt.Sprintf("%s.damaged-%d", path, n)
		if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
			return fileError("quarantine "+filepath.Base(path), os.Rename(path, target))
		}
	}
}

// createDatabase creates an empty database under a temporary name and renames it when it is complete. So a crash
// leaves no file rather than a broken one.
func createDatabase(path string, buckets [][]byte) error {
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fileError("create "+filepath.Base(path), err)
	}
	b, err := bbolt.Open(fresh, fileMode, &bbolt.Options{Timeout: boltWait, FreelistType: freeList, PageSize: pageSize})
	if err != nil {
		return fileError("create "+filepath.Base(path), err)
	}
	err = b.Update(func(tx *bbolt.Tx) error {
		for _, name := range buckets {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return putRecord(tx, bucketFormat, formatKey, formatRecord{formatVersion})
	})
	if err = errors.Join(err, b.Close()); err == nil {
		err = os.Rename(fresh, path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return fileError("create "+filepath.Base(path), errors.Join(err, os.RemoveAll(fresh)))
	}
	return nil
}

// syncDir makes a rename in a directory durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || runtime.GOOS == "windows" {
		err = nil // not every file system can sync a directory
	}
	return errors.Join(err, f.Close())
}

// compact replaces the file by a copy without free pages.
func (d *database) compact(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endLease()
	back, err := d.claim(ctx, true)
	if err != nil {
		return err
	}
	defer back()
	defer d.closeFile()
	fresh := d.path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fileError("compact "+d.name, err)
	}
	to, err := bbolt.Open(fresh, fileMode,
		&bbolt.Options{Timeout: boltWait, FreelistType: freeList, PageSize: pageSize})
	if err != nil {
		return fileError("compact "+d.name, err)
	}
	to.AllocSize = growBy / 16
	err = d.guard("read", func() error { return bbolt.Compact(to, d.open.bolt, 1<<20) })
	if err = errors.Join(err, to.Close()); err == nil {
		err = os.Rename(fresh, d.path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(d.path))
	}
	if err != nil {
		_ = os.Remove(fresh)
	}
	return fileError("compact "+d.name, err)
}

// guard turns a panic or fault of bbolt on garbled pages into an error. Panics of our own code continue: they are
// bugs, and hiding them behind "damaged" would send users to their backups.
func (d *database) guard(what string, fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if _, fault := r.(interface{ Addr() uintptr }); !fault && !panickedInBolt() {
			panic(r)
		}
		e := damaged(d.name, what+" failed inside the database", fmt.Errorf("%v", r))
		d.broken.CompareAndSwap(nil, e)
		err = e
	}()
	return fn()
}

// panickedInBolt reports whether the panic being recovered began in bbolt: whether the first frame below the
// runtime's own frames is one of bbolt's.
func panickedInBolt() bool {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	panicking := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicking = true
		case panicking && !strings.HasPrefix(f.Function, "runtime."):
			return strings.HasPrefix(f.Function, "go.etcd.io/bbolt")
		}
		if !more {
			return false
		}
	}
}

// closeFile closes the file, if it is open. The caller has locked d.mu exclusively.
func (d *database) closeFile() {
	if d.open != nil {
		d.endLease()
		d.closeHandle(d.open)
		d.open = nil
	}
}

// closeHandle closes a file. After a panic in a transaction bbolt may hold its own locks for ever, so Close gets a
// second; then at least the file lock is released.
func (d *database) closeHandle(h *handle) {
	if d.broken.Load() == nil {
		_ = d.guard("close", h.bolt.Close) // nothing is pending, so nothing is lost
		return
	}
	done := make(chan error, 1)
	go func() { done <- d.guard("close", h.bolt.Close) }()
	select {
	case <-done:
	case <-time.After(time.Second):
		unlock(h.file)
	}
}

// info identifies the open file; it is nil when none is open.
func (d *database) info() os.FileInfo {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		return nil
	}
	return d.open.info
}

// foreignWriteCount returns how often this process found that another one had written.
func (d *database) foreignWriteCount() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.foreignWrites
}

// close releases the file.
func (d *database) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closeFile()
	d.closed = true
	if d.gate != nil {
		defer func() { d.gate = nil }()
		return d.gate.Close()
	}
	return nil
}

var errNoRecord = errors.New("no record")

// getRecord decodes the sealed record under key. It returns errNoRecord if there is none.
func getRecord(tx *bbolt.Tx, bucket, key []byte, v any) error {
	b := tx.Bucket(bucket)
	if b == nil {
		return fmt.Errorf("no bucket %q", bucket)
	}
	value := b.Get(key)
	if value == nil {
		return errNoRecord
	}
	payload, err := unseal(bucket, key, value)
	if err != nil {
		return err
	}
	return decode(payload, v)
}

// putRecord seals v and stores it under key.
func putRecord(tx *bbolt.Tx, bucket, key []byte, v any) error {
	return tx.Bucket(bucket).Put(key, seal(bucket, key, encode(v)))
}
