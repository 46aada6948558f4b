package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// writeFile makes a file hold data, at once or not at all. A symbolic link stays one. Where a program in bounds may
// have made it, it is not followed.
func writeFile(path string, data []byte) error {
	if folder := writtenInBounds(path); folder != "" {
		return writeText(folder, path, data)
	}
	path = realPath(path)
	mode := fs.FileMode(0o666)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	// a unique name: another process may write the same file now
	f, err := os.OpenFile(fmt.Sprintf("%s.%x.xstate-tmp", path, rand.Uint64()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return unwritten(path, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return unwritten(path, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// writtenInBounds returns the folder in which a path lies and that programs in bounds may write; "": there is none.
func writtenInBounds(path string) string {
	if store, found := xstate.FindStore(filepath.Dir(path)); found {
		return kernel.InterpretersOf(store, true).Written(path)
	}
	return ""
}

// writeOut makes a file of what an export writes, at once or not at all. A program may have put a link in its place, or
// in that of a folder of the session: no link is followed there.
func writeOut(workspace, path string, fill func(io.Writer) error, private bool) error {
	in, name, err := outside(workspace, path)
	if err != nil {
		return unwritten(path, err)
	}
	defer in.Close()
	attributes := beneath.Attributes{Mode: 0o666 &^ beneath.Umask()}
	if info, err := in.Info(name); err == nil && info.Regular() {
		attributes.Mode = info.Mode.Perm()
	}
	if private {
		attributes.Mode = 0o600
	}
	err = in.Replace(name, attributes, func(c *beneath.Content) error {
		return errors.Join(fill(c), c.File().Sync())
	})
	var own *state.Error
	if errors.As(err, &own) {
		return err
	}
	if err != nil {
		return unwritten(path, err)
	}
	return nil
}

// writeText is writeOut for a text.
func writeText(workspace, path string, data []byte) error {
	return writeOut(workspace, path, func(w io.Writer) error { _, err := w.Write(data); return err }, false)
}

// outside opens the folder from which an exported file is reached without links: the session's if the file lies there,
// else the one that the user names.
func outside(workspace, path string) (*beneath.Folder, string, error) {
	folder, name := filepath.Dir(path), filepath.Base(path)
	for _, root := range []string{workspace, realPath(workspace)} {
		if rel := parents.Below(root, path); rel != "" {
			folder, name = root, rel
			break
		}
	}
	in, err := beneath.Open(folder)
	return in, name, err
}

func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// recordWith writes a file and then records the steps that say what it holds. It restores the file when they cannot be
// recorded. A process that dies in between leaves an edit that is not recorded yet, and the next run records it. The
// other way round the next run would take the old file for an edit that takes the steps back. path "" is of no file.
func recordWith[T any](path string, data []byte, record func() (T, error)) (made T, err error) {
	if path == "" {
		return record()
	}
	was, bad := os.ReadFile(path)
	if err := writeFile(path, data); err != nil {
		return made, err
	}
	if made, err = record(); err == nil {
		return made, nil
	}
	if bad != nil {
		return made, errors.Join(err, os.Remove(path))
	}
	if bad := writeFile(path, was); bad != nil {
		return made, errors.Join(err, bad)
	}
	return made, err
}

func unwritten(path string, err error) error {
	return &state.Error{
		Code:    state.CodeIO,
		Message: fmt.Sprintf("%s cannot be written", path),
		Hint:    "check the folder and the disk; `xstate export` writes the program elsewhere",
		Err:     err,
	}
}
