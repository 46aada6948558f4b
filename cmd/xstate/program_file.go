package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
)

// source is a program's file, read.
type source struct {
	caller
	name string // as the user wrote it
	path string // absolute
	data []byte

	program *patch.Program // what data holds, with run --write
}

// blocks parses the file.
func (s *source) blocks() ([]patch.Block, error) {
	p, err := patch.Parse(s.name, s.data)
	if err != nil {
		return nil, err
	}
	return p.Blocks, nil
}

// readSource reads a program's file.
func (c caller) readSource(name string) (*source, error) {
	path, err := c.abs(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &state.Error{Code: api.CodeNoFile, Message: "there is no file " + name, Hint: similar(path)}
	case err != nil:
		return nil, &state.Error{
			Code:    api.CodeUnreadable,
			Message: fmt.Sprintf("%s cannot be read: %v", name, reason(err)),
			Hint:    "check the path and its permissions",
			Err:     err,
		}
	case info.IsDir():
		return nil, &state.Error{Code: api.CodeNotAFile, Message: name + " is a directory",
			Hint: programsIn(path, name)}
	case !info.Mode().IsRegular() && (info.Mode()&fs.ModeNamedPipe == 0 || writtenInBounds(path) != ""):
		return nil, &state.Error{
			Code:    api.CodeNotAFile,
			Message: name + " is not a regular file",
			Hint:    "name a program: " + patch.FileKinds(),
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &state.Error{
			Code:    api.CodeUnreadable,
			Message: fmt.Sprintf("%s cannot be read: %v", name, reason(err)),
			Hint:    "check the permissions of the file",
			Err:     err,
		}
	}
	return &source{caller: c, name: name, path: path, data: data}, nil
}

// sourceOf is readSource with what the file would hold, if contents is not nil. There need be no such file then.
func (c caller) sourceOf(name string, contents *string) (*source, error) {
	if contents == nil {
		return c.readSource(name)
	}
	path, err := c.abs(name)
	return &source{caller: c, name: name, path: path, data: []byte(*contents)}, err
}

// reason is what the system says, without the path that the message names already.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// similar hints at files whose names begin or end like that of the one that is not there.
func similar(path string) string {
	base := filepath.Base(path)
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	var near []string
	for _, n := range programs(filepath.Dir(path)) {
		if strings.EqualFold(n, base) || strings.TrimSuffix(n, filepath.Ext(n)) == stem || strings.HasPrefix(n, stem) ||
			len(n) > len("ab.py") && strings.HasPrefix(stem, strings.TrimSuffix(n, filepath.Ext(n))) {
			near = append(near, n)
		}
	}
	if len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "check the path; `xstate run FILE` takes " + patch.FileKinds()
}

func programsIn(path, name string) string {
	found := programs(path)
	if len(found) == 0 {
		return "name a program: " + patch.FileKinds()
	}
	if len(found) > 5 {
		found = append(found[:5], "…")
	}
	return "name a program in it: " + strings.Join(found, ", ")
}

func programs(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		if !e.IsDir() && slices.Contains(programKinds, filepath.Ext(e.Name())) {
			found = append(found, e.Name())
		}
	}
	return found
}

// programKinds are the endings of files that are programs.
var programKinds = api.ProgramKinds

// isSource reports whether a file is a program in nothing but source code, which its language could run by itself.
func isSource(file string) bool {
	_, ok := patch.FileDialect(file, nil)
	return ok
}

// isProgram reports whether there is such a file, and it is one of a program.
func (c caller) isProgram(name string) bool {
	info, err := c.stat(name)
	return err == nil && info.Mode().IsRegular() && slices.Contains(programKinds, filepath.Ext(name))
}

// unedited refuses to overwrite a file that has changed since it was read.
func (c caller) unedited(path string, was []byte, hint string) error {
	if now, err := os.ReadFile(path); err == nil && bytes.Equal(now, was) {
		return nil
	}
	return &xstate.Error{
		Code:    xstate.CodeUnrecorded,
		Message: c.fromHere(path) + " was changed in the meantime",
		Hint:    hint,
	}
}
