package basestate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/state"
)

// The names of files in keys are canonical: the kernel has followed the links of a path, and counts these links as
// read. So the path of such a file has no link, unless one was made since then. The engine does not follow it. A
// program that made it may have the engine read, write and delete files for it that it may not touch itself.
//
//   - If the program made the link, as it was recorded, no file has that name: the link replaced its folder.
//   - Otherwise a user made the link, as for a folder of data that moved to another disk. The file then has another
//     digest (Behind). So a node that read it, or wrote it, executes again, and follows the link itself.

// Digests of what is not a regular file.
const (
	Directory state.Digest = "directory"
	Special   state.Digest = "special"
	// Unreadable is the digest of what could not be looked at. No node has the same result for it.
	Unreadable state.Digest = "unreadable"
)

// Prefixes of the digests of links.
const (
	Symlink = "symlink:" // its target follows
	Behind  = "behind:"  // a link that is on the way to the file follows, and its target
)

// IsFile reports whether a digest is that of a regular file. Its content is a blob.
func IsFile(d state.Digest) bool {
	return d != state.Absent && d != Directory && d != Special && d != Unreadable &&
		!strings.HasPrefix(string(d), Symlink) && !IsBehind(d)
}

// IsBehind reports whether a digest is that of a file with a link on the way to it.
func IsBehind(d state.Digest) bool { return strings.HasPrefix(string(d), Behind) }

// Place returns the folder that is held for a file, and the name of the file in it. A file outside of the workspace is
// reached from the root, in the same way.
func (w *State) Place(name string) (*beneath.Folder, string, error) {
	if filepath.IsAbs(name) {
		return beneath.Exactly(name)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.folder == nil {
		folder, err := beneath.Open(w.workspace)
		if err != nil {
			return nil, "", fmt.Errorf("open the workspace: %w", err)
		}
		w.folder = folder
	}
	return w.folder, name, nil
}

// Info returns what is on disk at a name.
func (w *State) Info(name string) (*beneath.Info, error) {
	if w.elsewhere(name) {
		return beneath.Look(name)
	}
	folder, in, err := w.Place(name)
	if err != nil {
		return nil, err
	}
	return folder.Info(in)
}

// elsewhere reports whether a file belongs to the system, a library or the user, outside of the workspace. Its path may
// lead over links: the engine only compares it.
func (w *State) elsewhere(name string) bool {
	_, recorded := w.records[name]
	return filepath.IsAbs(name) && !recorded
}

// Stat returns what is on disk at a name, nil if there is nothing. If the system reports an error, it is nil as well,
// see Failure.
func (w *State) Stat(name string) *beneath.Info {
	info, err := w.Info(name)
	if err == nil {
		return info
	}
	if _, err := w.without(err); err != nil {
		w.failed(err)
	}
	return nil
}

// Attributes returns the permissions of a file, and the time of its last change. See Stat.
func (w *State) Attributes(name string) (mode state.Digest, time int64) {
	info := w.Stat(name)
	if info == nil {
		return state.Absent, 0
	}
	return ModeDigest(info.Mode), info.Time.UnixNano()
}

// Failure returns the first error of a look at a file since Begin. The state of that file is unknown: a caller must
// record nothing that follows from it.
func (w *State) Failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure == nil {
		return nil
	}
	return fmt.Errorf("look at the files of the program: %w", w.failure)
}

func (w *State) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure == nil {
		w.failure = err
	}
}

// OnDisk returns the present digest of a file, Unreadable where Look fails. See Failure.
func (w *State) OnDisk(name string) state.Digest {
	d, err := w.Look(name)
	if err != nil {
		w.failed(err)
		return Unreadable
	}
	return d
}

// Look returns the present digest of a file. It fails if the system reports an error: then it is unknown whether the
// file exists. A file that may not be read counts as absent, as it does to the program.
func (w *State) Look(name string) (state.Digest, error) {
	info, err := w.Info(name)
	if err == nil {
		switch {
		case info.Link():
			return w.target(name)
		case info.Mode.IsDir():
			return Directory, nil
		case !info.Regular():
			return Special, nil
		}
		return w.content(name, info)
	}
	return w.without(err)
}

