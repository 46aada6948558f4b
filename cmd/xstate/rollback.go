package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
)

func (a *app) rollbackVerb() *cobra.Command {
	var f verb.Rollback
	cmd := &cobra.Command{
		Use:   "rollback --to-step N",
		Short: "go back to the program of an earlier step",
		Long: `Rollback makes the program what it was after an earlier step, and writes it into the session's file, so
that both agree and the next run has nothing to undo. It is a step like any other: nothing is erased, and a rollback to
the step before it undoes it. Nothing is executed: the next run finds the results of that step, and loads values when
they are needed.

In the file only code is restored; the text around it, other cells and metadata do not change. If the file has edits
that are not recorded, rollback fails and changes nothing, unless --keep-file leaves the file alone.

Calls of tools that happened after the step are not undone by it. Rollback names those with effects that the program
does not make any more, and --revert takes back what a tool takes back.`,
		Example: `  xstate rollback --to-step 5
  xstate rollback --to-step 5 --agent reviewer --reason "the join lost rows"`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.rollback(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(stepFlag{&f.To}, "to-step", "restore the program after step `N`")
	flags.BoolVar(&f.KeepFile, "keep-file", false, "do not write the file; its next run records how it differs")
	flags.BoolVar(&f.Revert, "revert", false, "then take back the effects of later calls, the newest first")
	flags.StringVar(&f.File, "file", "", "the program's `FILE` (default: the one the session is named after)")
	a.originFlags(cmd, &f.Origin)
	return a.ofSession(cmd)
}

func (a *app) rollback(ctx context.Context, f verb.Rollback) error {
	if f.To == nil {
		return &usageError{err: errors.New("`xstate rollback` needs `--to-step N`"),
			hint: "`xstate log` lists the steps"}
	}
	a.bounds.executes = f.Revert // tools come from the policy
	return a.change(ctx, func(o *opened) error {
		release, err := o.session.Hold(ctx)
		if err != nil {
			return err
		}
		defer release()
		path, text, err := o.rolledBack(ctx, f)
		if err != nil {
			return err
		}
		step, err := recordWith(
			path,
			text,
			func() (xstate.Step, error) { return o.session.Rollback(ctx, *f.To, f.Origin) },
		)
		if err != nil {
			return err
		}
		d := api.Rollback{Version: api.Version, Session: o.history.Name(), Step: step.Number, To: step.To, File: path}
		if d.Effects, err = o.effects(ctx, step.To); err != nil {
			return err
		}
		var left []state.CallID
		var failed error
		if f.Revert {
			for i := range d.Revertible {
				left = append(left, d.Revertible[i].Call)
			}
			d.Reverted, left, failed = o.revert(ctx, left, f.Origin)
		}
		if a.ui.JSON {
			if err := a.ui.Document(d); err != nil {
				return err
			}
			return a.notReverted(left, failed)
		}
		a.ui.Talk("step %d: restored the program of step %d", step.Number, step.To)
		if path != "" {
			a.ui.Talk("wrote %s", a.fromHere(path))
		} else {
			a.ui.Talk("no file was written")
		}
		if failed == nil || len(d.Reverted) > 0 {
			a.printEffects(&d.Effects)
		}
		return a.notReverted(left, failed)
	})
}

// rolledBack returns the file that goes along and what it is to hold; no path when none does.
func (o *opened) rolledBack(ctx context.Context, f verb.Rollback) (path string, text []byte, err error) {
	if _, err := o.history.ProgramAt(ctx, *f.To); err != nil || f.KeepFile {
		return "", nil, err
	}
	return o.following(ctx, f.File, func(path string, data []byte) ([]byte, error) {
		return o.history.Text(ctx, *f.To, path, data)
	})
}

// following returns the session's file, or the one that the user names, and its content after the program changes. text
// computes that from the present content, or from nil. A session without a file has no path. A file with edits that no
// step holds is refused.
func (o *opened) following(
	ctx context.Context,
	file string,
	text func(path string, data []byte) ([]byte, error),
) (path string, data []byte, err error) {
	path = o.file
	if file != "" {
		if path, err = o.abs(file); err != nil {
			return "", nil, err
		}
	} else if !slices.Contains(programKinds, filepath.Ext(path)) {
		return "", nil, nil // a session of no file
	}
	src, err := o.readSource(o.fromHere(path))
	if state.CodeOf(err) == api.CodeNoFile && file == "" {
		data, err = text(path, nil)
		return path, data, err
	}
	if err != nil {
		return "", nil, err
	}
	edits, err := o.history.Unrecorded(ctx, path, src.data)
	if err != nil || len(edits) > 0 {
		return "", nil, unrecorded(o.fromHere(path), len(edits), err)
	}
	data, err = text(path, src.data)
	return path, data, err
}

func unrecorded(file string, edits int, err error) error {
	e := &state.Error{
		Code:    xstate.CodeUnrecorded,
		Hint:    "`xstate run` records them first; `--keep-file` leaves the file as it is; or restore the file",
		Message: fmt.Sprintf("%s has %s that are not recorded", file, term.Plural(edits, "edit")),
	}
	if edits == 1 {
		e.Message = file + " has an edit that is not recorded"
	}
	if err != nil {
		e.Message = fmt.Sprintf("%s is not the program that was recorded: %s", file, foundIn(err).Message)
	}
	return e
}
