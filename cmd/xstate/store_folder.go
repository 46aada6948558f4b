package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner/private"
	"github.com/xstate-engine/xstate/state"
)

// storeDir returns the store for files in folder, and whether it is there.
func (a *app) storeDir(folder string) (dir string, found bool, err error) {
	if a.store == "" {
		if dir, ok := xstate.FindStore(folder); ok {
			return dir, true, nil
		}
		return filepath.Join(folder, xstate.StoreName), false, nil
	}
	dir, err = a.abs(a.store)
	if err != nil {
		return "", false, err
	}
	if isStore(dir) {
		return dir, true, nil
	}
	if inner := filepath.Join(dir, xstate.StoreName); isStore(inner) ||
		filepath.Base(dir) != xstate.StoreName && !emptyOrMissing(dir) {
		return inner, isStore(inner), nil // a folder with other things in it: the store goes below
	}
	return dir, false, nil
}

func isStore(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "history.db"))
	return err == nil
}

func emptyOrMissing(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err != nil || len(entries) == 0
}

// sessionName names the session of a file: by its path from the folder that holds the store, as a path with slashes.
func sessionName(storeDir, path string) string {
	return filepath.ToSlash(cmp.Or(parents.Below(filepath.Dir(storeDir), path), path))
}

// sessionFile is the inverse of sessionName.
func sessionFile(storeDir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(storeDir), filepath.FromSlash(name))
}

// fileOf returns the file of a session. That of a private one lies in its folder.
func fileOf(ctx context.Context, store *xstate.Store, name string) (string, error) {
	v, err := private.Of(ctx, store.State(), name)
	if err != nil && state.CodeOf(err) != state.CodeNoSession {
		return "", err
	}
	if v == nil {
		return sessionFile(store.State().Dir(), name), nil
	}
	return v.In(sessionFile(store.State().Dir(), v.Parent)), nil
}

// runName names the session of a run: as asked, else the one in whose private folder the file lies, else by the file.
func (a *app) runName(ctx context.Context, store *xstate.Store, src *source) (string, error) {
	if a.session != "" {
		return a.session, nil
	}
	name, err := private.Holding(ctx, store.State(), src.path)
	return cmp.Or(name, sessionName(store.State().Dir(), src.path)), err
}
