package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state/artifact"
	"github.com/xstate-engine/xstate/state/query"
)

// ofBlocks returns a question for the blocks that keep holds for; told describes them.
func (a *app) ofBlocks(
	told string,
	keep func(*query.BlockView) bool,
) func(context.Context, *opened, xstate.StepNumber) error {
	return func(ctx context.Context, o *opened, n xstate.StepNumber) error {
		snap, err := o.history.At(ctx, n)
		if err != nil {
			return err
		}
		found := snap.Select(keep)
		if a.ui.JSON {
			return a.ui.Document(api.QueryBlocks{Answer: api.AnswerAt(snap.Session, n), Blocks: found})
		}
		a.printBlocks(found)
		a.ui.Talk("%s of %d %s", term.Plural(len(found), "block"), len(snap.Blocks), told)
		return nil
	}
}

// queryUnverified lists what no run from scratch has confirmed, and what no check exercised.
func (a *app) queryUnverified(ctx context.Context, o *opened, n xstate.StepNumber) error {
	snap, err := o.history.At(ctx, n)
	if err != nil {
		return err
	}
	unchecked, err := artifact.IncompleteCoverage(ctx, o.history, n)
	if err != nil {
		return err
	}
	found := snap.Select((*query.BlockView).Unverified)
	if a.ui.JSON {
		return a.ui.Document(
			api.QueryUnverified{Answer: api.AnswerAt(snap.Session, n), Blocks: found, Unchecked: unchecked},
		)
	}
	a.printBlocks(found)
	a.ui.Talk("%s of %d were not confirmed by a run from scratch", term.Plural(len(found), "block"), len(snap.Blocks))
	if len(unchecked) == len(snap.Blocks) &&
		!slices.ContainsFunc(unchecked, func(c artifact.Coverage) bool { return len(c.Checks) > 0 }) {
		a.ui.Talk("no check exercised any of them in its present version")
		return nil
	}
	a.evidenceList("covered by checks that passed", func(add func(...string)) {
		for i := range unchecked {
			add(coverageRow(&unchecked[i])...)
		}
	})
	return nil
}

func (a *app) queryWhere(ctx context.Context, o *opened, n xstate.StepNumber, f queryFlags) error {
	filter, err := query.NewFilter(f.Where)
	if err != nil {
		return err
	}
	found, err := o.history.Where(ctx, n, filter, query.Page{Limit: countOr(f.Limit, 0), After: f.After})
	if err != nil {
		return err
	}
	if a.ui.JSON {
		return a.ui.Document(api.QueryWhere{Answer: api.AnswerAt(o.history.Name(), n), Found: found})
	}
	a.printBlocks(found.Blocks)
	var rows [][]string
	for _, t := range found.Traces {
		rows = append(
			rows,
			[]string{t.Name, t.Status, term.Seconds(t.Seconds), reasonText(t.Reason), term.Short(string(t.Trace))},
		)
	}
	for _, e := range found.Steps {
		rows = append(rows, a.entryRow(e))
	}
	a.ui.Table(rows)
	count := len(found.Blocks) + len(found.Traces) + len(found.Steps)
	told := term.Plural(count, strings.TrimSuffix(string(found.Subject), "s"))
	if found.Next != "" {
		told += ", and there are more: --after " + found.Next
	}
	a.ui.Talk("%s", told)
	return nil
}

func (a *app) queryVersion(ctx context.Context, o *opened, version string) error {
	found, err := o.history.Version(ctx, version)
	if err != nil {
		return err
	}
	if a.ui.JSON {
		return a.ui.Document(api.QueryVersion{Version: api.Version, Session: o.history.Name(), Versions: found})
	}
	for _, v := range found {
		a.ui.Print("block %s  version %s\n", a.ui.Bold(string(v.Block)), term.Short(string(v.Version)))
		a.ui.Write(term.Indent(v.Source, "    "))
		var rows [][]string
		for _, s := range v.Spans {
			until := fmt.Sprintf("steps %d to %d", s.First.Number, s.Last)
			if s.Last == 0 {
				until = fmt.Sprintf("since step %d", s.First.Number)
			}
			rows = append(rows, append([]string{until}, a.entryRow(s.First)[1:]...))
		}
		a.ui.Table(rows)
	}
	return nil
}

func (a *app) queryPatch(ctx context.Context, o *opened, what string) error {
	found, err := o.history.Patches(ctx, what)
	if err != nil {
		return err
	}
	if a.ui.JSON {
		return a.ui.Document(api.QueryPatch{Version: api.Version, Session: o.history.Name(), Patches: found})
	}
	for _, p := range found {
		a.ui.Table([][]string{a.entryRow(p.Step)})
		a.ui.Text(originMore(p.Step.Origin))
		a.ui.Write(p.Diff)
		a.ui.Print("%s\n", textEffect(string(p.Step.Kind), p.EditSummary))
		if p.NextRun == 0 {
			a.ui.Print("no run followed it\n")
			continue
		}
		a.ui.Print("then ran, in step %d: %s\n", p.NextRun, term.Plural(len(p.Ran), "block"))
		var rows [][]string
		for _, r := range p.Ran {
			rows = append(rows, []string{"  " + string(r.Block), r.Status, reasonText(r.Reason)})
		}
		a.ui.Table(rows)
		a.ui.Write(effectText(&p.After.Impact))
	}
	return nil
}
