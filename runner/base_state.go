package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// baseState returns what keys have at the base: before the first node, in the workspace and the environment.
type baseState struct {
	store        *state.Store
	anew         bool              // see Config
	workspace    string            // absolute, symbolic links resolved
	file         string            // of the program
	environ      map[string]string // of the kernel, before any node
	seed         state.Digest      // of random number generators from which nothing was drawn
	records      map[string]state.FileRecord
	texts        map[state.Digest][]byte // what digests were made of in this run, see digestText
	versionFiles map[depgraph.Key]string // files that state the version of a package, joined by newlines
	moved        int                     // how often one was found in another place than before

	mu    sync.Mutex
	cache map[string]fileMemo
	base  map[depgraph.Key]state.Digest // answers in this run: the base does not change during it
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
	digestDir     state.Digest = "directory"
	digestSpecial state.Digest = "special"
	symlink                    = "symlink:" // its target follows
)

// stored reports whether a digest is that of a regular file. Its content is a blob.
func stored(d state.Digest) bool {
	return d != state.Absent && d != digestDir && d != digestSpecial && !strings.HasPrefix(string(d), symlink)
}

func newBaseState(
	cfg Config,
	workspace string,
	environ map[string]string,
	records map[string]state.FileRecord,
) *baseState {
	return &baseState{
		store:        cfg.Store,
		anew:         cfg.Anew,
		seed:         state.DigestOf(fmt.Appendf(nil, "seed %d", cfg.Seed)),
		workspace:    workspace,
		file:         cfg.File,
		environ:      environ,
		records:      records,
		texts:        map[state.Digest][]byte{},
		versionFiles: map[depgraph.Key]string{},
		cache:        map[string]fileMemo{},
		base:         map[depgraph.Key]state.Digest{},
	}
}

// begin forgets the answers of the previous run.
func (w *baseState) begin() {
	clear(w.base)
	clear(w.texts)
}

// fileKey returns the key of a file. Its name is relative to the workspace if the file lies in it.
func (w *baseState) fileKey(path string) depgraph.Key { return depgraph.Key("file:" + w.short(path)) }

func (w *baseState) short(path string) string {
	if rel, err := filepath.Rel(w.workspace, path); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		return rel
	}
	return path
}

// path is the inverse of short.
func (w *baseState) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(w.workspace, name)
}

// get returns what a key has at the base.
func (w *baseState) get(k depgraph.Key) state.Digest {
	if d, ok := w.base[k]; ok {
		return d
	}
	d := w.lookup(k)
	w.base[k] = d
	return d
}

