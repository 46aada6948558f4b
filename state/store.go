package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/bbolt"
)

// Options say how to open a store. The zero value opens it for writing, and creates it if it does not exist.
type Options struct {
	Wait     time.Duration    // bound of each wait for another process; 0 means 5 s, negative means no wait
	ReadOnly bool             // write nothing. The store must exist
	Now      func() time.Time // nil means time.Now
	Fallback *Store           // read for values and blobs that this store lacks; may be nil
}

const defaultWait = 5 * time.Second

// Store is an open store. Its methods are safe for concurrent use. It reads the results that every session believes;
// For returns one that reads those of a foreign session, too.
type Store struct {
	*core
	area    uint64   // the session whose foreign results it reads; 0: none
	foreign *results // the results of that area; nil if there are none
}

// core is what all sessions of an open store share.
type core struct {
	dir     string // absolute
	options Options
	history *database
	results *results
	blobs   *blobs
	bases   *blobs

	callsMu sync.Mutex
	calls   *database // nil until it is used
	// callPuts wait for a transaction; puttingCalls: a goroutine writes them
	callPuts     []*callPut
	puttingCalls bool

	noticesMu sync.Mutex
	notices   []string

	forkChains forkChainCache
	heads      headCache

	offsets changeOffsets
	known   blockMemory
	shown   outputCache

	areas areas

	closeOnce sync.Once
	closeErr  error
}

// Open opens the store in dir. Its errors are *Error with the codes store-busy, store-readonly, store-newer,
// store-damaged, no-store and those of the file system.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fileError("open store", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == 0 {
		o.Wait = defaultWait
	}
	s := &Store{core: &core{dir: dir, options: o}}
	if err := s.prepareDir(); err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepareDir creates the directory of a store that is opened for writing.
func (s *Store) prepareDir() error {
	info, err := os.Stat(s.dir)
	if err == nil && !info.IsDir() {
		return &Error{
			Code:    CodeReadOnly,
			Message: s.dir + " is not a directory",
			Hint:    "choose a store elsewhere with `--store DIR`",
		}
	}
	if s.options.ReadOnly {
		if _, err := os.Stat(filepath.Join(s.dir, historyFile)); errors.Is(err, fs.ErrNotExist) {
			return &Error{
				Code:    CodeNoStore,
				Message: "there is no store in " + s.dir,
				Hint:    "`xstate run FILE` creates one beside the file",
				Err:     err,
			}
		} else if err != nil {
			return fileError("open store", err)
		}
		return nil
	}
	for _, dir := range []string{blobsDir, basesDir} {
		if err := os.MkdirAll(filepath.Join(s.dir, dir), folderMode); err != nil {
			return fileError("make store "+s.dir, err)
		}
	}
	own := []string{historyFile, resultsFile, callsFile, blobsDir, basesDir}
	if err := keepPrivate(s.dir, own, s.note); err != nil {
		return fileError("keep store "+s.dir+" private", err)
	}
	ignore := filepath.Join(s.dir, ".gitignore")
	if _, err := os.Stat(ignore); err == nil {
		return nil
	}
	return fileError("make store "+s.dir, os.WriteFile(ignore, []byte("*\n"), fileMode))
}

// open opens the two databases.
func (s *Store) open(ctx context.Context) (err error) {
	o := databaseOptions{readOnly: s.options.ReadOnly, wait: s.options.Wait, buckets: historyBuckets}
	if s.history, err = openDatabase(ctx, filepath.Join(s.dir, historyFile), o); err != nil {
		return err
	}
	if s.results, err = openResults(ctx, filepath.Join(s.dir, resultsFile), o, s.note); err != nil {
		return err
	}
	s.areas.dir, s.areas.options, s.areas.note = filepath.Join(s.dir, foreignDir), o, s.note
	s.blobs = &blobs{
		dir:      filepath.Join(s.dir, blobsDir),
		readOnly: s.options.ReadOnly,
		results:  s.results,
		note:     s.note,
	}
	s.bases = &blobs{dir: filepath.Join(s.dir, basesDir), readOnly: s.options.ReadOnly, note: s.note}
	return nil
}

// For returns the store as a session of this trust sees it: with the foreign results that came with the session, if
// any, beside those that every session believes. They share all else, and the caller closes the store only.
func (s *Store) For(t SessionTrust) *Store {
	if t.Area == 0 {
		return &Store{core: s.core}
	}
	return &Store{core: s.core, foreign: s.areas.open(t.Area), area: t.Area}
}

// of returns the results that hold what has a tier.
func (s *Store) of(t Tier) (*results, error) {
	switch {
	case s.options.ReadOnly:
		return nil, errReadOnly
	case t != TierForeign:
		return s.results, nil
	case s.foreign == nil:
		return nil, errors.New("state: internal error: a foreign result of no session")
	}
	return s.foreign, nil
}

// Foreign reports whether s is the store as a session of TierForeign sees it.
func (s *Store) Foreign() bool { return s.area != 0 }

// Dir returns the absolute path of the store.
func (s *Store) Dir() string { return s.dir }

// Close writes what is pending and closes the files.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		var errs []error
		if s.calls != nil {
			errs = append(errs, s.calls.close())
		}
		if s.results != nil {
			errs = append(errs, s.results.close())
		}
		errs = append(errs, s.areas.close())
		if s.history != nil {
			errs = append(errs, s.history.close())
		}
		s.closeErr = errors.Join(errs...)
	})
	return s.closeErr
}

// Notices returns messages for the user about results that were lost or unreadable since Open. They cost time, not
// correctness.
func (s *Store) Notices() []string {
	s.noticesMu.Lock()
	defer s.noticesMu.Unlock()
	return append([]string(nil), s.notices...)
}

const maxNotices = 100

func (s *core) note(format string, args ...any) {
	s.noticesMu.Lock()
	defer s.noticesMu.Unlock()
	switch len(s.notices) {
	case maxNotices:
	case maxNotices - 1:
		s.notices = append(s.notices, "more results are damaged than these notices name")
	default:
		s.notices = append(s.notices, fmt.Sprintf(format, args...))
	}
}

// view runs fn in a read transaction of history.
func (s *Store) view(ctx context.Context, fn func(*bbolt.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.history.view(ctx, fn)
}

// update runs fn in a write transaction of history, which is on disk when update returns nil.
func (s *Store) update(ctx context.Context, fn func(*bbolt.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.history.update(ctx, fn)
}
