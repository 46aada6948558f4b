package query

import (
	"context"
	"slices"

	"github.com/xstate-engine/xstate/state"
)

// Failure is a block that failed from one run on, with the edits that caused it, that did not fix it, and that fixed
// it. An edit is found as for Credit. Several edits mean that it was one of them; none, that no edit is known.
type Failure struct {
	Block  state.BlockID    `json:"block"`
	Error  string           `json:"error"` // the first
	Since  state.StepNumber `json:"since"` // the run in which it failed first
	Causes []Entry          `json:"causes"`
	Tries  []FailedTry      `json:"tries"`           // later runs in which it failed
	Fixed  state.StepNumber `json:"fixed,omitempty"` // the step since which it does not fail; absent: it does
	Fixes  []Entry          `json:"fixes"`
	Gone   state.StepNumber `json:"gone,omitempty"` // the step that removed it from the program
}

// FailedTry is a run in which a block failed again.
type FailedTry struct {
	Run   state.StepNumber `json:"run"`
	Edits []Entry          `json:"edits"` // that made it run again
	Error string           `json:"error"`
}

// Fails reports whether the block fails still.
func (f *Failure) Fails() bool { return f.Fixed == 0 && f.Gone == 0 }

// failures collects the failures of a session.
type failures struct {
	found  []*Failure
	open   map[state.BlockID]*Failure
	stepOf map[*CreditRow]*state.Step
	now    state.StepNumber
}

// Failures returns the failures of all steps until n, the newest first. A call that waits for a decision is none.
func (h *History) Failures(ctx context.Context, n state.StepNumber) ([]Failure, error) {
	f := &failures{open: map[state.BlockID]*Failure{}, stepOf: map[*CreditRow]*state.Step{}}
	c := &crediting{history: h, rows: map[creditKey]*CreditRow{}, failing: map[state.BlockID]bool{}, failures: f}
	for step, err := range h.store.Steps(ctx, h.name, 1, n) {
		if err == nil {
			f.now = step.Number
			err = c.step(ctx, step)
		}
		if err != nil {
			return nil, err
		}
		for id, x := range f.open {
			if _, is := c.failing[id]; !is {
				x.Gone = step.Number
				delete(f.open, id)
			}
		}
	}
	list := []Failure{}
	for _, x := range slices.Backward(f.found) {
		list = append(list, *x)
	}
	return list, nil
}

// turn notes what a step made of a block. r is the row of the step that is charged.
func (f *failures) turn(c *crediting, b *state.Block, now bool, r *CreditRow) {
	x := f.open[b.ID]
	switch {
	case x == nil && now && b.Failed():
		x = &Failure{Block: b.ID, Error: c.lastLine(b), Since: f.now, Causes: f.edits(c, r), Tries: []FailedTry{},
			Fixes: []Entry{}}
		f.open[b.ID] = x
		f.found = append(f.found, x)
	case x != nil && !now:
		x.Fixed, x.Fixes = f.now, f.edits(c, r)
		delete(f.open, b.ID)
	case x != nil && b.Failed() && slices.ContainsFunc(b.Nodes, func(n state.NodeResult) bool {
		return n.Reason.Code != state.ReasonReused
	}):
		x.Tries = append(x.Tries, FailedTry{Run: f.now, Edits: f.edits(c, r), Error: c.lastLine(b)})
	}
}

// edits are the edits, or the rollback, that a row stands for: those that were not run yet where it is nobody's.
func (f *failures) edits(c *crediting, r *CreditRow) []Entry {
	list := []Entry{}
	switch s := f.stepOf[r]; {
	case s.Number == 0:
		for i := range c.pending {
			list = append(list, entryOf(c.pending[i]))
		}
	case IsEdit(s.Kind) || s.Kind == state.KindRollback:
		list = append(list, entryOf(*s))
	}
	return list
}

// lastLine is the type and the message of the error of a block.
func (c *crediting) lastLine(b *state.Block) string {
	e := c.history.errorOf(b)
	switch {
	case e == nil:
		return ""
	case e.Message == "":
		return e.Type
	}
	return e.Type + ": " + e.Message
}
