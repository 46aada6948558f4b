package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
)

func (x *execution) begin(run string) {
	x.shown = &term.Clipper{Budget: x.budget, Show: func(text string) {
		if !x.ui.JSON {
			x.ui.Verbatim(text)
		}
	}}
	x.ui.Event(api.Event{Event: "started", Run: run})
}

// decided notes which blocks the code becomes.
func (x *execution) decided(ctx context.Context, r *xstate.Revision) error {
	for _, p := range r.Placements {
		if p.Decision == nil || p.Decision.By != patch.ByKept {
			x.blocks = append(x.blocks, xstate.BlockID(p.Block))
		}
	}
	program := make([]state.ProgramBlock, len(r.Blocks))
	for i, b := range r.Blocks {
		program[i] = state.ProgramBlock{ID: xstate.BlockID(b.ID), Source: b.Source}
	}
	x.places = x.app.placesOf(x.o.session, x.o.file, program)
	return nil
}

// decidedBefore notes which blocks the same submission became before.
func (x *execution) decidedBefore(ctx context.Context, done *xstate.ExecResult) error {
	program, _, err := x.o.history.Program(ctx)
	x.blocks, x.places = done.Blocks, x.app.placesOf(x.o.session, x.o.file, program)
	return err
}

// event shows what happens in the run. Text comes by whole lines: of a line that a progress bar writes again and again
// only the last state counts.
func (x *execution) event(e runner.Event) {
	event := runEvent(e)
	event.Other = e.Block != "" && !slices.Contains(x.blocks, e.Block)
	x.ui.Event(event)
	if e.Kind != "output" || event.Other {
		return
	}
	text := x.outputText(e.Block, e.Output)
	if len(e.Output.Data) > 0 && x.line != "" {
		text = "\n" + text
	}
	x.line += text
	end := strings.LastIndexByte(x.line, '\n') + 1
	for line := range strings.Lines(x.line[:end]) {
		x.shown.Add(lastState(line))
	}
	x.line = x.line[end:]
}

// lastState returns what a terminal shows of a line that was written over.
func lastState(line string) string {
	text := strings.TrimRight(line, "\r\n")
	if i := strings.LastIndexByte(text, '\r'); i >= 0 {
		text = text[i+1:]
	}
	if strings.HasSuffix(line, "\n") {
		text += "\n"
	}
	return text
}

// ended shows the rest of what came.
func (x *execution) ended() {
	if x.line != "" {
		x.shown.Add(lastState(x.line) + "\n")
		x.line = ""
	}
}

// print shows the end of a call, and returns its exit code.
func (x *execution) print(ctx context.Context, done *xstate.ExecResult) error {
	x.places.python = x.o.session.Python()
	x.document(done)
	x.d.Loops = x.app.loopsOf(ctx, x.o.history, x.calls != nil)
	if x.ui.JSON {
		if err := x.ui.Document(&x.d); err != nil {
			return err
		}
	} else {
		x.talk(done)
		x.printCallsSummary(x.calls)
	}
	return x.result()
}

// printAgain shows the document of the same submission, and returns the exit code that it had.
func (x *execution) printAgain(document []byte) error {
	if err := json.Unmarshal(document, &x.d); err != nil {
		return err
	}
	x.d.Repeated = true
	x.shown.Add(x.d.Text)
	if x.ui.JSON {
		if err := x.ui.Document(&x.d); err != nil {
			return err
		}
	} else {
		x.ui.Talk("call %s submitted this code before: nothing was executed", x.origin.CallID)
	}
	return x.result()
}

// result is the exit code of a call.
func (x *execution) result() error {
	switch {
	case x.d.Stopped == "" && x.d.Status == state.StatusWaiting:
		return outcome(exitRefused)
	case x.d.Stopped != "" || x.failed():
		return outcome(exitFailed)
	}
	return nil
}

func (x *execution) failed() bool {
	return x.d.Error != nil || x.d.Status == state.StatusNotReached.String()
}

// mostOthers is the number of other blocks that a call names.
const mostOthers = 8

// talk says what happened elsewhere.
func (x *execution) talk(done *xstate.ExecResult) {
	kept := keptParts(done)
	for _, text := range afterFailures(done) {
		x.ui.Talk("%s", text)
	}
	if x.d.Action != "append" {
		x.ui.Talk("block %s: %s", x.d.Block, map[string]string{"replace": "written again",
			"unchanged": "as it was"}[x.d.Action])
	}
	if skipped := done.SkippedText(); skipped != "" {
		x.ui.Talk("%s", skipped)
	}
	told := 0
	for _, b := range x.d.Others {
		if slices.Contains(kept, b.Block) && b.Error == nil {
			continue
		}
		if told++; told <= mostOthers {
			x.ui.Talk("block %s %s, too (%s); xstate query %s prints it",
				b.Block, b.Status, reasonText(b.Reason), b.Block)
		}
	}
	if told > mostOthers {
		x.ui.Talk("and %d more; --json lists them", told-mostOthers)
	}
	if x.wrote != "" {
		x.ui.Talk("wrote %s", x.wrote)
	}
	for _, w := range done.Outcome.Warnings {
		x.ui.Talk("%s", w)
	}
	if x.d.Stopped == string(journal.CodeBudget) {
		x.ui.Talk("%v: step %d keeps what was finished", done.Outcome.Stopped, x.d.Step)
		return
	}
	if x.d.Stopped != "" {
		x.ui.Talk("interrupted: step %d keeps what was finished", x.d.Step)
		if len(done.Edits) > 0 && !x.d.TakenBack { // others went on from it
			x.ui.Say(fmt.Sprintf("hint: the next exec executes this code again; "+
				"to take it back: xstate undo %d --session %s\n", done.Edits[0].Number, x.d.Session))
		}
		return
	}
	if len(x.d.Open) > 0 {
		x.ui.Talk("%s", openText(x.d.Open))
	}
	x.printCounts(done.Step, done.Outcome.Seconds, done.Outcome.Engine, done.Outcome.Saved)
}

// openText says which blocks failed in earlier calls and are not mended.
func openText(open []xstate.BlockID) string {
	var names []string
	for _, id := range open[max(0, len(open)-mostOthers):] {
		names = append(names, string(id))
	}
	text := "still failing from before: " + strings.Join(names, ", ")
	if n := len(open) - len(names); n > 0 {
		text += fmt.Sprintf(" and %d older", n)
	}
	return text
}
