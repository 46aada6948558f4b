package main

import (
	"context"
	"fmt"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// logTree prints the calls of runs as trees: those of a step, or of the last runs of the list.
func (a *app) logTree(ctx context.Context, o *opened, f verb.Log) error {
	h := o.history
	steps, err := treeSteps(ctx, h, f)
	if err != nil {
		return err
	}
	runs, err := h.CallTrees(ctx, steps)
	if err != nil {
		return err
	}
	if a.ui.JSON {
		return a.ui.Document(api.CallTree{Version: api.Version, Session: o.history.Name(), Runs: runs})
	}
	none := true
	for _, r := range runs {
		if len(r.Blocks) > 0 || f.Step != nil {
			a.printRunCalls(r)
			none = none && len(r.Blocks) == 0
		}
	}
	if none {
		a.ui.Talk("no call was made")
	}
	return nil
}

// treeSteps returns the runs to print, newest first.
func treeSteps(ctx context.Context, h *query.History, f verb.Log) ([]xstate.StepNumber, error) {
	if f.Step != nil {
		step, err := h.Step(ctx, *f.Step)
		if err == nil && step.Kind != state.KindRun {
			err = &state.Error{Code: replay.CodeNoRun, Message: fmt.Sprintf("step %d is no run", *f.Step),
				Hint: "`xstate log` lists the runs"}
		}
		return []xstate.StepNumber{*f.Step}, err
	}
	steps, err := h.StepsBefore(ctx, f.After, countOr(f.Limit, verb.ListedSteps))
	var runs []xstate.StepNumber
	for _, s := range steps {
		if s.Kind == state.KindRun {
			runs = append(runs, s.Number)
		}
	}
	return runs, err
}

func (w *printer) printRunCalls(r query.RunCalls) {
	w.ui.Print("%s  %s\n", w.ui.Bold(fmt.Sprintf("step %d", r.Step)), sumText(r.Sum))
	for _, b := range r.Blocks {
		name := string(b.Block)
		if b.Index >= 0 {
			name = fmt.Sprintf("[%d] %s", b.Index+1, name)
		}
		w.ui.Print("  %s  %s\n", name, sumText(b.Sum))
		var rows [][]string
		for _, c := range b.Calls {
			rows = append(rows, branchRows(c, "    ")...)
		}
		w.ui.Table(rows)
	}
}

// branchRows makes a row of each call of a branch: what went into it, what it took, and what came out.
func branchRows(c query.CallBranch, margin string) [][]string {
	how := callTook(c)
	if c.Served {
		how = "served"
	}
	row := []string{margin + c.Text, fmt.Sprintf("call %d", c.ID), how, c.Sum.SpentText(), "→ " + oneLine(c.Result)}
	if by := approvalText(c.Approval); by != "" {
		row = append(row, by)
	}
	rows := [][]string{row}
	for _, in := range c.Calls {
		rows = append(rows, branchRows(in, margin+"  ")...)
	}
	return rows
}

// callRows makes a row of each call: what was called, what came out, and who decided about it.
func callRows(calls []query.CallSketch) (rows [][]string) {
	for _, c := range calls {
		rows = append(rows, []string{fmt.Sprintf("  call %d", c.ID), c.Text, "→ " + oneLine(c.Result),
			approvalText(c.Approval)})
	}
	return rows
}

func callTook(c query.CallBranch) string {
	if !c.State.Ended() {
		return string(c.State)
	}
	return term.Seconds(c.Sum.Seconds)
}

// approvalText says who decided about a call.
func approvalText(p *state.Approval) string {
	if !p.Decided() {
		return ""
	}
	text := "decided " + p.Choice
	if p.By != "" {
		text += " by " + p.By
	}
	return text
}

// sumText sums calls up: how many, how long, and what they cost.
func sumText(s query.CallSum) string {
	text := term.Plural(s.Made, "call") + " made"
	if s.Served > 0 {
		text += fmt.Sprintf(", %d served", s.Served)
	}
	if s.Made > 0 {
		text += ", " + term.Seconds(s.Seconds)
	}
	if spent := s.SpentText(); spent != "" {
		text += ", " + spent
	}
	return text
}
