package state

import "github.com/xstate-engine/xstate/depgraph"

// BlockID names a block in its session; it stays when the block is edited or moved.
type BlockID string

// Block is one block of a program as of some step.
type Block struct {
	ID      BlockID          `cbor:"id"`
	Title   string           `cbor:"title,omitempty"` // what a person calls it; "" when it has no name of its own
	Dialect depgraph.Dialect `cbor:"dialect"`
	Version Digest           `cbor:"version"` // digest of its source, see Store.Source
	Edited  StepNumber       `cbor:"edited"`  // the step that gave it this version
	Status  Status           `cbor:"status"`
	RanAt   StepNumber       `cbor:"ran,omitempty"` // the run step that last gave it a status
	Nodes   []NodeResult     `cbor:"nodes,omitempty"`
	Err     *ExecError       `cbor:"err,omitempty"` // the block could not be analysed (syntax error)

	Verified StepNumber `cbor:"verified,omitempty"` // the step that says that a run from scratch came to the same; 0: none does
}

// NodeResult is the outcome of one node at the last run that reached its block's current version.
type NodeResult struct {
	Code    Digest  `cbor:"code"`            // digest of the node's code, the key of its traces
	Trace   Digest  `cbor:"trace,omitempty"` // the trace that holds its reads, writes and outputs; "" when it has none
	Status  Status  `cbor:"status"`
	Reason  Reason  `cbor:"reason"`
	Seconds float64 `cbor:"seconds,omitempty"` // spent in that run; 0 when reused
}

// Status is the life cycle of a block or node, in order of severity.
type Status uint8

const (
	StatusNew     Status = iota // never run in this version
	StatusReused                // its recorded result holds
	StatusRan                   // executed in that run
	StatusBlocked               // needs something that a failed node would have defined, or follows one in its block
	StatusFailed                // executed (or reused) and ended in an error
)

// Reason says why a node ran, was reused or was blocked.
type Reason struct {
	Code string       `cbor:"code" json:"code"` // see runner's reason codes
	Key  depgraph.Key `cbor:"key,omitempty" json:"key,omitempty"`
	Was  Digest       `cbor:"was,omitempty" json:"was,omitempty"`
	Now  Digest       `cbor:"now,omitempty" json:"now,omitempty"`
	By   string       `cbor:"by,omitempty" json:"by,omitempty"` // the node that wrote the key last, or the block that failed
}

// ExecError is an error of the program, not of xstate.
type ExecError struct {
	Type      string   `cbor:"type" json:"type"`
	Message   string   `cbor:"message" json:"message"`
	Traceback []string `cbor:"traceback,omitempty" json:"traceback,omitempty"` // rendered lines, in terms of blocks
	Block     BlockID  `cbor:"block,omitempty" json:"block,omitempty"`
	Line      int      `cbor:"line,omitempty" json:"line,omitempty"` // 1-based in the block
}
