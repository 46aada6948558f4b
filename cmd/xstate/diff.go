package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/state"
)

func (a *app) diffVerb() *cobra.Command {
	withOutputs := false
	cmd := &cobra.Command{
		Use:   "diff [STEP [STEP]]",
		Short: "show how blocks and outcomes differ between two steps",
		Long: `Diff shows what changed between the program after one step and that after another: the unified diff of each block
that was edited, added or deleted, and each block whose outcome is another. With one STEP, the other is the last; with
none, the run before the last step and the last step.`,
		Example: `  xstate diff
  xstate diff 5 12 --outputs`,
		Args: takes(0, 2, "at most two STEPs"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.diff(cmd.Context(), args, withOutputs) },
	}
	cmd.Flags().BoolVar(&withOutputs, "outputs", false, "show how the output of blocks changed, too")
	return a.sessionFlag(cmd)
}

func (a *app) diff(ctx context.Context, args []string, withOutputs bool) error {
	var steps []xstate.StepNumber
	for _, arg := range args {
		n, err := strconv.ParseUint(arg, 10, 64)
		if err != nil {
			return &usageError{err: fmt.Errorf("%q is not the number of a step", arg), hint: "xstate log lists the steps"}
		}
		steps = append(steps, xstate.StepNumber(n))
	}
	o, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer o.Close()
	from, to, err := o.span(ctx, steps)
	if err != nil {
		return err
	}
	changes, err := o.session.Diff(ctx, from, to)
	if err != nil {
		return err
	}
	if a.ui.json {
		return a.ui.document(struct {
			Version int                  `json:"version"`
			Session string               `json:"session"`
			From    xstate.StepNumber    `json:"from"`
			To      xstate.StepNumber    `json:"to"`
			Blocks  []xstate.BlockChange `json:"blocks"`
		}{1, o.session.Name(), from, to, changes})
	}
	a.ui.talk("from step %d to step %d: %s", from, to, plural(len(changes), "difference"))
	for _, c := range changes {
		a.printChange(c, withOutputs)
	}
	return nil
}

// span returns the two steps to compare.
func (o *opened) span(ctx context.Context, steps []xstate.StepNumber) (from, to xstate.StepNumber, err error) {
	if len(steps) == 2 {
		return steps[0], steps[1], nil
	}
	head, err := o.head(ctx)
	if err != nil || len(steps) == 1 {
		if len(steps) == 1 {
			from = steps[0]
		}
		return from, head, err
	}
	entries, err := o.session.Log(ctx, 0)
	if err != nil {
		return 0, 0, err
	}
	for _, e := range entries {
		if e.Kind == state.KindRun && e.Number < head {
			return e.Number, head, nil
		}
	}
	return 0, head, nil
}

// done says operations in words.
var done = map[string]string{"append": "added", "patch": "edited", "move": "moved", "delete": "deleted"}

func (a *app) printChange(c xstate.BlockChange, withOutputs bool) {
	head := "block " + a.ui.bold(string(c.ID))
	if c.Op != "" {
		head += " " + done[c.Op]
	}
	if c.Was != c.Now && c.Was != "" && c.Now != "" {
		head += ": " + c.Was + " before, " + c.Now + " now"
	} else if c.Op == "" && c.Outputs != "" {
		head += ": other output"
	}
	a.ui.print("%s\n", head)
	a.ui.write(c.Diff)
	if withOutputs {
		a.ui.write(c.Outputs)
	}
}
