package main

import (
	"context"
	"fmt"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state/query"
)

// logFailures lists the blocks that failed, with the edits that caused and fixed it.
func (a *app) logFailures(ctx context.Context, o *opened) error {
	head, _, err := o.store.State().Head(ctx, o.history.Name())
	if err != nil {
		return err
	}
	found, err := o.history.Failures(ctx, head)
	if err != nil {
		return err
	}
	if a.ui.JSON {
		return a.ui.Document(api.Failures{Version: api.Version, Session: o.history.Name(), Failures: found})
	}
	for i := range found {
		a.printFailure(&found[i])
	}
	if len(found) == 0 {
		a.ui.Talk("no block failed")
	}
	return nil
}

func (w *printer) printFailure(f *query.Failure) {
	w.ui.Print("%s  since step %d: %s\n", w.ui.Bold("block "+string(f.Block)), f.Since, oneLine(f.Error))
	var rows [][]string
	add := func(what string, edits []query.Entry, none string) {
		for _, e := range edits {
			rows = append(rows, append([]string{"  " + what}, w.entryRow(e)...))
		}
		if len(edits) == 0 {
			rows = append(rows, []string{"  " + what, none})
		}
	}
	add("caused by", f.Causes, "no edit that is known")
	for _, t := range f.Tries {
		add("tried", t.Edits, fmt.Sprintf("step %d ran it again", t.Run))
	}
	switch {
	case f.Gone > 0:
		rows = append(rows, []string{"  removed", fmt.Sprintf("step %d", f.Gone)})
	case f.Fixed > 0:
		add("fixed by", f.Fixes, fmt.Sprintf("no edit that is known, in step %d", f.Fixed))
	default:
		rows = append(rows, []string{"  fails still"})
	}
	w.ui.Table(rows)
}
