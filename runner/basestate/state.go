package basestate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// State returns the digests of keys at the base: before the first node, in the workspace and the environment.
type State struct {
	store        *state.Store
	anew         bool              // see Options
	workspace    string            // absolute, symbolic links resolved
	file         string            // of the program
	environ      map[string]string // of the kernel, before any node
	options      Options
	stdin        []byte       // the standard input, once it was read
	seed         state.Digest // of random number generators from which nothing was drawn
	records      map[string]state.FileRecord
	Texts        map[state.Digest][]byte // texts by digest, of this run; see digestText
	versionFiles map[depgraph.Key]string // files that state the version of a package, joined by newlines
	Moved        int                     // how often such a file had a new place

	mu      sync.Mutex
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

// Digests of what is not a regular file.
const (
	Directory state.Digest = "directory"
	Special   state.Digest = "special"
	Symlink                = "symlink:" // its target follows
)

// IsFile reports whether a digest is that of a regular file. Its content is a blob.
func IsFile(d state.Digest) bool {
	return d != state.Absent && d != Directory && d != Special && !strings.HasPrefix(string(d), Symlink)
}

// Options configures New.
type Options struct {
	Store     *state.Store
	Anew      bool   // hash every file again; ignore remembered digests
	Workspace string // absolute, symbolic links resolved
	File      string // of the program
	Environ   map[string]string
	// Secret names a value by a digest that does not tell it; ok is false for values that are no secret. It may be nil.
	Secret func(value string) (digest string, ok bool)
	// Forbids says how the bounds of the program forbid an action; "": they allow it. It may be nil.
	Forbids func(action, target string) string
	// Call returns the digest of the outcome of a recorded call, by its key. It may be nil.
	Call      func(depgraph.Key) state.Digest
	Seed      uint64                      // of the random number generators
	Arguments []string                    // of the program
	Stdin     func() []byte               // reads the standard input; may be nil
	Records   map[string]state.FileRecord // of the files that the program writes; the caller may change it between runs
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

// Begin forgets the answers of the previous run.
func (w *State) Begin() {
	clear(w.answers)
	clear(w.Texts)
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

// Get returns the digest of a key at the base.
func (w *State) Get(k depgraph.Key) state.Digest {
	if d, ok := w.answers[k]; ok {
		return d
	}
	d := w.lookup(k)
	w.answers[k] = d
	return d
}

func (w *State) lookup(k depgraph.Key) state.Digest {
	switch k.Space() {
	case "file":
		now := w.OnDisk(k.Name())
		if r, ok := w.records[k.Name()]; ok && now == r.Left {
			return r.Base
		}
		return now
	case "mode":
		if r, ok := w.records[k.Name()]; ok {
			return r.Mode
		}
		mode, _ := w.Attributes(k.Name())
		return mode
	case "time":
		r := w.records[k.Name()]
		if r.Time == 0 {
			_, r.Time = w.Attributes(k.Name())
		}
		return w.digestText(fmt.Appendf(nil, "time %d", r.Time))
	case "dir":
		return w.listing(k.Name())
	case "env":
		_, plain := k.Cut() // programs in all languages begin with one environment
		return w.variable(plain.Name())
	case "module":
		return w.version(k)
	case "call", "tool":
		if w.options.Call == nil {
			return state.Absent
		}
		return w.options.Call(k)
	case "policy":
		return policyDigest(k, w.options.Forbids)
	case "program":
		return programDigest(w.versionFiles[k])
	case "rng":
		return w.seed
	case "stdin":
		if w.stdin == nil && w.options.Stdin != nil {
			w.stdin = w.options.Stdin()
		}
		return inputDigest(w.stdin, k.Name())
	case "conf":
		_, plain := k.Cut()
		switch plain.Name() { // the initial value in the interpreter depends on the environment
		case "argv":
			return argumentsDigest(w.options.Arguments)
		case "time-zone":
			return w.variables("TZ")
		case "locale":
			return w.variables("LC_ALL", "LC_CTYPE", "LANG")
		case "folder":
			return state.DigestOf(fmt.Appendf(nil, "folder %q %q", w.workspace, w.file))
		}
	}
	return state.Absent
}

// Attributes returns the permissions of a file, and the time of its last change.
func (w *State) Attributes(name string) (mode state.Digest, time int64) {
	info, err := os.Lstat(w.Path(name))
	if err != nil {
		return state.Absent, 0
	}
	return ModeDigest(info.Mode()), info.ModTime().UnixNano()
}

// ModeDigest returns the digest of permissions. It is Absent for those of a new file or directory, and for a symbolic
// link.
func ModeDigest(m fs.FileMode) state.Digest {
	if m&fs.ModeSymlink != 0 || m.Perm() == UsualMode(m) {
		return state.Absent
	}
	return state.Digest(fmt.Sprintf("%#o", m.Perm()))
}

// UsualMode returns the permissions that a new file or directory gets.
func UsualMode(m fs.FileMode) fs.FileMode {
	if m.IsDir() {
		return 0o777 &^ umask
	}
	return 0o666 &^ umask
}

var umask = func() fs.FileMode {
	m := syscall.Umask(0o77)
	syscall.Umask(m)
	return fs.FileMode(m)
}()

// OnDisk returns the present digest of a file.
func (w *State) OnDisk(name string) state.Digest {
	path := w.Path(name)
	info, err := os.Lstat(path)
	if err != nil {
		return state.Absent
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		if err != nil {
			return state.Absent
		}
		return state.Digest(Symlink + target)
	}
	if info.IsDir() {
		return Directory
	}
	if !info.Mode().IsRegular() {
		return Special
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := fileMemo{Size: info.Size(), Changed: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		seen.Inode, seen.Changed = st.Ino, changed(st)
	}
	same := func(m fileMemo) bool {
		return m.Size == seen.Size && m.Changed == seen.Changed && m.Inode == seen.Inode
	}
	if m, ok := w.cache[path]; ok && same(m) {
		return m.Digest
	}
	timestampSafe := !w.anew &&
		time.Since(
			time.Unix(0, seen.Changed),
		) > 2*time.Second // a write in the same tick of the clock would go unseen
	if data, ok := w.store.Memo("file", path); ok && timestampSafe {
		var m fileMemo
		if json.Unmarshal(data, &m) == nil && same(m) {
			w.cache[path] = m
			return m.Digest
		}
	}
	var ref state.BlobRef
	hash := func() (err error) { ref, err = state.RefOf(path); return err }
	if _, recorded := w.records[w.Short(path)]; recorded {
		err = WithAccess(path, hash)
	} else {
		err = hash()
	}
	if err != nil {
		return state.Absent
	}
	d := ref.Digest
	if timestampSafe {
		seen.Digest = d
		w.cache[path] = seen
		if data, err := json.Marshal(seen); err == nil {
			_ = w.store.PutMemo("file", path, data) // a cache: the next call hashes again
		}
	}
	return d
}

// listing digests the names in a directory at the base. name may carry changes, see runner.programState.listing:
// "out\x00a=true\x00b=false" is the directory out with a in it and without b.
func (w *State) listing(name string) state.Digest {
	parts := strings.Split(name, "\x00")
	dir, counts := depgraph.Key("dir:" + parts[0]).Listing()
	entries, err := os.ReadDir(w.Path(dir))
	r, recorded := w.records[dir]
	removed := recorded && r.Base == Directory && w.OnDisk(dir) == r.Left // by the program
	if err != nil && errors.Is(err, fs.ErrNotExist) && len(parts) == 1 && !removed {
		return state.Absent
	}
	present := map[string]bool{}
	for _, e := range entries {
		if n := e.Name(); n != ".xstate" && n != "__pycache__" {
			present[n] = true
		}
	}
	for short, r := range w.records { // what the program left is not part of the base
		if filepath.Dir(short) == filepath.Clean(dir) && w.OnDisk(short) == r.Left {
			present[filepath.Base(short)] = r.Base != state.Absent
		}
	}
	for _, change := range parts[1:] {
		n, there, _ := strings.Cut(change, "=")
		present[n] = there == "true"
	}
	var names []string
	for n, there := range present {
		if there && counts(n) {
			names = append(names, n)
		}
	}
	if recorded && r.Base == state.Absent && len(parts) == 1 && len(names) == 0 {
		return state.Absent // the program made it
	}
	slices.Sort(names)
	return w.digestText(fmt.Appendf(nil, "listing %q", names))
}

// digestText returns the digest of a text that states what a directory lists, or when a file changed. It keeps the text
// for a replay, see runner.Engine.keepInput.
func (w *State) digestText(text []byte) state.Digest {
	d := state.DigestOf(text)
	w.Texts[d] = text
	return d
}

// ignoredVariables differ between two shells for no reason of the program's.
var ignoredVariables = []string{
	"_",
	"SHLVL",
	"PWD",
	"OLDPWD",
	"COLUMNS",
	"LINES",
	"WINDOWID",
	"TERM_SESSION_ID",
	"SSH_CLIENT",
	"SSH_CONNECTION",
	"SSH_TTY",
}

func (w *State) variable(name string) state.Digest {
	if name == "*" {
		var lines []string
		for k, v := range w.environ {
			if !slices.Contains(ignoredVariables, k) {
				if d, ok := w.secret(v); ok {
					v = d
				}
				lines = append(lines, fmt.Sprintf("%q=%q", k, v))
			}
		}
		slices.Sort(lines)
		return state.DigestOf([]byte(strings.Join(lines, "\n")))
	}
	v, ok := w.environ[name]
	if !ok {
		return state.Absent
	}
	if d, ok := w.secret(v); ok {
		return state.Digest(d)
	}
	return EnvironDigest(v)
}

// secret names a value that is a secret.
func (w *State) secret(value string) (digest string, ok bool) {
	if w.options.Secret == nil {
		return "", false
	}
	return w.options.Secret(value)
}

// variables digests several variables, absent where none is set.
func (w *State) variables(names ...string) state.Digest {
	text := ""
	for _, name := range names {
		if v, ok := w.environ[name]; ok {
			text += fmt.Sprintf("%s=%q\n", name, v)
		}
	}
	if text == "" {
		return state.Absent
	}
	return state.DigestOf([]byte(text))
}

// EnvironDigest is the digest of the value of a variable of the environment.
func EnvironDigest(value string) state.Digest {
	return state.DigestOf(fmt.Appendf(nil, "env %s", value))
}

// version digests the files that state the version of a package.
func (w *State) version(k depgraph.Key) state.Digest {
	paths := w.versionFiles[k]
	if paths == "" {
		return state.Absent
	}
	var b strings.Builder
	for p := range strings.SplitSeq(paths, "\n") {
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			real = p
		}
		fmt.Fprintf(&b, "%s %s\n", filepath.Base(p), w.OnDisk(real))
	}
	return state.DigestOf([]byte(b.String()))
}

// Learn takes from a trace which files state the versions of packages. It counts a file in a new place as moved; the
// planner then gives up.
func (w *State) Learn(paths map[depgraph.Key]string) {
	for k, p := range paths {
		if was := w.versionFiles[k]; was != p {
			if was != "" {
				w.Moved++
			}
			w.versionFiles[k] = p
			delete(w.answers, k)
		}
	}
}

// Renew forgets the answer about a key, which has changed during the run.
func (w *State) Renew(k depgraph.Key) { delete(w.answers, k) }

// Answers returns the keys that were read since Begin, with their digests.
func (w *State) Answers() map[depgraph.Key]state.Digest { return w.answers }

// SetAnswer sets the digest that a key had when the run began, unless the key has been read since Begin.
func (w *State) SetAnswer(k depgraph.Key, d state.Digest) {
	if _, asked := w.answers[k]; !asked {
		w.answers[k] = d
	}
}

// VersionFiles returns the files that state the versions of packages, by the package's key.
func (w *State) VersionFiles() map[depgraph.Key]string { return w.versionFiles }
