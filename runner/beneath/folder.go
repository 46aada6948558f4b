package beneath

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Folder is a folder that is held by its descriptor. Its methods may be called at the same time.
type Folder struct {
	file *os.File // closed by Close, or when the Folder is collected
	path string
}

// Open opens a folder. Its own path may lead over links: it is the caller's, not the program's.
func Open(path string) (*Folder, error) {
	if err := fails("open folder", path); err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f, err := os.OpenFile(path, folderFlags|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return &Folder{f, path}, nil
}

// System is the folder that holds all others. Of files that lie nowhere near a workspace, the path from there is the
// name: what a program wrote elsewhere is restored with it, and no link is followed there either.
var System = sync.OnceValues(func() (*Folder, error) { return Open("/") })

// Exactly returns where a file is reached by a path on which no link is followed: the system's folder, and the name
// there.
func Exactly(path string) (*Folder, string, error) {
	system, err := System()
	if err == nil && !filepath.IsAbs(path) {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrName}
	}
	return system, strings.TrimPrefix(filepath.Clean(path), "/"), err
}

// Path returns the path by which the folder was opened.
func (f *Folder) Path() string { return f.path }

// Close gives the folder up.
func (f *Folder) Close() error { return f.file.Close() }

// Open opens a folder in this one.
func (f *Folder) Open(name string) (*Folder, error) {
	var in *Folder
	err := f.within("open folder", name, func(dir int, base string) error {
		fd, err := retry(func() (int, error) {
			return unix.Openat(dir, base, folderFlags|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		})
		if err == nil {
			in = &Folder{os.NewFile(uintptr(fd), f.join(name)), f.join(name)}
		}
		return err
	})
	return in, err
}

// ErrName says that a name is not that of a file below a folder.
var ErrName = errors.New("the name leads out of the folder")

func (f *Folder) join(name string) string { return filepath.Join(f.path, name) }

// within calls do with the descriptor of the folder that a file lies in, and its last name there: "." for f itself.
func (f *Folder) within(op, name string, do func(dir int, base string) error) error {
	bad := func(err error) error { return &fs.PathError{Op: op, Path: f.join(name), Err: err} }
	clean := path.Clean(name)
	if !filepath.IsLocal(name) {
		return bad(ErrName)
	}
	if err := fails(op, f.join(clean)); err != nil {
		return bad(err)
	}
	raw, err := f.file.SyscallConn()
	if err != nil {
		return bad(err)
	}
	control := raw.Control(func(root uintptr) { err = f.from(int(root), clean, do) })
	switch err = errors.Join(control, err); {
	case err == nil:
		return nil
	case errors.Is(err, unix.ELOOP):
		link, target := "", ""
		_ = raw.Control(func(root uintptr) { link, target = linkOn(int(root), clean) })
		return bad(&LinkError{f.join(link), target})
	}
	return bad(unwrap(err))
}

// from calls do for a name below an open folder.
func (f *Folder) from(root int, name string, do func(dir int, base string) error) error {
	parent, base := path.Split(name)
	if parent = path.Clean(parent); parent == "." {
		return do(root, base)
	}
	dir, err := descend(root, parent)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return do(dir, base)
}

// unwrap takes the one error out of what errors.Join made.
func unwrap(err error) error {
	if all, ok := err.(interface{ Unwrap() []error }); ok && len(all.Unwrap()) == 1 {
		return all.Unwrap()[0]
	}
	return err
}
