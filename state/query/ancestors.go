package query

import (
	"context"
	"iter"

	"github.com/xstate-engine/xstate/state"
)

// Ancestors yields the steps that led to the program after step n, newest first. It leaves out the steps that a
// rollback took back: they are in the history, but no part of the program.
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
