package flow

import (
	"context"
	"fmt"
	"slices"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/artifact"
	"github.com/xstate-engine/xstate/state/query"
)

// Of says what reached the calls of a session after step n; with a call, not 0, this one alone.
func Of(ctx context.Context, h *query.History, n state.StepNumber, call state.CallID) (*Flow, error) {
	judge, err := artifact.NewAssessor(ctx, h, n)
	if err != nil {
		return nil, err
	}
	f := &flow{store: h.Store(), reached: map[string]map[string]bool{},
		texts: index{at: map[uint64][]position{}}, groups: map[string][]int{}}
	f.Flow = Flow{Session: h.Name(), Step: n, Calls: []CallFlow{}, Sources: []SourceFlow{}, Results: []ResultFlow{},
		Findings: []Finding{}}
	if err := f.calls(ctx, h, judge); err != nil {
		return nil, err
	}
	if err := f.files(judge); err != nil {
		return nil, err
	}
	f.reach(judge)
	f.texts.settle()
	f.match()
	f.find()
	for _, s := range f.texts.sources {
		f.Sources = append(f.Sources, s.SourceFlow)
	}
	return &f.Flow, f.pick(call)
}

// pick leaves one call, if one is asked for.
func (f *flow) pick(call state.CallID) error {
	for i := range f.Calls {
		switch c := &f.Calls[i]; {
		case call == 0:
			c.May, c.Never = nil, nil
		case call == c.ID:
			f.Calls = f.Calls[i : i+1]
			f.Findings = slices.DeleteFunc(f.Findings, func(x Finding) bool { return !slices.Contains(x.Calls, call) })
			return nil
		}
	}
	if call == 0 {
		return nil
	}
	return &state.Error{Code: state.CodeNoCall,
		Message: fmt.Sprintf("no result of the program depends on call %d", call),
		Hint:    "`xstate flow` lists the calls that results depend on"}
}
