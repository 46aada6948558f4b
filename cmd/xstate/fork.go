package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state"
)

func (a *app) forkVerb() *cobra.Command {
	var at stepFlags
	var origin xstate.Origin
	own := false
	cmd := &cobra.Command{
		Use:   "fork NEW",
		Short: "make a session that shares the past of another",
		Long: `Fork makes the session NEW, which begins with the history of another session up to a step. It runs and
copies nothing: what both have in common keeps its results. The other session, its program and its file do not change.

If NEW is the name of a program (.py, .ipynb, .md), fork writes the program into that file, which must not exist yet;
continue with xstate run NEW. Otherwise the session has no file of its own: xstate run FILE --session NEW.

With --private the session gets a folder of its own, a copy of the one that the program runs in, with the program in it.
So versions of a program run side by side and never see each other's files. Every verb with --session NEW works there;
xstate diff --files NEW shows what changed in it, and xstate apply NEW moves that into the original.`,
		Example: `  xstate fork trial.py
  xstate fork trial.py --at-step 5 --agent coder --reason "another way to clean"
  xstate fork variant-1 --private`,
		Args: takes(1, 1, "the NEW session's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if own {
				return a.forkPrivate(cmd.Context(), args[0], at, origin)
			}
			return a.fork(cmd.Context(), args[0], at, origin)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&own, "private", false, "in a folder of its own, a copy of the one that the program runs in")
	at.flags(cmd)
	a.originFlags(cmd, &origin)
	return a.ofSession(cmd)
}

func (a *app) fork(ctx context.Context, name string, at stepFlags, origin xstate.Origin) error {
	return a.change(ctx, func(o *opened) error {
		n, err := o.step(ctx, at)
		if err != nil {
			return err
		}
		path, text := "", []byte(nil)
		if slices.Contains(programKinds, filepath.Ext(name)) {
			if path, err = a.abs(name); err != nil {
				return err
			}
			if text, err = o.forkText(ctx, n, path); err != nil {
				return err
			}
			name = sessionName(o.store.State().Dir(), path)
		}
		made, err := o.session.Fork(ctx, name, n, origin)
		if err != nil {
			return err
		}
		if path != "" {
			if err := writeFile(path, text); err != nil {
				return err
			}
		}
		if a.ui.json {
			return a.ui.document(
				api.Fork{Version: api.Version, Session: made.Name, From: made.From, Step: made.Head, File: path},
			)
		}
		a.ui.talk("session %s begins after step %d of %s", made.Name, n, o.session.Name())
		if path != "" {
			a.ui.talk("its program is in %s", a.fromHere(path))
		} else {
			a.ui.talk("continue with xstate run FILE --session %s", made.Name)
		}
		return nil
	})
}

// forkText is the program after step n as the new file path: with the prose of the session's file, if that is there
// and of the same kind.
func (o *opened) forkText(ctx context.Context, n xstate.StepNumber, path string) ([]byte, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, &state.Error{
			Code:    codeFileExists,
			Message: fmt.Sprintf("the file %s exists already", o.fromHere(path)),
			Hint:    "choose another name, or move the file away",
		}
	}
	var data []byte
	if src, err := o.readSource(o.file); err == nil && filepath.Ext(o.file) == filepath.Ext(path) {
		data = src.data
	}
	return o.session.History().Text(ctx, n, path, data)
}

// writeFile makes a file hold data, at once or not at all. A symbolic link stays one.
func writeFile(path string, data []byte) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	mode := fs.FileMode(0o666)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.OpenFile(path+".xstate-tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
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
		Hint:    "check the folder and the disk; xstate export writes the program elsewhere",
		Err:     err,
	}
}
