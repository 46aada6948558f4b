package query

import (
	"context"
	"iter"

	"github.com/xstate-engine/xstate/state"
)

// lineage yields the steps that led to the program after step n, newest first. It leaves out the steps that a rollback
// took back: they are in the history, but no part of the program.
func (h *History) Ancestors(ctx context.Context, n state.StepNumber) iter.Seq2[state.Step, error] {
	return func(yield func(state.Step, error) bool) {
		for size := 8; n > 0; size = min(2*size, pageOfSteps) {
			page, err := h.StepsBefore(ctx, n+1, size)
			if err != nil {
				yield(state.Step{}, err)
				return
			}
			for _, step := range page {
				if step.Number != n {
					break // behind a rollback
				}
				if !yield(step, nil) {
					return
				}
				n--
				if step.Kind == state.KindRollback {
					n = step.To
				}
			}
		}
	}
}

// IsEdit reports whether a step edited the program, rather than running it, going back or saying something of it.
func IsEdit(k state.Kind) bool {
	switch k {
	case state.KindAppend, state.KindPatch, state.KindMove, state.KindDelete:
		return true
	}
	return false
}
