package state

import "github.com/xstate-engine/xstate/depgraph"

// Reason says why a node ran, was reused or was blocked.
type Reason struct {
	Code string       `cbor:"code" json:"code"` // one of the codes below
	Key  depgraph.Key `cbor:"key,omitempty" json:"key,omitempty"`
	Was  Digest       `cbor:"was,omitempty" json:"was,omitempty"`
	Now  Digest       `cbor:"now,omitempty" json:"now,omitempty"`
	// By: the node that wrote the key last, or the block that failed or ended the program
	By string `cbor:"by,omitempty" json:"by,omitempty"`
	// Call: of a key of a call, the call as people read it
	Call string `cbor:"call,omitempty" json:"call,omitempty"`
	// Limit: the time-out, in seconds, that stopped the node before
	Limit float64 `cbor:"limit,omitempty" json:"limit,omitempty"`
}

// Codes of reasons.
const (
	ReasonNew     = "new"              // this code was never run
	ReasonCode    = "code-changed"     // the block was edited here
	ReasonEngine  = "engine-changed"   // the same code was run, by another interpreter or version of xstate
	ReasonInput   = "input-changed"    // Key had digest Was and has Now
	ReasonSharing = "sharing-changed"  // names that it reads share objects in another way
	ReasonMaybe   = "input-may-change" // in a plan: Key depends on the result of By
	ReasonLost    = "result-lost"      // it was run, but the store no longer has the results
	ReasonMachine = "other-machine"    // it was run on another machine, and may depend on that
	ReasonRetry   = "failed-before"    // it failed in a way that may not happen again
	ReasonLimit   = "timed-out-before" // Limit stopped it before, on the same reads, and this run has no more time
	ReasonLayout  = "line-moved"       // its output cites lines that moved
	ReasonForced  = "forced"
	ReasonReused  = "reused"
	ReasonPinned  = "pinned"  // it always executes, or keeps a result that is not valid, see runner.Pin
	ReasonServed  = "served"  // the caller supplied the result, see runner.RunOptions.Serve
	ReasonBlocked = "blocked" // it uses what block By would have defined, or follows a failure in its block
	ReasonSyntax  = "syntax-error"
	ReasonEnded   = "not-reached" // block By ended the program before it
	ReasonMayEnd  = "may-end"     // in a plan: By runs first, and ended the program when it ran last

	ReasonUnblocked = "unblocked" // the last run blocked it, because block By had failed
)

// Reasons why a test runs, besides those of nodes.
const (
	ReasonMarked = "marked"    // By: marks of reads that cannot be compared, so that no result is reused
	ReasonNeeded = "needed-by" // By: a test that reads what this one leaves
	ReasonFollow = "follows"   // By: a test that leaves something changed that it did not leave before
	ReasonLines  = "no-lines"  // the caller wants its executed lines, and its last run did not observe them
)
