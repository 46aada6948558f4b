package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/wording"
	"github.com/xstate-engine/xstate/runner/kernel"
)

// caller is where a call of a verb comes from. Verbs use its folder and environment and never those of the process: a
// server carries out the calls of many callers.
type caller struct {
	folder  string   // the working directory; "" if it is gone
	environ []string // NAME=value
	door    wording.Door
}

// callerOf returns where a call comes from. A relative path in $XSTATE_PYTHON begins at the caller's folder, too.
func callerOf(call serve.Call, door wording.Door) caller {
	c := caller{folder: call.Folder, environ: call.Environ, door: door}
	const name = "XSTATE_PYTHON"
	python := ""
	if _ = c.pythonPath(&python).Set(c.env(name)); python != c.env(name) {
		c.environ = append(slices.Clone(c.environ), name+"="+python) // the last one counts
	}
	return c
}

// here returns the caller's working directory.
func (c caller) here() (string, error) {
	if c.folder == "" {
		return "", errors.New("the working directory is gone")
	}
	return c.folder, nil
}

// abs is filepath.Abs for the caller.
func (c caller) abs(path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	here, err := c.here()
	return filepath.Join(here, path), err
}

// path makes a path absolute for the system; "" stays.
func (c caller) path(path string) string {
	if path == "" || filepath.IsAbs(path) || c.folder == "" {
		return path
	}
	return c.folder + string(filepath.Separator) + path // not cleaned: a/../b is elsewhere if a is a link
}

// env is os.Getenv for the caller.
func (c caller) env(name string) string { return kernel.Getenv(c.environ, name) }

// fromHere is a path as people write it: from the working directory, if it lies below.
func (c caller) fromHere(path string) string {
	if c.folder == "" {
		return path
	}
	if rel := parents.Below(c.folder, path); rel != "" {
		return rel
	}
	return path
}

func (c caller) stat(path string) (os.FileInfo, error) {
	info, err := os.Stat(c.path(path))
	return info, asWritten(err, path)
}

func (c caller) readFile(path string) ([]byte, error) {
	data, err := os.ReadFile(c.path(path))
	return data, asWritten(err, path)
}

// asWritten makes an error name a path as the caller wrote it.
func asWritten(err error, path string) error {
	var named *os.PathError
	if errors.As(err, &named) {
		return &os.PathError{Op: named.Op, Path: path, Err: named.Err}
	}
	return err
}

// tempDir is os.TempDir for the caller.
func (c caller) tempDir() string {
	if dir := c.env("TMPDIR"); dir != "" {
		return c.path(dir)
	}
	return os.TempDir()
}

// cacheDir is os.UserCacheDir for the caller.
func (c caller) cacheDir() (string, error) {
	if dir := c.env("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	home := c.env("HOME")
	if home == "" {
		return os.UserCacheDir()
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Caches"), nil
	}
	return filepath.Join(home, ".cache"), nil
}

// zone is the time zone of the caller.
func (c caller) zone() *time.Location {
	name := c.env("TZ")
	if name == os.Getenv("TZ") {
		return time.Local
	}
	if zone, err := time.LoadLocation(strings.TrimPrefix(name, ":")); err == nil && name != "" {
		return zone
	}
	return time.Local
}

// pythonPath is the flag for the path of an interpreter. A path with a slash begins at the caller's folder.
func (c caller) pythonPath(into *string) *pythonPath { return &pythonPath{c, into} }

type pythonPath struct {
	caller
	into *string
}

func (p *pythonPath) Set(text string) error {
	if *p.into = text; strings.Contains(text, "/") {
		if _, err := p.stat(text); err == nil {
			*p.into = p.path(text)
		}
	}
	return nil
}

func (p *pythonPath) String() string { return "" }
func (p *pythonPath) Type() string   { return "string" }

// command is exec.CommandContext for the caller: it looks for the program on the caller's path, but not in the folder
// that programs run in.
func (c caller) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	written := c.folder
	if dir, found := xstate.FindStore(c.folder); found {
		written = filepath.Dir(dir)
	}
	cmd.Path, cmd.Err = kernel.LookPath(name, c.env("PATH"), written)
	cmd.Dir, cmd.Env = c.folder, c.environ
	return cmd
}
