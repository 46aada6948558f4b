package main

import (
	"context"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/runner/journal/rule"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// listBudgets lists the limits that files set on what the session spends, and what was spent of them.
func (a *app) listBudgets(ctx context.Context, o *opened) error {
	var so xstate.SessionOptions
	name := o.history.Name()
	if err := a.setPolicy(ctx, o.store, name, &so); err != nil {
		return err
	}
	head, _, err := o.store.State().Head(ctx, name)
	if err != nil {
		return err
	}
	m, err := rule.ManifestIn(o.file)
	if m == nil && err == nil {
		m, err = o.manifest(ctx, head)
	}
	if err != nil {
		return err
	}
	run, err := o.lastRun(ctx)
	if err != nil {
		return err
	}
	budgets := rule.Limits(so.Policy.Budgets, nil, m)
	spent, known, err := rule.SpentOf(ctx, o.store.State(), name, run, budgets)
	if err != nil {
		return err
	}
	d := api.Budgets{Version: api.Version, Session: name, Budgets: []api.BudgetLine{}}
	var rows [][]string
	for i, b := range budgets {
		x := api.BudgetLine{Scope: b.Scope, What: b.What, Soft: b.Soft, Limit: b.Text(b.Amount),
			Over: known[i] && spent[i] >= b.Amount, At: b.At.String()}
		if known[i] {
			x.Spent = b.Text(spent[i])
		}
		d.Budgets = append(d.Budgets, x)
		rows = append(rows, []string{rule.ScopeText(b), b.Name(), x.Spent, "of " + x.Limit, a.shortPlace(x.At)})
	}
	if a.ui.JSON {
		return a.ui.Document(d)
	}
	a.ui.Table(rows)
	a.ui.Talk("%s", term.Plural(len(rows), "budget"))
	return nil
}

// manifest is the manifest that a block of the program has; nil if none has one.
func (o *opened) manifest(ctx context.Context, n xstate.StepNumber) (*rule.Manifest, error) {
	program, err := o.history.ProgramAt(ctx, n)
	if err != nil {
		return nil, err
	}
	return rule.ManifestOf(func(yield func(name, text string) bool) {
		for i := range program {
			if !yield("block "+string(program[i].ID), program[i].Source) {
				return
			}
		}
	})
}

// lastRun is the last run of the session.
func (o *opened) lastRun(ctx context.Context) (run rule.LastRun, err error) {
	runs, _, err := o.history.FilteredLog(ctx, query.StepFilter{Kind: state.KindRun}, 0, 2)
	if len(runs) > 0 {
		run.Step, run.Summary = runs[0].Number, runs[0].Run
	}
	if len(runs) > 1 {
		run.Before = runs[1].Number
	}
	return run, err
}
