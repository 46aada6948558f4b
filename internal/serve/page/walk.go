package page

import (
	"maps"
	"slices"
	"strconv"

	"github.com/xstate-engine/xstate/state"
)

// walk is the place of a view of the past in the history.
type walk struct{ At, Last state.StepNumber }

// walked are the views that can be walked from step to step.
var walked = []string{"program", "graph", "values", "step", "blockpage", "value", "blame"}

// Walk is the place of the view; nil if it is not of the past.
func (v *view) Walk() *walk {
	if v.AtStep == nil || !slices.Contains(walked, v.Name) {
		return nil
	}
	last := v.p.lastStep(v.r.Context(), v.Session)
	if last == 0 {
		return nil
	}
	return &walk{At: *v.AtStep, Last: last}
}

// Before is the step before; 0 if there is none.
func (w *walk) Before() state.StepNumber { return w.At - min(w.At, 1) }

// Next is the next step; 0 if there is none.
func (w *walk) Next() state.StepNumber {
	if w.At >= w.Last {
		return 0
	}
	return w.At + 1
}

// Here reports whether the view is of the program after that step.
func (v *view) Here(n state.StepNumber) bool { return v.AtStep != nil && *v.AtStep == n }

// There is the address of the same view after another step.
func (v *view) There(n state.StepNumber) string {
	q := maps.Clone(v.query)
	q.Set("step", strconv.Itoa(int(n)))
	return v.r.URL.Path + "?" + q.Encode()
}
