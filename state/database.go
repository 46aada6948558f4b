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

	formatVersion = 1 // of both files; raise it when a reader of the version before would go wrong
	pageSize      = 4096
	growBy        = 1 << 20     // bytes a file grows by at once; every growth costs an fsync
	boltWait      = time.Second // for a foreign program that has the file open; ours are kept out before

	// freeList is how bbolt keeps free pages in memory; the file is the same. Each commit writes the list: where large transactions have
	// left 54,000 pages free, a commit takes 2.7 ms with a map, most of it to sort that, and 0.9 ms with an array. Not to write the list
	// (NoFreelistSync) would save another 0.1 ms, and make each opening read every page: for a million blocks, 780 MB, 3 s in place of 3 ms.
	freeList = bbolt.FreelistArrayType
)

// The buckets of both files. None is nested.
var (
	bucketFormat = []byte("format")

	// history.db
	bucketSessions = []byte("sessions") // name → birth
	bucketHeads    = []byte("heads")    // session → head
	bucketSteps    = []byte("steps")    // session, number → header and changes
	bucketIndexes  = []byte("indexes")  // session, number → index of the program after that step
	bucketSources  = []byte("sources")  // digest → text of a version
	bucketRecords  = []byte("records")  // session, key → mutable record

	// results.db
	bucketTraces = []byte("traces") // digest → trace
	bucketByCode = []byte("bycode") // code → digests of its traces, newest first
	bucketValues = []byte("values") // joint digest → value
	bucketInline = []byte("inline") // digest → small blob
	bucketMemo   = []byte("memo")   // space, key → bytes

	historyBuckets = [][]byte{bucketFormat, bucketSessions, bucketHeads, bucketSteps, bucketIndexes, bucketSources, bucketRecords}
	resultsBuckets = [][]byte{bucketFormat, bucketTraces, bucketByCode, bucketValues, bucketInline, bucketMemo}

	formatKey = []byte("format")
)

// database is one bbolt file, shared with other processes. It is locked for the length of a transaction: by the readers
// together, by a writer alone. bbolt keeps it open in between, and what bbolt knows of it holds for as long as the meta
// pages are those that it saw; else the file is opened anew.
//
// bbolt trusts its pages: on a garbled file it panics, reads outside its mapping or recurses without end. So the pages are
// inspected before it opens the file (see inspection_memo.go for when not), and every transaction runs guarded.
type database struct {
	name    string // of the file, for messages
	path    string
	options databaseOptions
	gate    *os.File // a writer has it from before it waits for the readers to leave; nil where it cannot be made
	broken  atomic.Pointer[Error]

	mu     sync.RWMutex // held shared to read through an open handle, and alone to do anything else
	open   *handle      // nil when there is none
	leased bool         // open is locked for reading
	lease  *time.Timer  // ends that
	closed bool

	seen metas // when this process last looked or wrote
	turn int   // how often they were others when it looked
}

// handle is the file opened by bbolt.
type handle struct {
	bolt     *bbolt.DB
	file     *os.File // the one that bbolt has; its locks are ours
	info     os.FileInfo
	metas    metas // as bbolt knows them
	writable bool
}

type databaseOptions struct {
	readOnly bool
	noSync   bool
	wait     time.Duration
	buckets  [][]byte
}

// openDatabase opens the file at path and verifies its format. A file that is missing is made, unless that is not allowed.
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

func (d *database) openGate() (err error) {
	path := strings.TrimSuffix(d.path, filepath.Ext(d.path)) + ".lock"
	if d.options.readOnly {
		d.gate, err = os.Open(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil
		}
	} else {
		d.gate, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	}
	return fileError("open "+d.name, err)
}

