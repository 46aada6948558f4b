package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	holderFile  = "holder"
	holderRetry = 20 * time.Millisecond
)

// holder is the hold of a process on a store: a lock on a small file that says who has it. It covers everything in the
// directory: bbolt's own lock would come too late to inspect a file or set it aside.
type holder struct {
	file     *os.File
	readOnly bool
}

// hold waits for the store to be free.
func hold(ctx context.Context, dir string, o Options) (*holder, error) {
	path := filepath.Join(dir, holderFile)
	flag := os.O_RDWR | os.O_CREATE
	if o.ReadOnly {
		flag = os.O_RDONLY
	}
	f, err := os.OpenFile(path, flag, 0o666)
	if o.ReadOnly && errors.Is(err, fs.ErrNotExist) {
		return &holder{readOnly: true}, nil // a copy of a store; bbolt's own lock is enough
	}
	if err != nil {
		return nil, fileError("open store "+dir, err)
	}
	h := &holder{file: f, readOnly: o.ReadOnly}
	if err := h.wait(ctx, dir, o.Wait); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if !o.ReadOnly {
		err = h.sign()
	}
	if err != nil {
		return nil, errors.Join(fileError("open store "+dir, err), h.release())
	}
	return h, nil
}

func (h *holder) wait(ctx context.Context, dir string, limit time.Duration) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for expired := limit <= 0; ; {
		ok, err := tryLock(h.file, !h.readOnly)
		if err != nil {
			return fileError("lock store "+dir, err)
		}
		if ok {
			return nil
		}
		if expired {
			return h.busy(dir)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			expired = true
		case <-time.After(holderRetry):
		}
	}
}

func (h *holder) busy(dir string) error {
	who := "another process"
	text, err := io.ReadAll(io.LimitReader(io.NewSectionReader(h.file, 0, 1<<12), 1<<12))
	if pid, command, ok := strings.Cut(strings.TrimSpace(string(text)), " "); err == nil && ok {
		who = fmt.Sprintf("process %s (%s)", pid, command)
	}
	return &Error{Code: CodeBusy, Message: fmt.Sprintf("the store %s is held by %s", dir, who), Hint: "wait for it to end, or end it, and try again"}
}

func (h *holder) sign() error {
	command := strings.Join(append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...), " ")
	command = strings.ToValidUTF8(strings.Join(strings.Fields(command), " "), "")
	if r := []rune(command); len(r) > 200 {
		command = string(r[:200]) + "…"
	}
	if err := h.file.Truncate(0); err != nil {
		return err
	}
	_, err := h.file.WriteAt(fmt.Appendf(nil, "%d %s\n", os.Getpid(), command), 0)
	return err
}

// release gives the store up. The file stays: removing a lock file races with those who wait for it.
func (h *holder) release() error {
	if h.file == nil {
		return nil
	}
	var err error
	if !h.readOnly {
		err = h.file.Truncate(0)
	}
	return errors.Join(err, h.file.Close())
}
