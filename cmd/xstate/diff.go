package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

type diffFlags struct {
	outputs, files bool
	format         string
}

func (a *app) diffVerb() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff [SESSION] [STEP|SESSION[@STEP]]...",
		Short: "show how blocks and outcomes differ between two steps, or two sessions",
		Long: `Diff shows what changed between the program after one step and after another: the unified diff of each
block that was edited, added or deleted, each block whose outcome differs, and each value. With one STEP, the other is
the last. With none, diff compares the last step that changed or ran anything with the run before it. SESSION means its
last step, SESSION@STEP an earlier one. Blocks of two sessions are matched by their ids, which a fork shares with its
parent.

With --files, diff compares the private folder of SESSION (see fork --private) with the original as it is now: what was
added, changed and removed in the private one. A file that changed in the original, too, is in conflict.`,
		Example: `  xstate diff
  xstate diff 5..12 --outputs
  xstate diff analysis.py 5
  xstate diff analysis.py trial.py
  xstate diff trial.py@5 trial.py
  xstate diff --files variant-1`,
		Args: takes(0, 3, "a SESSION and two STEPs, or two SESSIONs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.files {
				return a.diffFiles(cmd, args)
			}
			return a.diff(cmd.Context(), args, f)
		},
	}
	cmd.Flags().BoolVar(&f.files, "files", false, "compare the files of a private folder with those of the original")
	cmd.Flags().BoolVar(&f.outputs, "outputs", false, "also show how the output of blocks changed")
	cmd.Flags().
		StringVar(&f.format, "format", "", "print a patch, for xstate patch or an agent, in this "+
			"`FORMAT`:\n"+formatNames())
	return a.sessionFlag(cmd)
}

// side is one of the two programs that are compared.
type side struct {
	history *query.History
	step    xstate.StepNumber
}

func (a *app) diff(ctx context.Context, args []string, f diffFlags) error {
	for i, arg := range args { // 3..7, as undo takes two steps
		if from, to, ok := strings.Cut(arg, ".."); ok && isNumber(from) && isNumber(to) {
			args = slices.Concat(args[:i], []string{from, to}, args[i+1:])
			break
		}
	}
	if a.session == "" && len(args) > 0 && isName(args[0]) && !strings.Contains(args[0], "@") &&
		!slices.ContainsFunc(args[1:], isName) {
		a.session, args = args[0], args[1:] // the session of both steps
	}
	if len(args) > 2 {
		return &usageError{err: fmt.Errorf(
			"xstate diff takes at most two STEPs or SESSIONs, but was given %q, too", args[2]),
			hint: "for example: `xstate diff 5..12`"}
	}
	for _, arg := range args { // a session that is named there need not be by --session
		if name, _, _ := strings.Cut(arg, "@"); a.session == "" && !isNumber(arg) {
			a.session = name
		}
	}
	return a.look(ctx, func(o *opened) error {
		old, now, err := o.sides(ctx, args)
		if err != nil {
			return err
		}
		before, err := old.history.At(ctx, old.step)
		if err != nil {
			return err
		}
		after, err := now.history.At(ctx, now.step)
		if err != nil {
			return err
		}
		if f.format != "" {
			return a.printAsPatch(before, after, patch.Format(f.format))
		}
		return a.printDiff(before, after, before.Diff(after), f.outputs)
	})
}

func isName(arg string) bool { return !isNumber(arg) }

// sides returns the two programs to compare.
func (o *opened) sides(ctx context.Context, args []string) (old, now side, err error) {
	head, err := o.head(ctx)
	if err != nil {
		return old, now, err
	}
	old, now = side{o.history, 0}, side{o.history, head}
	if len(args) == 0 {
		if now.step, err = o.before(ctx, head+1, state.Kind.Changes); err != nil {
			return old, now, err
		}
		old.step, err = o.before(ctx, now.step, func(k state.Kind) bool { return k == state.KindRun })
		return old, now, err
	}
	if old, err = o.side(ctx, args[0]); err == nil && len(args) == 2 {
		now, err = o.side(ctx, args[1])
	}
	return old, now, err
}

