package page

import (
	"slices"
	"strconv"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// listedSteps is how many steps a page of the history has.
const listedSteps = 100

// kinds are the kinds of steps that the history can be narrowed to.
var kinds = []state.Kind{query.AnyEdit, state.KindRun, state.KindRollback, state.KindFork}

// historyData is what the view of the history shows.
type historyData struct {
	Steps       []historyStep
	Next        state.StepNumber // as of Log
	Family      []*familyMember  // the sessions that share a past, as a tree; nil: there is one
	Agent, Kind string           // only steps of these are shown
	Kinds       []state.Kind
	Agents      []string // who made a step
}

// historyStep is a step with what it cost: by its origin, and of a run by the calls that it made.
type historyStep struct {
	api.LogStep
	Spent state.Usage
}

// familyMember is a session with those that were forked from it.
type familyMember struct {
	api.LogSession
	Forks []*familyMember
}

// history lists the steps of a session, the newest first.
func (v *view) history() error {
	limit := listedSteps
	after, _ := strconv.ParseUint(v.query.Get("after"), 10, 32) // 0: from the newest
	data := &historyData{Agent: v.query.Get("agent"), Kind: v.query.Get("kind"), Kinds: kinds}
	d, err := ask[api.Log](v.r.Context(), v.p, &verb.Log{InSession: verb.In(v.Session), Limit: &limit,
		After: state.StepNumber(after), Agent: data.Agent, Kind: state.Kind(data.Kind)})
	if err != nil {
		return err
	}
	v.Session, data.Next = d.Session, d.Next
	for _, s := range d.Steps {
		o := s.Origin
		data.Steps = append(data.Steps, historyStep{s, state.Usage{InputTokens: o.TokensIn, OutputTokens: o.TokensOut,
			MicroUSD: int64(o.Cost) / 1000}})
		if o.Agent != "" && !slices.Contains(data.Agents, o.Agent) {
			data.Agents = append(data.Agents, o.Agent)
		}
	}
	slices.Sort(data.Agents)
	if err := v.spentOnCalls(data.Steps); err != nil {
		return err
	}
	if data.Family, err = v.family(); err != nil {
		return err
	}
	v.Name, v.Title, v.Data = "history", "History", data
	return nil
}

// spentOnCalls adds what the runs among some steps spent on calls of tools and models.
func (v *view) spentOnCalls(steps []historyStep) error {
	if len(steps) == 0 {
		return nil
	}
	runs := map[state.StepNumber]*historyStep{} // by the step before, which their calls name
	for i := range steps {
		if steps[i].Run != nil {
			runs[steps[i].Number-1] = &steps[i]
		}
	}
	d, err := ask[api.Calls](v.r.Context(), v.p,
		&verb.Calls{InSession: verb.In(v.Session), Since: steps[len(steps)-1].Number - 1})
	if err != nil {
		return err
	}
	for i := range d.Calls {
		if run := runs[d.Calls[i].Step]; run != nil && !d.Calls[i].Served {
			run.Spent.Add(d.Calls[i].Usage)
		}
	}
	return nil
}

// family returns the sessions that share a past with this one as a tree; nil if it is alone.
func (v *view) family() ([]*familyMember, error) {
	limit := 1
	d, err := ask[api.LogGraph](v.r.Context(), v.p,
		&verb.Log{InSession: verb.In(v.Session), Graph: true, Limit: &limit})
	if err != nil || len(d.Sessions) < 2 {
		return nil, err
	}
	members := map[string]*familyMember{}
	for _, s := range d.Sessions {
		members[s.Name] = &familyMember{LogSession: s}
	}
	var roots []*familyMember
	for _, s := range d.Sessions {
		if s.From != nil && members[s.From.Session] != nil {
			parent := members[s.From.Session]
			parent.Forks = append(parent.Forks, members[s.Name])
		} else {
			roots = append(roots, members[s.Name])
		}
	}
	return roots, nil
}
