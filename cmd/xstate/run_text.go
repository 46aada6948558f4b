package main

import (
	"slices"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/provenance"
)

func (w *printer) printRun(out *xstate.Outcome, step xstate.Step, p *progress, all bool) {
	var stale []string
	var figure xstate.BlockID // the first block with a picture
	for i := range out.Blocks {
		b := &out.Blocks[i]
		if all || isNews(b) {
			w.printBlock(i, b, p)
			if figure == "" && len(provenance.Figures(b.ID, b.Outputs)) > 0 {
				figure = b.ID
			}
		}
		w.printDenied(b)
		if !slices.ContainsFunc(b.Marks, func(m string) bool { return !isDenied(m) }) || b.Status == state.StatusNew {
			continue
		}
		if slices.Contains(b.Marks, state.MarkPinned) {
			w.ui.Talk(
				"block %s keeps a result that is not up to date (%s): what depends on it may differ from a fresh run",
				b.ID,
				reasonText(b.Reason),
			)
			continue
		}
		if ranAny(b) {
			w.ui.Talk(
				"block %s is volatile (%s): another run may give another result",
				b.ID,
				strings.Join(slices.DeleteFunc(slices.Clone(b.Marks), isDenied), ", "),
			)
		} else {
			stale = append(stale, string(b.ID))
		}
	}
	w.printStale(stale)
	for _, name := range out.Overwritten {
		w.ui.Talk("%s was edited since the last run; the program wrote to it again", name)
	}
	w.printFigureHint(figure)
	if step.Run == nil {
		return
	}
	if out.Recomputed > 0 {
		w.ui.Talk("recomputed %s whose values were not stored", term.Plural(out.Recomputed, "node"))
	}
	if out.Shared > 0 {
		w.ui.Talk("took %s over from the cache", term.Plural(out.Shared, "result"))
	}
	if out.Elsewhere > 0 {
		w.ui.Talk("workers executed %s", term.Plural(out.Elsewhere, "node"))
	}
	if out.Failure != nil {
		w.ui.Talk("executed here, and not by a worker: %v", out.Failure)
	}
	for _, text := range out.Warnings {
		w.ui.Talk("%s", text)
	}
	if state.CodeOf(out.Stopped) == journal.CodeBudget {
		w.ui.Talk("%v: step %d keeps what was finished", out.Stopped, step.Number)
		return
	}
	if out.Stopped != nil {
		w.ui.Talk("interrupted: step %d keeps what was finished; run it again to continue", step.Number)
		return
	}
	w.printCounts(step, out.Seconds, out.Engine, out.Saved)
}

// isDenied recognizes the mark of denials, which are shown by themselves.
func isDenied(mark string) bool { return mark == "denied" }

// printDenied says what a block was denied that went on all the same. The error of one that failed has a hint.
func (w *printer) printDenied(b *runner.BlockOutcome) {
	if len(b.Denied) > 0 && b.Err == nil && ranAny(b) {
		w.ui.Talk("block %s: %s", b.ID, w.deniedHint(b.Denied))
	}
}

// printStale names blocks whose results were reused, though another run may give others.
func (w *printer) printStale(blocks []string) {
	if len(blocks) > 0 {
		w.ui.Talk("reused although volatile: %s; --fresh runs everything again", strings.Join(blocks, ", "))
	}
}

// printCounts sums a run up: what executing took, and the engine beside it.
func (w *printer) printCounts(step xstate.Step, took, engine, saved float64) {
	text := countsText(step.Run)
	if step.Run.Blocks.Ran+step.Run.Blocks.Failed+step.Run.Blocks.Waiting > 0 {
		text += ", " + term.Seconds(took) + ", engine " + term.Seconds(engine)
	}
	if saved >= 0.0005 {
		text += " (" + term.Seconds(saved) + " saved)"
	} else if saved <= -0.0005 {
		text += " (" + term.Seconds(-saved) + " lost)"
	}
	w.ui.Talk("step %d: %s", step.Number, text)
}

// printSettled is printRun of a run that had nothing to do.
func (w *printer) printSettled(done xstate.UpToDateRun) {
	var stale []string
	for _, id := range done.Volatile {
		stale = append(stale, string(id))
	}
	w.printStale(stale)
	w.printCounts(done.Step, done.Step.Run.Seconds, 0, done.Step.Run.SavedSeconds)
}

// isNews reports whether a block is to be shown: it ran, or its outcome is not what the last run left.
func isNews(b *runner.BlockOutcome) bool {
	if b.Status == state.StatusNew {
		return false
	}
	if b.Status == state.StatusNotReached {
		return b.Before == nil || b.Before.Status != b.Status
	}
	if b.Status.Bad() || ranAny(b) || b.Before == nil || len(b.Before.Nodes) != len(b.Nodes) {
		return true
	}
	for i := range b.Nodes {
		if b.Nodes[i].Trace != b.Before.Nodes[i].Trace {
			return len(b.Outputs) > 0
		}
	}
	return false
}

func ranAny(b *runner.BlockOutcome) bool {
	for i := range b.Nodes {
		if executed(&b.Nodes[i]) {
			return true
		}
	}
	return false
}

func (w *printer) printBlock(i int, b *runner.BlockOutcome, p *progress) {
	head := title(w.ui, i, b.ID, b.Title) + "  "
	status := state.StatusWith(b.Status, b.Err)
	switch b.Status {
	case state.StatusFailed, state.StatusBlocked:
		head += w.ui.Red(status)
	default:
		head += status
	}
	if b.Seconds > 0 {
		head += " " + term.Seconds(b.Seconds)
	}
	if reasonText(b.Reason) != status {
		head += w.ui.Faint("  (" + reasonText(b.Reason) + ")")
	}
	body := w.places.outputsOn(w.ui, b.Outputs, nil, 0)
	if p.showed(b) {
		body = notes(b.Outputs)
	}
	if b.Err != nil && b.Ending == nil { // a program that ends prints why by itself
		body += p.unshown(b.ID, term.Escape(w.places.errorText(b.Err)))
	}
	w.ui.Text(head)
	w.ui.Verbatim(term.LineEnded(body))
}
