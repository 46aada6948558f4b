package replay

import (
	"context"
	"fmt"

	"github.com/xstate-engine/xstate/state"
)

// walk checks the recorded runs and executes nothing. It verifies that the steps form a chain, that sources match their
// digests, and that every trace and output exists and matches its name.
func (r *replayer) walk(ctx context.Context, steps []state.Step) error {
	if err := r.chain(ctx, steps[len(steps)-1].Number); err != nil {
		return err
	}
	for i, step := range steps {
		x := &replaying{
			replayer: r,
			subject:  r.subject,
			step:     step,
			found: &RunReport{
				Step:        step.Number,
				Time:        step.Time,
				Result:      Equal,
				Served:      []ServedNode{},
				Divergences: []Divergence{},
			},
		}
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
				x.found.Divergences = append(
					x.found.Divergences,
					Divergence{
						Step:   step.Number,
						Node:   rec.name,
						Block:  ref.block,
						What:   "record",
						Cause:  CauseRecord,
						Detail: fmt.Sprintf("the record of %s is damaged", rec.name),
					},
				)
				x.found.Result = Diverged
			case rec.Trace != "" && rec.trace == nil:
				x.found.Served = append(x.found.Served, ServedNode{Node: rec.name, Why: ServedUnrecorded})
				if x.found.Result == Equal {
					x.found.Result = Partial
				}
			default:
				x.found.Proved++
			}
		}
		r.found.Runs[i] = *x.found
		if r.options.UntilDivergence && x.found.Result == Diverged {
			return nil
		}
	}
	return nil
}

// chain verifies that each step holds the hash of the one before.
func (r *replayer) chain(ctx context.Context, last state.StepNumber) error {
	s := r.subject
	var before state.Digest
	for step, err := range s.Store().Steps(ctx, s.Name(), 1, last) {
		if err != nil {
			return err
		}
		if before != "" && step.Kind != state.KindFork && step.Prev != before {
			return &state.Error{
				Code: state.CodeDamaged,
				Message: fmt.Sprintf(
					"step %d of session %q does not follow step %d",
					step.Number,
					s.Name(),
					step.Number-1,
				),
				Hint: "`xstate doctor --check` names what is damaged",
			}
		}
		before = step.Hash
	}
	return nil
}
