package private

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/state"
)

// kind is what there is at a path.
type kind string

const (
	nothing kind = ""
	regular kind = "file"
	folder  kind = "folder"
	link    kind = "link"
)

// entry is what is at a path, as far as it counts for a comparison.
type entry struct {
	Kind   kind
	Mode   fs.FileMode  // permissions, of files and folders
	Digest state.Digest // the digest of a file's content
	Target string       // a link's, as it is in the view
}

// signature changes when a file is written.
type signature struct {
	Size, Modified, Changed int64 // bytes; nanoseconds
	Inode                   uint64
}

// settled is how long before it was looked at a file must have been written for its times to show a later write: file
// systems count them in up to two seconds.
const settled = 2 * time.Second

// tells reports whether a file with the signature now is the one that had it at a time. To set a file's former time
// again does not go unseen, for the system's own time of change is in the signature.
func (s signature) tells(now signature, at int64) bool {
	return s == now && s != signature{} && s.Modified < at-int64(settled)
}

// signatureOf returns the signature of a file.
func signatureOf(info *beneath.Info) signature {
	return signature{Size: info.Size, Modified: info.Time.UnixNano(), Changed: info.Changed, Inode: info.Inode}
}

const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// entryOf returns what is at a path, without the digest of a file. Of what is neither file, folder nor link it is
// nothing.
func entryOf(in *beneath.Folder, path string, info *beneath.Info) (e entry, err error) {
	switch mode := info.Mode; {
	case mode.IsRegular():
		e = entry{Kind: regular, Mode: mode & modeBits}
	case mode.IsDir():
		e = entry{Kind: folder, Mode: mode & modeBits}
	case mode&fs.ModeSymlink != 0:
		e.Kind = link
		e.Target, err = in.Readlink(path)
	}
	return e, err
}

// listed is one path of a folder.
type listed struct {
	path   string // relative
	info   *beneath.Info
	closed bool // a folder whose content may not be read
}

// notCopied are folders that belong to no program: stores, and bytecode, which Python makes again.
var notCopied = []string{".xstate", "__pycache__"}

// list returns what is in a folder, each folder before what is in it, in the order of names. It leaves out notCopied,
// the store, and what is in the folders that inside refuses.
func list(in *beneath.Folder, store string, inside func(path string) bool) (all []listed, err error) {
	err = in.Walk(func(path string, info *beneath.Info, err error) error {
		switch {
		case info == nil && path != "." && errors.Is(err, fs.ErrPermission): // the second visit of a folder
			all[slices.IndexFunc(all, func(l listed) bool { return l.path == path })].closed = true
			return fs.SkipDir
		case err != nil:
			return ignoreGone(err)
		}
		full := filepath.Join(in.Path(), path)
		if info.Mode.IsDir() && (slices.Contains(notCopied, filepath.Base(path)) || full == store) {
			return fs.SkipDir
		}
		all = append(all, listed{path: path, info: info})
		if info.Mode.IsDir() && !inside(path) {
			return fs.SkipDir
		}
		return nil
	})
	return all, err
}

// isGone reports whether there is nothing at a path. A file may be where the folder was.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

func ignoreGone(err error) error {
	if isGone(err) {
		return nil
	}
	return err
}

// isEnvironment reports whether a folder is a virtual environment, whose programs name its path.
func isEnvironment(in *beneath.Folder, path string) bool {
	_, err := in.Info(filepath.Join(path, "pyvenv.cfg"))
	return err == nil
}

// redirected returns the target that a link at path has in a copy of the folder from at to: what leads into from leads
// into to, and what leaves the folder keeps its target.
func redirected(target, path, from, to string) string {
	full := target
	if !filepath.IsAbs(target) {
		if filepath.IsLocal(filepath.Join(filepath.Dir(path), target)) {
			return target
		}
		full = from + "/" + filepath.Dir(path) + "/" + target // not cleaned: a/../b is elsewhere if a is a link
	}
	if rel := parents.Below(from, filepath.Clean(full)); rel != "" {
		return strings.TrimSuffix(filepath.Join(to, rel), "/.")
	}
	return full
}
