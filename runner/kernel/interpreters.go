package kernel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/state"
	"golang.org/x/sys/unix"
)

// CodeChanged is the code of errors about an interpreter that a program in bounds may have made or replaced.
const CodeChanged state.Code = "interpreter-changed"

// Interpreters remembers, for one store, the folders that programs in bounds may write, and the interpreters there. A
// program in bounds must not choose what the engine starts, perhaps in a later run without bounds. So an interpreter in
// such a folder is used if the user names it, or if it was there before the first program in bounds and is the same.
//
// Each record is a separate file: two processes that write at once lose nothing.
type Interpreters struct {
	folder string // for the records, which no program in bounds can write
	fixed  bool   // nothing is recorded
}

// InterpretersOf returns what a store remembers, by the folder of the store. Where that is only read, nothing is
// recorded.
func InterpretersOf(store string, readOnly bool) *Interpreters {
	return &Interpreters{filepath.Join(store, "interpreters"), readOnly}
}

// executable is what an interpreter's file was.
type executable struct {
	Path    string       `json:"path"`
	Real    string       `json:"real"` // without symbolic links
	Inode   uint64       `json:"inode"`
	Changed int64        `json:"changed"` // the inode's, nanoseconds: it cannot be set without privileges
	Digest  state.Digest `json:"digest,omitempty"`
}

// fileNow returns what is at a path; without the digest.
func fileNow(path string) executable {
	now := executable{Path: path}
	var err error
	if now.Real, err = filepath.EvalSymlinks(path); err != nil {
		return now
	}
	var st unix.Stat_t
	if unix.Stat(now.Real, &st) == nil {
		now.Inode, now.Changed = st.Ino, st.Ctim.Nano()
	}
	return now
}

// Bound notes that a program in bounds may write some folders. Interpreters that lie there now, among those at paths,
// are remembered: what is there before the first such program, the user put there.
func (r *Interpreters) Bound(folders, paths []string) error {
	if r.fixed {
		return nil
	}
	bounded, err := r.bounded()
	if err != nil {
		return err
	}
	var added []string
	for _, folder := range folders {
		if !parents.AnyHolds(bounded, folder) {
			added = append(added, folder)
		}
	}
	for _, path := range paths {
		if lies(path, added) && !lies(path, bounded) {
			if err := r.keep(path, added); err != nil {
				return err
			}
		}
	}
	for _, folder := range added { // last: a folder that is noted has its interpreters noted
		if err := r.write("bounded", folder, []byte(folder)); err != nil {
			return err
		}
	}
	return nil
}

// Check returns an error if a program in bounds may have made or replaced the interpreter at a path. One that the user
// names is remembered as it is now. Hint says how it is named.
func (r *Interpreters) Check(path string, named bool, hint string) error {
	bounded, err := r.bounded()
	if err != nil || !lies(path, bounded) {
		return err
	}
	now := fileNow(path)
	if now.Inode == 0 {
		return nil // it is not there, and its language says so
	}
	if named {
		return r.keep(path, bounded)
	}
	was, known := r.known(path)
	if known && was == (executable{path, now.Real, now.Inode, now.Changed, was.Digest}) {
		return nil
	}
	refused := &state.Error{Code: CodeChanged, Hint: "if it is yours, name it once: " + hint}
	switch {
	case !known:
		refused.Message = fmt.Sprintf("the interpreter %s appeared after a program in bounds could write there", path)
		return refused
	case was.Real == now.Real && was.Digest == digestWithin(now.Real, bounded):
		return r.keep(path, bounded)
	}
	refused.Message = fmt.Sprintf("the interpreter %s has changed since a program in bounds can write there", path)
	return refused
}

// Written returns the folder in which a path lies and that programs in bounds may write; "": there is none.
func (r *Interpreters) Written(path string) string {
	bounded, _ := r.bounded()
	for _, folder := range bounded {
		if parents.Holds(folder, path) {
			return folder
		}
	}
	return ""
}

// keep records what is at a path. The file has a digest if it lies in one of the folders itself, not only a link to it.
func (r *Interpreters) keep(path string, folders []string) error {
	if r.fixed {
		return nil
	}
	now := fileNow(path)
	if now.Inode == 0 {
		return nil
	}
	now.Digest = digestWithin(now.Real, folders)
	data, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return r.write("known", path, data)
}

func digestWithin(real string, folders []string) state.Digest {
	if !parents.AnyHolds(folders, real) {
		return ""
	}
	f, err := beneath.Read(real) // not a pipe, which would block
	if err != nil {
		return state.Absent
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return state.Absent
	}
	return state.DigestOf(data)
}

func (r *Interpreters) known(path string) (was executable, ok bool) {
	data, err := os.ReadFile(r.record("known", path))
	return was, err == nil && json.Unmarshal(data, &was) == nil
}

// bounded returns the folders that programs in bounds may write.
func (r *Interpreters) bounded() (folders []string, err error) {
	entries, err := os.ReadDir(r.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "bounded-") && !strings.HasSuffix(e.Name(), ".new") {
			data, bad := os.ReadFile(filepath.Join(r.folder, e.Name()))
			if bad != nil {
				err = bad
			}
			folders = append(folders, string(data))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read which folders programs in bounds may write: %w", err)
	}
	return folders, nil
}

func (r *Interpreters) record(kind, of string) string {
	return filepath.Join(r.folder, kind+"-"+string(state.DigestOf([]byte(of))[:16]))
}

func (r *Interpreters) write(kind, of string, data []byte) error {
	path := r.record(kind, of)
	if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, data) {
		return nil
	}
	if err := os.MkdirAll(r.folder, 0o700); err != nil {
		return fmt.Errorf("remember interpreters: %w", err)
	}
	if err := keep(path, data, 0o600); err != nil {
		return fmt.Errorf("remember interpreters: %w", err)
	}
	return nil
}

// lies reports whether a path lies in one of the folders, by its name or by where its folder really is.
func lies(path string, folders []string) bool {
	if parents.AnyHolds(folders, path) {
		return true
	}
	real, err := filepath.EvalSymlinks(filepath.Dir(path))
	return err == nil && parents.AnyHolds(folders, filepath.Join(real, filepath.Base(path)))
}
