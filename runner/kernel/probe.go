package kernel

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
)

// A Probe asks an interpreter what it is, by a program that prints the answer. A program in bounds may have made or
// replaced the interpreter, or what it loads when it starts: so the probe runs in bounds, too.
type Probe struct {
	Path    string
	Args    []string
	Environ []string // NAME=value
	Folder  string   // it runs there, because launchers choose an interpreter by the files of a folder
	// Bounds are those of the program; nil: it has none, and neither has the probe. Otherwise the probe reads the
	// system, what is installed with the interpreter, and Folder; it writes nothing, and has no network.
	Bounds *sandbox.Bounds
	Reads  []string // folders that it reads, too
	Cache  string   // is used where the user has no folder for caches
	// Memo names the kind of the answer, which is kept as long as Key and the file at Path are the same; "": the
	// answer is not kept.
	Memo, Key string
}

// Limits of a probe.
const (
	probeTime   = 30 * time.Second
	probeAnswer = 16 << 20 // bytes
)

// Answer returns what the probe printed. An interpreter that fails is a StartError.
func (p Probe) Answer(ctx context.Context) (string, error) {
	cache, memo := p.memo()
	if memo != "" {
		if data, err := os.ReadFile(memo); err == nil {
			return string(data), nil
		}
	}
	answer, err := p.ask(ctx, cache)
	if err == nil && memo != "" {
		_ = keep(memo, []byte(answer), 0o644) // only a cache: without it the interpreter is started again
	}
	return answer, err
}

// asking is held by the one that asks for a kept answer: many sessions that start at once would keep one another from
// an answer in time, and each would try again.
var asking sync.Mutex

// Kept returns the path of the file with the answer, which is kept.
func (p Probe) Kept(ctx context.Context) (string, error) {
	cache, memo := p.memo()
	if _, err := os.Stat(memo); err == nil {
		return memo, nil
	}
	asking.Lock()
	defer asking.Unlock()
	if _, err := os.Stat(memo); err == nil {
		return memo, nil
	}
	answer, err := p.ask(ctx, cache)
	if err != nil {
		return "", err
	}
	return memo, keep(memo, []byte(answer), 0o644)
}

// memo returns the folder for caches, and where the answer is kept; "": it is not.
func (p Probe) memo() (cache, memo string) {
	cache = UserCache()
	if cache == "" || os.MkdirAll(cache, 0o755) != nil {
		cache = p.Cache
	}
	if p.Memo == "" || cache == "" {
		return cache, ""
	}
	return cache, filepath.Join(cache, p.Memo+"-"+string(state.DigestOf([]byte(fileKey(p.Path) + p.Key))[:16]))
}

func (p Probe) ask(ctx context.Context, cache string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	spec, err := p.spec(cache)
	if err != nil {
		return "", err
	}
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Dir, cmd.Env = p.Folder, p.Environ
	stdout, stderr := &head{}, &tail{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr, cmd.WaitDelay = OwnGroup(), time.Second
	started, err := startBox(cmd, spec)
	if err != nil {
		return "", &StartError{Err: err}
	}
	stop := context.AfterFunc(ctx, started.Kill)
	defer stop()
	err = started.Wait()
	started.Kill() // what it started must not outlive it
	switch {
	case ctx.Err() != nil && context.Cause(ctx) == context.Canceled:
		return "", ctx.Err()
	case err != nil:
		return "", &StartError{Err: err, Stderr: stderr.String()}
	case stdout.more:
		return "", &StartError{Err: fmt.Errorf("it printed more than %d bytes", probeAnswer)}
	}
	return stdout.text.String(), nil
}

// spec returns the box of a probe; nil: there is none. The box may write its workspace, so it has one that is empty.
func (p Probe) spec(cache string) (*sandbox.Spec, error) {
	if p.Bounds == nil {
		return nil, nil
	}
	folder := filepath.Join(cache, "probe")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for what an interpreter is asked: %w", err)
	}
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, err
	}
	return &sandbox.Spec{
		Observe: sandbox.LevelHooks, Folder: folder, Store: p.Cache,
		System: p.installed(),
		Bounds: &sandbox.Bounds{Read: append([]string{p.Folder}, p.Reads...), Deny: p.Bounds.Deny},
	}, nil
}

// installed returns the folders above the one that the interpreter lies in, by its name and by its file: what it loads
// is there, or what a launcher chooses from.
func (p Probe) installed() (folders []string) {
	home, _ := os.UserHomeDir()
	real, _ := filepath.EvalSymlinks(p.Path)
	for _, path := range []string{p.Path, real} {
		folder := filepath.Dir(path)
		if above := filepath.Dir(folder); above != home {
			folder = above
		}
		folders = append(folders, folder)
		// A copy of Python in an environment loads files of the folder that it was copied from.
		for line := range strings.Lines(readSmall(filepath.Join(folder, "pyvenv.cfg"))) {
			if name, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(name) == "home" {
				folders = append(folders, filepath.Dir(strings.TrimSpace(value)))
			}
		}
	}
	return folders
}

// readSmall returns the content of a regular file; "" if there is none.
func readSmall(path string) string {
	f, err := beneath.Read(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, 1<<16))
	return string(text)
}

// head keeps the beginning of what a process prints.
type head struct {
	text bytes.Buffer
	more bool
}

func (h *head) Write(b []byte) (int, error) {
	kept := b[:min(len(b), probeAnswer-h.text.Len())]
	h.text.Write(kept)
	h.more = h.more || len(kept) < len(b)
	return len(b), nil
}

// fileKey returns a text that changes when the file at a path may have become another one.
func fileKey(path string) string {
	now := fileNow(path)
	return fmt.Sprintf("%s\n%s %d %d\n", path, now.Real, now.Inode, now.Changed)
}

// UserCache returns the folder for what serves every store of a user; "" when there is none.
func UserCache() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "xstate")
}

// InstallFolder makes a folder that is complete as soon as it is there, unless it is. write fills it under another name
// in the same place. Of processes that do so at the same time, one succeeds, and all have its folder.
func InstallFolder(final string, write func(folder string) error) error {
	if _, err := os.Stat(final); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(filepath.Dir(final), "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err = write(folder); err == nil {
		err = os.Chmod(folder, 0o755)
	}
	if err == nil {
		err = os.Rename(folder, final)
	}
	if _, there := os.Stat(final); there == nil { // or another process made it meanwhile
		return nil
	}
	return err
}

// InstallDriver installs the driver of a language, see InstallFolder, and returns its folder: in the user's cache,
// where one serves every store, or else in the store.
func InstallDriver(storeDir, name string, write func(folder string) error) (string, error) {
	if cache := UserCache(); cache != "" {
		if final := filepath.Join(cache, name); InstallFolder(final, write) == nil {
			return final, nil
		}
	}
	final := filepath.Join(storeDir, name)
	if err := InstallFolder(final, write); err != nil {
		return "", fmt.Errorf("install kernel driver: %w", err)
	}
	return final, nil
}
