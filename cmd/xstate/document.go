package main

import (
	"math"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// answerDocument begins the documents about a session after a step.
type answerDocument struct {
	Version int               `json:"version"`
	Session string            `json:"session"`
	Step    xstate.StepNumber `json:"step"`
}

func atStep(session string, n xstate.StepNumber) answerDocument { return answerDocument{1, session, n} }

// runDocument is what run --json prints.
type runDocument struct {
	Version  int               `json:"version"`
	Session  string            `json:"session"`
	Step     xstate.StepNumber `json:"step"`
	Ran      int               `json:"ran"`
	Reused   int               `json:"reused"`
	Failed   int               `json:"failed"`
	Blocked  int               `json:"blocked"`
	Seconds  float64           `json:"seconds"`
	Saved    float64           `json:"saved_seconds"`
	Restored int               `json:"restored"`          // nodes executed again only to rebuild a value
	Stopped  string            `json:"stopped,omitempty"` // why the run ended early
	Edits    []editDocument    `json:"edits"`             // how the file differed from the session; each is a step
	Blocks   []blockDocument   `json:"blocks"`
	Verified *verifyDocument   `json:"verified,omitempty"`
	Notices  []string          `json:"notices,omitempty"`
}

type editDocument struct {
	Step  xstate.StepNumber `json:"step,omitempty"`
	Kind  string            `json:"kind"`
	Block xstate.BlockID    `json:"block"`
}

type blockDocument struct {
	ID      xstate.BlockID   `json:"id"`
	Index   int              `json:"index"` // from 0
	Title   string           `json:"title,omitempty"`
	Status  string           `json:"status"` // ran, reused, failed or blocked; new when the run ended before it
	Reason  state.Reason     `json:"reason"`
	Stdout  string           `json:"stdout"`
	Stderr  string           `json:"stderr"`
	Result  *string          `json:"result"`
	Error   *state.ExecError `json:"error"`
	Seconds float64          `json:"seconds"`
	Saved   float64          `json:"saved_seconds"`
	Nodes   nodeCounts       `json:"nodes"`
	Marks   []string         `json:"marks,omitempty"`
	Outputs []runner.Output  `json:"outputs"` // all of it in order, rich media included
}

type nodeCounts struct {
	Ran    int `json:"ran"`
	Reused int `json:"reused"`
}

type verifyDocument struct {
	Step        xstate.StepNumber   `json:"step"` // that says so
	Equal       bool                `json:"equal"`
	Blocks      int                 `json:"blocks"`
	Differences []replay.Difference `json:"differences"`
	Explained   []replay.Difference `json:"explained"` // in blocks that may differ from run to run
}

func blockDocumentOf(i int, b *runner.BlockOutcome) blockDocument {
	d := blockDocument{ID: b.ID, Index: i, Title: b.Title, Status: query.StatusText(b.Status), Reason: b.Reason, Error: b.Err,
		Seconds: micro(b.Seconds), Saved: micro(b.Saved), Marks: b.Marks, Outputs: b.Outputs}
	if d.Outputs == nil {
		d.Outputs = []runner.Output{}
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
	for i := range b.Nodes {
		switch {
		case executed(&b.Nodes[i]):
			d.Nodes.Ran++
		case b.Nodes[i].Trace != "":
			d.Nodes.Reused++
		}
	}
	return d
}

// executed reports whether a node ran, rather than being reused or never reached.
func executed(n *runner.NodeOutcome) bool {
	return n.Status == state.StatusRan || n.Status == state.StatusFailed && (n.Seconds > 0 || n.Trace == "")
}

// micro rounds seconds to what a clock can tell.
func micro(s float64) float64 { return math.Round(s*1e6) / 1e6 }
