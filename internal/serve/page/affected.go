package page

import (
	"fmt"
	"slices"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// affected is what a change can reach, and what that cost.
type affected struct {
	Blocks  []reached
	Seconds float64
	Unknown int              // blocks whose cost is not recorded
	Then    state.StepNumber // the run that the record was completed from; 0: none
	reached map[state.BlockID]bool
}

// reached is a block that a change can reach.
type reached struct {
	query.Dependent
	How string // by what it is known, if no execution of its present source showed it
}

// affectedBy asks what a change can reach. What blocks that have not run read and cost is completed from the last whole
// run; nil: it is not known.
func (v *view) affectedBy(what string, d *query.Snapshot, last *wholeRun) (*affected, error) {
	asked := func(at *state.StepNumber) (*api.QueryDependents, error) {
		return ask[api.QueryDependents](v.r.Context(), v.p, &verb.Query{
			InSession: verb.In(v.Session), Moment: verb.Moment{AtStep: at}, AffectedBy: what,
		})
	}
	now, err := asked(v.AtStep)
	if err != nil {
		return nil, err
	}
	a := &affected{reached: map[state.BlockID]bool{}}
	for _, b := range now.Blocks {
		a.Blocks = append(a.Blocks, reachedNow(b, d))
	}
	if last != nil {
		if then, err := asked(&last.Step); err == nil { // else it did not know the word
			a.complete(then, d, last)
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

// reachedNow says how a block is reached. By its source it is through the names that the source has; others come from
// what it calls, or from what was read before.
func reachedNow(b query.Dependent, d *query.Snapshot) reached {
	x := reached{Dependent: b}
	at := slices.IndexFunc(d.Blocks, func(v query.BlockView) bool { return v.ID == b.Block })
	if at < 0 || b.Evidence != depgraph.Predicted.String() {
		return x
	}
	x.How = "perhaps"
	named := through(b, func(k depgraph.Key) bool { return names(d.Blocks[at].Source, k) })
	if len(named) > 0 {
		x.Through, x.How = named, "perhaps, by its source"
	}
	return x
}

// through are the links to a block whose keys count.
func through(b query.Dependent, counts func(depgraph.Key) bool) (links []query.Via) {
	for _, via := range b.Through {
		if counts(via.Key) {
			links = append(links, via)
		}
	}
	return links
}

// complete adds what an earlier answer has of blocks that are in the program still, as far as it holds.
func (a *affected) complete(then *api.QueryDependents, d *query.Snapshot, last *wholeRun) {
	a.Then = last.Step
	for _, b := range then.Blocks {
		at := slices.IndexFunc(a.Blocks, func(x reached) bool { return x.Block == b.Block })
		if at >= 0 {
			if a.Blocks[at].Seconds == 0 {
				a.Blocks[at].Seconds = b.Seconds
			}
			continue
		}
		place := slices.IndexFunc(d.Blocks, func(x query.BlockView) bool { return x.ID == b.Block })
		if place < 0 || hasRun(&d.Blocks[place]) {
			continue
		}
		now := &d.Blocks[place]
		b.Index, b.Through = place, through(b, func(k depgraph.Key) bool { return last.holds(now, k) })
		if len(b.Through) > 0 {
			a.Blocks = append(a.Blocks, reached{b, fmt.Sprintf("as in the run of step %d", last.Step)})
		}
	}
	slices.SortStableFunc(a.Blocks, func(x, y reached) int { return x.Index - y.Index })
}

// reaches reports whether the change can reach one of some blocks.
func (a *affected) reaches(blocks []*query.BlockView) bool {
	return slices.ContainsFunc(blocks, func(b *query.BlockView) bool { return a.reached[b.ID] })
}
