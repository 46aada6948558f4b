package beneath

import (
	"errors"
	"io/fs"
	"path"
	"time"

	"golang.org/x/sys/unix"
)

// Remove removes a file, a link or an empty folder.
func (f *Folder) Remove(name string) error {
	return f.within("remove", name, remove)
}

func remove(dir int, base string) error {
	err := unix.Unlinkat(dir, base, 0)
	if err == nil || err == unix.ENOENT || err == unix.ENOTDIR {
		return err
	}
	if info, bad := stat(dir, base); bad != nil || !info.Mode.IsDir() {
		return err
	}
	return unix.Unlinkat(dir, base, unix.AT_REMOVEDIR)
}

// RemoveAll removes what is at a name, with all that is in it, also where a program took permissions away.
func (f *Folder) RemoveAll(name string) error {
	return f.within("remove all", name, removeAll)
}

func removeAll(dir int, base string) error {
	err := remove(dir, base)
	if err == nil || err == unix.ENOENT {
		return nil
	}
	if info, bad := stat(dir, base); bad != nil || !info.Mode.IsDir() {
		return err
	}
	_ = chmod(dir, base, 0o700) // or what follows fails
	names, err := list(dir, base)
	if err != nil {
		return err
	}
	in, err := descend(dir, base)
	if err != nil {
		return err
	}
	defer unix.Close(in)
	for _, name := range names {
		err = errors.Join(err, removeAll(in, name))
	}
	if err != nil {
		return err
	}
	return remove(dir, base)
}

// Mkdir makes a folder.
func (f *Folder) Mkdir(name string, mode fs.FileMode) error {
	return f.within("mkdir", name, func(dir int, base string) error {
		return unix.Mkdirat(dir, base, systemMode(mode))
	})
}

// MkdirAll makes a folder, and those above it, as far as there is none.
func (f *Folder) MkdirAll(name string, mode fs.FileMode) error {
	if name = path.Clean(name); name == "." {
		return nil
	}
	var link *LinkError
	info, err := f.Info(name)
	switch {
	case err == nil && info.Mode.IsDir():
		return nil
	case err == nil && info.Link():
		return f.within("mkdir", name+"/.", func(int, string) error { return unix.ELOOP })
	case err == nil:
		return &fs.PathError{Op: "mkdir", Path: f.join(name), Err: unix.ENOTDIR}
	case !errors.Is(err, fs.ErrNotExist) || errors.As(err, &link):
		return err
	}
	if err := f.MkdirAll(path.Dir(name), mode); err != nil {
		return err
	}
	if err := f.Mkdir(name, mode); !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, err := f.Info(name); err != nil || info.Mode.IsDir() {
		return err
	}
	return &fs.PathError{Op: "mkdir", Path: f.join(name), Err: unix.ENOTDIR}
}

// Symlink makes a symbolic link where nothing is. Its target is a text: nothing follows it.
func (f *Folder) Symlink(target, name string) error {
	return f.within("symlink", name, func(dir int, base string) error { return unix.Symlinkat(target, dir, base) })
}

// Link gives a file another name, where nothing is.
func (f *Folder) Link(old, name string) error {
	return f.within("link", old, func(dir int, base string) error {
		return f.within("link", name, func(to int, toBase string) error {
			return unix.Linkat(dir, base, to, toBase, 0)
		})
	})
}

// Rename gives a file another name, in place of what is there.
func (f *Folder) Rename(old, name string) error {
	return Move(f, old, f, name)
}

// Move moves a file from one folder to another, in place of what is there. Both lie in one file system.
func Move(from *Folder, old string, to *Folder, name string) error {
	return from.within("rename", old, func(dir int, base string) error {
		return to.within("rename", name, func(toDir int, toBase string) error {
			return unix.Renameat(dir, base, toDir, toBase)
		})
	})
}

// Chmod sets the permissions of a file or folder. A link has none: it is a LinkError.
func (f *Folder) Chmod(name string, mode fs.FileMode) error {
	return f.within("chmod", name, func(dir int, base string) error {
		if err := chmod(dir, base, systemMode(mode)); err != unix.EOPNOTSUPP {
			return err
		}
		return unix.ELOOP // a link
	})
}

// SetTime sets the time at which a file, or link, was last changed. The time of its last use stays.
func (f *Folder) SetTime(name string, at time.Time) error {
	return f.within("set time", name, func(dir int, base string) error {
		return setTime(dir, base, at)
	})
}

func setTime(dir int, base string, at time.Time) error {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	changed, err := unix.TimeToTimespec(at)
	if err != nil {
		return err
	}
	return unix.UtimesNanoAt(dir, base, []unix.Timespec{st.Atim, changed}, unix.AT_SYMLINK_NOFOLLOW)
}

// WithAccess does something with a file, also where a program has taken the permission for it from its own user: to
// read the file, or to change its folder. The permissions are put back.
func (f *Folder) WithAccess(name string, do func() error) error {
	err := do()
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	for _, name := range []string{path.Dir(name), name} { // the folder first: else the file in it is not found
		info, err := f.Info(name)
		if err != nil || info.Link() {
			continue
		}
		if f.Chmod(name, info.Mode|0o700) == nil {
			defer f.Chmod(name, info.Mode)
		}
	}
	return do()
}
