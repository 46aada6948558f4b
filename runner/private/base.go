package private

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/xstate-engine/xstate/state"
)

// Names of what lies beside a view: the file that holds its base, and the folder of files that are about to be applied.
const (
	baseName   = ".base.xstate"
	stagedName = ".staged.xstate"
)

// baseFormat is the format of that file.
const baseFormat = 1

// base says what an original was when its view was made.
type base struct {
	Format  int
	Taken   int64 // when the signatures were taken, in nanoseconds
	Entries map[string]baseEntry
	// Shared are paths that are the same in both: links to virtual environments, and folders that could not be read.
	Shared map[string]bool
}

// baseEntry is one path of the base.
type baseEntry struct {
	Is       entry
	Original signature // the file's, then
	View     signature // the signature of a file of the view that is unchanged
}

func (v *View) base() (*base, error) {
	f, err := os.Open(filepath.Join(v.home, baseName))
	if err != nil {
		return nil, v.baseLost(err)
	}
	defer f.Close()
	var b base
	if err := gob.NewDecoder(bufio.NewReader(f)).Decode(&b); err != nil {
		return nil, v.baseLost(err)
	}
	if b.Format != baseFormat {
		return nil, v.baseLost(fmt.Errorf("format %d", b.Format))
	}
	return &b, nil
}

func (v *View) baseLost(err error) error {
	return &state.Error{
		Code:    state.CodeIO,
		Message: fmt.Sprintf("what the folder was when the private one of %q was made cannot be read", v.Session),
		Hint:    "the private folder is " + v.Folder + "; copy what you need of it by hand",
		Err:     err,
	}
}

// write makes the base the content of a file, at once.
func (b *base) write(path string) error {
	b.Format = baseFormat
	f, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	err = errors.Join(gob.NewEncoder(w).Encode(b), w.Flush(), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// inherited returns the base of a copy of this view, of which made describes the copies.
func (b *base) inherited(made *base) *base {
	next := &base{Taken: made.Taken, Entries: make(map[string]baseEntry, len(b.Entries)), Shared: made.Shared}
	for path, was := range b.Entries {
		was.View = signature{}
		if is := made.Entries[path]; is.Is == was.Is {
			was.View = is.View
		}
		// A signature that did not show a write when it was taken does not show it later.
		if was.Original.Modified >= b.Taken-int64(settled) {
			was.Original = signature{}
		}
		next.Entries[path] = was
	}
	return next
}

// pastTick waits until a write gives a file another time of change than it has now: the system counts these times in
// ticks of up to 10 ms.
func pastTick() { time.Sleep(20 * time.Millisecond) }
