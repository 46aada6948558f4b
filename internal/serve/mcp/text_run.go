package mcp

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// execReply says what a call of exec did.
func execReply(d *api.Exec) *reply {
	r := &reply{}
	done := map[string]string{"append": "appended", "replace": "replaced", "unchanged": "has this text already"}
	r.line("block %s %s, %s%s", d.Block, cmp.Or(done[d.Action], d.Action), d.Status, decided(d))
	r.body(d.Text, textBudget) // with the error
	for i := range d.Others {
		b := &d.Others[i]
		r.line("block %s %s because of it (%s)", b.Block, b.Status, reason(b.Reason))
		r.body(b.Text, textBudget)
	}
	for i := range d.Files {
		r.file(d.Session, d.Step, &d.Files[i])
	}
	if d.File != "" {
		r.line("wrote %s", d.File)
	}
	r.waits(d.Waiting)
	if open := d.Open[max(0, len(d.Open)-mostOpen):]; len(open) > 0 {
		older := ""
		if n := len(d.Open) - len(open); n > 0 {
			older = fmt.Sprintf(" and %d older", n)
		}
		r.line("still failing from before, not because of this code, and not run again: %s%s", joined(open), older)
	}
	r.counts(d.Step, d.Ran, d.Reused, d.Failed, d.Blocked, d.NotReached, d.Seconds, d.Engine, d.Saved)
	r.calls(d.Calls)
	r.ended(d.Stopped, d.ExitCode, d.Notices)
	r.loops(d.Loops)
	return r
}

// mostOpen is how many blocks that fail from before a result names.
const mostOpen = 8

// joined lists blocks.
func joined(blocks []state.BlockID) string {
	names := make([]string, len(blocks))
	for i, id := range blocks {
		names[i] = string(id)
	}
	return strings.Join(names, ", ")
}

// decided says why code replaced a block or became a new one, where that was not the caller's decision.
func decided(d *api.Exec) string {
	if d.Decision == nil || d.Decision.By == "" || d.Action == "append" {
		return ""
	}
	return fmt.Sprintf(" (by %s, similarity %.2f)", d.Decision.By, d.Decision.Score)
}

// runReply says what a run did: the blocks that ran or failed with their outputs, and counts.
func runReply(d *api.Run) *reply {
	r := &reply{}
	r.run(d)
	return r
}

func (r *reply) run(d *api.Run) {
	for _, e := range d.Edits {
		r.line("%s %s, step %d", e.Kind, e.Block, e.Step)
	}
	for i := range d.Blocks {
		b := &d.Blocks[i]
		switch b.Status {
		case "reused", "not-reached":
			continue
		case "blocked":
			r.line("block %s blocked (%s)", b.ID, reason(b.Reason))
			continue
		}
		r.line("block %s %s, %s (%s)", b.ID, b.Status, duration(b.Seconds), reason(b.Reason))
		r.outputs(place{d.Session, d.Step, b.ID}, b.Outputs, textBudget)
		r.failure(b.Error)
		if b.Reason.Code == state.ReasonLimit {
			r.line("block %s was not run again: edit it, or call run with a longer timeout", b.ID)
		}
	}
	r.waits(d.Waiting)
	r.counts(d.Step, d.Ran, d.Reused, d.Failed, d.Blocked, d.NotReached, d.Seconds, d.Engine, d.Saved)
	r.calls(d.Calls)
	if v := d.Verified; v != nil {
		verdict := "equal to a run from scratch"
		if !v.Equal {
			verdict = "DIFFERS from a run from scratch"
		}
		r.line("verified: %s (%s)", verdict, term.Plural(v.Blocks, "block"))
		for _, x := range v.Differences {
			r.line("differs: block %s, %s: have %s, want %s", x.Block, x.What, clip(x.Have, 300), clip(x.Want, 300))
		}
	}
	if len(d.Overwritten) > 0 {
		r.line("overwrote files that were edited: %s", strings.Join(d.Overwritten, ", "))
	}
	r.ended(d.Stopped, d.ExitCode, d.Notices)
	r.loops(d.Loops)
}

// failure adds the error of a block, as its traceback ends.
func (r *reply) failure(e *state.ExecError) {
	if e == nil {
		return
	}
	if len(e.Traceback) > 0 {
		r.body(strings.Join(query.Traceback(e), "\n"), textBudget/4)
	} else {
		r.body(e.Type+": "+e.Message, textBudget/4)
	}
	if e.Hint != "" {
		r.line("hint: %s", e.Hint)
	}
}

// counts adds the line that sums a run up.
func (r *reply) counts(
	step state.StepNumber, ran, reused, failed, blocked, skipped int, seconds, engine, saved float64,
) {
	parts := []string{"ran " + term.Plural(ran, "block")}
	for _, x := range []struct {
		n    int
		what string
	}{{reused, "reused"}, {failed, "failed"}, {blocked, "blocked"}, {skipped, "not reached"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", x.what, x.n))
		}
	}
	line := fmt.Sprintf("step %d: %s, %s", step, strings.Join(parts, ", "), duration(seconds))
	if engine > 0 {
		line += ", engine " + duration(engine)
	}
	if saved >= 0.0005 {
		line += " (" + duration(saved) + " saved)"
	} else if saved <= -0.0005 {
		line += " (" + duration(-saved) + " lost)"
	}
	r.line("%s", line)
}