// openBolt gives a locked file to bbolt.
func (d *database) openBolt(f *os.File, write bool) error {
	info, err := f.Stat() // as it is now that it is locked
	if err != nil {
		return errors.Join(fileError("open "+d.name, err), f.Close())
	}
	m, err := readMetas(f)
	if err != nil || !d.known(info, m) {
		if err := inspectFile(f, info); err != nil {
			return errors.Join(err, f.Close())
		}
		d.remember(info, m)
	}
	if m != d.seen {
		d.seen, d.turn = m, d.turn+1
	}
	h := &handle{file: f, info: info, metas: m, writable: write}
	err = d.guard("open", func() (err error) {
		h.bolt, err = bbolt.Open(d.path, 0o666, &bbolt.Options{
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
		f.Close() // bbolt closes it, too, unless it panicked
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
			Code:    CodeNewer,
			Message: fmt.Sprintf("%s has format %d; this xstate knows formats up to %d", d.name, f.Format, formatVersion),
			Hint:    "install a newer xstate, or choose another store with --store DIR",
		}
	}
	for _, name := range d.options.buckets {
		if tx.Bucket(name) == nil {
			return damaged(d.name, fmt.Sprintf("the bucket %q is missing", name), nil)
		}
	}
	return nil
}

// replace puts an empty database in the place of the damaged file, which it sets aside, or of none. Another process may
// have done so.
func (d *database) replace(ctx context.Context, bad os.FileInfo) error {
	back, err := d.pass(ctx, true)
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
		if err := setAside(d.path); err != nil {
			return err
		}
	}
	return createDatabase(d.path, d.options.buckets)
}

// setAside renames a damaged file to the first free name path.damaged-N.
func setAside(path string) error {
	for n := 1; ; n++ {
		aside := fmt.Sprintf("%s.damaged-%d", path, n)
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			return fileError("set "+filepath.Base(path)+" aside", os.Rename(path, aside))
		}
	}
}

// createDatabase makes an empty database. It appears under its name only when it is complete, so that a crash leaves
// none rather than a broken one.
func createDatabase(path string, buckets [][]byte) error {
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fileError("create "+filepath.Base(path), err)
	}
	b, err := bbolt.Open(fresh, 0o666, &bbolt.Options{Timeout: boltWait, FreelistType: freeList, PageSize: pageSize})
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

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || runtime.GOOS == "windows" {
		err = nil // not every file system has it
	}
	return errors.Join(err, f.Close())
}

// compact puts a copy of the file without its free pages in its place.
func (d *database) compact(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leave()
	back, err := d.claim(ctx, true)
	if err != nil {
		return err
	}
	defer back()
	defer d.drop()
	fresh := d.path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fileError("compact "+d.name, err)
	}
	to, err := bbolt.Open(fresh, 0o666, &bbolt.Options{Timeout: boltWait, FreelistType: freeList, PageSize: pageSize})
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

// guard turns what bbolt does on garbled pages into an error. Panics of our own code go on.
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

// panickedInBolt reports whether the panic being recovered began in bbolt.
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

// drop closes the file. The caller has d.mu alone.
func (d *database) drop() {
	if d.open != nil {
		d.leave()
		d.closeHandle(d.open)
		d.open = nil
	}
}

// closeHandle closes a file. bbolt may hold its locks for ever when a transaction panicked, so it gets a moment.
func (d *database) closeHandle(h *handle) {
	if d.broken.Load() == nil {
		_ = d.guard("close", h.bolt.Close) // nothing waits to be written
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

// info names the file that is open; nil when none is.
func (d *database) info() os.FileInfo {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		return nil
	}
	return d.open.info
}

// turnOf tells how often another process had written when this one looked.
func (d *database) turnOf() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.turn
}

// close releases the file.
func (d *database) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop()
	d.closed = true
	if d.gate != nil {
		defer func() { d.gate = nil }()
		return d.gate.Close()
	}
	return nil
}

var errNoRecord = errors.New("no record")

// getRecord decodes the sealed record under key. It returns errNoRecord when there is none.
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

func putRecord(tx *bbolt.Tx, bucket, key []byte, v any) error {
	return tx.Bucket(bucket).Put(key, seal(bucket, key, encode(v)))
}
