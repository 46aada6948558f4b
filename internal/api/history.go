package api

import (
	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Log is the document of log.
type Log struct {
	Version int              `json:"version"`
	Session string           `json:"session"`
	Steps   []LogStep        `json:"steps"`          // newest first
	Next    state.StepNumber `json:"next,omitempty"` // for --after; absent at the end
}

// LogStep is a step of a log.
type LogStep struct {
	query.Entry
	Forks []string `json:"forks,omitempty"` // sessions that were forked after it
}

// LogGraph is the document of log --graph.
type LogGraph struct {
	Version  int            `json:"version"`
	Session  string         `json:"session"`
	Sessions []LogSession   `json:"sessions"`
	Steps    []LogGraphStep `json:"steps"` // newest first; shared ones once
}

// LogSession is one of the sessions that were forked from one another.
type LogSession struct {
	Name string           `json:"name"`
	From *state.ForkPoint `json:"from,omitempty"` // the step that it was forked after, if it is a fork
	Head state.StepNumber `json:"head"`           // its last step
	Hash state.Digest     `json:"hash"`           // the hash of its last step
}

// LogGraphStep is a step with the session that keeps it.
type LogGraphStep struct {
	Session string `json:"session"`
	query.Entry
}

// CallTree is the document of log --tree.
type CallTree struct {
	Version int              `json:"version"`
	Session string           `json:"session"`
	Runs    []query.RunCalls `json:"runs"` // newest first
}

// Failures is the document of log --failures.
type Failures struct {
	Version  int             `json:"version"`
	Session  string          `json:"session"`
	Failures []query.Failure `json:"failures"` // newest first
}

// Diff is the document of diff.
type Diff struct {
	Version int                 `json:"version"`
	Session string              `json:"session"`
	Other   string              `json:"other,omitempty"` // the session of the second step, if it is another
	From    state.StepNumber    `json:"from"`
	To      state.StepNumber    `json:"to"`
	Blocks  []query.BlockChange `json:"blocks"`
}

// DiffPatch is the document of diff --format.
type DiffPatch struct {
	Version int              `json:"version"`
	Session string           `json:"session"`
	Other   string           `json:"other,omitempty"` // the session of the second step, if it is another
	From    state.StepNumber `json:"from"`
	To      state.StepNumber `json:"to"`
	Format  patch.Format     `json:"format"`
	Patch   string           `json:"patch"`
}

// Blame is the document of blame.
type Blame struct {
	Answer
	Block string             `json:"block"`
	Lines []query.BlameLine  `json:"lines"`
	Calls []query.CallSketch `json:"calls,omitempty"` // calls of tools and models, that its result depends on
}

// Credit is the document of credit.
type Credit struct {
	Answer
	Rows  []CreditRow `json:"rows"`
	Total CreditRow   `json:"total"` // the sum of the rows
}

// CreditRow is what an agent, a model or a call did. Seconds have nine decimals, so that they add up exactly.
type CreditRow struct {
	Agent     string  `json:"agent,omitempty"`
	Model     string  `json:"model,omitempty"`
	CallID    string  `json:"call_id,omitempty"`
	Patches   int     `json:"patches"`        // edits made
	Broken    int     `json:"broken"`         // blocks that failed because of them
	Fixed     int     `json:"fixed"`          // blocks that failed before and do not fail since
	Caused    float64 `json:"caused_seconds"` // executed because of its edits
	Saved     float64 `json:"saved_seconds"`  // recorded cost of what was reused when its edits ran
	TokensIn  int64   `json:"tokens_in"`
	TokensOut int64   `json:"tokens_out"`
	Cost      any     `json:"cost_usd"` // a number
	Calls     int     `json:"calls"`    // to tools and models, caused by its edits; their tokens and cost count above
}
