package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
)

func (a *app) forkVerb() *cobra.Command {
	var f verb.Fork
	cmd := &cobra.Command{
		Use:   "fork NEW",
		Short: "make a session that shares the past of another",
		Long: `Fork makes the session NEW, which begins with the history of another session up to a step. It runs and
copies nothing: what both have in common keeps its results. The other session, its program and its file do not change.

If NEW is the name of a program (.py, .ts, .sh, .ipynb, .md), fork writes the program into that file, which must not
exist yet; continue with xstate run NEW. Otherwise the session has no file of its own: xstate run FILE --session NEW.

With --private the session gets a folder of its own, a copy of the one that the program runs in, with the program in it.
So versions of a program run side by side and never see each other's files. Every verb with --session NEW works there;
xstate diff --files NEW shows what changed in it, and xstate apply NEW moves that into the original.`,
		Example: `  xstate fork trial.py
  xstate fork trial.py --at-step 5 --agent coder --reason "another way to clean"
  xstate fork variant-1 --private`,
		Args: takes(1, 1, "the NEW session's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.New = args[0]
			return a.fork(cmd.Context(), f)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&f.Private, "private", false,
		"in a folder of its own, a copy of the one that the program runs in")
	momentFlags(cmd, &f.Moment)
	a.originFlags(cmd, &f.Origin)
	return a.ofSession(cmd)
}

func (a *app) fork(ctx context.Context, f verb.Fork) error {
	if f.Private {
		return a.forkPrivate(ctx, f)
	}
	name := f.New
	return a.change(ctx, func(o *opened) error {
		n, err := o.step(ctx, f.Moment)
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
		made, err := o.session.Fork(ctx, name, n, f.Origin)
		if err != nil {
			return err
		}
		if path != "" {
			if err := writeFile(path, text); err != nil {
				return err
			}
		}
		a.prepare(ctx, o, made, path)
		if a.ui.JSON {
			return a.ui.Document(
				api.Fork{Version: api.Version, Session: made.Name, From: made.From, Step: made.Head, File: path},
			)
		}
		a.ui.Talk("session %s begins after step %d of %s", made.Name, n, o.history.Name())
		switch {
		case path != "":
			a.ui.Talk("its program is in %s", a.fromHere(path))
		case !isSource(o.file):
			a.ui.Talk("continue with xstate exec --session %s", made.Name)
		default:
			a.ui.Talk("continue with xstate run FILE --session %s", made.Name)
		}
		return nil
	})
}

// forkText is the program after step n as the new file path: with the prose of the session's file, if that is there
// and of the same kind.
func (o *opened) forkText(ctx context.Context, n xstate.StepNumber, path string) ([]byte, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, &state.Error{
			Code:    api.CodeFileExists,
			Message: fmt.Sprintf("the file %s exists already", o.fromHere(path)),
			Hint:    "choose another name, or move the file away",
		}
	}
	var data []byte
	if src, err := o.readSource(o.file); err == nil && filepath.Ext(o.file) == filepath.Ext(path) {
		data = src.data
	}
	return o.history.Text(ctx, n, path, data)
}
