package kernel

import (
	"os"
	"path/filepath"

	"github.com/xstate-engine/xstate/runner/beneath"
)

// A program may write in the spool of its kernel, as its kernel does. It may put a link there, or in the place of a
// folder there, for the engine to follow. So the engine reaches all files of a spool by paths on which it follows none:
// the path of a spool has none.

// ReadSpooled returns the content of a file of a spool.
func ReadSpooled(path string) ([]byte, error) {
	in, name, err := beneath.Exactly(path)
	if err != nil {
		return nil, err
	}
	return in.ReadFile(name)
}

// WriteSpooled makes a file of a spool.
func WriteSpooled(path string, data []byte) error {
	in, name, err := beneath.Exactly(path)
	if err != nil {
		return err
	}
	return in.WriteFile(name, data)
}

// EditSpooled opens a file of a spool to be read and written.
func EditSpooled(path string) (*os.File, error) {
	in, name, err := beneath.Exactly(path)
	if err != nil {
		return nil, err
	}
	return in.Edit(name)
}

// SpoolIn makes a folder in a spool, and returns its path.
func SpoolIn(spool, name string) (string, error) {
	path := filepath.Join(spool, name)
	in, name, err := beneath.Exactly(path)
	if err != nil {
		return "", err
	}
	return path, in.MkdirAll(name, 0o700)
}
