package kernel

import (
	"context"
	"encoding/json"

	"github.com/xstate-engine/xstate/state"
)

// Calls answers the calls of a program: of tools and models, questions to people, and recorded steps. See package
// journal. Its methods may be called at the same time.
type Calls interface {
	// Call answers one call. ctx ends when the program gives the call up, or the node is interrupted.
	Call(ctx context.Context, r CallRequest, via CallVia) CallReply
	// Tools describes what can be called.
	Tools(ctx context.Context) []ToolInfo
}

// CallRequest is a call as a program makes it.
type CallRequest struct {
	Kind    string          `json:"kind"` // "tool", "model", "ask" or "step"
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"` // an object
	Sample  int             `json:"sample,omitempty"`
	Version string          `json:"version,omitempty"` // for a step: the digest of its function
	Line    int             `json:"line,omitempty"`    // in the block that executes, from 1; 0: not known
	Parent  state.CallID    `json:"parent,omitempty"`  // the step within which it is made

	Question string   `json:"question,omitempty"`
	Choices  []string `json:"choices,omitempty"`

	// Drawn is what the node drew since the DrawnFrom-th draw. Varies: what the node did so far may differ from run to
	// run; nil: neither is known.
	DrawnFrom int          `json:"drawn_from,omitempty"`
	Drawn     []state.Draw `json:"drawn,omitempty"`
	Varies    *bool        `json:"varies,omitempty"`
}

// CallVia is what a call can use of the program while it lasts.
type CallVia struct {
	Piece func(text string) // hands the program a part of a text as it comes; nil: it does not want any
	// Step runs the function of a step in the program, and returns its result. again says what it did beside that, so
	// that the record must not replace another run of the function; "": nothing.
	Step func(ctx context.Context, call state.CallID) (result json.RawMessage, again string, err error)
	// Numbered is to be called once the call has its place among the calls of the program: the next call is handed over
	// then, or when this one returns. So a program whose tasks call at the same time is numbered as it called.
	Numbered func()
}

// CallReply is the outcome of a call: a result, or an error.
type CallReply struct {
	Call   state.CallID     `json:"call,omitempty"`
	Result json.RawMessage  `json:"result,omitempty"`
	Pieces []int            `json:"pieces,omitempty"` // for a served text that was streamed: the bytes of each part
	Error  *state.CallError `json:"error,omitempty"`
	// Suspended: the call waits for a decision, so the node cannot continue. The error says for what.
	Suspended bool `json:"suspended,omitempty"`
}

// ToolInfo describes a tool to a program.
type ToolInfo struct {
	Name        string          `json:"name"`
	Source      string          `json:"source,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`  // JSON Schema
	Order       []string        `json:"order,omitzero"`   // as in journal.Tool
	Output      json.RawMessage `json:"output,omitempty"` // JSON Schema
	Class       string          `json:"class"`
}
