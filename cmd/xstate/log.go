package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state/query"
)

func (a *app) logVerb() *cobra.Command {
	var f verb.Log
	cmd := &cobra.Command{
		Use:   "log [--tree [STEP]]",
		Short: "list the steps of a session, newest first",
		Long: `Log lists a session's steps, newest first: edits with author and line counts, runs with outcome,
rollbacks, forks. --graph draws forked sessions and lists shared steps once.

--tree prints the calls of tools and models that the results of each run, or of the run STEP, depend on: by block,
within recorded steps, with what each branch took, spent and saved.`,
		Example: `  xstate log --limit 5
  xstate log --limit 5 --after 14     the five steps before step 14
  xstate log --graph
  xstate log --tree 14                what the run of step 14 called`,
		Args: takes(0, 1, "name one step, with --tree"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if !f.Tree || (stepFlag{&f.Step}).Set(args[0]) != nil {
					return &usageError{err: fmt.Errorf("log takes no %q", args[0]), hint: "`xstate log --tree STEP`"}
				}
			}
			return a.log(cmd.Context(), f)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().Var(countFlag{&f.Limit}, "limit",
		fmt.Sprintf("list at most `N` steps; 0 for all (default %d)", verb.ListedSteps))
	cmd.Flags().Var(stepNumber{&f.After}, "after", "continue after step `N` of the list, with the steps before it")
	cmd.Flags().BoolVar(&f.Graph, "graph", false, "draw the sessions that share a past")
	cmd.Flags().BoolVar(&f.Tree, "tree", false, "print the calls of runs as trees")
	cmd.Flags().BoolVar(&f.Failures, "failures", false, "list the blocks that failed, and what caused and fixed it")
	return a.ofSession(cmd)
}

func (a *app) log(ctx context.Context, f verb.Log) error {
	if f.Failures {
		return a.look(ctx, func(o *opened) error { return a.logFailures(ctx, o) })
	}
	if f.Graph {
		a.family = true
		return a.look(ctx, func(o *opened) error { return a.logGraph(ctx, o, f) })
	}
	if f.Tree {
		return a.look(ctx, func(o *opened) error { return a.logTree(ctx, o, f) })
	}
	return a.look(ctx, func(o *opened) error {
		entries, more, err := o.history.FilteredLog(ctx, query.StepFilter{Agent: f.Agent, Kind: f.Kind}, f.After,
			countOr(f.Limit, verb.ListedSteps))
		if err != nil {
			return err
		}
		forks, err := o.forks(ctx)
		if err != nil {
			return err
		}
		next := xstate.StepNumber(0)
		if n := len(entries); more {
			next = entries[n-1].Number
		}
		if a.ui.JSON {
			return a.ui.Document(logDocument(o.history.Name(), entries, forks, next))
		}
		var rows [][]string
		for _, e := range entries {
			rows = append(rows, a.entryRow(e))
			for _, name := range forks[e.Number] {
				rows = append(rows, []string{"  forked", "", "", name})
			}
		}
		a.ui.Table(rows)
		if next > 0 {
			a.ui.Talk("%s before these; --limit 0 lists all", term.Plural(int(next-1), "step"))
		}
		return nil
	})
}

func logDocument(
	session string,
	entries []query.Entry,
	forks map[xstate.StepNumber][]string,
	next xstate.StepNumber,
) api.Log {
	steps := []api.LogStep{}
	for _, e := range entries {
		steps = append(steps, api.LogStep{Entry: e, Forks: forks[e.Number]})
	}
	return api.Log{Version: api.Version, Session: session, Steps: steps, Next: next}
}

// forks returns the sessions that were forked from this one, by the step after which they were.
func (o *opened) forks(ctx context.Context) (map[xstate.StepNumber][]string, error) {
	all, err := o.store.State().Sessions(ctx)
	forks := map[xstate.StepNumber][]string{}
	for _, s := range all {
		if s.From != nil && s.From.Session == o.history.Name() {
			forks[s.From.Step] = append(forks[s.From.Step], s.Name)
		}
	}
	return forks, err
}
