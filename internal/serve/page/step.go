package page

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/provenance"
	"github.com/xstate-engine/xstate/state/query"
)

// stepData is what the view of a step shows.
type stepData struct {
	Entry  *query.Entry
	Blocks []stepChange // what it changed
	Parts  []query.PatchView
	Edits  []query.Entry    // since the run before a run, the last first
	Run    []ranBlock       // what a run did with blocks that it did not reuse
	Since  state.StepNumber // a run is compared with this run before it; 0: it is the first
	Reused int              // by a run
	Took   float64          // all that a run executed, in seconds
	More   int              // changed blocks that are not shown
}

// stepChange is how a step changed a block.
type stepChange struct {
	query.BlockChange
	Before, After []provenance.PageOutput // side by side, where one side has a picture or a table
}

// ranBlock is a block with what a run did with it.
type ranBlock struct {
	ID      state.BlockID
	Status  string
	Causes  []cause
	Seconds float64 // that the run spent on it
	Begin   float64 // when it began, counted from the first block
}

// mostChanges is how many blocks the view of a step shows.
const mostChanges = 100

// add adds a block of which something changed.
func (d *stepData) add(b query.BlockChange) {
	if b.Op != "" || b.Diff != "" || b.Outputs != "" || len(b.Values) > 0 {
		d.Blocks = append(d.Blocks, stepChange{BlockChange: b})
	}
}

// cut leaves out what is beyond mostChanges.
func (d *stepData) cut() {
	if d.More = len(d.Blocks) - mostChanges; d.More > 0 {
		d.Blocks = d.Blocks[:mostChanges]
	}
}

// step shows what one step changed. A run is compared with the run before it.
func (v *view) step() error {
	if v.AtStep == nil {
		return &failure{api.Error{Message: "the address names no step", Hint: "choose one in the history"}}
	}
	n, limit := *v.AtStep, 1
	log, err := ask[api.Log](v.r.Context(), v.p,
		&verb.Log{InSession: verb.In(v.Session), Limit: &limit, After: n + 1})
	if err != nil {
		return err
	}
	v.Session = log.Session
	data := &stepData{}
	if len(log.Steps) > 0 && log.Steps[0].Number == n {
		data.Entry = &log.Steps[0].Entry
	}
	if err := v.compare(n, data); err != nil {
		return err
	}
	patches, err := ask[api.QueryPatch](v.r.Context(), v.p,
		&verb.Query{InSession: verb.In(v.Session), Patch: strconv.Itoa(int(n))})
	if err == nil { // it is no edit
		data.Parts = patches.Patches
	}
	v.Name, v.Title, v.Data = "step", "Step "+strconv.Itoa(int(n)), data
	return nil
}

// compare finds what a step changed.
func (v *view) compare(n state.StepNumber, data *stepData) error {
	if n == 0 {
		return nil
	}
	from, isRun := n-1, data.Entry != nil && data.Entry.Run != nil
	if isRun {
		if runs := v.runsBefore(n); len(runs) > 0 {
			from, data.Since = runs[0].Number, runs[0].Number
		}
	}
	d, err := v.diff(from, n)
	if err != nil {
		return err
	}
	for _, b := range d.Blocks {
		if isRun && b.Op != "append" && b.Op != "delete" { // the edits before it changed the code
			b.Op = ""
		}
		if isRun {
			b.Diff = ""
		}
		data.add(b)
	}
	if isRun {
		data.Edits = v.editsBefore(n, data.Since)
		if err := v.ranIn(n, data); err != nil {
			return err
		}
	}
	data.cut()
	return nil
}

// mostEdits is how many edits the view of a run shows.
const mostEdits = 20

// editsBefore returns what changed the program, or decided about a call, after one run and before another.
func (v *view) editsBefore(run, since state.StepNumber) (edits []query.Entry) {
	limit := stepsBack
	log, err := ask[api.Log](v.r.Context(), v.p, &verb.Log{InSession: verb.In(v.Session), Limit: &limit, After: run})
	if err != nil {
		return nil
	}
	for _, s := range log.Steps {
		is := query.IsEdit(s.Kind) || s.Kind == state.KindRollback || s.Kind == state.KindApprove
		if is && s.Number > since && len(edits) < mostEdits {
			edits = append(edits, s.Entry)
		}
	}
	return edits
}

