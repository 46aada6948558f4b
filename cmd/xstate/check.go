package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
)

func (a *app) checkVerb() *cobra.Command {
	var kept []string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "verify that the store is undamaged",
		Long:  checkLong,
		Example: `  xstate check
  xstate check --head 3f9a1c0e5b7d…`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.check(cmd.Context(), kept) },
	}
	checkFlag(cmd, &kept)
	return cmd
}

// checkFlag adds --head.
func checkFlag(cmd *cobra.Command, kept *[]string) {
	cmd.Flags().StringArrayVar(kept, "head", nil,
		"verify that the history has a step with this `HASH`, too; may be repeated")
}

const checkLong = `--check reads the whole store and verifies that no step was changed, dropped, inserted or reordered,
and that every source, record and blob has the digest that names it. It changes nothing, and programs may run at the
same time.

The steps of a session form a chain of hashes; the check prints the last hash of each session. A process that can write
the whole store can write another chain. So keep a hash elsewhere: --head then shows whether the history up to that step
is still the same. It needs no network: a copy of the store (--store DIR) is enough. The exit code is 4 when something
is damaged, or no step has the hash.`

func (a *app) check(ctx context.Context, kept []string) (err error) {
	for _, hash := range kept {
		if raw, err := hex.DecodeString(hash); err != nil || len(raw) != 32 {
			return &usageError{
				err:  fmt.Errorf("%q is not the hash of a step", hash),
				hint: "a hash has 64 hex digits; `xstate doctor --check` prints those to keep",
			}
		}
	}
	folder, err := a.here()
	if err != nil {
		return err
	}
	dir, found, err := a.storeDir(folder)
	if err != nil {
		return err
	}
	if !found {
		return a.noStore(dir)
	}
	store, err := a.openStore(ctx, dir, state.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.closeStore(store)) }()
	d := api.Check{Version: api.Version, Store: dir, Heads: []api.Head{}, Problems: []api.Problem{}}
	problems, err := store.State().Check(ctx)
	if err != nil {
		return err
	}
	for _, p := range problems {
		d.Problems = append(
			d.Problems,
			api.Problem{Invariant: p.Invariant, File: p.File, Session: p.Session, Step: p.Step, Message: p.Message},
		)
	}
	all, err := store.State().Sessions(ctx)
	if err != nil && len(problems) == 0 {
		return err
	}
	for _, s := range all {
		d.Heads = append(d.Heads, api.Head{Session: s.Name, Step: s.Head, Hash: s.Hash})
	}
	for _, hash := range kept {
		name, n, err := store.State().StepWithHash(ctx, xstate.Digest(strings.ToLower(hash)))
		switch {
		case err == nil:
			d.Verified = append(d.Verified, api.Head{Session: name, Step: n, Hash: xstate.Digest(hash)})
		case state.CodeOf(err) == state.CodeNoStep || len(problems) > 0:
			d.Missing = append(d.Missing, hash)
		default:
			return err
		}
	}
	if d.Results, err = resultsOf(ctx, store.State(), all); err != nil && len(problems) == 0 {
		return err
	}
	d.Notices, d.Sessions = store.State().Notices(), len(all)
	if a.ui.JSON {
		err = a.ui.Document(d)
	} else {
		a.printCheck(d, problems)
	}
	if err == nil && len(d.Problems)+len(d.Missing) > 0 {
		return outcome(exitDiverged)
	}
	return err
}

// resultsOf counts the results that the present programs use, and those that the store has. A history without results
// is sound: they are a cache.
func resultsOf(ctx context.Context, store *state.Store, all []state.Session) (n api.Results, err error) {
	for _, s := range all {
		blocks, err := store.ProgramAt(ctx, s.Name, s.Head)
		if err != nil {
			return n, err
		}
		for _, b := range blocks {
			for _, node := range b.Nodes {
				if node.Trace == "" {
					continue
				}
				n.Recorded++
				t, found, err := store.For(s.Trust).Trace(node.Trace)
				if err != nil || !found {
					continue
				}
				if n.Kept++; t.Tier == state.TierForeign {
					n.Foreign++
				}
			}
		}
	}
	return n, nil
}

func (w *printer) printCheck(d api.Check, problems []state.Problem) {
	for _, p := range problems {
		w.ui.Print("%s\n", p)
	}
	for _, h := range d.Heads {
		w.ui.Print("%s  step %d  %s\n", h.Hash, h.Step, h.Session)
	}
	for _, n := range d.Notices {
		w.ui.Talk("%s", n)
	}
	for _, h := range d.Verified {
		w.ui.Talk("the history of %s up to step %d is the one with the hash %s", h.Session, h.Step, h.Hash)
	}
	for _, hash := range d.Missing {
		w.ui.Say("xstate: no step has the hash " + hash + ": the history is not the one it was taken from\n")
	}
	if len(problems) == 0 {
		w.ui.Talk("the store %s is sound: %s", d.Store, term.Plural(d.Sessions, "session"))
		if lost := d.Results.Recorded - d.Results.Kept; lost > 0 {
			verb := map[bool]string{true: "is", false: "are"}[lost == 1]
			w.ui.Talk("of %s that the sessions use, %d %s gone (deleted, freed or never copied): "+
				"the next run executes that again", term.Plural(d.Results.Recorded, "result"), lost, verb)
		}
		if d.Results.Foreign > 0 {
			w.ui.Talk("%s came with archives and not from an execution here: only xstate run FILE --verify "+
				"shows whether they are right", term.Plural(d.Results.Foreign, "foreign result"))
		}
	} else {
		w.ui.Say("xstate: the store " + d.Store + " is damaged: " + term.Plural(len(problems), "problem") + "\n")
		w.ui.Say("hint: copy it to a safe place; results.db and blobs/ may be deleted, " +
			"history.db, calls.db and bases/ are to be restored from a backup\n")
	}
}