func (w *baseState) lookup(k depgraph.Key) state.Digest {
	switch k.Space() {
	case "file":
		now := w.onDisk(k.Name())
		if r, ok := w.records[k.Name()]; ok && now == r.Left {
			return r.Base
		}
		return now
	case "mode":
		if r, ok := w.records[k.Name()]; ok {
			return r.Mode
		}
		mode, _ := w.attributes(k.Name())
		return mode
	case "time":
		r := w.records[k.Name()]
		if r.Time == 0 {
			_, r.Time = w.attributes(k.Name())
		}
		return w.digestText(fmt.Appendf(nil, "time %d", r.Time))
	case "dir":
		return w.listing(k.Name())
	case "env":
		return w.variable(k.Name())
	case "module":
		return w.version(k)
	case "rng":
		return w.seed
	case "conf":
		switch k.Name() { // the initial value in the interpreter depends on the environment
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

// attributes returns the permissions of a file, and the time of its last change.
func (w *baseState) attributes(name string) (mode state.Digest, time int64) {
	info, err := os.Lstat(w.path(name))
	if err != nil {
		return state.Absent, 0
	}
	return modeDigest(info.Mode()), info.ModTime().UnixNano()
}

// modeDigest is Absent for the permissions that a new file or directory gets.
func modeDigest(m fs.FileMode) state.Digest {
	if m&fs.ModeSymlink != 0 || m.Perm() == usualMode(m) {
		return state.Absent
	}
	return state.Digest(fmt.Sprintf("%#o", m.Perm()))
}

func usualMode(m fs.FileMode) fs.FileMode {
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

// onDisk returns the present digest of a file.
func (w *baseState) onDisk(name string) state.Digest {
	path := w.path(name)
	info, err := os.Lstat(path)
	if err != nil {
		return state.Absent
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		if err != nil {
			return state.Absent
		}
		return state.Digest(symlink + target)
	}
	if info.IsDir() {
		return digestDir
	}
	if !info.Mode().IsRegular() {
		return digestSpecial
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := fileMemo{Size: info.Size(), Changed: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		seen.Inode, seen.Changed = st.Ino, st.Ctim.Nano()
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
	d, err := hashFile(path)
	if err != nil {
		return state.Absent
	}
	if timestampSafe {
		seen.Digest = d
		w.cache[path] = seen
		if data, err := json.Marshal(seen); err == nil {
			_ = w.store.PutMemo("file", path, data) // a cache: the next call hashes again
		}
	}
	return d
}

func hashFile(path string) (state.Digest, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return state.Digest(hex.EncodeToString(h.Sum(nil))), nil
}

// listing digests the names in a directory at the base. name may carry changes, see programState.listing:
// "out\x00a=true\x00b=false" is the directory out with a in it and without b.
func (w *baseState) listing(name string) state.Digest {
	parts := strings.Split(name, "\x00")
	dir := parts[0]
	entries, err := os.ReadDir(w.path(dir))
	if err != nil && errors.Is(err, fs.ErrNotExist) && len(parts) == 1 {
		return state.Absent
	}
	present := map[string]bool{}
	for _, e := range entries {
		if n := e.Name(); n != ".xstate" && n != "__pycache__" {
			present[n] = true
		}
	}
	for short, r := range w.records { // what the program left is not part of the base
		if filepath.Dir(short) == filepath.Clean(dir) && w.onDisk(short) == r.Left {
			present[filepath.Base(short)] = r.Base != state.Absent
		}
	}
	for _, change := range parts[1:] {
		n, there, _ := strings.Cut(change, "=")
		present[n] = there == "true"
	}
	var names []string
	for n, there := range present {
		if there {
			names = append(names, n)
		}
	}
	if r, ok := w.records[dir]; ok && r.Base == state.Absent && len(parts) == 1 && len(names) == 0 {
		return state.Absent // the program made it
	}
	slices.Sort(names)
	return w.digestText(fmt.Appendf(nil, "listing %q", names))
}

// digestText returns the digest of a text that states what a directory lists, or when a file changed. It keeps the
// text, for a replay needs it, see keepInput.
func (w *baseState) digestText(text []byte) state.Digest {
	d := state.DigestOf(text)
	w.texts[d] = text
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

func (w *baseState) variable(name string) state.Digest {
	if name == "*" {
		var lines []string
		for k, v := range w.environ {
			if !slices.Contains(ignoredVariables, k) {
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
	return environDigest(v)
}

// variables digests several variables, absent where none is set.
func (w *baseState) variables(names ...string) state.Digest {
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

func environDigest(value string) state.Digest {
	return state.DigestOf(fmt.Appendf(nil, "env %s", value))
}

// version digests the files that state the version of a package.
func (w *baseState) version(k depgraph.Key) state.Digest {
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
		fmt.Fprintf(&b, "%s %s\n", filepath.Base(p), w.onDisk(real))
	}
	return state.DigestOf([]byte(b.String()))
}

// learn takes from a trace which files state the versions of packages. A file elsewhere than before counts as moved:
// the planner gives up then.
func (w *baseState) learn(paths map[depgraph.Key]string) {
	for k, p := range paths {
		if was := w.versionFiles[k]; was != p {
			if was != "" {
				w.moved++
			}
			w.versionFiles[k] = p
			delete(w.base, k)
		}
	}
}
