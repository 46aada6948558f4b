package state

import (
	"fmt"

	"github.com/xstate-engine/xstate/depgraph"
)

// BlockID names a block in its session. Edits and moves keep it.
type BlockID string

// Block is one block of a program as of some step.
type Block struct {
	ID      BlockID          `cbor:"id"`
	Title   string           `cbor:"title,omitempty"` // the name that a person gave it; "" if none
	Dialect depgraph.Dialect `cbor:"dialect"`
	Version Digest           `cbor:"version"` // digest of its source, see Store.Source
	Edited  StepNumber       `cbor:"edited"`  // the step that set this version
	Status  Status           `cbor:"status"`
	RanAt   StepNumber       `cbor:"ran,omitempty"` // the run step that last set its status
	Nodes   []NodeResult     `cbor:"nodes,omitempty"`
	Err     *ExecError       `cbor:"err,omitempty"`     // set if the block could not be analysed (syntax error)
	Waiting bool             `cbor:"waiting,omitempty"` // it counts as failed because a call of it waits

	// Verified: the step that recorded that a run from scratch gave equal results; 0: none did
	Verified StepNumber `cbor:"verified,omitempty"`
}

// Failed reports whether the block failed for another reason than that a call of it waits.
func (b *Block) Failed() bool { return b != nil && b.Status == StatusFailed && !b.Waiting }

// ProgramBlock is a block with its source, as a run, a plan or a query takes it. Block is the record of it.
type ProgramBlock struct {
	ID      BlockID
	Title   string
	Dialect depgraph.Dialect
	Version Digest // digest of Source
	Source  string
	Before  *Block // as the last run left it, maybe in another version; nil when there was none
}

// WithSource returns the block with the text of its version.
func (b *Block) WithSource(source string) ProgramBlock {
	return ProgramBlock{
		ID:      b.ID,
		Title:   b.Title,
		Dialect: b.Dialect,
		Version: b.Version,
		Source:  source,
		Before:  b,
	}
}

// NodeResult is the outcome of one node at the last run that reached its block's current version.
type NodeResult struct {
	Code    Digest  `cbor:"code"`            // digest of the node's code, the key of its traces
	Trace   Digest  `cbor:"trace,omitempty"` // the trace with its reads, writes and outputs; "" if it has none
	Status  Status  `cbor:"status"`
	Reason  Reason  `cbor:"reason"`
	Seconds float64 `cbor:"seconds,omitempty"` // spent in that run; 0 when reused
	Part    string  `cbor:"part,omitempty"`    // names a node of a function's body ("main[3]"); "" for others
}

// IsEnd reports whether the node is the end of the program.
func (n NodeResult) IsEnd() bool { return n.Part == depgraph.LabelEnd }

// Statements returns how many nodes of a block are of its text: all but the end of the program.
func Statements[N interface{ IsEnd() bool }](nodes []N) int {
	if n := len(nodes); n > 0 && nodes[n-1].IsEnd() {
		return n - 1
	}
	return len(nodes)
}

// Status is the outcome of a block or node, up to StatusFailed in order of severity. Records hold the number.
type Status uint8

const (
	StatusNew    Status = iota // this version has never run
	StatusReused               // a cached result was valid
	StatusRan                  // it was executed
	// it needs a name that a failed node would have defined, or follows a failed node in its block
	StatusBlocked
	StatusFailed     // it was executed, or reused, and ended in an error
	StatusNotReached // a block before it ended the program
)

// Bad reports whether a block or node of this status failed, or is blocked by a failure.
func (s Status) Bad() bool { return s == StatusBlocked || s == StatusFailed }

// Skipped reports whether a node of this status has no result because of what an earlier one did.
func (s Status) Skipped() bool { return s == StatusBlocked || s == StatusNotReached }

// String returns the public word for a status, as commands and JSON documents of the door print it.
func (s Status) String() string {
	switch s {
	case StatusNew:
		return "new"
	case StatusReused:
		return "reused"
	case StatusRan:
		return "ran"
	case StatusBlocked:
		return "blocked"
	case StatusFailed:
		return "failed"
	case StatusNotReached:
		return "not-reached"
	}
	return fmt.Sprintf("status %d", uint8(s)) // a damaged record, or a later version's
}

// Ending is how a node ended the program.
type Ending struct {
	Code int        `cbor:"code,omitempty"` // 0 means success
	Err  *ExecError `cbor:"err,omitempty"`  // where Code is not 0
}

// ExecError is an error that the program raised, as opposed to one of xstate.
type ExecError struct {
	Type      string   `cbor:"type" json:"type"`
	Message   string   `cbor:"message" json:"message"`
	Traceback []string `cbor:"traceback,omitempty" json:"traceback,omitempty"` // rendered lines, in terms of blocks
	Block     BlockID  `cbor:"block,omitempty" json:"block,omitempty"`
	Line      int      `cbor:"line,omitempty" json:"line,omitempty"` // 1-based in the block
	// Denied is what the bounds forbade to the node that failed.
	Denied []Denial `cbor:"denied,omitempty" json:"denied,omitempty"`
	// Waiting are the calls that must be decided before the node can continue.
	Waiting []WaitingCall `cbor:"waiting,omitempty" json:"waiting,omitempty"`

	// Known when the error is shown, and not recorded with it:

	Frames []Frame `cbor:"-" json:"frames,omitempty"` // the traceback's, at the present places of the blocks
	Hint   string  `cbor:"-" json:"hint,omitempty"`   // what to do about it
}

// WaitingCall says what a call waits for.
type WaitingCall struct {
	Call     CallID   `cbor:"call" json:"call"`
	Tool     string   `cbor:"tool" json:"tool"`
	Question string   `cbor:"question,omitempty" json:"question"`
	Choices  []string `cbor:"choices,omitempty" json:"choices,omitempty"` // none: any text answers
	Why      string   `cbor:"why,omitempty" json:"why,omitempty"`         // the rule that asks, or what is uncertain
}

// StatusWaiting is the public word for a block or node that failed because a call of it waits for a decision.
const StatusWaiting = "waiting"

// StatusWith returns the public word for the status of what ended with an error; nil: it did not.
func StatusWith(s Status, e *ExecError) string {
	if s == StatusFailed && e != nil && len(e.Waiting) > 0 {
		return StatusWaiting
	}
	return s.String()
}

// Frame is a place that a traceback cites.
type Frame struct {
	File      string  `json:"file,omitempty"`       // "" for a block that is not in the file as it is now
	Line      int     `json:"line,omitempty"`       // 1-based in the file; 0 for a cell of a notebook
	Block     BlockID `json:"block,omitempty"`      // the block, if it is in one
	BlockLine int     `json:"block_line,omitempty"` // 1-based in the block
	Function  string  `json:"function,omitempty"`   // "<module>" outside of functions
}
