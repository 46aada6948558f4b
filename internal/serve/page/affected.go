package page

import (
	"slices"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// affected is what a change can reach, and what that cost.
type affected struct {
	Blocks  []query.Dependent
	Seconds float64
	Unknown int              // blocks whose cost is not recorded
	Then    state.StepNumber // the run that the record was completed from; 0: none
	reached map[state.BlockID]bool
}

// affectedBy asks what a change can reach. While blocks are blocked, what they read and what they cost is not known:
// the last run in which none failed has both.
func (v *view) affectedBy(what string, d *query.Snapshot) (*affected, error) {
	asked := func(at *state.StepNumber) (*api.QueryDependents, error) {
		return ask[api.QueryDependents](v.r.Context(), v.p, &verb.Query{
			InSession: verb.In(v.Session), Moment: verb.Moment{AtStep: at}, AffectedBy: what,
		})
	}
	now, err := asked(v.AtStep)
	if err != nil {
		return nil, err
	}
	a := &affected{Blocks: now.Blocks, reached: map[state.BlockID]bool{}}
	if !allRan(d) {
		if run := v.lastWhole(d.Step.Number); run != 0 {
			if then, err := asked(&run); err == nil { // else it did not know the word
				a.complete(then, d)
				a.Then = run
			}
		}
	}
	for _, b := range a.Blocks {
		a.reached[b.Block] = true
		a.Seconds += b.Seconds
		if b.Seconds == 0 {
			a.Unknown++
		}
	}
	return a, nil
}

// complete adds what an earlier answer has of blocks that are in the program still.
func (a *affected) complete(then *api.QueryDependents, d *query.Snapshot) {
	for _, b := range then.Blocks {
		at := slices.IndexFunc(a.Blocks, func(x query.Dependent) bool { return x.Block == b.Block })
		if at >= 0 {
			if a.Blocks[at].Seconds == 0 {
				a.Blocks[at].Seconds = b.Seconds
			}
			continue
		}
		place := slices.IndexFunc(d.Blocks, func(x query.BlockView) bool { return x.ID == b.Block })
		if place >= 0 && !hasRun(&d.Blocks[place]) {
			b.Index = place
			a.Blocks = append(a.Blocks, b)
		}
	}
	slices.SortStableFunc(a.Blocks, func(x, y query.Dependent) int { return x.Index - y.Index })
}

// allRan reports whether what each block reads is known from its execution.
func allRan(d *query.Snapshot) bool {
	return !slices.ContainsFunc(d.Blocks, func(b query.BlockView) bool { return !hasRun(&b) })
}

// lastWhole returns the last run before a step in which no block failed; 0 if it is not near.
func (v *view) lastWhole(before state.StepNumber) state.StepNumber {
	for _, s := range v.runsBefore(before + 1) {
		if c := &s.Run.Blocks; c.Failed == 0 && c.Blocked == 0 && c.NotReached == 0 {
			return s.Number
		}
	}
	return 0
}

// reaches reports whether the change can reach one of some blocks.
func (a *affected) reaches(blocks []*query.BlockView) bool {
	return slices.ContainsFunc(blocks, func(b *query.BlockView) bool { return a.reached[b.ID] })
}
