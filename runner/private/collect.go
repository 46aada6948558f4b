package private

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/state"
)

// Remove removes the view of a session, whose history stays, and returns its size. Nothing may run there. With keep, it
// removes nothing.
func (v *View) Remove(ctx context.Context, keep bool) (bytes int64, err error) {
	lock, err := v.store.LockRun(ctx, v.Session, v.Folder)
	if err != nil {
		return 0, err
	}
	defer lock.Release()
	if bytes = sizeOf(v.home); keep {
		return bytes, nil
	}
	return bytes, failed("remove the private folder of "+v.Session, removeAll(v.home))
}

// Abandoned returns the folders of views that killed processes left behind, and their size. It removes them, unless
// keep is set.
func Abandoned(ctx context.Context, store *state.Store, keep bool) (count int, bytes int64, err error) {
	all, err := store.Sessions(ctx)
	if err != nil {
		return 0, 0, err
	}
	used := map[string]bool{}
	for _, s := range all {
		used[homeOf(store, s.Workspace)] = true
	}
	views := filepath.Join(store.Dir(), folderName)
	entries, err := os.ReadDir(views)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, 0, failed("look at the private folders", err)
	}
	for _, e := range entries {
		path := filepath.Join(views, e.Name())
		if used[path] {
			continue
		}
		lock, free, err := state.LockFolder(path)
		if err != nil || !free {
			continue // it is being made
		}
		count, bytes = count+1, bytes+sizeOf(path)
		if !keep {
			err = removeAll(path)
		}
		if err := errors.Join(err, lock.Release()); err != nil {
			return count, bytes, failed("remove what is left of a private folder", err)
		}
	}
	return count, bytes, nil
}

// sizeOf returns the number of bytes of the files in a folder.
func sizeOf(root string) (bytes int64) {
	in, err := beneath.Open(root)
	if err != nil {
		return 0
	}
	defer in.Close()
	_ = in.Walk(func(_ string, info *beneath.Info, err error) error {
		if err == nil && info.Regular() {
			bytes += info.Size
		}
		return nil
	})
	return bytes
}
