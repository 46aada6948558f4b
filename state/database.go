package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

const (
	historyFile = "history.db"
	resultsFile = "results.db"

	formatVersion = 1 // of both files; raise it when a reader of the version before would go wrong
	pageSize      = 4096
	growBy        = 1 << 20     // bytes a file grows by at once; every growth costs an fsync
	boltWait      = time.Second // for a foreign program that has the file open; ours are kept out by the holder file
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

// database is one bbolt file. bbolt trusts its pages: on a garbled file it panics, reads outside its mapping or recurses
// without end. So the pages are inspected before it opens the file, and every transaction runs guarded.
type database struct {
	name   string // of the file, for messages
	path   string
	bolt   *bbolt.DB
	broken atomic.Pointer[Error] // set when a transaction panicked
}

type databaseOptions struct {
	readOnly bool
	noSync   bool
	buckets  [][]byte
}

// openDatabase opens the file at path, which exists unless createDatabase is still to be called.
func openDatabase(path string, o databaseOptions) (*database, error) {
	d := &database{name: filepath.Base(path), path: path}
	if err := inspectFile(path); err != nil {
		return nil, err
	}
	err := d.guard("open", func() (err error) {
		d.bolt, err = bbolt.Open(path, 0o666, &bbolt.Options{
			Timeout:      boltWait,
			FreelistType: bbolt.FreelistMapType,
			ReadOnly:     o.readOnly,
			NoSync:       o.noSync,
			PageSize:     pageSize,
			NoStatistics: true,
		})
		if err == nil {
			d.bolt.AllocSize = growBy
		}
		return err
	})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, &Error{Code: CodeBusy, Message: d.name + " is open in another program", Hint: "close it and try again"}
	case err != nil:
		return nil, fileError("open "+d.name, err)
	}
	if err := d.checkFormat(o.buckets); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

type formatRecord struct {
	Format uint `cbor:"format"`
}

func (d *database) checkFormat(buckets [][]byte) error {
	return d.view(func(tx *bbolt.Tx) error {
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
		for _, name := range buckets {
			if tx.Bucket(name) == nil {
				return damaged(d.name, fmt.Sprintf("the bucket %q is missing", name), nil)
			}
		}
		return nil
	})
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

func (d *database) view(fn func(*bbolt.Tx) error) error {
	err := d.guard("read", func() error { return d.bolt.View(fn) })
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return errClosed
	}
	return err
}

func (d *database) update(fn func(*bbolt.Tx) error) error {
	if e := d.broken.Load(); e != nil {
		return e
	}
	err := d.guard("write", func() error { return d.bolt.Update(fn) })
	switch {
	case errors.Is(err, bolterrors.ErrDatabaseReadOnly):
		return errReadOnly
	case errors.Is(err, bolterrors.ErrDatabaseNotOpen):
		return errClosed
	}
	return fileError("write "+d.name, err)
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

// close releases the file. A database whose transaction panicked may hold its locks for ever, so it gets a moment.
func (d *database) close() error {
	if d.bolt == nil {
		return nil
	}
	if d.broken.Load() == nil {
		return d.guard("close", d.bolt.Close)
	}
	done := make(chan error, 1)
	go func() { done <- d.guard("close", d.bolt.Close) }()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Second):
		return nil
	}
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
