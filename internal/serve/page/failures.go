package page

import (
	"slices"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// listedFailures is how many failures a view shows.
const listedFailures = 100

// failuresData is what the view of the failures shows.
type failuresData struct {
	Failures     []query.Failure
	Blocked      map[state.BlockID][]state.BlockID // those that a failure blocks now
	Failing, All int                               // how many fail still, and how many there are
}

// allFailures asks for all failures of the session.
func (v *view) allFailures() (*api.Failures, error) {
	return ask[api.Failures](v.r.Context(), v.p, &verb.Log{InSession: verb.In(v.Session), Failures: true})
}

// failing returns the failures because of which a block fails or is blocked now.
func (v *view) failing(b *query.BlockView) ([]query.Failure, error) {
	if b.Status != "failed" && b.Status != "blocked" {
		return nil, nil
	}
	d, err := v.allFailures()
	if err != nil {
		return nil, err
	}
	_, by := reasonOf(b)
	return slices.DeleteFunc(d.Failures, func(f query.Failure) bool {
		return !f.Fails() || f.Block != b.ID && string(f.Block) != by
	}), nil
}

// failures lists the blocks that failed, with what caused it, what did not fix it, and what did.
func (v *view) failures() error {
	d, err := v.allFailures()
	if err != nil {
		return err
	}
	v.Session = d.Session
	data := &failuresData{Failures: d.Failures, All: len(d.Failures), Blocked: map[state.BlockID][]state.BlockID{}}
	now, err := v.snapshot()
	if err != nil {
		return err
	}
	for i := range now.Blocks {
		if b := &now.Blocks[i]; b.Status == "blocked" {
			_, by := reasonOf(b)
			data.Blocked[state.BlockID(by)] = append(data.Blocked[state.BlockID(by)], b.ID)
		}
	}
	for i := range d.Failures {
		if d.Failures[i].Fails() {
			data.Failing++
		}
	}
	if data.All > listedFailures {
		data.Failures = data.Failures[:listedFailures]
	}
	v.Name, v.Title, v.Data = "failures", "Failures and fixes", data
	return nil
}
