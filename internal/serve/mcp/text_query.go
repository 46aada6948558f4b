package mcp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// mostNamed is how many reads or writes of a block a reply names.
const mostNamed = 30

// snapshotReply shows the program after a step: each block with its source and what it put out.
func snapshotReply(d *api.Query) *reply {
	r := &reply{}
	if d.Snapshot == nil {
		return r
	}
	r.line("session %s after step %d: %s", d.Session, d.Step.Number, term.Plural(d.Total, "block"))
	if d.NotRun {
		r.line("nothing ran since the last edit: what it affects is shown as it was before; run brings it up to date")
	}
	for i := range d.Blocks {
		r.block(d.Session, d.Step.Number, &d.Blocks[i])
	}
	return r
}

// block adds a block: its head, source, outputs and error.
func (r *reply) block(session string, step state.StepNumber, b *query.BlockView) {
	head := fmt.Sprintf("\n[%d] %s  %s", b.Index+1, b.ID, b.Status)
	if b.Seconds > 0 {
		head += ", " + duration(b.Seconds)
	}
	if len(b.Marks) > 0 {
		head += ", may vary: " + strings.Join(b.Marks, ", ")
	}
	r.line("%s", head)
	r.body(b.Source, textBudget)
	if len(b.Outputs) > 0 || b.Error != nil {
		r.line("output:")
	}
	r.outputs(place{session, step, b.ID}, b.Outputs, textBudget)
	r.failure(b.Error)
}

// blockReply shows one block with what it read and wrote.
func blockReply(d *api.QueryBlock) *reply {
	r := &reply{}
	if d.Block == nil {
		return r
	}
	r.line("session %s after step %d; this version of step %d%s", d.Session, d.Step.Number, d.Block.Edited,
		by(d.Block.Origin))
	r.block(d.Session, d.Step.Number, d.Block)
	var reads, writes []query.AccessView
	for _, n := range d.Block.Nodes {
		reads, writes = append(reads, n.Reads...), append(writes, n.Writes...)
	}
	r.accesses("reads", reads)
	r.accesses("writes", writes)
	return r
}

// accesses lists what a block read or wrote, once each. Of the state of the interpreter, which is long and says little,
// it gives the number.
func (r *reply) accesses(verb string, all []query.AccessView) {
	said, state := map[string]bool{}, map[xstate.Key]bool{}
	defer func() {
		if len(state) > 0 {
			r.line("%s %s of the state of the interpreter and its libraries", verb, term.Plural(len(state), "part"))
		}
	}()
	for _, a := range all {
		if a.Key.Space() == "conf" {
			state[a.Key] = true
			continue
		}
		text := verb + " " + string(a.Key) + value(a.Value)
		if a.By != "" {
			text += ", from " + a.By
		}
		if said[text] {
			continue
		}
		if said[text] = true; len(said) > mostNamed {
			r.line("%s more", verb)
			return
		}
		r.line("%s", text)
	}
}

// value is what is recorded of a value.
func value(v *state.ValueInfo) string {
	if v == nil {
		return ""
	}
	return strings.TrimRight(" = "+strings.Join(strings.Fields(v.Type+" "+v.Shape+" "+clip(v.Repr, 200)), " "), " ")
}

// by says who made an edit and why.
func by(o state.Origin) string {
	text := ""
	if who := cmp.Or(o.Agent, o.Model, string(o.Author)); who != "" {
		text += ", by " + who
	}
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return text
}

// valueReply shows a value.
func valueReply(d *api.QueryValue) *reply {
	r := &reply{}
	if d.ValueView == nil {
		return r
	}
	what := strings.Join(strings.Fields(d.Type+" "+d.Shape), " ")
	if d.Bytes > 0 {
		what += fmt.Sprintf(", %d bytes", d.Bytes)
	}
	if d.Stale {
		what += ", stale (its inputs have changed since)"
	}
	r.line("%s after step %d: %s, written by %s", d.Name, d.Step, what, d.By)
	r.body(d.Text, textBudget)
	return r
}

// whyReply explains what the last run did with a block, and what the next one would do.
func whyReply(d *api.Why) *reply {
	r := &reply{}
	if d.Explanation == nil {
		return r
	}
	r.line("block %s: %s; version of step %d%s, last ran in step %d", d.Block, d.Status, d.Edited, by(d.Origin),
		d.RanAt)
	if d.Pending != "" {
		r.line("the file has it %s, and no step records that yet", d.Pending)
	}
	r.nodes("last run", d.Nodes)
	r.nodes("next run", d.Next)
	r.failure(d.Error)
	return r
}

func (r *reply) nodes(when string, all []xstate.NodeReason) {
	for _, n := range all {
		r.line("%s: %s %s, %s (%s)", when, n.Name, n.Action, duration(n.Seconds), reason(n.Reason))
		if n.WasValue != nil || n.NowValue != nil {
			r.line("  was%s; now%s", cmp.Or(value(n.WasValue), " not recorded"),
				cmp.Or(value(n.NowValue), " not recorded"))
		}
	}
}

// symbolReply shows who binds and reads a name.
func symbolReply(d *api.QuerySymbol) *reply {
	r := &reply{}
	if d.Symbol == nil {
		return r
	}
	r.line("%s after step %d", d.Name, d.Step)
	for _, w := range d.Writers {
		r.line("bound by %s (%s)%s", w.Node, w.Evidence, value(w.Value))
	}
	for _, x := range d.Readers {
		r.line("read by %s (%s)", x.Node, x.Evidence)
	}
	return r
}

