package main

import (
	"math"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

func (p *places) blockDocument(i int, b *runner.BlockOutcome) api.Block {
	d := api.Block{
		ID:      b.ID,
		Index:   i,
		Title:   b.Title,
		Status:  state.StatusWith(b.Status, b.Err),
		Reason:  b.Reason,
		Error:   p.explain(b.Err),
		Seconds: micro(b.Seconds),
		Saved:   micro(b.Saved),
		Marks:   b.Marks,
		Denied:  b.Denied,
		Outputs: b.Outputs,
	}
	if d.Outputs == nil {
		d.Outputs = []output.Output{}
	}
	for _, o := range b.Outputs {
		switch o.Kind {
		case "stdout":
			d.Stdout += o.Text
		case "stderr":
			d.Stderr += o.Text
		case "result":
			text := o.Text
			if plain, ok := o.Data["text/plain"]; ok {
				text = plain
			}
			d.Result = &text
		}
	}
	var traces []state.Digest
	for i := range b.Nodes {
		traces = append(traces, b.Nodes[i].Trace)
		switch {
		case executed(&b.Nodes[i]):
			d.Nodes.Ran++
		case b.Nodes[i].Trace != "":
			d.Nodes.Reused++
		}
	}
	d.Record = api.RecordOf(traces)
	return d
}

// stoppedBy is the code of why a run ended early.
func stoppedBy(err error) string {
	if code := state.CodeOf(err); code == journal.CodeBudget {
		return string(code)
	}
	return string(api.CodeInterrupted)
}

// executed reports whether a node ran, rather than being reused or never reached.
func executed(n *runner.NodeOutcome) bool {
	return n.Status == state.StatusRan || n.Status == state.StatusFailed && (n.Seconds > 0 || n.Trace == "")
}

// waitingCalls returns the calls that must be decided before a program can continue.
func waitingCalls(out *xstate.Outcome) (all []state.WaitingCall) {
	for i := range out.Blocks {
		if b := &out.Blocks[i]; b.Err != nil {
			all = append(all, b.Err.Waiting...)
		}
	}
	return all
}

// micro rounds seconds to the resolution of a clock.
func micro(s float64) float64 { return math.Round(s*1e6) / 1e6 }

func documentOf(
	session string,
	step xstate.Step,
	edits []xstate.Step,
	out *xstate.Outcome,
	v *api.Verified,
	notices []string,
	p *places,
) api.Run {
	d := api.Run{
		Version:  api.Version,
		Session:  session,
		Step:     step.Number,
		Seconds:  micro(out.Seconds),
		Engine:   micro(out.Engine),
		Saved:    micro(out.Saved),
		Restored: out.Recomputed,
		Shared:   out.Shared,

		Elsewhere: out.Elsewhere,
		Edits:     []api.Edit{},
		Blocks:    []api.Block{},
		Verified:  v,
		Notices:   notices,

		Overwritten: out.Overwritten,
	}
	if step.Run != nil {
		c := step.Run.Blocks
		d.Ran, d.Reused, d.Failed, d.Blocked, d.NotReached = c.Ran, c.Reused, c.Failed, c.Blocked, c.NotReached
		d.Sandbox, d.Policy, d.Unenforced = step.Run.Sandbox, step.Run.Policy, step.Run.Unenforced
		d.Suspended, d.Waiting = c.Waiting, waitingCalls(out)
		if end := step.Run.Ended; end != nil {
			d.EndedBy, d.ExitCode = end.By, &end.Code
		}
	}
	if out.Stopped != nil {
		d.Stopped = stoppedBy(out.Stopped)
	}
	for _, e := range edits {
		d.Edits = append(d.Edits, api.Edit{Step: e.Number, Kind: string(e.Kind), Block: e.Block})
	}
	for i := range out.Blocks {
		d.Blocks = append(d.Blocks, p.blockDocument(i, &out.Blocks[i]))
	}
	return d
}
