package main

import (
	"context"
	"sync"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/serve"
	"github.com/xstate-engine/xstate/internal/telemetry"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
)

// running is a run that lasts.
type running struct {
	id string
	*telemetry.Run
	feed  *serve.Feed // nil without a server
	ended func()

	mu   sync.Mutex
	made map[state.CallID]state.Call // by the run, as they ended
}

// beginRun notes that a program runs, so that others can interrupt it by the id, and telemetry follows it.
func (a *app) beginRun(
	ctx context.Context, session *xstate.Session, verb string, origin xstate.Origin,
) (context.Context, *running) {
	r := &running{id: serve.NewRunID(), ended: func() {}, made: map[state.CallID]state.Call{}}
	if a.server != nil {
		ctx, r.feed, r.ended = a.server.Pool.Begin(ctx, r.id, session.Name(), verb)
	}
	ctx, r.Run = a.exported.Begin(ctx, telemetry.RunInfo{ID: r.id, Verb: verb, Session: session.Name(), Origin: origin,
		State: a.env("TRACESTATE"), Read: session.Store().State().Read})
	return journal.WithTrace(ctx, journal.Trace{OnCall: r.call}), r
}

// Event tells telemetry, and those who follow the run in a browser, what it reports.
func (r *running) Event(e runner.Event) {
	r.Run.Event(e)
	if r.feed != nil {
		r.feed.Add(runEvent(e))
	}
}

// call keeps a call that the run made.
func (r *running) call(c state.Call, served bool) {
	if served || c.State == state.CallSent {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made[c.ID] = c
}

// end ends the run. out is nil if it has no outcome.
func (r *running) end(out *xstate.Outcome, step xstate.Step, err error) {
	r.ended()
	r.End(out, step.Number, err)
}
