package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// TestDrawn: lanes begin at the last step of a session and end where it was forked, also where that is a step of the
// session that its origin was forked from.
func TestDrawn(t *testing.T) {
	from := func(session string, n xstate.StepNumber) *state.ForkPoint {
		return &state.ForkPoint{Session: session, Step: n}
	}
	family := map[string]state.Session{
		"main": {
			Name: "main",
		}, "try": {Name: "try", From: from("main", 2)}, "deep": {Name: "deep", From: from("try", 1)},
		"late": {Name: "late", From: from("main", 4)},
	}
	var all []state.Session
	for _, name := range []string{"deep", "late", "main", "try"} {
		all = append(all, family[name])
	}
	var steps []ownStep
	for _, s := range []struct {
		name string
		n    xstate.StepNumber
	}{{"late", 5}, {"deep", 2}, {"main", 4}, {"try", 3}, {"main", 3}, {"main", 2}, {"main", 1}} {
		steps = append(
			steps,
			ownStep{family[s.name], query.Entry{Number: s.n, Kind: "run", Time: time.Unix(int64(s.n), 0)}},
		)
	}
	want := `
*      late  step 5
| *    deep  step 2
* |    main  step 4
| | *  try   step 3
* | |  main  step 3
|/ |
* |    main  step 2
|/
*      main  step 1
`
	var rows [][]string
	for _, row := range (caller{}).drawn(steps, origins(all)) {
		rows = append(rows, row[:min(3, len(row))])
	}
	if d := cmp.Diff(strings.TrimPrefix(want, "\n"), term.Columns(rows)); d != "" {
		t.Errorf("drawn (-want +got):\n%s", d)
	}
}
