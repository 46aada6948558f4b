package main

import (
	"context"
	"strings"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state/query"
)

// callsOf sums up the calls of a run; nil where the program makes none.
func (r *running) callsOf(
	ctx context.Context, s *xstate.Session, step xstate.StepNumber, refreshed []journal.Refreshed,
) (*api.CallsSummary, error) {
	uses, err := s.History().CallUses(ctx, step)
	if err != nil || len(uses)+len(r.made)+len(refreshed) == 0 {
		return nil, err
	}
	sum := query.SumCalls(r.made, uses)
	d := &api.CallsSummary{Made: sum.Made, Served: sum.Served, Spent: sum.Spent, Saved: sum.Saved,
		Stale: query.StaleCalls(uses, time.Now())}
	for _, x := range refreshed {
		c := api.RefreshedCall{Call: x.Call.ID, Text: x.Call.Text(), Tool: x.Call.Tool, Age: micro(x.Age.Seconds()),
			Changed: x.Changed}
		if x.Err != nil {
			c.Error = x.Err.Error()
		}
		d.Refreshed = append(d.Refreshed, c)
	}
	return d, nil
}

// printCalls sums up the calls of a run.
func (w *printer) printCallsSummary(d *api.CallsSummary) {
	if d == nil {
		return
	}
	for _, x := range d.Refreshed {
		what := "has the same result"
		switch {
		case x.Error != "":
			what = "was not refreshed: " + x.Error
		case x.Changed:
			what = "has another result"
		}
		w.ui.Talk("call %d, %s, %s", x.Call, x.Text, what)
	}
	w.printStaleCalls(d.Stale)
	var parts []string
	if d.Made > 0 {
		parts = append(parts, strings.TrimSuffix(term.Plural(d.Made, "call")+" made, "+
			query.CallSum{Spent: d.Spent}.SpentText(), ", "))
	}
	if d.Served > 0 {
		parts = append(parts, strings.TrimSuffix(term.Plural(d.Served, "call")+" served, "+
			query.CallSum{Saved: d.Saved}.SpentText(), ", "))
	}
	if len(parts) > 0 {
		w.ui.Talk("%s", strings.Join(parts, "; "))
	}
}

// mostStale bounds how many stale results are named.
const mostStale = 5

// printStaleCalls names results that are older than their tools say is good.
func (w *printer) printStaleCalls(stale []query.StaleCall) {
	for i, c := range stale {
		if i == mostStale {
			w.ui.Talk("%d more results of calls are stale", len(stale)-i)
			break
		}
		var blocks []string
		for _, id := range c.Blocks {
			blocks = append(blocks, string(id))
		}
		w.ui.Talk("%s uses a stale result: %s is %s old, and good for %s", strings.Join(blocks, ", "), c.Text,
			term.Seconds(c.Age), term.Seconds(c.Lifetime))
	}
	if len(stale) > 0 {
		w.ui.Talk("run --refresh calls again what is stale")
	}
}

// staleCalls returns the stale results that those of a session depend on.
func staleCalls(ctx context.Context, s *xstate.Session) ([]query.StaleCall, error) {
	_, head, err := s.History().Program(ctx)
	if err != nil {
		return nil, err
	}
	uses, err := s.History().CallUses(ctx, head)
	return query.StaleCalls(uses, time.Now()), err
}

// refreshing is what --refresh and --tool say; nil: nothing.
func (f *runFlags) refreshing() *journal.Refreshing {
	if !f.Refresh {
		return nil
	}
	return &journal.Refreshing{Tool: f.Tool}
}

// noneRefreshed says that a run refreshed nothing, though it was asked to.
func (a *app) noneRefreshed(f *runFlags, d *api.CallsSummary) {
	switch {
	case !f.Refresh || d != nil && len(d.Refreshed) > 0:
	case f.Tool != "":
		a.ui.Talk("no result depends on a call of %s", f.Tool)
	default:
		a.ui.Talk("no result is stale")
	}
}
