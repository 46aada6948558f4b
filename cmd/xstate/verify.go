package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
)

func (a *app) verifyVerb() *cobra.Command {
	var f verb.Verify
	cmd := &cobra.Command{
		Use:   "verify BLOCK",
		Short: "execute a block several times from the same state, and report what differs",
		Long:  verifyLong,
		Example: `  xstate verify fit
  xstate verify fit --times 10 --timeout 1m`,
		Args:              takes(1, 1, "a BLOCK"),
		ValidArgsFunction: a.completeBlocks,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Block = args[0]
			return a.verifyBlock(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVar(&f.Times, "times", verb.VerifyTimes, "execute the block this `NUMBER` of times")
	flags.DurationVar(&f.Timeout, "timeout", 0, "stop a part of a block that runs longer than this `DURATION`")
	flags.Var(a.pythonPath(&f.Python), "python", "the interpreter's `PATH`, as for run")
	a.originFlags(cmd, &f.Origin)
	return a.ofSession(cmd)
}

const verifyLong = `--times executes the block of --block several times from the same state, each time in a separate
interpreter, and reports what differs: output, error, variables, files. The session remembers code that varies as
volatile until it is edited: its results are marked, and confirm nothing. A step records the findings. The block's
inputs are brought up to date first. Files that the block writes are restored; effects outside the folder happen each
time. To compare the whole program with a run from scratch: xstate run FILE --verify.`

func (a *app) verifyBlock(ctx context.Context, f verb.Verify) error {
	if f.Block == "" {
		return &usageError{err: errors.New("--times needs the BLOCK of --block"),
			hint: "`xstate replay --block BLOCK --times 3`"}
	}
	if f.Timeout < 0 {
		return &usageError{err: errors.New("`--timeout` must not be negative"),
			hint: "`xstate replay --block BLOCK --times 3 --timeout 30s`"}
	}
	if f.Times < 2 {
		return &usageError{
			err:  errors.New("--times must be 2 or more: one execution cannot differ"),
			hint: "`xstate replay --block BLOCK --times 3`",
		}
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
	found, err := replay.VerifyBlock(
		ctx,
		o.session.Subject(),
		id,
		replay.VerifyOptions{Times: f.Times, Timeout: f.Timeout},
		f.Origin,
	)
	if err != nil {
		return err
	}
	if a.ui.JSON {
		err = a.ui.Document(api.Verify{Version: api.Version, Session: o.history.Name(), Stability: found})
	} else {
		a.printStability(found)
	}
	if err == nil && !found.Stable {
		return outcome(exitDiverged)
	}
	return err
}

func (w *printer) printStability(x *replay.Stability) {
	for _, v := range x.Differs {
		text := fmt.Sprintf("%s, %s: %d different", v.Node, v.What, len(v.Values))
		if v.Follows {
			text += ", for what it reads differs"
		}
		w.ui.Print("%s\n", text)
		for _, value := range v.Values {
			w.ui.Print("    %s\n", oneLine(value))
		}
	}
	text := fmt.Sprintf("step %d: block %s executed %d times, %s: ", x.Step, x.Block, x.Times, term.Seconds(x.Seconds))
	switch {
	case x.Stable && len(x.Marks) > 0:
		text += "the same each time, though it is marked " + strings.Join(x.Marks, ", ")
	case x.Stable:
		text += "the same each time"
	default:
		text += "not the same; it counts as volatile until it is edited"
	}
	w.ui.Talk("%s", text)
}
