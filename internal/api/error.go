package api

import (
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
)

// Failure is the document of a command that failed.
type Failure struct {
	Version int   `json:"version"`
	Error   Error `json:"error"`
}

// Error is an error as people and programs see it.
type Error struct {
	Code       state.Code        `json:"code"` // stable
	Message    string            `json:"message"`
	Hint       string            `json:"hint"`                 // what to do next
	Candidates []patch.Candidate `json:"candidates,omitempty"` // places that a patch may have meant, the nearest first
	Conflicts  []patch.Conflict  `json:"conflicts,omitempty"`  // edits that do not go together with others
}
