package serve

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/xstate-engine/xstate/internal/parents"
)

// notThere are the errors of a path at which there is nothing, and perhaps cannot be.
var notThere = []error{fs.ErrNotExist, syscall.ENAMETOOLONG, syscall.EINVAL, syscall.ENOTDIR}

// Within reports whether a path is a folder or lies in it, also where links lead. Both are absolute. A missing path has
// no links. Code that is executed in a folder may make links there, so names alone do not suffice.
func Within(folder, path string) bool {
	top, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false
	}
	for at := range parents.Up(path) {
		if _, err := os.Lstat(at); slices.ContainsFunc(notThere, func(n error) bool { return errors.Is(err, n) }) {
			continue
		}
		found, err := filepath.EvalSymlinks(at)
		return err == nil && parents.Below(top, filepath.Join(found, parents.Below(at, filepath.Clean(path)))) != ""
	}
	return false
}
