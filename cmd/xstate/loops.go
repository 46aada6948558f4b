package main

import (
	"context"

	"github.com/xstate-engine/xstate/state/query"
)

// loopsOf returns the loops that a session is in, and reports them to people. They are a hint: if the history cannot be
// read, there are none.
func (a *app) loopsOf(ctx context.Context, h *query.History, calls bool) []query.Loop {
	found, err := h.Loops(ctx)
	if err == nil && calls {
		var more []query.Loop
		more, err = h.CallLoops(ctx)
		found = append(found, more...)
	}
	if err != nil {
		return nil
	}
	if !a.ui.JSON {
		for _, l := range found {
			a.ui.Talk("%s", l.Advice)
		}
	}
	return found
}
