package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// saving is how long a folder must be still before a file in it counts as saved: editors write in several steps.
const saving = 30 * time.Millisecond

// watch runs a program, and again whenever its file holds another text, until the context ends. The folder is watched,
// because editors save by replacing the file. The system's reports only say when to look: the text decides, so a save
// while the program runs is not lost. The end of a watch is not a failure, even in the middle of a run.
func (a *app) watch(ctx context.Context, name string) error {
	if a.ui.JSON {
		return &usageError{err: errors.New("--watch and --json exclude each other: a document is of one run"),
			hint: "`xstate run FILE --json` after each edit"}
	}
	src, err := a.readSource(name)
	if err != nil {
		return err
	}
	path := realPath(src.path)
	w, err := fsnotify.NewWatcher()
	if err == nil {
		defer w.Close()
		err = w.Add(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("watch %s: %w", filepath.Dir(path), err)
	}
	call := a.call
	call.Args = withoutWatch(call.Args)
	var last []byte
	for {
		data, err := os.ReadFile(path)
		if err == nil && len(data) > 0 && !bytes.Equal(data, last) {
			last = data
			_ = a.doer(nil).Do(ctx, call) // it says itself what failed
			if ctx.Err() != nil {
				return nil
			}
			a.ui.Talk("watching %s; Ctrl-C ends it", name)
			continue // it may have been saved meanwhile
		}
		if err := nextSave(ctx, w, path); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// withoutWatch returns arguments of run without the flag; those after "--" are the program's.
func withoutWatch(args []string) []string {
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	own := slices.DeleteFunc(slices.Clone(args[:end]), func(s string) bool {
		return s == "--watch" || s == "--watch=true"
	})
	return append(own, args[end:]...)
}

// nextSave waits until something happened to a file, and then until its folder is still, or the context ends.
func nextSave(ctx context.Context, w *fsnotify.Watcher, path string) error {
	var still <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-still:
			return nil
		case e, ok := <-w.Events:
			if !ok {
				return nil
			}
			if e.Name == path {
				still = time.After(saving)
			}
		case err, ok := <-w.Errors:
			if ok && errors.Is(err, fsnotify.ErrEventOverflow) {
				return nil // events are lost, so look
			}
			if ok {
				return fmt.Errorf("watch %s: %w", filepath.Dir(path), err)
			}
		}
	}
}