// dependentsReply lists what depends on something.
func dependentsReply(d *api.QueryDependents) *reply {
	r := &reply{}
	r.line("of %s after step %d: %s, %s by recorded times", d.Of, d.Step, term.Plural(len(d.Blocks), "block"),
		duration(d.Seconds))
	for _, b := range d.Blocks {
		var through []string
		for _, v := range b.Through {
			through = append(through, strings.TrimSpace(string(v.Key)+" from "+cmp.Or(v.From, "the workspace")))
		}
		line := fmt.Sprintf("[%d] %s (%s), %s", b.Index+1, b.Block, b.Evidence, duration(b.Seconds))
		if len(through) > 0 {
			line += ": " + strings.Join(through, ", ")
		}
		r.line("%s", line)
	}
	return r
}

// patchReply shows an edit and what ran because of it.
func patchReply(d *api.QueryPatch) *reply {
	r := &reply{}
	for i := range d.Patches {
		p := &d.Patches[i]
		r.line("%s%s", entry(&p.Step), symbols(p.Symbols))
		r.body(p.Diff, textBudget)
		for _, b := range p.Ran {
			r.line("step %d: block %s %s (%s)", p.NextRun, b.Block, b.Status, reason(b.Reason))
		}
		if p.After != nil {
			r.impact(&p.After.Impact)
		}
	}
	return r
}

// listReply lists blocks in one line each.
func listReply(what string) func(*api.QueryBlocks) *reply {
	return func(d *api.QueryBlocks) *reply {
		r := &reply{}
		r.line("%s after step %d: %d", what, d.Step, len(d.Blocks))
		r.list(d.Blocks)
		return r
	}
}

func (r *reply) list(blocks []query.BlockView) {
	for i := range blocks {
		b := &blocks[i]
		r.line("[%d] %s  %s", b.Index+1, b.ID, b.Status)
		r.failure(b.Error)
	}
}

// unverifiedReply lists what no run from scratch and no check confirmed.
func unverifiedReply(d *api.QueryUnverified) *reply {
	r := &reply{}
	r.line("not confirmed by a run from scratch, after step %d: %d", d.Step, len(d.Blocks))
	r.list(d.Blocks)
	var unchecked []string
	for _, c := range d.Unchecked {
		unchecked = append(unchecked, string(c.Block))
	}
	if len(unchecked) > 0 {
		r.line("not, or in part, exercised by checks: %s", strings.Join(unchecked, ", "))
	}
	return r
}

// volatileReply lists blocks whose result may differ from run to run.
func volatileReply(d *api.QueryVolatile) *reply {
	r := &reply{}
	r.line("may differ from run to run, after step %d: %d", d.Step, len(d.Blocks))
	for _, b := range d.Blocks {
		r.line("[%d] %s: %s", b.Index+1, b.Block, strings.Join(slices.Concat(b.Marks, b.Inherited), ", "))
	}
	return r
}

// foundReply lists what an expression found.
func foundReply(d *api.QueryWhere) *reply {
	r := &reply{}
	if d.Found == nil {
		return r
	}
	r.line("%s for which it is true: %d", d.Subject, len(d.Blocks)+len(d.Traces)+len(d.Steps))
	r.list(d.Blocks)
	for i := range d.Traces {
		n := &d.Traces[i]
		r.line("%s of block %s: %s, %s (%s)", n.Name, n.Block, n.Status, duration(n.Seconds), reason(n.Reason))
	}
	for i := range d.Steps {
		r.line("%s", entry(&d.Steps[i]))
	}
	if d.Next != "" {
		r.line("more: query with after %q", d.Next)
	}
	return r
}

// entry is a step in one line.
func entry(e *query.Entry) string {
	line := fmt.Sprintf("step %d  %s", e.Number, e.Kind)
	if e.Block != "" {
		line += " " + string(e.Block)
	}
	if e.Added+e.Removed > 0 {
		line += fmt.Sprintf(" +%d -%d", e.Added, e.Removed)
	}
	if x := e.Run; x != nil {
		line += fmt.Sprintf(": ran %d, reused %d", x.Blocks.Ran, x.Blocks.Reused)
		if x.Blocks.Failed > 0 {
			line += fmt.Sprintf(", failed %d", x.Blocks.Failed)
		}
		if x.Blocks.Blocked > 0 {
			line += fmt.Sprintf(", blocked %d", x.Blocks.Blocked)
		}
		line += ", " + duration(x.Seconds)
	}
	if e.Undoes > 0 {
		line += fmt.Sprintf(" takes back step %d", e.Undoes)
	}
	if e.To > 0 {
		line += fmt.Sprintf(" to step %d", e.To)
	}
	if e.From != nil {
		line += fmt.Sprintf(" from step %d of %s", e.From.Step, e.From.Session)
	}
	if x := e.Artifact; x != nil {
		line += " artifact " + x.Name
	}
	line += by(e.Origin)
	if !e.Time.IsZero() {
		line += "  " + e.Time.UTC().Format("2006-01-02 15:04:05Z")
	}
	return line
}
