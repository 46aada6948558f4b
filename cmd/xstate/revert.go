package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
)

func (a *app) revertVerb() *cobra.Command {
	var origin xstate.Origin
	cmd := &cobra.Command{
		Use:   "revert CALL…",
		Short: "take the effects of calls back",
		Long: `Revert takes the effects of calls back, in the order of their names, by the tools that undo them.
Each of these is a call of its own: it is recorded, and rules decide about it. The first one that fails ends the rest,
and revert says what is left.

A program that still makes a reverted call makes it again when it runs.`,
		Example: `  xstate rollback --to-step 5
  xstate calls revert 9 7`,
		Args: takes(1, 1<<20, "a CALL, by its number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var ids []state.CallID
			for _, text := range args {
				id, err := parseCall(text)
				if err != nil {
					return err
				}
				ids = append(ids, id)
			}
			return a.revert(cmd.Context(), ids, origin)
		},
	}
	a.originFlags(cmd, &origin)
	return a.sessionFlag(cmd)
}

func (a *app) revert(ctx context.Context, ids []state.CallID, origin xstate.Origin) error {
	if a.session == "" {
		err := a.inStore(ctx, state.Options{ReadOnly: true}, func(store *xstate.Store) error {
			c, err := store.State().Call(ctx, ids[0])
			if err == nil {
				a.session = c.Caller.Session
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	a.bounds.executes = true // tools come from the policy
	return a.change(ctx, func(o *opened) error {
		d := api.Reverts{Version: api.Version}
		var failed error
		d.Reverted, d.Left, failed = o.revert(ctx, ids, origin)
		if failed != nil {
			e := a.errorDocument(failed)
			d.Failure = &e
		}
		if a.ui.JSON {
			if err := a.ui.Document(d); err != nil {
				return err
			}
		} else {
			a.printReverted(d.Reverted)
		}
		return a.notReverted(d.Left, failed)
	})
}

// revert takes effects back until one fails, and returns what is left then.
func (o *opened) revert(ctx context.Context, ids []state.CallID, origin xstate.Origin) (
	done []api.Reverted, left []state.CallID, err error,
) {
	done, left = []api.Reverted{}, []state.CallID{}
	for i, id := range ids {
		by, err := o.session.Revert(ctx, id, origin)
		if err != nil {
			return done, append(left, ids[i:]...), err
		}
		done = append(done, api.Reverted{Call: id, By: by.ID, Tool: by.Tool})
	}
	return done, left, nil
}

func (w *printer) printReverted(done []api.Reverted) {
	for _, r := range done {
		w.ui.Print("call %d: taken back by call %d of %s\n", r.Call, r.By, r.Tool)
	}
}

// notReverted reports what a failure left, and the exit code.
func (w *printer) notReverted(left []state.CallID, failed error) error {
	if failed == nil {
		return nil
	}
	e := w.errorDocument(failed)
	w.ui.Say(fmt.Sprintf("xstate: call %d is not taken back: %s\n", left[0], e.Message))
	if e.Hint != "" {
		w.ui.Say("hint: " + e.Hint + "\n")
	}
	w.ui.Talk("left: %s", revertCommand(left))
	return outcome(exitCode(e.Code))
}

func revertCommand(ids []state.CallID) string {
	words := []string{"xstate calls revert"}
	for _, id := range ids {
		words = append(words, fmt.Sprint(id))
	}
	return strings.Join(words, " ")
}

// effects returns the effects that going back behind a step leaves, which are none of the program's any more.
func (o *opened) effects(ctx context.Context, after xstate.StepNumber) (d api.Effects, err error) {
	left, err := o.history.Effects(ctx, after)
	if err != nil {
		return d, err
	}
	for i := range left {
		row, err := api.CallOf(o.store.State(), &left[i], false)
		if err != nil {
			return d, err
		}
		if journal.Revertible(&left[i]) {
			d.Revertible = append(d.Revertible, row)
		} else {
			d.Permanent = append(d.Permanent, row)
		}
	}
	return d, nil
}

// printEffects says which effects are left, and how to take them back.
func (w *printer) printEffects(d *api.Effects) {
	var ids []state.CallID
	for i := range d.Revertible {
		ids = append(ids, d.Revertible[i].Call)
	}
	for i := range d.Permanent {
		c := &d.Permanent[i]
		w.ui.Talk("call %d of %s %s happened, and no tool takes it back", c.Call, c.Tool, shortJSON(c.Arguments))
	}
	w.printReverted(d.Reverted)
	if len(ids) > 0 && len(d.Reverted) == 0 {
		for i := range d.Revertible {
			c := &d.Revertible[i]
			w.ui.Talk("call %d of %s %s happened", c.Call, c.Tool, shortJSON(c.Arguments))
		}
		w.ui.Talk("to take back what happened: %s", revertCommand(ids))
	}
}
