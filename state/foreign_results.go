package state

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// areas are the foreign results of a store. They lie in one file for each imported session, foreign/N.db, of the
// form of results.db. So code that knows nothing of tiers cannot read one: it reads results.db, which holds only what
// every session believes. Blobs are shared: their name proves their content, and a blob is interpreted only through a
// record that names it.
type areas struct {
	dir     string
	options databaseOptions
	note    func(format string, args ...any)

	mu     sync.Mutex
	opened map[uint64]*results
}

const foreignDir = "foreign"

// open returns the foreign results of a number; nil if they cannot be opened, which counts as having none.
func (a *areas) open(n uint64) *results {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.opened[n]; r != nil {
		return r
	}
	if !a.options.readOnly {
		if err := os.MkdirAll(a.dir, 0o777); err != nil {
			a.note("the results of a foreign store are not available: %v", err)
			return nil
		}
	}
	r, err := openResults(context.Background(), a.base(n)+".db", a.options, a.note)
	if err != nil {
		a.note("the results of a foreign store are not available: %v", err)
		return nil
	}
	if a.opened == nil {
		a.opened = map[uint64]*results{}
	}
	a.opened[n] = r
	return r
}

// base is the path of the files of a number, without its ending.
func (a *areas) base(n uint64) string { return filepath.Join(a.dir, strconv.FormatUint(n, 10)) }

// onDisk returns the numbers of all foreign results.
func (a *areas) onDisk() (all []uint64, err error) {
	entries, err := os.ReadDir(a.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fileError("look at foreign results", err)
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".db")
		n, err := strconv.ParseUint(name, 10, 64)
		if ok && err == nil && n > 0 {
			all = append(all, n)
		}
	}
	return all, nil
}

// split returns the foreign results of the numbers that are read, and the files of the others, with those that were
// quarantined.
func (a *areas) split(read func(uint64) bool) (found []*results, unread []string, err error) {
	numbers, err := a.onDisk()
	for _, n := range numbers {
		if !read(n) {
			unread = append(unread, a.base(n)+".db", a.base(n)+".lock", a.base(n)+".sound")
		} else if r := a.open(n); r != nil {
			found = append(found, r)
		}
	}
	aside, _ := filepath.Glob(filepath.Join(a.dir, "*.damaged-*")) // the pattern is well-formed
	return found, append(unread, aside...), err
}

func (a *areas) close() (err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.opened {
		err = errors.Join(err, r.close())
	}
	return err
}
