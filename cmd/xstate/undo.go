package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
)

func (a *app) undoVerb() *cobra.Command {
	var f verb.Undo
	cmd := &cobra.Command{
		Use:   "undo [STEP|STEP..STEP]",
		Short: "take back edits, and keep later ones",
		Long: `Undo takes back the last edit (a patch of several blocks is one), the edit of one step, all edits of a
range of steps, or all by one agent (--by), and keeps what others did since. It merges the inverse of each edit, the
newest first, into the present block (a three-way merge by lines). Where a later edit changed the same lines, undo
changes nothing and shows both sides. It takes back declarations of artifacts, too.

Each edit taken back is one more step, which can itself be undone. Nothing is executed: the next run finds the results
of restored code by content. Undo writes the session's file, like rollback.`,
		Example: `  xstate undo
  xstate undo 12
  xstate undo 5..9 --by coder
  xstate undo --by coder --reason "another way"`,
		Args: takes(0, 1, "one STEP or a range STEP..STEP"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Steps = strings.Join(args, "")
			return a.undo(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.By, "by", "", "the edits of this `AGENT` only; without a STEP all of them")
	flags.BoolVar(&f.DryRun, "dry-run", false, "show what would change, and change nothing")
	flags.BoolVar(&f.KeepFile, "keep-file", false, "do not write the file; its next run records how it differs")
	flags.StringVar(&f.File, "file", "", "the program's `FILE` (default: the one the session is named after)")
	a.originFlags(cmd, &f.Origin)
	return a.ofSession(cmd)
}

// whichEdits reads what is to be undone.
func whichEdits(f *verb.Undo) (w xstate.Which, err error) {
	w.Agent = f.By
	if f.Steps == "" {
		w.Newest = f.By == ""
		return w, nil
	}
	first, last, isRange := strings.Cut(f.Steps, "..")
	if w.First, err = parseStep(first); err != nil {
		return w, err
	}
	if w.Last = w.First; isRange {
		w.Last, err = parseStep(last)
	}
	if err == nil && (w.First == 0 || w.Last < w.First) {
		err = &usageError{
			err:  fmt.Errorf("%q is no range of steps", f.Steps),
			hint: "write it as 5..9; steps count from 1",
		}
	}
	return w, err
}

func (a *app) undo(ctx context.Context, f verb.Undo) error {
	w, err := whichEdits(&f)
	if err != nil {
		return err
	}
	return a.change(ctx, func(o *opened) error {
		release, err := o.session.Hold(ctx)
		if err != nil {
			return err
		}
		defer release()
		u, err := o.session.PlanUndo(ctx, w)
		if err != nil {
			return err
		}
		d := api.Undo{
			Version: api.Version,
			Session: o.history.Name(),
			DryRun:  f.DryRun,
			Undone:  u.Steps,
			Steps:   []api.UndoStep{},
			Changes: u.Changes(),
		}
		if !f.DryRun {
			if err := a.undoIn(ctx, o, u, f, &d); err != nil {
				return err
			}
			if d.Effects, err = o.effects(ctx, u.Steps[len(u.Steps)-1]); err != nil {
				return err
			}
		}
		if a.ui.JSON {
			return a.ui.Document(d)
		}
		for _, c := range d.Changes {
			a.ui.Print("%s %s\n", c.Op, a.ui.Bold(string(c.ID)))
			a.ui.Write(c.Diff)
		}
		for _, s := range d.Steps {
			if s.Artifact != "" {
				a.ui.Print("artifact %s as before step %d\n", a.ui.Bold(s.Artifact), s.Undoes)
			}
		}
		a.told(d)
		a.printEffects(&d.Effects)
		return nil
	})
}

func (a *app) undoIn(ctx context.Context, o *opened, u *xstate.Undoing, f verb.Undo, d *api.Undo) error {
	var text []byte
	if !f.KeepFile {
		var err error
		d.File, text, err = o.following(ctx, f.File, func(path string, data []byte) ([]byte, error) {
			return o.history.TextOf(ctx, u.Blocks, path, data)
		})
		if err != nil {
			return err
		}
	}
	steps, err := recordWith(d.File, text, func() ([]xstate.Step, error) { return o.session.Undo(ctx, u, f.Origin) })
	if err != nil {
		return err
	}
	for _, s := range steps {
		step := api.UndoStep{Step: s.Number, Kind: string(s.Kind), Block: s.Block, Undoes: s.Undoes}
		if s.Declared != nil {
			step.Artifact = s.Declared.Name
		}
		d.Steps = append(d.Steps, step)
	}
	return nil
}

func (w *printer) told(d api.Undo) {
	what := term.Plural(len(d.Undone), "edit")
	if d.DryRun {
		w.ui.Talk("would take back %s; nothing was changed", what)
		return
	}
	w.ui.Talk("step %d: took back %s", d.Steps[len(d.Steps)-1].Step, what)
	if d.File != "" {
		w.ui.Talk("wrote %s", w.fromHere(d.File))
	} else {
		w.ui.Talk("no file was written")
	}
}
