package api

import (
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Status is the document of xstate without a verb.
type Status struct {
	Version  int             `json:"version"`
	Store    string          `json:"store,omitempty"` // its path; absent if there is none
	Sessions []SessionStatus `json:"sessions"`        // the one with the latest step first
	Next     []string        `json:"next"`            // commands that make sense now
}

// SessionStatus is what is recorded of a session, and how its file differs.
type SessionStatus struct {
	Session string          `json:"session"`
	File    string          `json:"file,omitempty"` // if it is there
	Blocks  int             `json:"blocks"`         // their number
	Failed  []state.BlockID `json:"failed,omitempty"`
	Waiting []state.BlockID `json:"waiting,omitempty"` // blocks with a call that waits for a decision
	NotRun  int             `json:"not_run,omitempty"` // blocks whose present version never ran
	Edits   int             `json:"edits,omitempty"`   // edits of the file, that no step has
	Last    query.Entry     `json:"last"`              // its last step
}

// Check is the document of check.
type Check struct {
	Version  int       `json:"version"`
	Store    string    `json:"store"`
	Sessions int       `json:"sessions"` // their number
	Heads    []Head    `json:"heads"`
	Problems []Problem `json:"problems"`
	Results  Results   `json:"results"`
	Verified []Head    `json:"verified,omitempty"` // with --head: the steps with such a hash
	Missing  []string  `json:"missing,omitempty"`  // with --head: the hashes that no step has
	Notices  []string  `json:"notices,omitempty"`
}

// Results counts the results that the present programs of all sessions use.
type Results struct {
	Recorded int `json:"recorded"` // in the history
	Kept     int `json:"kept"`     // those in the store; the next run executes what needs the others
	Foreign  int `json:"foreign"`  // those that came with an archive and were never executed here
}

// Head is the last step of a session.
type Head struct {
	Session string           `json:"session"`
	Step    state.StepNumber `json:"step"`
	Hash    state.Digest     `json:"hash"`
}

// Problem is damage that check found.
type Problem struct {
	Invariant int              `json:"invariant"` // its number in the documentation of package state
	File      string           `json:"file"`
	Session   string           `json:"session,omitempty"`
	Step      state.StepNumber `json:"step,omitempty"`
	Message   string           `json:"message"`
}

// Freed is the document of gc.
type Freed struct {
	Version int    `json:"version"`
	Store   string `json:"store"`
	DryRun  bool   `json:"dry_run"` // nothing was done

	Private state.Freed `json:"private"` // private folders
	state.Collected
}

// Init is the document of init.
type Init struct {
	Version int      `json:"version"`
	Store   string   `json:"store"`
	Made    bool     `json:"made"`            // it was made now
	Files   []string `json:"files,omitempty"` // the files of the example
}

// About is the document of version.
type About struct {
	Version int    `json:"version"`
	XState  string `json:"xstate"`
	Go      string `json:"go"`
}
