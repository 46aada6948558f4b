package main

import (
	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/runner"
)

// With --json-lines each event is a document of its own, on a line, and the verb's document comes last, in one.

// event prints an event, if events are asked for.
func (u *ui) event(e api.Event) {
	if u.lines {
		e.Version = api.Version
		_ = u.encode(e) // of a reader that is gone the last document tells
	}
}

// runEvent returns the event for what a run reports.
func runEvent(e runner.Event) api.Event {
	event := api.Event{Event: e.Kind, Block: e.Block, Seconds: micro(e.Seconds)}
	if e.Kind == "output" {
		event.Output = &e.Output
	}
	return event
}

// lastEvent returns a verb's document as the last event.
func lastEvent(doc any) any {
	e := api.Event{Version: api.Version, Event: "done"}
	switch doc := doc.(type) {
	case *api.Exec:
		e.Exec = doc
	case *api.Run:
		e.Result = doc
	case api.Failure:
		e.Event, e.Error = "error", &doc.Error
	default:
		return doc
	}
	return e
}
