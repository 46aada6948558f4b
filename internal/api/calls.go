package api

import (
	"encoding/json"
	"time"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/flow"
)

// Calls is the document of calls: those of tools and models that a session made, or is served.
type Calls struct {
	Version int            `json:"version"`
	Session string         `json:"session"`
	Calls   []CallRow      `json:"calls"`           // newest first
	Total   CallTotal      `json:"total"`           // the total of these calls
	Costs   []CallToolCost `json:"costs,omitempty"` // with --cost: by tool
}

// Flow is the document of flow.
type Flow struct {
	Version int `json:"version"`
	*flow.Flow
}

// CallTotal is what calls spent together.
type CallTotal struct {
	Calls   int     `json:"calls"`
	Waiting int     `json:"waiting"` // for a decision
	Seconds float64 `json:"seconds"`
	state.Usage
}

// CallToolCost is what the calls of one tool spent together.
type CallToolCost struct {
	Tool string `json:"tool"`
	CallTotal
}

// Budgets is the document of calls --budgets.
type Budgets struct {
	Version int          `json:"version"`
	Session string       `json:"session"`
	Budgets []BudgetLine `json:"budgets"`
}

// BudgetLine is a limit on what calls and executions spend, and what was spent of it.
type BudgetLine struct {
	Scope string `json:"scope"` // run: the last one; session, or agent.NAME
	What  string `json:"what"`  // usd, tokens, calls, calls.TOOL, wall, cpu or executions
	Soft  bool   `json:"soft"`  // it warns, and stops nothing
	Limit string `json:"limit"`
	Spent string `json:"spent,omitempty"` // absent: it is not recorded
	Over  bool   `json:"over"`            // it is reached
	At    string `json:"at"`              // the place in a file that sets it
}

// Call is the document of calls CALL: one call, whole.
type Call struct {
	Version int `json:"version"`
	CallRow
	Key         state.Digest  `json:"key"`    // names what is called by content
	Number      int           `json:"number"` // among equal calls of the program, from 0
	ToolVersion string        `json:"tool_version,omitempty"`
	Scope       string        `json:"scope,omitempty"`  // what it reads or changes
	Sample      int           `json:"sample,omitempty"` // the number of a model's sample
	Attempts    []CallAttempt `json:"attempts"`         // that were lost, oldest first
	Pieces      []int         `json:"pieces,omitempty"` // bytes of each part of a text that was streamed
	Undo        *CallUndo     `json:"undo,omitempty"`
}

// CallRow is a call in a list.
type CallRow struct {
	Call  state.CallID `json:"call"`
	State string       `json:"state"` // sent, answered, refused, lost, waiting, decided, denied or undone
	Kind  string       `json:"kind"`  // tool, model, ask or step
	Tool  string       `json:"tool"`
	Class string       `json:"class"` // pure, read, idempotent, reversible or irreversible
	// Arguments and Result are null if they are long and the document is a list. For a refused call, Result is the
	// tool's answer.
	Arguments json.RawMessage  `json:"arguments"`
	Result    json.RawMessage  `json:"result"`
	Error     *state.CallError `json:"error"` // null if it has none
	Began     time.Time        `json:"began,omitzero"`
	Seconds   float64          `json:"seconds"`
	state.Usage
	state.Caller
	Parent   state.CallID       `json:"parent,omitempty"` // the call within which it was made
	Depth    int                `json:"depth,omitempty"`
	Served   bool               `json:"served"` // another session made it, and this one is served its result
	Used     bool               `json:"used"`   // results of the present program depend on it
	Waiting  *state.WaitingCall `json:"waiting,omitempty"`
	Approval *state.Approval    `json:"approval,omitempty"` // what was decided, and by whom
}

// CallAttempt is one that was lost.
type CallAttempt struct {
	Began   time.Time       `json:"began,omitzero"`
	Seconds float64         `json:"seconds"`
	Error   state.CallError `json:"error"`
}