// without returns the digest of a file that an operation did not find.
func (w *State) without(err error) (state.Digest, error) {
	var link *beneath.LinkError
	switch {
	case errors.As(err, &link):
		short := w.Short(link.Path)
		if r, ok := w.records[short]; ok && r.Left == state.Digest(Symlink+link.Target) && r.Base != r.Left {
			return state.Absent, nil
		}
		return state.Digest(fmt.Sprintf("%s%q %q", Behind, short, link.Target)), nil
	case errors.Is(err, beneath.ErrNotRegular):
		return Special, nil
	}
	for _, absent := range []error{fs.ErrNotExist, fs.ErrPermission, syscall.ENOTDIR, syscall.ELOOP,
		syscall.ENAMETOOLONG, syscall.EINVAL, beneath.ErrName} {
		if errors.Is(err, absent) {
			return state.Absent, nil
		}
	}
	return Unreadable, err
}

func (w *State) target(name string) (state.Digest, error) {
	read := func() (string, error) { return beneath.Target(name) }
	if !w.elsewhere(name) {
		folder, in, err := w.Place(name)
		if err != nil {
			return Unreadable, err
		}
		read = func() (string, error) { return folder.Readlink(in) }
	}
	target, err := read()
	if err != nil {
		return w.without(err)
	}
	return state.Digest(Symlink + target), nil
}

// content returns the digest of a regular file, from memory if it is the one that was hashed.
func (w *State) content(name string, info *beneath.Info) (state.Digest, error) {
	path := w.Path(name)
	seen := fileMemo{Size: info.Size, Changed: info.Changed, Inode: info.Inode}
	same := func(m fileMemo) bool {
		return m.Size == seen.Size && m.Changed == seen.Changed && m.Inode == seen.Inode
	}
	w.mu.Lock()
	m, ok := w.cache[path]
	w.mu.Unlock()
	if ok && same(m) {
		return m.Digest, nil
	}
	// a write in the same tick of the clock would go unseen
	timestampSafe := !w.anew && time.Since(time.Unix(0, seen.Changed)) > 2*time.Second
	if data, ok := w.store.Memo("file", path); ok && timestampSafe {
		var m fileMemo
		if json.Unmarshal(data, &m) == nil && same(m) {
			w.remember(path, m)
			return m.Digest, nil
		}
	}
	ref, err := w.hash(name)
	if err != nil {
		return w.without(err)
	}
	if timestampSafe {
		seen.Digest = ref.Digest
		w.remember(path, seen)
		if data, err := json.Marshal(seen); err == nil {
			_ = w.store.PutMemo("file", path, data) // a cache: the next call hashes again
		}
	}
	return ref.Digest, nil
}

func (w *State) remember(path string, m fileMemo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cache[path] = m
}

func (w *State) hash(name string) (ref state.BlobRef, err error) {
	if w.elsewhere(name) {
		file, err := beneath.Read(name)
		if err != nil {
			return ref, err
		}
		defer file.Close()
		return state.RefOf(file)
	}
	folder, in, err := w.Place(name)
	if err != nil {
		return ref, err
	}
	hash := func() error {
		file, err := folder.File(in)
		if err != nil {
			return err
		}
		defer file.Close()
		ref, err = state.RefOf(file)
		return err
	}
	if _, recorded := w.records[name]; recorded {
		return ref, folder.WithAccess(in, hash)
	}
	return ref, hash()
}

// names returns what a folder on disk lists.
func (w *State) names(name string) ([]string, error) {
	if w.elsewhere(name) {
		return beneath.List(name)
	}
	folder, in, err := w.Place(name)
	if err != nil {
		return nil, err
	}
	return folder.Names(in)
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
		return 0o777 &^ beneath.Umask()
	}
	return 0o666 &^ beneath.Umask()
}
