package beneath

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// ErrNotRegular reports that a name is not a regular file.
var ErrNotRegular = errors.New("it is not a regular file")

// Info returns what is at a name.
func (f *Folder) Info(name string) (*Info, error) {
	var info *Info
	err := f.within("lstat", name, func(dir int, base string) (err error) {
		info, err = stat(dir, base)
		return err
	})
	return info, err
}

func stat(dir int, base string) (*Info, error) {
	var st unix.Stat_t
	_, err := retry(func() (struct{}, error) {
		return struct{}{}, unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	if err != nil {
		return nil, err
	}
	return infoOf(&st), nil
}

// Described returns what an open file is.
func Described(file *os.File) (*Info, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	control := raw.Control(func(fd uintptr) { err = unix.Fstat(int(fd), &st) })
	if err = errors.Join(control, err); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: file.Name(), Err: unwrap(err)}
	}
	return infoOf(&st), nil
}

// Readlink returns the target of a symbolic link.
func (f *Folder) Readlink(name string) (target string, err error) {
	err = f.within("readlink", name, func(dir int, base string) (err error) {
		target, err = readlink(dir, base)
		return err
	})
	return target, err
}

// File opens a regular file to be read.
func (f *Folder) File(name string) (*os.File, error) {
	file, _, err := f.regular("open", name, unix.O_RDONLY, 0)
	return file, err
}

// regular opens a regular file.
func (f *Folder) regular(op, name string, flags int, mode uint32) (file *os.File, info *Info, err error) {
	err = f.within(op, name, func(dir int, base string) (err error) {
		file, info, err = openRegular(dir, base, f.join(name), flags, mode)
		return err
	})
	return file, info, err
}

// openRegular opens a regular file in a folder. It looks before: to open another file may have an effect.
func openRegular(dir int, base, path string, flags int, mode uint32) (*os.File, *Info, error) {
	info, err := stat(dir, base)
	switch {
	case err == nil && info.Link():
		return nil, nil, unix.ELOOP
	case err == nil && !info.Regular():
		return nil, nil, ErrNotRegular
	case err != nil && (flags&unix.O_CREAT == 0 || err != unix.ENOENT):
		return nil, nil, err
	}
	flags |= unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := retry(func() (int, error) { return unix.Openat(dir, base, flags, mode) })
	if err != nil {
		return nil, nil, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		if info = infoOf(&st); !info.Regular() {
			err = ErrNotRegular
		}
	}
	if err == nil {
		err = unix.SetNonblock(fd, false)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, nil, err
	}
	return os.NewFile(uintptr(fd), path), info, nil
}

// ReadFile returns the content of a regular file.
func (f *Folder) ReadFile(name string) ([]byte, error) {
	file, err := f.File(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

// Names returns what a folder lists, sorted.
func (f *Folder) Names(name string) ([]string, error) {
	var names []string
	err := f.within("readdir", name, func(dir int, base string) (err error) {
		names, err = list(dir, base)
		return err
	})
	return names, err
}

func list(dir int, base string) ([]string, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(dir, base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err == unix.ENOTDIR {
		if info, bad := stat(dir, base); bad == nil && info.Link() {
			err = unix.ELOOP
		}
	}
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), base)
	defer file.Close()
	names, err := file.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// Walk calls do with the names below the folder, each folder before what is in it, in order. It calls do with an error
// where a folder cannot be listed. do may return fs.SkipDir and fs.SkipAll, as in fs.WalkDir. Files that are deleted
// meanwhile are left out.
func (f *Folder) Walk(do func(name string, info *Info, err error) error) error {
	err := f.walk(".", do)
	if err == fs.SkipAll {
		return nil
	}
	return err
}

func (f *Folder) walk(folder string, do func(name string, info *Info, err error) error) error {
	names, err := f.Names(folder)
	if err != nil {
		if folder != "." && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err = do(folder, nil, err); err == fs.SkipDir {
			return nil
		}
		return err
	}
	for _, name := range names {
		if folder != "." {
			name = folder + "/" + name
		}
		info, err := f.Info(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		err = do(name, info, err)
		if err == nil && info != nil && info.Mode.IsDir() {
			err = f.walk(name, do)
		}
		if err != nil && err != fs.SkipDir {
			return err
		}
	}
	return nil
}
