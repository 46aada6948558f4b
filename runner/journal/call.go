package journal

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/xstate-engine/xstate/state"
)

// Codes of errors about calls.
const (
	CodeNoTool     state.Code = "no-tool"         // nothing offers a tool of that name
	CodeArguments  state.Code = "tool-arguments"  // they are not JSON, or not what the tool takes
	CodeRefused    state.Code = "tool-refused"    // the tool answered that it cannot
	CodeLost       state.Code = "tool-lost"       // no answer came
	CodeResult     state.Code = "tool-result"     // the answer is not what the tool promised, or too large
	CodeDenied     state.Code = "call-denied"     // a rule forbids it
	CodeBudget     state.Code = "budget-spent"    // a hard limit is reached
	CodeWaiting    state.Code = "waiting"         // it waits for a decision
	CodeUnrecorded state.Code = "call-unrecorded" // only the record may answer, and there is none
)

// Request is a call as a program makes it.
type Request struct {
	Kind     Kind
	Tool     string
	Args     json.RawMessage
	Sample   int
	Caller   state.Caller
	Parent   state.CallID
	Version  string          // KindStep: the digest of its function; KindAsk: of the code that asks
	Question *state.Approval // set for KindAsk
}

// Call is a call that has a key and, once the engine set it, a number.
type Call struct {
	Request
	Def    Tool
	Key    state.Digest
	After  state.Digest // the effects on the scope before it
	Number int
	source Source
	absent error // its tool, which was offered before, is not offered now: only the record can answer; nil: it is
	// Approved: a person said yes to this call. A gate that would ask lets it pass; one that denies still does. Saying
	// which call it is, or that it may be sent again, does not answer what a rule asks.
	Approved bool

	// Code and Nth are where the node makes the call, see state.Call.
	Code state.Digest
	Nth  int
	// Varies: the arguments may differ from run to run.
	Varies bool
	// Unseen: the program did not say what it drew before.
	Unseen bool
	// Doubt names calls that this one may be: they happened, or may have, and the program does not make them now. It
	// waits until a person has said which one it is, or that it is another one.
	Doubt []state.CallID

	other bool // its arguments are other ones than those of its record, see Become

	// Halted says why no call with an effect is made any more; nil: nothing does.
	Halted func() error
	// Run makes the call; nil: the tool's source does. A step runs in the program.
	Run     func(ctx context.Context, c *state.Call) (Answer, error)
	OnPiece func(text string)
	// ServeOnly: only a record may answer. Replays and speculative executions must not make calls.
	ServeOnly bool
}

// Place returns where the program makes the call.
func (c *Call) Place() state.CallPlace {
	return state.CallPlace{Key: c.Key, Effects: c.Def.Class.Effects(), Number: c.Number}
}

// Name returns the name of a tool in its source, which is the same however a program spells it.
func (c *Call) Name() string {
	if c.Kind != KindTool {
		return c.Tool
	}
	return c.Def.Source + "." + c.Def.Name
}

// title returns the name of the tool for people.
func (c *Call) title() string { return cmp.Or(c.Def.Title, c.Tool) }

// pieces hands parts of a text on, and measures them.
func (c *Call) pieces() (sizes *[]int, onPiece func(string)) {
	sizes = new([]int)
	if c.OnPiece == nil {
		return sizes, nil
	}
	return sizes, func(text string) {
		*sizes = append(*sizes, len(text))
		c.OnPiece(text)
	}
}

// Counted reports whether equal calls are numbered. If not, all of them are one.
func (c *Call) Counted() bool { return c.Def.Class != Pure }

// Suspended says that a call waits for a decision.
type Suspended struct {
	Call state.Call
}

func (s *Suspended) Error() string {
	a := s.Call.Approval // without the number of the call, which differs from store to store
	return "waits for a decision: " + cmp.Or(a.Question, a.Why)
}
