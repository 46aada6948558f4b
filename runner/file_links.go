package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/xstate-engine/xstate/runner/beneath"
)

// relink makes a file a second name of another.
func (e *Engine) relink(first, name string) error {
	folder, in, err := e.baseState.Place(name)
	if err != nil {
		return err
	}
	if filepath.IsAbs(first) != filepath.IsAbs(name) {
		return fmt.Errorf("%s and %s do not lie together", first, name) // no two names of one file in bounds
	}
	_, other, _ := e.baseState.Place(first)
	a, err := folder.Info(other)
	if err != nil {
		return err
	}
	if b, err := folder.Info(in); err == nil && a.Same(b) {
		return nil
	}
	if err := makeRoom(folder, in); err != nil {
		return err
	}
	return folder.Link(other, in)
}

// makeRoom removes what is in the place of a file that is to be made, unless that is a folder.
func makeRoom(folder *beneath.Folder, name string) error {
	info, err := folder.Info(name)
	if err == nil && !info.Mode.IsDir() {
		err = folder.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// tied reports whether a file is on disk one with another that the program writes.
func (e *Engine) tied(name string) bool {
	info := e.baseState.Stat(name)
	return info != nil && linked(info) && len(e.linkGroups()[name]) > 0
}

// linked reports whether a file has several names.
func linked(info *beneath.Info) bool { return info.Regular() && info.Links > 1 }

// linkGroups returns, of each file of the program's that is one with another, the name that comes first.
func (e *Engine) linkGroups() map[string]string {
	type inode struct{ dev, ino uint64 }
	groups := map[inode][]string{}
	for _, name := range slices.Sorted(maps.Keys(e.cfg.Files)) {
		if info := e.baseState.Stat(name); info != nil && linked(info) {
			i := inode{info.Device, info.Inode}
			groups[i] = append(groups[i], name)
		}
	}
	found := map[string]string{}
	for _, names := range groups {
		if len(names) > 1 {
			for _, name := range names {
				found[name] = names[0]
			}
		}
	}
	return found
}
