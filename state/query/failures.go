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
	*crediting
	found []*Failure
	open  map[state.BlockID]*Failure
	now   state.StepNumber
}

// Failures returns the failures of all steps until n, the newest first. A call that waits for a decision is none.
func (h *History) Failures(ctx context.Context, n state.StepNumber) ([]Failure, error) {
	f := &failures{open: map[state.BlockID]*Failure{}, crediting: &crediting{history: h,
		rows: map[creditKey]*CreditRow{}, failing: map[state.BlockID]bool{}, stepOf: map[*CreditRow]*state.Step{}}}
	f.turned = f.note
	for step, err := range h.store.Steps(ctx, h.name, 1, n) {
		if err == nil {
			f.now = step.Number
			err = f.step(ctx, step)
		}
		if err != nil {
			return nil, err
		}
		for id, x := range f.open {
			if _, is := f.failing[id]; !is {
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

// note notes what a step made of a block. r is the row of the step that is charged.
func (f *failures) note(b *state.Block, fails bool, r *CreditRow) {
	x := f.open[b.ID]
	switch {
	case x == nil && fails && b.Failed():
		x = &Failure{Block: b.ID, Error: f.errorText(b), Since: f.now, Causes: f.edits(r), Tries: []FailedTry{},
			Fixes: []Entry{}}
		f.open[b.ID] = x
		f.found = append(f.found, x)
	case x != nil && !fails:
		x.Fixed, x.Fixes = f.now, f.edits(r)
		delete(f.open, b.ID)
	case x != nil && b.Failed() && slices.ContainsFunc(b.Nodes, func(n state.NodeResult) bool {
		return n.Reason.Code != state.ReasonReused
	}):
		x.Tries = append(x.Tries, FailedTry{Run: f.now, Edits: f.edits(r), Error: f.errorText(b)})
	}
}

// edits returns the edit or the rollback of a row. A row of nobody stands for all edits that were not run yet.
func (f *failures) edits(r *CreditRow) []Entry {
	list := []Entry{}
	switch s := f.stepOf[r]; {
	case s.Number == 0:
		for i := range f.pending {
			list = append(list, entryOf(f.pending[i]))
		}
	case IsEdit(s.Kind) || s.Kind == state.KindRollback:
		list = append(list, entryOf(*s))
	}
	return list
}

// errorText is the type and the message of the error of a block.
func (f *failures) errorText(b *state.Block) string {
	e := f.history.errorOf(b)
	switch {
	case e == nil:
		return ""
	case e.Message == "":
		return e.Type
	}
	return e.Type + ": " + e.Message
}
