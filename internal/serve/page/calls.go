package page

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
)

// listedCalls is how many calls a page lists.
const listedCalls = 100

// callsData is what the view of the calls shows.
type callsData struct {
	Calls []api.CallRow
	Total api.CallTotal
	Next  int // the place of the next page in the list; 0: there is none
}

// calls lists the calls of tools and models, those that wait first.
func (v *view) calls() error {
	d, err := ask[api.Calls](v.r.Context(), v.p, &verb.Calls{InSession: verb.In(v.Session)})
	if err != nil {
		return err
	}
	v.Session = d.Session
	slices.SortStableFunc(d.Calls, func(a, b api.CallRow) int {
		return cmp.Compare(waits(&b), waits(&a))
	})
	from, _ := strconv.Atoi(v.query.Get("from")) // 0: from the first
	data := &callsData{Total: d.Total, Calls: d.Calls[min(max(from, 0), len(d.Calls)):]}
	if len(data.Calls) > listedCalls {
		data.Calls, data.Next = data.Calls[:listedCalls], max(from, 0)+listedCalls
	}
	v.Name, v.Title, v.Data = "calls", "Calls", data
	return nil
}

// flow shows what reached each call, and what became of its answer.
func (v *view) flow() error {
	d, err := ask[api.Flow](v.r.Context(), v.p, &verb.Flow{InSession: verb.In(v.Session),
		Moment: verb.Moment{AtStep: v.AtStep}})
	if err != nil {
		return err
	}
	if len(d.Calls) > listedCalls {
		d.Calls = d.Calls[:listedCalls]
	}
	v.Name, v.Title, v.Data = "flow", "What reached each call", d
	return nil
}

// waits is 1 for a call that waits for a decision.
func waits(c *api.CallRow) int {
	if c.State == string(state.CallWaiting) {
		return 1
	}
	return 0
}
