package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/state"
)

// Code that a client interrupts is part of the program, so the next call would begin by executing it again. A host
// gives up a call that takes too long and lets the agent try something else; so an interrupted exec is taken back.

// stopped reports whether the answer of a call of exec says that it was interrupted.
func stopped(document json.RawMessage, failed *api.Error) bool {
	var d api.Exec
	return failed != nil || json.Unmarshal(document, &d) == nil && d.Stopped != ""
}

// patience is how long taking back may take: the client is not there any more to end it.
const patience = time.Minute

// takeBack takes back the edits that a call made.
func (s *server) takeBack(session, call string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	args := []string{"log", withValue("session", session), "--limit=100", "--json"}
	document, bad := s.answer(ctx, &request{args: args}, nil)
	var d api.Log
	if bad != nil || json.Unmarshal(document, &d) != nil {
		return // it made nothing
	}
	var first, last state.StepNumber
	for _, e := range d.Steps { // newest first
		if e.Origin.CallID == call && e.Run == nil {
			first, last = e.Number, max(last, e.Number)
		}
	}
	if first > 0 {
		args = []string{"undo", withValue("session", session), "--reason=the call was cancelled", "--json",
			fmt.Sprintf("%d..%d", first, last)}
		_, _ = s.answer(ctx, &request{args: args}, nil) // if others edited it since, it stays
	}
}
