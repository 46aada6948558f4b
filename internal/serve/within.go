package serve

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/xstate-engine/xstate/internal/parents"
)

// Within reports whether a path is a folder or lies in it, also where links lead. Both are absolute. What is not there
// yet has no links. Who may execute code in a folder may make links there, so names alone do not tell.
func Within(folder, path string) bool {
	top, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false
	}
	for at := range parents.Up(path) {
		if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		found, err := filepath.EvalSymlinks(at)
		return err == nil && parents.Below(top, filepath.Join(found, parents.Below(at, filepath.Clean(path)))) != ""
	}
	return false
}
