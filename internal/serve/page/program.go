package page

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// sessions lists the sessions of the store.
func (v *view) sessions() error {
	d, err := ask[api.Status](v.r.Context(), v.p, &verb.Status{})
	if err != nil {
		return err
	}
	v.Name, v.Title, v.Data = "sessions", "Sessions", d
	return nil
}

// program shows the blocks of a session with what they put out.
func (v *view) program() error {
	d, err := v.snapshot()
	if err != nil {
		return err
	}
	v.Name, v.Title = "program", v.Session
	now, err := v.render(d)
	if err != nil {
		return err
	}
	v.Step, v.Data = now.step, &programData{v.stateOf(d), now.parts}
	return nil
}

// programState is what a view of a program shows besides its blocks.
type programState struct {
	Session string
	Step    state.StepNumber
	Total   int
	Counts  map[string]int // of blocks that neither ran nor were reused, by status
	NotRun  bool           // the step is an edit, and no run came after it
	Failed  *notDone       // what a browser began last, if that was in vain; nil for the past
}

func (v *view) stateOf(d *query.Snapshot) *programState {
	s := &programState{Session: d.Session, Step: d.Step.Number, Total: d.Total, Counts: map[string]int{}}
	for i := range d.Blocks {
		if status := d.Blocks[i].Status; status != "ran" && status != "reused" {
			s.Counts[status]++
		}
	}
	if v.AtStep == nil {
		s.NotRun, s.Failed = d.NotRun, v.p.begunIn(v.Session).failure(s.Step)
	}
	return s
}

// html are the elements that show it, as a browser replaces them.
func (s *programState) html() (string, error) {
	var out strings.Builder
	for _, name := range []string{"counts", "notices"} {
		if err := templates().ExecuteTemplate(&out, name, s); err != nil {
			return "", fmt.Errorf("render the %s: %w", name, err)
		}
	}
	return out.String(), nil
}

// programData is what the view of a program shows.
type programData struct {
	*programState
	Parts []part
}

// block shows one block: why it ran, what it read and wrote, who wrote it, its versions.
func (v *view) block() error {
	id := v.query.Get("block")
	one, err := ask[api.QueryBlock](v.r.Context(), v.p, &verb.Query{
		InSession: verb.In(v.Session), Moment: verb.Moment{AtStep: v.AtStep}, Block: id,
	})
	if err != nil {
		return err
	}
	data := &blockPage{QueryBlock: one}
	data.RanAt, data.Then = v.lastCauses(one.Block, one.Step.Number)
	if data.Part, err = v.part(one.Block); err != nil {
		return err
	}
	if v.AtStep == nil {
		why, err := ask[api.Why](v.r.Context(), v.p, &verb.Why{InSession: verb.In(v.Session), Block: id})
		if err != nil {
			data.Unplanned = err.Error()
		} else {
			for _, n := range why.Nodes {
				data.Did.add(n.Name, n.Action, n.Reason, n.WasValue, n.NowValue)
			}
			for _, n := range why.Next {
				data.Next.add(n.Name, n.Action, n.Reason, n.WasValue, n.NowValue)
			}
		}
		if data.Failing, err = v.failing(one.Block); err != nil {
			return err
		}
	} else {
		data.Did.known = v.valuesAround(cmp.Or(one.Block.RanAt, one.Step.Number))
		data.Did.of(one.Block)
	}
	if d, err := v.snapshot(); err == nil {
		data.Affected, _ = v.affectedBy(id, d, v.wholeRunBefore(d)) // a block without nodes affects nothing
	}
	versions, err := ask[api.QueryVersion](v.r.Context(), v.p,
		&verb.Query{InSession: verb.In(v.Session), Version: id})
	if err == nil {
		data.Versions = versions.Versions
	}
	v.Name, v.Title, v.Data = "blockpage", id, data
	return nil
}

// blockPage is what the view of a block shows.
type blockPage struct {
	*api.QueryBlock
	Part      part
	Did, Next causes           // of the last run, and of the next
	Then      []cause          // when it last ran, if those are others
	RanAt     state.StepNumber // when it last ran, if the last run did not execute it
	Unplanned string           // why it is not known what the next run would do
	Failing   []query.Failure  // why it fails, or is blocked
	Affected  *affected
	Versions  []query.VersionView
}
