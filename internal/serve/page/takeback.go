package page

import (
	"strconv"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
)

// takeBack shows what would change if an edit was taken back.
func (v *view) takeBack() error {
	step := v.query.Get("edit")
	d, err := ask[api.Undo](v.r.Context(), v.p,
		&verb.Undo{InSession: verb.In(v.Session), Steps: step, DryRun: true, Origin: origin})
	if err != nil {
		return err
	}
	if _, err := strconv.ParseUint(step, 10, 32); err != nil {
		return &failure{api.Error{Message: "the address names no edit", Hint: "choose one in the history"}}
	}
	v.Name, v.Title, v.Data = "takeback", "Take step "+step+" back", &takenBack{d, step}
	return nil
}

// takenBack is what the view of an undo shows.
type takenBack struct {
	*api.Undo
	Step string
}
