package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/runner/replay"
)

type bisectFlags struct {
	block  string
	python string
	o      replay.BisectOptions
}

func (a *app) bisectVerb() *cobra.Command {
	var f bisectFlags
	cmd := &cobra.Command{
		Use:   "bisect BLOCK",
		Short: "find the edit after which a block failed, or its results changed",
		Long:  bisectLong,
		Example: `  xstate bisect report
  xstate bisect fit --value score --good 12 --bad 80`,
		Args:              takes(1, 1, "a BLOCK; xstate query lists them"),
		ValidArgsFunction: a.completeBlocks,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.block = args[0]
			return a.bisect(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.add(flags)
	flags.DurationVar(&f.o.Timeout, "timeout", 0, "stop a part of a block that runs longer than this `DURATION`")
	flags.Var(a.pythonPath(&f.python), "python", "the interpreter's `PATH`, as for run")
	return a.ofSession(cmd)
}

// add adds the flags that both spellings have.
func (f *bisectFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.o.Value, "value", "", "with --bisect: compare only the variable `NAME` that the block makes")
	flags.Var(stepNumber{&f.o.Good}, "good",
		"with --bisect: the `STEP` to begin with (default: the last run that did not fail and differs)")
	flags.Var(stepNumber{&f.o.Bad}, "bad", "with --bisect: the `STEP` to end with (default: the last)")
	flags.BoolVar(&f.o.Recorded, "recorded", false, "with --bisect: execute nothing")
}

const bisectLong = `--bisect finds the edit since which a block fails. If the block does not fail now, it finds the edit
since which the block makes and prints what it does now. It halves the edits in between and looks at the record first.
It executes only what is missing: of the program at that step, the block and what it depends on, with files and other
inputs as they are now. So a value may be one that no step had. The session does not change, files are restored, and
results are kept for later runs. Effects outside the folder happen. With --recorded nothing is executed, and the edits
that it may be are listed.`

func (a *app) bisect(ctx context.Context, f bisectFlags) error {
	if f.block == "" || f.o.Timeout < 0 {
		return &usageError{err: errors.New("--bisect needs a BLOCK, and `--timeout` must not be negative"),
			hint: "`xstate replay --bisect BLOCK --timeout 30s`"}
	}
	o, err := a.openToPlan(ctx, f.python)
	if err != nil {
		return err
	}
	defer o.Close()
	id, err := o.named(ctx, f.block)
	if err != nil {
		return err
	}
	found, err := replay.Bisect(ctx, o.session.Subject(), id, f.o)
	if err != nil {
		return err
	}
	if a.ui.JSON {
		return a.ui.Document(api.Bisection{Version: api.Version, Session: o.history.Name(), Bisection: found})
	}
	a.printBisection(found)
	return nil
}

func (w *printer) printBisection(x *replay.Bisection) {
	for _, e := range x.Between {
		w.ui.Table([][]string{w.entryRow(e)})
	}
	if len(x.Between) == 0 {
		w.ui.Table([][]string{w.entryRow(*x.First)})
		w.ui.Print("%s", probeText("before", &x.Good, &x.Bad))
		w.ui.Print("%s", probeText("since", &x.Bad, &x.Good))
	} else {
		w.ui.Talk("the edit is one of these; without --recorded, bisect executes what is missing")
	}
	if len(x.Bad.Marks) > 0 {
		w.ui.Talk(
			"block %s is volatile (%s): its results may change without an edit",
			x.Block,
			strings.Join(x.Bad.Marks, ", "),
		)
	}
	text := fmt.Sprintf("block %s %s; looked at %s", x.Block, x.Test, term.Plural(len(x.Probes), "program"))
	if x.Executed > 0 {
		text += fmt.Sprintf(", executed %s, %s", term.Plural(x.Executed, "block"), term.Seconds(x.Seconds))
	} else {
		text += ", all recorded"
	}
	w.ui.Talk("%s", text)
}

// probeText describes the parts of a block's outcome that differ from the other outcome.
func probeText(when string, p, other *replay.Probe) string {
	text := fmt.Sprintf("%s (step %d): %s\n", when, p.Step, p.Status)
	if p.Error != "" {
		text += term.Indent(p.Error, "    ")
	}
	var rows [][]string
	for _, k := range slices.Sorted(maps.Keys(p.Makes)) {
		if v := p.Makes[k]; v.Digest != other.Makes[k].Digest {
			rows = append(rows, []string{"    " + string(k), valueText(v.Value)})
		}
	}
	return text + term.Columns(rows)
}
