package basestate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WithAccess does something with a file of the program's, also where the program has taken the permission for it from
// its own user: to read the file, or to change its folder. The permissions are put back.
func WithAccess(path string, do func() error) error {
	err := do()
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	for _, p := range []string{filepath.Dir(path), path} { // the folder first: else the file in it is not found
		info, err := os.Lstat(p)
		if err != nil || info.Mode()&fs.ModeSymlink != 0 {
			continue
		}
		if os.Chmod(p, info.Mode()|0o700) == nil {
			defer os.Chmod(p, info.Mode())
		}
	}
	return do()
}
