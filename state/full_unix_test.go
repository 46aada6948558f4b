//go:build unix

package state

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

func init() { children["full"] = commitUntilFull }

// commitUntilFull commits under a limit of file size, which fails writes as a full disk does, until the store refuses;
// then it raises the limit and commits on.
func commitUntilFull(dir string, out io.Writer) error {
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		return err
	}
	info, err := os.Stat(filepath.Join(dir, historyFile))
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	tight := limit
	tight.Cur = uint64(info.Size()) + 64<<10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &tight); err != nil {
		return err
	}
	n := StepNumber(0)
	add := func() error {
		_, err := s.Commit(ctx, "s", n, []Draft{insert(BlockID("b"+itoa(int(n))), "", string(noise(uint64(n), 3000)))})
		if err == nil {
			n++
		}
		return err
	}
	for err = add(); err == nil; err = add() {
	}
	if CodeOf(err) != CodeDiskFull {
		return fmt.Errorf("Commit on a full disk = %w, want code %s", err, CodeDiskFull)
	}
	if head, _, err := s.Head(ctx, "s"); head != n || err != nil {
		return fmt.Errorf("Head on a full disk = %d, %v, want %d", head, err, n)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	for range 10 {
		if err := add(); err != nil {
			return fmt.Errorf("Commit with space again: %w", err)
		}
	}
	problems, err := s.Check(ctx)
	if err != nil || len(problems) > 0 {
		return fmt.Errorf("Check = %v, %w", problems, err)
	}
	fmt.Fprintln(out, n)
	return s.Close()
}

func TestDiskFull(t *testing.T) {
	dir := storeDir(t)
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	create(t, s, "s")
	checkClose(t, s)
	out, err := child("full", dir).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("%v: %s", err, exit.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	var want StepNumber
	fmt.Sscan(string(out), &want)
	s = checkedOpen(t, dir, Options{})
	if head, _, err := s.Head(ctx, "s"); head != want || err != nil || want < 11 {
		t.Errorf("Head = %d, %v, want %d", head, err, want)
	}
}

// TestReleaseUnlocks: a lock whose file a process that was being started had open, too, outlived its release, and the
// next run took the folder for another's: what a killed interpreter had written was taken for an edit.
func TestReleaseUnlocks(t *testing.T) {
	dir := t.TempDir()
	l, ok, err := LockFolder(dir)
	if !ok || err != nil {
		t.Fatalf("LockFolder = %v, %v", ok, err)
	}
	fd, err := syscall.Dup(int(l.files[0].Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	l, ok, err = LockFolder(dir)
	if !ok || err != nil {
		t.Fatalf("LockFolder after Release = %v, %v, want true", ok, err)
	}
	l.Release()
}