// side reads STEP, SESSION or SESSION@STEP.
func (o *opened) side(ctx context.Context, text string) (side, error) {
	if isNumber(text) {
		n, err := parseStep(text)
		return side{o.history, n}, err
	}
	name, step, given := strings.Cut(text, "@")
	b := opened{caller: o.caller, store: o.store, history: o.history}
	if name != "" {
		found, err := o.sessionOf(ctx, o.store, name)
		if err != nil {
			return side{}, err
		}
		if b.history, err = query.Open(ctx, o.store.State(), found); err != nil {
			return side{}, err
		}
	}
	m := verb.Moment{}
	if given {
		if err := (stepFlag{&m.AtStep}).Set(step); err != nil {
			return side{}, err
		}
	}
	n, err := b.step(ctx, m)
	return side{b.history, n}, err
}

// before returns the last step before n of a kind that is meant, or 0.
func (o *opened) before(
	ctx context.Context,
	n xstate.StepNumber,
	meant func(state.Kind) bool,
) (xstate.StepNumber, error) {
	for n > 1 {
		entries, err := o.history.Log(ctx, n, 64)
		if err != nil {
			return 0, err
		}
		for _, e := range entries {
			if n = e.Number; meant(e.Kind) {
				return n, nil
			}
		}
	}
	return 0, nil
}

// printAsPatch prints the patch that makes the later program of the earlier one.
func (w *printer) printAsPatch(old, now *query.Snapshot, f patch.Format) error {
	text, err := old.Patch(now, f)
	if err != nil {
		return err
	}
	if w.ui.JSON {
		return w.ui.Document(
			api.DiffPatch{
				Version: api.Version,
				Session: old.Session,
				Other:   other(old, now),
				From:    old.Step.Number,
				To:      now.Step.Number,
				Format:  f,
				Patch:   text,
			},
		)
	}
	w.ui.File(text)
	return nil
}

func (w *printer) printDiff(old, now *query.Snapshot, changes []query.BlockChange, withOutputs bool) error {
	if w.ui.JSON {
		return w.ui.Document(
			api.Diff{
				Version: api.Version,
				Session: old.Session,
				Other:   other(old, now),
				From:    old.Step.Number,
				To:      now.Step.Number,
				Blocks:  changes,
			},
		)
	}
	from, to := fmt.Sprintf("step %d", old.Step.Number), fmt.Sprintf("step %d", now.Step.Number)
	if other(old, now) != "" {
		from, to = from+" of "+old.Session, to+" of "+now.Session
	}
	w.ui.Talk("from %s to %s: %s", from, to, term.Plural(len(changes), "difference"))
	for _, c := range changes {
		w.printChange(c, withOutputs)
	}
	return nil
}

// other is the session of the later program, if it differs.
func other(old, now *query.Snapshot) string {
	if old.Session == now.Session {
		return ""
	}
	return now.Session
}

// done says operations in words.
var done = map[string]string{"append": "added", "patch": "edited", "move": "moved", "delete": "deleted"}

func (w *printer) printChange(c query.BlockChange, withOutputs bool) {
	head := "block " + w.ui.Bold(string(c.ID))
	if c.Op != "" {
		head += " " + done[c.Op]
	}
	if c.Was != c.Now && c.Was != "" && c.Now != "" {
		head += ": " + c.Was + " before, " + c.Now + " now"
	} else if c.Op == "" && c.Outputs != "" {
		head += ": other output"
	} else if c.Op == "" && len(c.Values) > 0 {
		head += ": other values"
	}
	w.ui.Print("%s\n", head)
	w.ui.Write(c.Diff)
	var rows [][]string
	for _, v := range c.Values {
		was, now := valueOr(v.WasValue, v.Was), valueOr(v.NowValue, v.Now)
		if was == now { // both have the same description
			was, now = term.Short(string(v.Was)), term.Short(string(v.Now))
		}
		rows = append(rows, []string{"  " + string(v.Key), was, "->", now})
	}
	w.ui.Table(shortCells(rows))
	if withOutputs {
		w.ui.Write(c.Outputs)
	}
}
