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
	"github.com/xstate-engine/xstate/state/query"
)

func (a *app) creditVerb() *cobra.Command {
	var at verb.Moment
	var by []string
	cmd := &cobra.Command{
		Use:   "credit",
		Short: "add up what each agent, model or call did",
		Long:  creditLong,
		Example: `  xstate credit
  xstate credit --by call --json`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.credit(cmd.Context(), at, by) },
	}
	cmd.Flags().SortFlags = false
	creditFlag(cmd, &by)
	momentFlags(cmd, &at)
	return a.ofSession(cmd)
}

// creditFlag adds --by.
func creditFlag(cmd *cobra.Command, by *[]string) {
	cmd.Flags().StringSliceVar(by, "by", nil,
		"add up what was done, a row for each of these `PARTS`: agent, model, call, with commas")
	_ = cmd.RegisterFlagCompletionFunc(
		"by",
		cobra.FixedCompletions([]string{"agent", "model", "call"}, cobra.ShellCompDirectiveNoFileComp),
	)
}

const creditLong = `--by adds up the steps of a session instead, by agent, model or call. A row has the edits, the
blocks that they broke and fixed, the seconds of execution that they caused, the seconds saved by reuse when they ran,
tokens and cost. The rows add up to the steps exactly.

A block that ran is charged to the edit that made it run: the edit of its own code, or, along the recorded reasons, of
the code behind the input that changed. A run without an edit is charged to its origin. If the edit is not known, no one
is charged.`

func creditOf(r query.CreditRow) api.CreditRow {
	return api.CreditRow{
		Agent:     r.Agent,
		Model:     r.Model,
		CallID:    r.CallID,
		Patches:   r.Patches,
		Broken:    r.Broken,
		Fixed:     r.Fixed,
		Caused:    r.Caused.Seconds(),
		Saved:     r.Saved.Seconds(),
		TokensIn:  r.TokensIn,
		TokensOut: r.TokensOut,
		Cost:      r.Cost,
		Calls:     r.Calls,
	}
}

func (a *app) credit(ctx context.Context, at verb.Moment, parts []string) error {
	var by query.CreditBy
	for _, p := range parts {
		switch p {
		case "agent":
			by.Agent = true
		case "model":
			by.Model = true
		case "call":
			by.Call = true
		default:
			return &usageError{
				err:  fmt.Errorf("there are no rows by %q", p),
				hint: "use `--by` agent, model, call, or several with commas",
			}
		}
	}
	return a.lookAt(ctx, at, func(o *opened, n xstate.StepNumber) error {
		c, err := o.history.Credit(ctx, n, by)
		if err != nil {
			return err
		}
		if a.ui.JSON {
			rows := []api.CreditRow{}
			for _, r := range c.Rows {
				rows = append(rows, creditOf(r))
			}
			return a.ui.Document(
				api.Credit{Answer: api.AnswerAt(o.history.Name(), n), Rows: rows, Total: creditOf(c.Total)},
			)
		}
		rows := [][]string{{"", "edits", "broke", "fixed", "caused", "saved", "tokens", "cost"}}
		for _, r := range c.Rows {
			rows = append(rows, creditText(nameText(r), r))
		}
		a.ui.Table(append(rows, creditText("total", c.Total)))
		return nil
	})
}

func nameText(r query.CreditRow) string {
	if who := whoText(xstate.Origin{Agent: r.Agent, Model: r.Model, CallID: r.CallID}); strings.TrimSpace(who) != "" {
		return who
	}
	return "(nobody named)"
}

func creditText(name string, r query.CreditRow) []string {
	tokens, cost := "", ""
	if r.TokensIn+r.TokensOut > 0 {
		tokens = fmt.Sprintf("%d+%d", r.TokensIn, r.TokensOut)
	}
	if r.Cost > 0 {
		cost = "$" + r.Cost.String()
	}
	return []string{
		name,
		fmt.Sprint(r.Patches),
		fmt.Sprint(r.Broken),
		fmt.Sprint(r.Fixed),
		term.Seconds(r.Caused.Seconds()),
		term.Seconds(r.Saved.Seconds()),
		tokens,
		cost,
	}
}
