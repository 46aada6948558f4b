package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/flow"
)

func (a *app) checkVerifierVerb() *cobra.Command {
	var f verb.CheckVerifier
	cmd := &cobra.Command{
		Use:   "check-verifier BLOCK",
		Short: "plant faults in what a block checks, and report which of them it notices",
		Long: `Check-verifier finds out whether a block that checks something checked anything. It says what the calls
of the block have not seen of what they judge (xstate flow). Then it plants faults in what the block reads, one at a
time: a wrong number, a part that is missing, a contradiction, words without sense. It executes the block on each, with
the results of the blocks before it as they are, and compares the verdict. A fault that the block did not read costs
nothing: its result is reused.

Equal calls are answered from the journal. Models and tools without effects are asked where the call is another one;
rules and budgets decide about that. Other tools are not called. Nothing is recorded but these calls, and files are
restored.`,
		Example: `  xstate check-verifier check
  xstate check-verifier check --input report --verdict ok`,
		Args:              takes(1, 1, "a BLOCK"),
		ValidArgsFunction: a.completeBlocks,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Block = args[0]
			return a.checkVerifier(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&f.Inputs, "input", nil, "plant faults in this `NAME` alone; may be given several times")
	flags.StringVar(&f.Verdict, "verdict", "", "the variable `NAME` is the verdict (default: a truth value that the "+
		"block\nleaves, else the first word of what it prints, else all)")
	flags.DurationVar(&f.Timeout, "timeout", 0, "stop a part of a block that runs longer than this `DURATION`")
	flags.Var(a.pythonPath(&f.Python), "python", "the interpreter's `PATH`, as for run")
	return a.ofSession(cmd)
}

func (a *app) checkVerifier(ctx context.Context, f verb.CheckVerifier) error {
	if f.Timeout < 0 {
		return &usageError{err: errors.New("`--timeout` must not be negative"),
			hint: "`xstate check-verifier BLOCK --timeout 30s`"}
	}
	a.bounds.executes = true
	o, err := a.openWith(ctx, state.Options{}, f.Python)
	if err != nil {
		return err
	}
	defer o.Close()
	id, err := o.named(ctx, f.Block)
	if err != nil {
		return err
	}
	found, err := replay.ChallengeBlock(ctx, o.session.Subject(), id, replay.ChallengeOptions{
		Inputs: f.Inputs, Verdict: f.Verdict, Timeout: f.Timeout})
	if err != nil {
		return err
	}
	d := api.CheckVerifier{Version: api.Version, Session: o.history.Name(), Challenge: found, Unseen: []string{}}
	flowed, err := flow.Of(ctx, o.history, found.Step, 0)
	if err != nil {
		return err
	}
	for i := range flowed.Calls {
		if c := &flowed.Calls[i]; c.Block == id {
			d.Unseen = append(d.Unseen, c.Unseen...)
		}
	}
	slices.Sort(d.Unseen)
	d.Unseen = slices.Compact(d.Unseen)
	if a.ui.JSON {
		return a.ui.Document(d)
	}
	a.printChallenge(&d)
	return nil
}

func (w *printer) printChallenge(d *api.CheckVerifier) {
	var rows [][]string
	for _, x := range d.Faults {
		row := []string{x.Input, x.Fault, x.Outcome}
		if x.Now != "" {
			row = append(row, oneLine(x.Now))
		}
		rows = append(rows, row)
	}
	w.ui.Table(rows)
	for _, name := range d.Unseen {
		w.ui.Text("not seen: " + name)
	}
	w.ui.Talk("block %s noticed %d of %s (%d not read); verdict: %s, %s", d.Block, d.Noticed,
		term.Plural(len(d.Faults), "fault"), d.Unread, d.Verdict, oneLine(d.Was))
	w.ui.Talk("executed %s and made %s, %s; as many whole runs: %d nodes, %s", term.Plural(d.Executed, "node"),
		term.Plural(d.Calls, "call"), term.Seconds(d.Seconds), d.Whole, term.Seconds(d.WholeSeconds))
	if d.Noticed == 0 {
		w.ui.Talk("it noticed nothing: whatever it is given, its verdict is the same")
	}
}
