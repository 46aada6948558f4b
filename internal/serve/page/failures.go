package page

import (
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state/query"
)

// listedFailures is how many failures a view shows.
const listedFailures = 100

// failuresData is what the view of the failures shows.
type failuresData struct {
	Failures     []query.Failure
	Failing, All int // how many fail still, and how many there are
}

// failures lists the blocks that failed, with what caused it, what did not fix it, and what did.
func (v *view) failures() error {
	d, err := ask[api.Failures](v.r.Context(), v.p, &verb.Log{InSession: verb.In(v.Session), Failures: true})
	if err != nil {
		return err
	}
	v.Session = d.Session
	data := &failuresData{Failures: d.Failures, All: len(d.Failures)}
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
