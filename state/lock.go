package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/internal/parents"
)

const locksDir = "locks"

// waitKey is the key of WithWait.
type waitKey struct{}

// WithWait returns a context whose waits for locks of a store have this bound, in place of Options.Wait. Callers that
// share an open store wait as long as each of them likes.
func WithWait(ctx context.Context, wait time.Duration) context.Context {
	return context.WithValue(ctx, waitKey{}, wait)
}

// WaitOf returns the bound of the waits under ctx.
func WaitOf(ctx context.Context, usual time.Duration) time.Duration {
	if wait, ok := ctx.Value(waitKey{}).(time.Duration); ok && wait != 0 {
		return wait
	}
	return cmp.Or(usual, defaultWait)
}

// lockFile locks f, waiting at most limit. It returns false if other processes held it all that time. It polls,
// because flock with a timeout would need a goroutine that outlives the wait.
func lockFile(ctx context.Context, f *os.File, exclusive bool, limit time.Duration) (bool, error) {
	deadline := time.Now().Add(WaitOf(ctx, limit))
	// Most holders leave within a transaction, so the first pauses are short. 5 ms keep the load of a long wait low.
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		if ok, err := tryLock(f, exclusive); ok || err != nil {
			return ok, err
		}
		left := time.Until(deadline)
		if left <= 0 {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(min(pause, left)):
		}
	}
}

// busy is the error of a wait that exceeded its limit. what reads like "the store DIR is held".
func busy(what string, f *os.File) error {
	return &Error{
		Code:    CodeBusy,
		Message: what + " by " + holders(f),
		Hint:    "wait for it to end, or end it, and try again; `--wait` sets how long to wait",
	}
}

// holders names the processes that have a file locked, as far as /proc/locks lists them.
func holders(f *os.File) string {
	unknown := "another process"
	info, err := f.Stat()
	if err != nil {
		return unknown
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return unknown
	}
	var names []string
	for line := range strings.Lines(string(locks)) { // 1: FLOCK  ADVISORY  WRITE 6687 fe:00:10674272 0 EOF
		field := strings.Fields(line)
		if len(field) < 6 || field[1] != "FLOCK" ||
			!strings.HasSuffix(field[5], ":"+strconv.FormatUint(inode(info), 10)) {
			continue
		}
		if _, err := os.Stat("/proc/" + field[4]); err != nil {
			continue // a process of another PID namespace
		}
		if name := fmt.Sprintf("process %s (%s)", field[4], command(field[4])); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return unknown
	}
	return strings.Join(names, ", ")
}

// command returns the command line of a process, on one line and at most 200 characters.
func command(pid string) string {
	data, err := os.ReadFile("/proc/" + pid + "/cmdline")
	if err != nil || len(data) == 0 {
		return "not known"
	}
	words := strings.Split(strings.TrimRight(string(data), "\x00"), "\x00")
	words[0] = filepath.Base(words[0])
	text := []rune(strings.ToValidUTF8(strings.Join(strings.Fields(strings.Join(words, " ")), " "), ""))
	if len(text) > 200 {
		text = append(text[:200], '…')
	}
	return string(text)
}

// Lock is this process's locks on files and folders. They end with the process at the latest.
type Lock struct{ files []*os.File }

// Release unlocks and closes the files. It does not remove them: a process that waits for a removed file would lock a
// file that no newcomer can see.
func (l *Lock) Release() error {
	var errs []error
	for _, f := range l.files {
		unlock(f) // explicitly: a child between fork and exec may have a copy of the descriptor, which keeps the lock
		errs = append(errs, f.Close())
	}
	l.files = nil
	return errors.Join(errs...)
}

// add locks a file or folder. what describes it in the error if another process holds it longer than limit.
func (l *Lock) add(ctx context.Context, f *os.File, exclusive bool, limit time.Duration, what string) error {
	ok, err := lockFile(ctx, f, exclusive, limit)
	if err == nil && !ok {
		err = busy(what, f)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.files = append(l.files, f)
	return nil
}

// LockFolder locks a folder without waiting. It returns false if another process holds it.
func LockFolder(path string) (*Lock, bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	ok, err := tryLock(f, true)
	if !ok || err != nil {
		return nil, false, errors.Join(err, f.Close())
	}
	return &Lock{[]*os.File{f}}, true, nil
}

// LockRun gives the caller exclusive use of a session and its workspace, to run the program there. Runs of one
// session exclude each other. So do runs of different sessions with the same workspace, or with one workspace inside
// the other, below the folder that holds the store: each run puts files in place for its own program, and the other
// would read them as its own. It waits as long as Options.Wait; then the error has CodeBusy and names the holder.
func (s *Store) LockRun(ctx context.Context, session, workspace string) (*Lock, error) {
	return s.lockSession(ctx, session, workspace, true)
}

// LockCopy gives the caller a session to make, and keeps programs from running in a folder that it is to be copied
// from. It waits as LockRun does. Several callers may copy a folder at the same time.
func (s *Store) LockCopy(ctx context.Context, session, folder string) (*Lock, error) {
	return s.lockSession(ctx, session, folder, false)
}

// lockSession locks a session exclusively, and its workspace exclusively or not.
func (s *Store) lockSession(ctx context.Context, session, workspace string, exclusive bool) (*Lock, error) {
	dir := filepath.Join(s.dir, locksDir)
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return nil, fileError("lock session "+session, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, string(DigestOf([]byte(session)))), os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, fileError("lock session "+session, err)
	}
	var l Lock
	if err = l.add(ctx, f, true, s.options.Wait, fmt.Sprintf("the session %q is being run", session)); err == nil {
		top := filepath.Dir(s.dir)
		if parents.Below(s.dir, workspace) != "" {
			top = workspace // a private folder: what is above it is another session's
		}
		err = l.workspace(ctx, workspace, top, exclusive, s.options.Wait)
	}
	if err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return &l, nil
}

// workspace locks a folder, and every folder above it up to top as a shared lock. So runs in sibling folders proceed
// together, and a run in a parent folder excludes both.
func (l *Lock) workspace(ctx context.Context, folder, top string, exclusive bool, limit time.Duration) error {
	named := folder
	folder, err := filepath.EvalSymlinks(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return NoWorkspace(named, err)
	}
	if err == nil {
		top, err = filepath.EvalSymlinks(top)
	}
	if err != nil {
		return fileError("lock workspace", err)
	}
	if parents.Below(top, folder) == "" {
		top = folder
	}
	for dir := range parents.Up(folder) {
		f, err := os.Open(dir)
		if err == nil {
			err = l.add(ctx, f, exclusive && dir == folder, limit, "the folder "+dir+" is in use")
		}
		if err != nil {
			return fileError("lock workspace "+dir, err)
		}
		if dir == top {
			break
		}
	}
	return nil
}
