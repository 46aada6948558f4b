package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/term"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// queryDenied lists what the sandbox denied when the nodes of the program last executed, and what would allow it.
func (a *app) queryDenied(ctx context.Context, o *opened, n xstate.StepNumber) error {
	program, err := o.history.ProgramAt(ctx, n)
	if err != nil {
		return err
	}
	d := api.QueryDenied{Answer: api.AnswerAt(o.history.Name(), n), Denied: []api.Denied{}}
	for i := range program {
		b := program[i].Before
		if b == nil {
			continue
		}
		for j := range b.Nodes {
			t, found, err := o.store.State().Trace(b.Nodes[j].Trace)
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			for _, x := range t.Denied {
				row := api.Denied{Block: b.ID, Node: query.NodeName(b.ID, j, len(b.Nodes), b.Nodes[j].Part), Denial: x}
				if rules, file := a.allowing([]state.Denial{x}); len(rules) > 0 {
					row.Allow, row.File = strings.Join(rules, "; "), file
				}
				d.Denied = append(d.Denied, row)
			}
		}
	}
	if a.ui.JSON {
		return a.ui.Document(d)
	}
	var rows [][]string
	for _, x := range d.Denied {
		rows = append(rows, []string{x.Node, x.String(), cmp.Or(x.Allow, "nothing would allow it"), x.File})
	}
	a.ui.Table(rows)
	a.ui.Talk("%s denied by the sandbox", term.Plural(len(rows), "action"))
	return nil
}
