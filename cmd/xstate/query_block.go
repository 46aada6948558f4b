package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
	"github.com/xstate-engine/xstate/state/query"
)

func (a *app) queryBlock(ctx context.Context, o *opened, n xstate.StepNumber, f queryFlags) error {
	snap, err := o.history.At(ctx, n)
	if err != nil {
		return err
	}
	b, err := snap.Block(xstate.BlockID(f.Block))
	if err != nil {
		return err
	}
	a.placesIn(o, snap)
	if a.ui.JSON {
		b.Error = a.places.explain(b.Error)
		return a.ui.Document(
			api.QueryBlock{
				Version: api.Version,
				Session: snap.Session,
				Step:    snap.Step,
				NextRun: snap.NextRun,
				Block:   b,
			},
		)
	}
	a.stepHead(snap)
	a.printBlockView(b, f.all)
	return nil
}

// placesIn takes the program that a snapshot shows to be the one whose places are shown.
func (a *app) placesIn(o *opened, s *query.Snapshot) {
	a.places = &places{caller: a.caller, file: o.file, folder: o.history.Workspace()}
	for i := range s.Blocks {
		b := &s.Blocks[i]
		a.places.blocks = append(a.places.blocks, placedBlock{b.ID, string(b.Dialect), b.Source})
		if b.Status == state.StatusFailed.String() {
			a.places.fail(b.ID)
		}
	}
}

func (a *app) printSnapshot(o *opened, snap *query.Snapshot) error {
	if a.ui.JSON {
		a.placesIn(o, snap)
		for i := range snap.Blocks {
			snap.Blocks[i].Error = a.places.explain(snap.Blocks[i].Error)
		}
		return a.ui.Document(api.Query{Version: api.Version, Snapshot: snap})
	}
	a.stepHead(snap)
	a.printBlocks(snap.Blocks)
	if more := snap.Total - len(snap.Blocks); more > 0 {
		a.ui.Talk("%s more; --limit 0 lists all", term.Plural(more, "block"))
	}
	return nil
}

// printBlocks lists blocks, a line each.
func (w *printer) printBlocks(blocks []query.BlockView) {
	var rows [][]string
	for _, b := range blocks {
		took := ""
		if b.Seconds > 0 {
			took = term.Seconds(b.Seconds)
		}
		status := b.Status
		if t := b.Trust(); t.Tier != state.TierOwn {
			status += " (" + t.Tier.String() + ")"
		}
		if b.Lost() {
			status += ", record gone"
		}
		rows = append(rows, []string{fmt.Sprintf("[%d]", b.Index+1), string(b.ID), term.Short(string(b.Version)),
			fmt.Sprintf("step %d", b.Edited), status, took, summary(b.Outputs, b.Error)})
	}
	w.ui.Table(rows)
}

// stepHead says which step a snapshot belongs to.
func (w *printer) stepHead(s *query.Snapshot) {
	if s.Step.Number == 0 {
		w.ui.Print("session %s before its first step\n", s.Session)
		return
	}
	w.ui.Print("%s\n", w.ui.Bold(strings.Join(w.entryRow(s.Step), "  ")))
	if s.Step.Kind == state.KindRun || !s.Step.Kind.Changes() {
		return
	}
	what := "an edit"
	if s.Step.Kind == state.KindRollback || s.Step.Kind == state.KindFork {
		what = "a " + string(s.Step.Kind)
	}
	if s.NextRun > 0 {
		w.ui.Talk("step %d is %s; the next run is step %d", s.Step.Number, what, s.NextRun)
	} else if s.NotRun {
		w.ui.Talk("step %d is %s, and has not run yet", s.Step.Number, what)
	}
}

const summaryWidth = 60

// summary is the first line of what a block put out.
func summary(list []output.Output, e *state.ExecError) string {
	text := ""
	if e != nil {
		text = e.Type + ": " + e.Message
	} else {
		text = strings.TrimSpace((*places)(nil).outputs(list, nil))
	}
	first, rest, more := strings.Cut(text, "\n")
	first = term.Cut(first, summaryWidth)
	if more {
		first += fmt.Sprintf(" (+%s)", term.Plural(strings.Count(rest, "\n")+1, "line"))
	}
	return first
}

func (w *printer) printBlockView(b *query.BlockView, whole bool) {
	u := w.ui
	head := fmt.Sprintf(
		"%s  version %s of step %d, %s",
		title(u, b.Index, b.ID, b.Title),
		term.Short(string(b.Version)),
		b.Edited,
		b.EditedAt.In(w.zone()).Format(timeFormat),
	)
	if by := originText(b.Origin); by != "" {
		head += ", by " + by
	}
	u.Print("%s\n", head)
	u.Write(term.Indent(b.Source, "    "))
	if b.RanAt == 0 {
		u.Print("not run in this version\n")
		return
	}
	state := fmt.Sprintf("%s in step %d", b.Status, b.RanAt)
	if b.Seconds > 0 {
		state += ", " + term.Seconds(b.Seconds)
	}
	if b.Lost() {
		state += ", record gone"
	}
	if b.Verified > 0 {
		state += fmt.Sprintf(", verified in step %d", b.Verified)
	}
	if len(b.Marks) > 0 {
		state += ", volatile (" + strings.Join(b.Marks, ", ") + ")"
	}
	u.Print("%s\n", state)
	if of := trustText(b.Trust()); of != "" {
		u.Print("the result is %s\n", of)
	}
	rows, builtins := accessRows(b.Nodes, whole)
	u.Table(shortCells(rows))
	if len(builtins) > 0 {
		u.Print("  reads, though no block defines them (builtins): %s\n", strings.Join(builtins, ", "))
	}
	if text := w.places.outputsOn(u, b.Outputs, b.Error, len("    ")); text != "" {
		u.Print("output:\n")
		u.Verbatim(term.Indent(text, "    "))
	}
}

// shortCells cuts what is long in rows.
func shortCells(rows [][]string) [][]string {
	for _, row := range rows {
		for i, c := range row {
			row[i] = term.Cut(c, summaryWidth)
		}
	}
	return rows
}

// printFull prints a program with the source and the output of each block.
func (a *app) printFull(o *opened, snap *query.Snapshot) error {
	if a.ui.JSON {
		return a.printSnapshot(o, snap)
	}
	a.placesIn(o, snap)
	a.stepHead(snap)
	for i := range snap.Blocks {
		a.showBlock(&snap.Blocks[i])
	}
	return nil
}

func (w *printer) showBlock(b *query.BlockView) {
	head := "\n" + title(w.ui, b.Index, b.ID, b.Title) + "  " + b.Status
	if b.Seconds > 0 {
		head += " " + term.Seconds(b.Seconds)
	}
	if t := b.Trust(); t.Tier != state.TierOwn {
		head += "  (" + t.Tier.String() + ")"
	}
	if b.Lost() {
		head += ", record gone"
	}
	w.ui.Print("%s\n", head)
	w.ui.Write(term.Indent(b.Source, "    "))
	if text := w.places.outputsOn(w.ui, b.Outputs, b.Error, len("    ")); text != "" {
		w.ui.Print("output:\n")
		w.ui.Verbatim(term.Indent(text, "    "))
	}
}