// CallUndo is how the effect of a call is taken back.
type CallUndo struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Done      state.CallID    `json:"done,omitempty"` // the call that took it back
}

// Approve is the document of approve.
type Approve struct {
	Version int        `json:"version"`
	Calls   []Approved `json:"calls"` // in the order in which they were named
	Next    []string   `json:"next"`  // commands that continue from here
}

// Approved is a call that was decided.
type Approved struct {
	CallRow
	Recorded state.StepNumber `json:"recorded,omitempty"` // the step that records the decision
}

// longContent is how many bytes of arguments or a result a list shows.
const longContent = 2000

// CallOf describes a call. Without whole, long contents are left out.
func CallOf(store *state.Store, c *state.Call, whole bool) (CallRow, error) {
	row := CallRow{
		Call: c.ID, State: string(c.State), Kind: c.Kind, Tool: c.Tool, Class: c.Class, Error: c.Err, Began: c.Began,
		Seconds: c.Seconds, Usage: c.Usage, Caller: c.Caller, Parent: c.Parent, Depth: c.Depth, Waiting: c.Waits(),
	}
	if c.Approval.Decided() {
		row.Approval = c.Approval
	}
	switch {
	case c.State == state.CallWaiting && row.Waiting == nil:
		row.State = "decided"
		if row.Approval.Choice == journal.ChoiceNo {
			row.State = string(state.CallDenied)
		}
	case c.Undone():
		row.State = "undone"
	}
	if c.State.Ended() {
		row.Error = nil // the error of an earlier attempt
	}
	for from, to := range map[*state.Content]*json.RawMessage{&c.Args: &row.Arguments, &c.Result: &row.Result} {
		if from.Size > longContent && !whole || from.Digest == "" {
			continue
		}
		text, err := store.Read(*from)
		if err != nil {
			return row, err
		}
		*to = text
	}
	return row, nil
}

// WholeCall describes one call with everything that its record has.
func WholeCall(store *state.Store, c *state.Call) (d Call, err error) {
	d = Call{Version: Version, Key: c.Key, Number: c.Number, ToolVersion: c.Version, Scope: c.Scope, Sample: c.Sample,
		Attempts: []CallAttempt{}, Pieces: c.Pieces}
	if d.CallRow, err = CallOf(store, c, true); err != nil {
		return d, err
	}
	for _, x := range c.Attempts {
		d.Attempts = append(d.Attempts, CallAttempt{x.Began, x.Seconds, x.Err})
	}
	if c.Undo != nil {
		d.Undo = &CallUndo{Tool: c.Undo.Tool, Done: c.Undo.Done}
		d.Undo.Arguments, err = store.Read(c.Undo.Args)
	}
	return d, err
}

// Add adds a call to a sum.
func (t *CallTotal) Add(c *state.Call) {
	t.Calls++
	if c.Waits() != nil {
		t.Waiting++
	}
	t.Usage.Add(c.Spent())
	t.Seconds += c.Seconds
	for _, x := range c.Attempts {
		t.Seconds += x.Seconds
	}
	for _, x := range c.Former {
		t.Seconds += x.Seconds
	}
}

// Effects are the effects of calls that an undo or a rollback leaves behind, the newest first.
type Effects struct {
	Revertible []CallRow  `json:"revertible,omitempty"` // calls revert takes them back
	Permanent  []CallRow  `json:"permanent,omitempty"`  // no tool takes them back
	Reverted   []Reverted `json:"reverted,omitempty"`   // with --revert: what was taken back
}

// Reverts is the document of calls revert.
type Reverts struct {
	Version  int            `json:"version"`
	Reverted []Reverted     `json:"reverted"` // in the order in which they were taken back
	Left     []state.CallID `json:"left"`     // what was not, after a failure
	Failure  *Error         `json:"failure"`  // null if there is none
}

// Reverted is a call whose effect was taken back.
type Reverted struct {
	Call state.CallID `json:"call"`
	By   state.CallID `json:"by_call"` // the call that took it back
	Tool string       `json:"tool"`    // that it called
}
