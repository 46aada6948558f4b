package private

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Refresh makes the view what the original is now, and gives its session the records of the files that the program of
// the original wrote. Nothing may run in either.
func (v *View) Refresh(ctx context.Context) error {
	release, err := v.Hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	c, err := v.Compare()
	if err != nil {
		return err
	}
	paths := append(c.Paths(), c.Behind...)
	for i := len(paths) - 1; i >= 0 && err == nil; i-- { // what is in a folder goes before it
		err = c.withdraw(paths[i])
	}
	if err == nil {
		err = v.linkNeighbours()
	}
	all := &copying{from: v.Original, to: v.Folder, src: c.theirs, dst: c.mine, leads: v.Folder, base: c.base}
	for i := 0; i < len(paths) && err == nil; i++ {
		err = v.renew(all, paths[i])
	}
	if err == nil {
		err = c.base.write(filepath.Join(v.home, baseName))
	}
	if err != nil {
		return failed("bring the private folder of "+v.Session+" up to date", err)
	}
	files := map[string]state.FileRecord{}
	if _, err := v.store.SessionRecord(ctx, v.Parent, query.RecordFiles, &files); err != nil {
		return err
	}
	return v.store.PutSessionRecord(ctx, v.Session, query.RecordFiles, files)
}

// withdraw removes a path of the view, unless it is a folder in both.
func (c *Comparison) withdraw(path string) error {
	theirs, err := c.theirs.Info(path)
	if err == nil && theirs.Mode.IsDir() {
		if mine, err := c.mine.Info(path); err == nil && mine.Mode.IsDir() {
			return nil
		}
	}
	return ignoreGone(c.mine.RemoveAll(path)) // bytecode may be in it
}

// renew copies a path from the original, and notes it in the base.
func (v *View) renew(all *copying, path string) error {
	info, err := all.src.Info(path)
	if isGone(err) {
		delete(all.base.Entries, path)
		return nil
	}
	if err != nil {
		return err
	}
	e, err := entryOf(all.src, path, info)
	if err != nil {
		return err
	}
	switch e.Kind {
	case folder:
		if err := errors.Join(all.dst.MkdirAll(path, 0o777), all.dst.Chmod(path, e.Mode)); err != nil {
			return err
		}
	case link:
		e.Target = redirected(e.Target, path, v.Original, v.Folder)
		if err := all.dst.Symlink(e.Target, path); err != nil {
			return err
		}
	case regular:
		made, err := all.copyFile(path)
		if made == nil || err != nil {
			return err
		}
		e = made.Is
	}
	all.base.Entries[path] = baseEntry{Is: e}
	return nil
}
