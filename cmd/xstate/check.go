package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/state"
)

func (a *app) checkVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "verify that the store is what was written",
		Long: `Check reads the whole store and verifies it: that no step was changed, dropped or reordered, that every source, record
and blob is what it is named by. It changes nothing. The exit code is 4 when something is damaged.`,
		Example: `  xstate check`,
		Args:    takes(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.check(cmd.Context()) },
	}
}

type problem struct {
	Invariant int               `json:"invariant"`
	File      string            `json:"file"`
	Session   string            `json:"session,omitempty"`
	Step      xstate.StepNumber `json:"step,omitempty"`
	Message   string            `json:"message"`
}

func (a *app) check(ctx context.Context) (err error) {
	folder, err := os.Getwd()
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
	store, err := xstate.Open(ctx, dir, xstate.Options{State: state.Options{Wait: a.wait, ReadOnly: true}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	problems, err := store.State().Check(ctx)
	if err != nil {
		return err
	}
	all, err := store.State().Sessions(ctx)
	if err != nil && len(problems) == 0 {
		return err
	}
	notices := store.State().Notices()
	if a.ui.json {
		err = a.ui.document(checkDocument(dir, len(all), problems, notices))
	} else {
		for _, p := range problems {
			a.ui.print("%s\n", p)
		}
		a.notices(store)
		if len(problems) == 0 {
			a.ui.talk("the store %s is sound: %s", dir, plural(len(all), "session"))
		} else {
			a.ui.say("xstate: the store " + dir + " is damaged: " + plural(len(problems), "problem") + "\n")
			a.ui.say("hint: copy it to a safe place; results.db and blobs/ may be deleted, history.db is to be restored from a backup\n")
		}
	}
	if err == nil && len(problems) > 0 {
		return outcome(exitDiverged)
	}
	return err
}

func checkDocument(dir string, sessions int, problems []state.Problem, notices []string) any {
	list := []problem{}
	for _, p := range problems {
		list = append(list, problem{p.Invariant, p.File, p.Session, p.Step, p.Message})
	}
	return struct {
		Version  int       `json:"version"`
		Store    string    `json:"store"`
		Sessions int       `json:"sessions"`
		Problems []problem `json:"problems"`
		Notices  []string  `json:"notices,omitempty"`
	}{1, dir, sessions, list, notices}
}
