package main

import (
	"context"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/telemetry"
)

// running is a run that lasts.
type running struct {
	id string
	*telemetry.Run
	ended func()
}

// beginRun notes that a program runs, so that others can interrupt it by the id, and telemetry follows it.
func (a *app) beginRun(
	ctx context.Context, session *xstate.Session, verb string, origin xstate.Origin,
) (context.Context, *running) {
	r := &running{id: serve.NewRunID(), ended: func() {}}
	if a.server != nil {
		ctx, r.ended = a.server.Pool.Begin(ctx, r.id, session.Name(), verb)
	}
	ctx, r.Run = a.exported.Begin(ctx, telemetry.RunInfo{ID: r.id, Verb: verb, Session: session.Name(), Origin: origin,
		State: a.env("TRACESTATE"), Read: session.Store().State().Read})
	return ctx, r
}

// end ends the run. out is nil where it has no outcome.
func (r *running) end(out *xstate.Outcome, step xstate.Step, err error) {
	r.ended()
	r.End(out, step.Number, err)
}
