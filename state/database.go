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
	growBy        = 1 << 20              // bytes a file grows by at once; every growth costs an fsync
	boltWait      = time.Second          // for a foreign program that has the file open; ours are kept out before
	leaseTime     = 3 * time.Millisecond // how long a database stays locked for reading when nobody asks for it
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
// inspected before it opens the file (see sound.go for when not), and every transaction runs guarded.
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

// pass takes the gate, which keeps others out until it is given back: a writer while it writes, a reader while it enters.
func (d *database) pass(ctx context.Context, exclusive bool) (back func(), err error) {
	if d.gate == nil {
		return func() {}, nil
	}
	ok, err := lockFile(ctx, d.gate, exclusive, d.options.wait)
	if err != nil {
		return nil, fileError("lock "+d.name, err)
	}
	if !ok {
		return nil, busy("the store "+filepath.Dir(d.path)+" is held", d.gate)
	}
	return func() { unlock(d.gate) }, nil
}

// acquire locks the file and makes d.open one that is up to date. The caller has d.mu alone and has passed the gate.
func (d *database) acquire(ctx context.Context, write bool) error {
	if d.closed {
		return errClosed
	}
	if d.open != nil && (d.open.writable || !write) {
		if now, err := os.Stat(d.path); err == nil && os.SameFile(now, d.open.info) {
			if err := d.lock(ctx, d.open.file, write); err != nil {
				return err
			}
			if m, err := readMetas(d.open.file); err == nil && m == d.open.metas {
				return nil
			}
		}
	}
	d.drop()
	for range 100 {
		f, info, err := d.openFile(write)
		if err != nil {
			return err
		}
		if err := d.lock(ctx, f, write); err != nil {
			return errors.Join(err, f.Close())
		}
		if now, err := os.Stat(d.path); err != nil || !os.SameFile(now, info) {
			f.Close() // it was set aside meanwhile
			continue
		}
		return d.openBolt(f, write)
	}
	return &Error{Code: CodeIO, Message: d.name + " is replaced all the time"}
}

func (d *database) openFile(write bool) (*os.File, os.FileInfo, error) {
	flag := os.O_RDONLY
	if write {
		flag = os.O_RDWR
	}
	f, err := os.OpenFile(d.path, flag, 0)
	if err != nil {
		return nil, nil, fileError("open "+d.name, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &Error{Code: CodeIO, Message: d.path + " is not a file"}
	}
	if err != nil {
		return nil, nil, errors.Join(fileError("open "+d.name, err), f.Close())
	}
	return f, info, nil
}

func (d *database) lock(ctx context.Context, f *os.File, exclusive bool) error {
	ok, err := lockFile(ctx, f, exclusive, d.options.wait)
	if err != nil {
		return fileError("lock "+d.name, err)
	}
	if !ok {
		return busy("the store "+filepath.Dir(d.path)+" is held", f)
	}
	return nil
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
	h := &handle{file: f, info: info, metas: m, writable: write}
	err = d.guard("open", func() (err error) {
		h.bolt, err = bbolt.Open(d.path, 0o666, &bbolt.Options{
			Timeout:      boltWait,
			FreelistType: bbolt.FreelistMapType,
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
	b, err := bbolt.Open(fresh, 0o666, &bbolt.Options{Timeout: boltWait, FreelistType: bbolt.FreelistMapType, PageSize: pageSize})
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

// view runs fn in a read transaction.
func (d *database) view(ctx context.Context, fn func(*bbolt.Tx) error) error {
	d.mu.RLock()
	if d.leased {
		defer d.mu.RUnlock()
		return d.guard("read", func() error { return d.open.bolt.View(fn) })
	}
	d.mu.RUnlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.leased {
		if err := d.enter(ctx); err != nil {
			return err
		}
	}
	return d.guard("read", func() error { return d.open.bolt.View(fn) })
}

// inspect looks at the pages as they are now.
func (d *database) inspect(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.leased {
		if err := d.enter(ctx); err != nil {
			return err
		}
	}
	info, err := d.open.file.Stat()
	if err != nil {
		return fileError("read "+d.name, err)
	}
	return inspectFile(d.open.file, info)
}

// enter locks the database for reading, for a while: a transaction a record would be mostly locking.
func (d *database) enter(ctx context.Context) error {
	back, err := d.pass(ctx, false)
	if err != nil {
		return err
	}
	defer back()
	if err := d.acquire(ctx, false); err != nil {
		return err
	}
	d.leased = true
	d.lease = time.AfterFunc(leaseTime, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.leave()
	})
	return nil
}

// leave ends the lock for reading. The caller has d.mu alone.
func (d *database) leave() {
	if d.leased {
		d.leased = false
		d.lease.Stop()
		unlock(d.open.file)
	}
}

// update runs fn in a write transaction, which is on disk when update returns nil.
func (d *database) update(ctx context.Context, fn func(*bbolt.Tx) error) error {
	if e := d.broken.Load(); e != nil {
		return e
	}
	if d.options.readOnly {
		return errReadOnly
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leave()
	back, err := d.pass(ctx, true)
	if err != nil {
		return err
	}
	defer back()
	if err := d.acquire(ctx, true); err != nil {
		return err
	}
	h := d.open
	defer func() {
		if d.open != nil {
			unlock(d.open.file)
		}
	}()
	err = d.guard("write", func() error { return h.bolt.Update(fn) })
	if err != nil {
		return errors.Join(fileError("write "+d.name, err), d.undo(h))
	}
	if h.metas, err = readMetas(h.file); err == nil {
		if info, err := h.file.Stat(); err == nil {
			d.remember(info, h.metas)
		}
	}
	return nil
}

// undo makes a transaction that failed one that never was. When the last write was done and could not be synced, the
// new meta page is there; the one before it goes back in its place.
func (d *database) undo(h *handle) error {
	if d.broken.Load() != nil {
		d.drop()
		return nil
	}
	now, err := readMetas(h.file)
	if err == nil && now == h.metas {
		return nil
	}
	if err == nil {
		err = h.metas.write(h.file)
	}
	d.drop() // bbolt may have another idea of it
	if err != nil {
		e := &Error{Code: CodeIO, Message: d.name + " does not keep what is written to it", Hint: "look at the disk; xstate check tells what is there", Err: err}
		d.broken.CompareAndSwap(nil, e)
		return e
	}
	return nil
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