// ranIn lists the blocks that a run did not reuse, and compares what they put out.
func (v *view) ranIn(run state.StepNumber, data *stepData) error {
	now, err := v.snapshot()
	if err != nil {
		return err
	}
	known := v.valuesAround(run)
	rich := map[state.BlockID][]provenance.PageOutput{}
	for i := range now.Blocks {
		b := &now.Blocks[i]
		c := causes{known: known}
		for _, n := range b.Nodes {
			if n.Reason.Code != state.ReasonReused || n.Status == "failed" {
				c.add(n.Name, n.Status, n.Reason, nil, nil)
			}
		}
		if len(c.list) == 0 || b.RanAt != run && b.Status == "ran" {
			data.Reused++
			continue
		}
		if len(data.Run) < mostChanges {
			x := ranBlock{ID: b.ID, Status: b.Status, Causes: c.list, Begin: data.Took}
			for _, n := range b.Nodes {
				if b.RanAt == run && n.Trace != "" && n.Reason.Code != state.ReasonReused {
					x.Seconds += n.Seconds
				}
			}
			data.Took += x.Seconds
			data.Run = append(data.Run, x)
		}
		if rich[b.ID], err = outputsOf(b); err != nil {
			return err
		}
	}
	if data.Since == 0 || len(rich) == 0 {
		return nil
	}
	return v.sideBySide(data, rich)
}

// sideBySide adds the outputs of blocks before and after a run, where one side has a picture or a table.
func (v *view) sideBySide(data *stepData, after map[state.BlockID][]provenance.PageOutput) error {
	past := *v
	past.AtStep = &data.Since
	was, err := past.snapshot()
	if err != nil {
		return err
	}
	for i := range was.Blocks {
		b := &was.Blocks[i]
		now, ran := after[b.ID]
		if delete(after, b.ID); !ran {
			continue
		}
		before, err := outputsOf(b)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(slices.Concat(before, now), isRich) || reflect.DeepEqual(before, now) {
			continue
		}
		at := slices.IndexFunc(data.Blocks, func(c stepChange) bool { return c.ID == b.ID })
		if at < 0 {
			at = len(data.Blocks)
			data.Blocks = append(data.Blocks, stepChange{BlockChange: query.BlockChange{ID: b.ID}})
		}
		data.Blocks[at].Before, data.Blocks[at].After = before, now
		data.Blocks[at].Outputs = ""
	}
	for i := range data.Blocks { // those that are new
		if data.Blocks[i].Op == "append" {
			data.Blocks[i].After, data.Blocks[i].Outputs = after[data.Blocks[i].ID], ""
		}
	}
	return nil
}

// compareSteps shows how the program differs between two steps.
func (v *view) compareSteps() error {
	from, err := stepOf(v.query.Get("from"))
	if err != nil {
		return err
	}
	to, err := stepOf(v.query.Get("to"))
	if err != nil {
		return err
	}
	d, err := v.diff(from, to)
	if err != nil {
		return err
	}
	v.Session, v.AtStep = d.Session, &to
	data := &stepData{Since: from}
	for _, b := range d.Blocks {
		data.add(b)
	}
	now, err := v.snapshot()
	if err != nil {
		return err
	}
	after := map[state.BlockID][]provenance.PageOutput{}
	for i := range now.Blocks {
		if after[now.Blocks[i].ID], err = outputsOf(&now.Blocks[i]); err != nil {
			return err
		}
	}
	if err := v.sideBySide(data, after); err != nil {
		return err
	}
	data.cut()
	v.Name, v.Data = "compare", data
	v.Title = fmt.Sprintf("From step %d to step %d", from, to)
	return nil
}

// stepOf reads the number of a step.
func stepOf(text string) (state.StepNumber, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32)
	if err != nil {
		return 0, &failure{api.Error{Message: fmt.Sprintf("%q is no step", text), Hint: "the history lists them"}}
	}
	return state.StepNumber(n), nil
}