// calls sums up the calls of tools and models, where one was made.
func (r *reply) calls(d *api.CallsSummary) {
	if d == nil || d.Made == 0 {
		return
	}
	line := fmt.Sprintf("%s made, %d served", term.Plural(d.Made, "call"), d.Served)
	if spent := (query.CallSum{Spent: d.Spent, Saved: d.Saved}).SpentText(); spent != "" {
		line += ", " + spent
	}
	r.line("%s", line)
}

// ended adds how a run ended, where that is unusual.
func (r *reply) ended(stopped string, exit *int, notices []string) {
	if stopped != "" {
		r.line("stopped early: %s", stopped)
	}
	if exit != nil {
		r.line("the program ended itself with exit code %d", *exit)
	}
	for _, n := range notices {
		r.line("note: %s", n)
	}
}

// loops says that work on the program goes round in circles.
func (r *reply) loops(found []query.Loop) {
	for _, l := range found {
		r.line("loop (%s): %s", l.Kind, l.Advice)
	}
}

// editReply says what a patch changed, and what ran because of it.
func editReply(d *api.Patch) *reply {
	r := &reply{}
	for _, p := range d.Places {
		switch {
		case p.Unchanged:
			r.line("block %s has this text already", p.Block)
		case p.Decision != nil && p.By == patch.ByNothing:
			r.line("block %s is new", p.Block)
		case p.Decision != nil && p.By != "":
			r.line("block %s is written again (by %s, similarity %.2f)", p.Block, p.By, p.Score)
		case p.Match != patch.Exact:
			r.line("%s: found but for differences of %s", cmp.Or(p.Block, "the file"), p.Match)
		}
	}
	for _, n := range d.Notices {
		r.line("note: %s", n)
	}
	for _, e := range d.Edits {
		r.line("%s %s%s", e.Kind, e.Block, stepText(e.Step))
		r.body(e.Diff, textBudget/4)
	}
	for _, x := range d.Texts {
		r.line("%s %s cell %s%s", x.Kind, x.Type, x.Cell, stepText(x.Step))
		r.body(x.Diff, textBudget/4)
	}
	for _, x := range d.Repeats {
		r.line("block %s was submitted with this very text %s", x.Block, term.Plural(x.Times, "time"))
	}
	switch {
	case d.DryRun:
		r.line("nothing was recorded")
	case len(d.Edits)+len(d.Texts) == 0:
		r.line("the program has this already: nothing changed")
	default:
		r.line("step %d: %s recorded", d.Step, term.Plural(len(d.Edits), "edit"))
	}
	if d.File != "" {
		r.line("wrote %s", d.File)
	}
	if d.Plan != nil {
		r.plan(d.Plan)
	}
	if d.Run != nil {
		d.Run.Edits = nil // they are above
		r.run(d.Run)
	} else if !d.DryRun && len(d.Edits) > 0 {
		r.line("nothing ran yet: run does")
	}
	return r
}

// planReply says what a run would do.
func planReply(d *api.Plan) *reply {
	r := &reply{}
	for _, e := range d.Edits {
		r.line("%s %s%s", e.Kind, e.Block, symbols(e.Symbols))
	}
	r.plan(d)
	return r
}

func (r *reply) plan(d *api.Plan) {
	r.loops(d.Loops)
	for _, b := range d.Blocks {
		if b.Action != "reuse" {
			r.line("block %s: %s, %s (%s)", b.ID, b.Action, duration(b.Seconds), reason(b.Reason))
		}
	}
	if d.Impact != nil {
		r.impact(d.Impact)
	}
	for _, f := range d.Edited {
		r.line("%s was edited after block %s wrote it: run needs restore_files to overwrite it", f.Name, f.By)
	}
	r.line("would run %s, maybe %d more, reuse %d; blocked %d; about %s, saves %s",
		term.Plural(d.Run, "block"), d.Maybe,
		d.Reuse, d.Block, duration(d.Seconds), duration(d.Saved))
}

// impact adds what is lost and what is repeated.
func (r *reply) impact(x *query.Impact) {
	for _, l := range x.Lost {
		r.line("lost: %s, made by %s", l.Key, l.By)
	}
	for _, f := range x.Fires {
		r.line("effect %s of %s happens again (%s)", f.Effect, f.Node, f.Action)
	}
}

// symbols says which names an edit changes.
func symbols(s query.Symbols) string {
	text := ""
	for _, x := range []struct {
		verb  string
		names []string
	}{{"adds", s.Added}, {"changes", s.Changed}, {"removes", s.Removed}} {
		if len(x.names) > 0 {
			text += ", " + x.verb + " " + strings.Join(x.names, " ")
		}
	}
	return text
}

// reason is why a node ran or was reused, in one clause.
func reason(x state.Reason) string {
	text := x.Code
	if x.Key != "" {
		text += ": " + string(x.Key)
	}
	if x.By != "" {
		text += " by " + x.By
	}
	return text
}

func stepText(n state.StepNumber) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", step %d", n)
}
