package page

import (
	"strconv"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// listedSteps is how many steps a page of the history has.
const listedSteps = 100

// history lists the steps of a session, the newest first.
func (v *view) history() error {
	limit := listedSteps
	after, _ := strconv.ParseUint(v.query.Get("after"), 10, 32) // 0: from the newest
	d, err := ask[api.Log](v.r.Context(), v.p,
		&verb.Log{InSession: verb.In(v.Session), Limit: &limit, After: state.StepNumber(after)})
	if err != nil {
		return err
	}
	v.Session = d.Session
	v.Name, v.Title, v.Data = "history", "History", d
	return nil
}

// stepData is what the view of a step shows.
type stepData struct {
	Entry  *query.Entry
	Diff   *api.Diff // what it changed
	Parts  []query.PatchView
	Before state.StepNumber
	Next   state.StepNumber // 0: it is the last
	Run    []ranBlock       // what a run did with blocks that it did not reuse
}

// ranBlock is a block with what a run did with it.
type ranBlock struct {
	ID     state.BlockID
	Status string
	Causes []cause
}

// step shows what one step changed.
func (v *view) step() error {
	if v.AtStep == nil {
		return &failure{api.Error{Message: "the address names no step", Hint: "choose one in the history"}}
	}
	n, limit := *v.AtStep, 2
	log, err := ask[api.Log](v.r.Context(), v.p,
		&verb.Log{InSession: verb.In(v.Session), Limit: &limit, After: n + 2})
	if err != nil {
		return err
	}
	v.Session = log.Session
	data := &stepData{}
	for i := range log.Steps { // that step, and before it the next
		switch s := &log.Steps[i]; s.Number {
		case n:
			data.Entry = &s.Entry
		case n + 1:
			data.Next = s.Number
		}
	}
	if n > 0 {
		data.Before = n - 1
		if data.Diff, err = ask[api.Diff](v.r.Context(), v.p, &verb.Diff{
			InSession: verb.In(v.Session), From: strconv.Itoa(int(n - 1)), To: strconv.Itoa(int(n)),
		}); err != nil {
			return err
		}
	}
	if data.Entry != nil && data.Entry.Run != nil {
		if data.Run, err = v.ranIn(n); err != nil {
			return err
		}
	}
	patches, err := ask[api.QueryPatch](v.r.Context(), v.p,
		&verb.Query{InSession: verb.In(v.Session), Patch: strconv.Itoa(int(n))})
	if err == nil { // it is no edit
		data.Parts = patches.Patches
	}
	v.Name, v.Title, v.Data = "step", "Step "+strconv.Itoa(int(n)), data
	return nil
}

// ranIn lists the blocks that a run did not reuse.
func (v *view) ranIn(run state.StepNumber) (list []ranBlock, err error) {
	d, err := v.snapshot()
	if err != nil {
		return nil, err
	}
	known := v.valuesAround(run)
	for i := range d.Blocks {
		b := &d.Blocks[i]
		c := causes{known: known}
		for _, n := range b.Nodes {
			if n.Reason.Code != state.ReasonReused {
				c.add(n.Name, n.Status, n.Reason, nil, nil)
			}
		}
		if len(c.list) > 0 && (b.RanAt == run || b.Status != "ran") {
			list = append(list, ranBlock{b.ID, b.Status, c.list})
		}
	}
	return list, nil
}
