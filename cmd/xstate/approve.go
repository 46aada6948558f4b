package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
)

func (a *app) approveVerb() *cobra.Command {
	var f verb.Approve
	cmd := &cobra.Command{
		Use:   "approve CALL…",
		Short: "decide about calls that wait",
		Long: `Approve decides about calls that wait: a call that a rule asks about, a question of the program, or
a call that may have happened, because its answer was lost. Without --choice it says yes. --deny says no, or of a call
that may have happened, that it failed.

A decision holds for this one call. It is a step of the history, with who decided, why, and on what evidence. The next
run goes on from there: calls that were made are served from their records, and do not happen again.`,
		Example: `  xstate calls --waiting
  xstate approve 7
  xstate approve 7 --deny --reason "too expensive"
  xstate approve 8 --choice happened --result '{"order": 42}'`,
		Args: takes(1, 1<<20, "a CALL, by its number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, text := range args {
				id, err := parseCall(text)
				if err != nil {
					return err
				}
				f.Calls = append(f.Calls, id)
			}
			return a.approve(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.Choice, "choice", "", "the `CHOICE`, one of those that the call offers (default: yes)")
	flags.BoolVar(&f.Deny, "deny", false, "decline the call")
	flags.StringVar(&f.Reason, "reason", "", "`TEXT` that says why; the program gets it if the call is declined")
	flags.StringVar(&f.Result, "result", "", "with --choice happened: what the call returned, as `JSON`")
	flags.StringVar(&f.By, "by", "", "the `NAME` of who decides (default: $USER)")
	return cmd
}

// decisionOf is what the flags say about a call.
func decisionOf(f *verb.Approve, c *state.Call, by string) journal.Decision {
	d := journal.Decision{Call: c.ID, Choice: f.Choice, Result: json.RawMessage(f.Result), By: cmp.Or(f.By, by),
		Reason: f.Reason, At: time.Now().UTC()}
	switch w := c.Waits(); {
	case f.Deny && w != nil && slices.Contains(w.Choices, journal.ChoiceFailed):
		d.Choice = journal.ChoiceFailed
	case f.Deny:
		d.Choice = journal.ChoiceNo
	case d.Choice == "":
		d.Choice = journal.ChoiceYes
	}
	return d
}

// checkApprove refuses fields that do not go together.
func checkApprove(f *verb.Approve) error {
	switch {
	case slices.Contains(f.Calls, 0):
		return noCallNumber("0")
	case f.Deny && f.Choice != "":
		return &usageError{err: errors.New("`--deny` and `--choice` exclude each other"), hint: "use one of them"}
	case f.Result != "" && f.Choice != journal.ChoiceHappened:
		return &usageError{err: errors.New("`--result` is for `--choice happened`"),
			hint: "`xstate approve CALL --choice happened --result JSON`"}
	}
	return nil
}

func (a *app) approve(ctx context.Context, f verb.Approve) error {
	if err := checkApprove(&f); err != nil {
		return err
	}
	return a.inStore(ctx, state.Options{}, func(store *xstate.Store) error {
		d := api.Approve{Version: api.Version, Calls: []api.Approved{}, Next: []string{}}
		for _, id := range f.Calls {
			done, err := a.decide(ctx, store, id, f)
			if err != nil {
				return err
			}
			d.Calls = append(d.Calls, *done)
			if next := a.goesOn(ctx, store, done.Session); !slices.Contains(d.Next, next) {
				d.Next = append(d.Next, next)
			}
		}
		if a.ui.JSON {
			return a.ui.Document(d)
		}
		for _, c := range d.Calls {
			a.ui.Print("call %d of %s: %s\n", c.Call, c.Tool, c.Approval.Choice)
			if c.Recorded > 0 {
				a.ui.Talk("step %d of %s records it", c.Recorded, c.Session)
			}
		}
		for _, next := range d.Next {
			a.ui.Talk("to go on: %s", next)
		}
		return nil
	})
}

// decide records what the flags say about one call.
func (a *app) decide(ctx context.Context, store *xstate.Store, id state.CallID, f verb.Approve) (*api.Approved, error) {
	c, err := store.State().Call(ctx, id)
	if err != nil {
		return nil, err
	}
	c, step, err := journal.Decide(ctx, store.State(), decisionOf(&f, c, cmp.Or(a.env("USER"), a.env("LOGNAME"))))
	if err != nil {
		return nil, err
	}
	done := &api.Approved{}
	if done.CallRow, err = api.CallOf(store.State(), c, true); err != nil {
		return nil, err
	}
	if step != nil {
		done.Recorded = step.Number
	}
	return done, nil
}

// goesOn is the command that runs a session's program.
func (a *app) goesOn(ctx context.Context, store *xstate.Store, session string) string {
	file, err := fileOf(ctx, store, session)
	if err == nil && a.isProgram(file) {
		return "xstate run " + term.Quoted(a.fromHere(file))
	}
	return "xstate run --session " + term.Quoted(session)
}
