package query

import (
	"fmt"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/inspect"
)

// CodeNoValue is the code of errors about a name that has no value after a step.
const CodeNoValue state.Code = "no-value"

// ValueView is the value of a variable after a step.
type ValueView struct {
	Name   string       `json:"name"`
	Digest state.Digest `json:"digest"`
	By     string       `json:"by"` // the node that wrote it
	Type   string       `json:"type,omitempty"`
	Shape  string       `json:"shape,omitempty"`
	Bytes  int64        `json:"bytes,omitempty"`
	Text   string       `json:"text"`            // what repr returns
	Loaded bool         `json:"loaded"`          // an interpreter was started to unpickle it
	Stale  bool         `json:"stale,omitempty"` // its block is, see StatusStale
	// Trust says on whose word the store has the result of that node: "" for its own, trusted or foreign.
	Trust state.Tier `json:"trust,omitempty"`
	// Description is what an interpreter found at the place that was asked for; nil: the text is all.
	Description *inspect.Description `json:"description,omitempty"`
}

// hasNone says that name has no value because of what happened to block b.
func hasNone(name string, at state.StepNumber, b *BlockView, status string) error {
	return &state.Error{
		Code:    CodeNoValue,
		Message: fmt.Sprintf("%s has no value after step %d: block %s, which binds it, %s", name, at, b.ID, status),
		Hint:    "`xstate why " + string(b.ID) + "`",
	}
}

// Variable finds the last writer of a name.
func (d *Dependencies) Variable(name string) (*ValueView, error) {
	found, err := d.Symbol(name)
	if err != nil {
		return nil, err
	}
	at := d.Snapshot.Step.Number
	var missed *BlockView
	for _, w := range slices.Backward(found.Writers) {
		p := d.named(w.Node)
		switch {
		case w.Evidence == depgraph.Observed.String() && w.Digest == "":
			return nil, &state.Error{
				Code:    CodeNoValue,
				Message: fmt.Sprintf("%s has no value after step %d: %s deletes it", name, at, w.Node),
				Hint:    "`xstate query --symbol " + name + "` tells who binds it",
			}
		case w.Evidence == depgraph.Observed.String():
			v := &ValueView{Name: found.Name, Digest: w.Digest, By: w.Node}
			if p != nil {
				v.Trust, v.Stale = p.trust(), p.Block.Status == StatusStale
			}
			if w.Value != nil {
				v.Type, v.Shape, v.Bytes, v.Text = w.Value.Type, w.Value.Shape, w.Value.Bytes, w.Value.Repr
			}
			return v, nil
		case p != nil && p.Block.Status == "new":
			hint := "`xstate run` runs it"
			if d.Snapshot.NextRun > 0 {
				hint = fmt.Sprintf("ask for it at the next run: `--at-step %d`", d.Snapshot.NextRun)
			}
			return nil, &state.Error{
				Code: CodeNoValue,
				Message: fmt.Sprintf(
					"%s has no value after step %d: block %s, which binds it, was not run yet",
					name,
					at,
					p.Block.ID,
				),
				Hint: hint,
			}
		case p != nil && p.Block.Failed():
			return nil, hasNone(name, at, p.Block, p.Block.Status)
		case p != nil && p.Block.Lost():
			return nil, &state.Error{
				Code: CodeNoValue,
				Message: fmt.Sprintf("the value of %s after step %d is not known: the record of block %s is gone",
					name, at, p.Block.ID),
				Hint: "`xstate doctor --check` tells what is gone; the next run makes it again",
			}
		case p != nil && p.Block.Status == state.StatusNotReached.String():
			missed = p.Block // an earlier block may bind the name
		}
	}
	if missed != nil {
		return nil, hasNone(name, at, missed, "is not reached")
	}
	return nil, &state.Error{
		Code:    CodeNoValue,
		Message: fmt.Sprintf("no block gives %s a value after step %d", name, at),
		Hint:    "`xstate query --symbol " + name + "` tells who reads it",
	}
}

// trust returns the tier of the node's result.
func (n *Node) trust() state.Tier {
	for _, v := range n.Block.Nodes {
		if v.Name == n.Name {
			return v.Trust
		}
	}
	return state.TierOwn
}

func (d *Dependencies) named(node string) *Node {
	for _, p := range d.Nodes {
		if p.Name == node {
			return p
		}
	}
	return nil
}
