package basestate

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/state"
)

// State returns the digests of keys at the base: before the first node, in the workspace and the environment.
type State struct {
	store        *state.Store
	anew         bool              // see Options
	workspace    string            // absolute, symbolic links resolved
	file         string            // the program's
	environ      map[string]string // the kernel's, before any node
	options      Options
	stdin        []byte       // the standard input, once it was read
	seed         state.Digest // the seed of random number generators from which nothing was drawn
	records      map[string]state.FileRecord
	Texts        map[state.Digest][]byte // texts by digest, of this run; see digestText
	versionFiles map[depgraph.Key]string // files that state the version of a package, joined by newlines
	Moved        int                     // how often such a file had a new place

	mu      sync.Mutex      // guards folder, failure and cache
	folder  *beneath.Folder // the workspace; nil until it is used in this run
	failure error           // see Failure
	cache   map[string]fileMemo
	answers map[depgraph.Key]state.Digest // answers in this run: the base does not change during it
}

// fileMemo is the digest that a file had with this size, inode and time of change. The time is the system's own
// (ctime): a copy or an archive may set the other one.
type fileMemo struct {
	Size    int64        `json:"s"`
	Changed int64        `json:"c"` // nanoseconds
	Inode   uint64       `json:"i"`
	Digest  state.Digest `json:"d"`
}

// Options configures New.
type Options struct {
	Store     *state.Store
	Anew      bool   // hash every file again; ignore remembered digests
	Workspace string // absolute, symbolic links resolved
	File      string // the program's
	Environ   map[string]string
	// Secret names a value by a digest that does not reveal it; ok is false for values that are not secret. It may be
	// nil.
	Secret func(value string) (digest string, ok bool)
	// Forbids says how the bounds of the program forbid an action; "": they allow it. It may be nil.
	Forbids func(action, target string) string
	// Call returns the digest of the outcome of a recorded call, by its key. It may be nil.
	Call      func(depgraph.Key) state.Digest
	Seed      uint64                      // seeds the random number generators
	Arguments []string                    // the program's
	Stdin     func() []byte               // reads the standard input; may be nil
	Records   map[string]state.FileRecord // the files that the program writes; the caller may change it between runs
}

// New returns the base of one program.
func New(o Options) *State {
	return &State{
		store:        o.Store,
		options:      o,
		anew:         o.Anew,
		seed:         state.DigestOf(fmt.Appendf(nil, "seed %d", o.Seed)),
		workspace:    o.Workspace,
		file:         o.File,
		environ:      o.Environ,
		records:      o.Records,
		Texts:        map[state.Digest][]byte{},
		versionFiles: map[depgraph.Key]string{},
		cache:        map[string]fileMemo{},
		answers:      map[depgraph.Key]state.Digest{},
	}
}

// Begin forgets the answers of the previous run, and gives its workspace up.
func (w *State) Begin() {
	clear(w.answers)
	clear(w.Texts)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failure = nil
	w.folder = nil // the folder of the next run may be another one of that name
}

// ForgetElsewhere forgets the answers about files and folders outside the workspace: a child process may have changed
// them.
func (w *State) ForgetElsewhere() {
	maps.DeleteFunc(w.answers, func(k depgraph.Key, _ state.Digest) bool {
		return (k.Space() == "file" || k.Space() == "dir") && filepath.IsAbs(k.Name())
	})
}

// FileKey returns the key of a file. Its name is relative to the workspace if the file lies in it.
func (w *State) FileKey(path string) depgraph.Key { return depgraph.Key("file:" + w.Short(path)) }

// Short returns the name of a file in keys: relative to the workspace if the file lies in it.
func (w *State) Short(path string) string {
	if rel, err := filepath.Rel(w.workspace, path); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		return rel
	}
	return path
}

// Path is the inverse of Short.
func (w *State) Path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(w.workspace, name)
}
