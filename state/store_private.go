package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A store has what a program printed, read and wrote: also of files that only their owner may read. So it is this
// user's alone. The folder keeps others from all that is in it, whatever the permissions below are; those of the
// store's own files say the same, for copies and backups of them.
const (
	folderMode fs.FileMode = 0o700
	fileMode   fs.FileMode = 0o600
	blobMode   fs.FileMode = 0o400 // against tools that edit every file below a folder
	others     fs.FileMode = 0o077 // permissions that other users never get
)

// privateFolder holds copies of workspaces, see package private. Their permissions are the program's.
const privateFolder = "private"

// keepPrivate takes the permissions of others from a store: from all that is in the folder where others may open it, as
// in one that an earlier version made, else from these files.
func keepPrivate(dir string, files []string, note func(format string, args ...any)) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	store, err := os.OpenRoot(dir) // a bounded program writes in some of its folders: no link leads out of it
	if err != nil {
		return err
	}
	defer store.Close()
	take := func(name string, info fs.FileInfo) error {
		err := store.Chmod(name, info.Mode().Perm()&^others)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS): // only their owner can
			note("other users may read %s, and this user may not change that", filepath.Join(dir, name))
			return nil
		}
		return err
	}
	if info.Mode()&others != 0 {
		if err := take(".", info); err != nil {
			return err
		}
		return closeAll(store, take)
	}
	for _, name := range files {
		if info, err := store.Lstat(name); err == nil && info.Mode()&others != 0 {
			if err := take(name, info); err != nil {
				return err
			}
		}
	}
	return nil
}

// closeAll calls take for all that others may use in the store.
func closeAll(store *os.Root, take func(name string, info fs.FileInfo) error) error {
	return fs.WalkDir(store.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another process collects
		}
		if err != nil {
			return err
		}
		if name == privateFolder {
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil || info.Mode()&others == 0 || !info.IsDir() && !info.Mode().IsRegular() {
			return nil
		}
		return take(name, info)
	})
}
