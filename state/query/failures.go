package query

import (
	"context"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/state"
)

// Failure is a block that failed from one run on, with the edits that caused it, that did not fix it, and that fixed
// it. An edit is found as for Credit. Several edits mean that it was one of them; none, that no edit is known.
type Failure struct {
	Block  state.BlockID    `json:"block"`
	Error  string           `json:"error"`           // the first
	Since  state.StepNumber `json:"since"`           // the run in which it failed first
	Causes []Entry          `json:"causes"`          // with several, one of them
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
func (f Failure) Fails() bool { return f.Fixed == 0 && f.Gone == 0 }

// failures collects the failures of a session.
type failures struct {
	*crediting
	found []*Failure
	open  map[state.BlockID]*Failure
	now   state.StepNumber
	run   state.StepNumber // the last one before now
}

// Failures returns the failures of all steps until n, the newest first. A call that waits for a decision is none.
func (h *History) Failures(ctx context.Context, n state.StepNumber) ([]Failure, error) {
	f := &failures{open: map[state.BlockID]*Failure{}, crediting: &crediting{history: h,
		rows: map[creditKey]*CreditRow{}, failing: map[state.BlockID]bool{}, stepOf: map[*CreditRow]*state.Step{}}}
	f.turned = func(b *state.Block, fails bool, r *CreditRow) { f.note(ctx, b, fails, r) }
	for step, err := range h.store.Steps(ctx, h.name, 1, n) {
		if err == nil {
			f.now = step.Number
			err = f.step(ctx, step)
		}
		if err != nil {
			return nil, err
		}
		if step.Kind == state.KindRun {
			f.run = step.Number
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
func (f *failures) note(ctx context.Context, b *state.Block, fails bool, r *CreditRow) {
	x := f.open[b.ID]
	switch {
	case x == nil && fails && b.Failed():
		x = &Failure{Block: b.ID, Error: f.errorText(b), Since: f.now,
			Causes: f.causes(ctx, b.ID, r), Tries: []FailedTry{},
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

// causes returns the edits of which a block that fails read something that has changed since the run before, through
// whatever ran in between. r is the row of the first of them.
func (f *failures) causes(ctx context.Context, id state.BlockID, r *CreditRow) []Entry {
	first := f.edits(r)
	if len(f.pending) < 2 {
		return first
	}
	now, err := f.history.At(ctx, f.now)
	if err != nil {
		return first
	}
	before := map[string]state.Digest{} // by the node and the key
	if f.run != 0 {
		was, err := f.history.At(ctx, f.run)
		if err != nil {
			return first
		}
		for i := range was.Blocks {
			for _, n := range was.Blocks[i].Nodes {
				for _, a := range n.Reads {
					before[n.Name+" "+string(a.Key)] = a.Digest
				}
			}
		}
	}
	reached := map[state.BlockID]bool{}
	for todo := []state.BlockID{id}; len(todo) > 0; {
		b, err := now.Block(todo[0])
		if todo = todo[1:]; err != nil || reached[b.ID] {
			continue
		}
		reached[b.ID] = true
		for _, n := range b.Nodes {
			for _, a := range n.Reads {
				from, _, _ := strings.Cut(a.By, "#")
				if was, known := before[n.Name+" "+string(a.Key)]; from != "" && (!known || was != a.Digest) {
					todo = append(todo, state.BlockID(from))
				}
			}
		}
	}
	list := []Entry{}
	for i := range f.pending {
		if e := &f.pending[i]; reached[e.Block] {
			list = append(list, entryOf(*e))
		}
	}
	if len(list) == 0 {
		return first
	}
	return list
}

// edits returns the edit or the rollback of a row; for the row without an author, all edits that were not run yet.
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
