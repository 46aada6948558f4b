package xstate

import (
	"context"
	"fmt"

	"github.com/xstate-engine/xstate/state"
)

// walk goes through the recorded runs and executes nothing: it verifies that steps follow one another, that sources have the
// digests that name them, and that every trace and output is there and is what it is named.
func (r *replayer) walk(ctx context.Context, steps []Step) error {
	if err := r.chain(ctx, steps[len(steps)-1].Number); err != nil {
		return err
	}
	for i, step := range steps {
		x := &replaying{replayer: r, session: r.session, step: step, found: &ReplayedRun{Step: step.Number, Time: step.Time, Result: ReplayEqual, Served: []ServedNode{}, Divergences: []Divergence{}}}
		if step.Run != nil {
			x.found.Interpreter = step.Run.Interpreter
		}
		if err := x.read(ctx); err != nil {
			return err
		}
		for _, ref := range x.order {
			rec := x.recorded[ref]
			switch {
			case rec.damaged:
				x.found.Divergences = append(x.found.Divergences, Divergence{Step: step.Number, Node: rec.name, Block: ref.block, What: "record", Cause: CauseRecord, Detail: fmt.Sprintf("the record of %s is damaged", rec.name)})
				x.found.Result = ReplayDiverged
			case rec.Trace != "" && rec.trace == nil:
				x.found.Served = append(x.found.Served, ServedNode{Node: rec.name, Why: ServedUnrecorded})
				if x.found.Result == ReplayEqual {
					x.found.Result = ReplayPartial
				}
			default:
				x.found.Proved++
			}
		}
		r.found.Runs[i] = *x.found
		if r.options.UntilDivergence && x.found.Result == ReplayDiverged {
			return nil
		}
	}
	return nil
}

// chain verifies that each step holds the hash of the one before.
func (r *replayer) chain(ctx context.Context, last StepNumber) error {
	s := r.session
	var before Digest
	for step, err := range s.store.state.Steps(ctx, s.name, 1, last) {
		if err != nil {
			return err
		}
		if before != "" && step.Kind != state.KindFork && step.Prev != before {
			return &Error{Code: state.CodeDamaged, Message: fmt.Sprintf("step %d of session %q does not follow step %d", step.Number, s.name, step.Number-1), Hint: "xstate check names what is damaged"}
		}
		before = step.Hash
	}
	return nil
}
