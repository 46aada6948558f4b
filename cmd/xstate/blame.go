package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
)

func (a *app) blameVerb() *cobra.Command {
	var at verb.Moment
	var by []string
	cmd := &cobra.Command{
		Use:   "blame BLOCK",
		Short: "show which edit wrote each line of a block, or what each agent did",
		Long: `Blame prints a block and, before each line, the step that wrote the line, with agent, model and call. A
line that an edit did not change keeps its step, whatever the format of the edit. So does a line that a rollback or an
undo restored.

` + creditLong,
		Example: `  xstate blame clean
  xstate blame clean --at-step 5 --json
  xstate blame --by agent,model`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("by") {
				return takes(0, 0, "")(cmd, args)
			}
			return takes(1, 1, "a BLOCK, or --by PARTS")(cmd, args)
		},
		ValidArgsFunction: a.completeBlocks,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.credit(cmd.Context(), at, by)
			}
			return a.blame(cmd.Context(), args[0], at)
		},
	}
	cmd.Flags().SortFlags = false
	creditFlag(cmd, &by)
	momentFlags(cmd, &at)
	return a.ofSession(cmd)
}

func (a *app) blame(ctx context.Context, block string, at verb.Moment) error {
	return a.lookAt(ctx, at, func(o *opened, n xstate.StepNumber) error {
		id, err := o.named(ctx, block)
		if err != nil {
			return err
		}
		lines, err := o.history.Blame(ctx, n, id)
		if err != nil {
			return err
		}
		calls, err := o.history.CallsOfBlock(ctx, n, id)
		if err != nil {
			return err
		}
		if a.ui.JSON {
			return a.ui.Document(api.Blame{Answer: api.AnswerAt(o.history.Name(), n), Block: block, Lines: lines,
				Calls: calls})
		}
		var rows [][]string
		for _, l := range lines {
			rows = append(
				rows,
				[]string{fmt.Sprintf("step %d", l.Step), whoText(l.Origin), fmt.Sprintf("%d", l.Line), l.Text},
			)
		}
		a.ui.Write(term.Columns(rows))
		if len(calls) > 0 {
			a.ui.Print("calls:\n")
			a.ui.Table(callRows(calls))
		}
		return nil
	})
}
