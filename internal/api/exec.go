package api

import (
	"encoding/json"

	"github.com/xstate-engine/xstate/patch"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
	"github.com/xstate-engine/xstate/state/query"
)

// Exec is the document of exec: what one call did, and no more.
type Exec struct {
	Version int              `json:"version"`
	Session string           `json:"session"`
	Step    state.StepNumber `json:"step"` // the step that records the run
	// Block is the block that the code became; of several the first that failed, or else the last.
	Block  state.BlockID `json:"block"`
	Action string        `json:"action"` // append, replace, or unchanged: the block had this text already
	// Decision says why the code replaces a block or is a new one; absent where the caller said so.
	Decision *patch.Decision `json:"decision,omitempty"`
	// The status of Block: ran, reused, failed, waiting, blocked or not-reached
	Status  string           `json:"status"`
	Text    string           `json:"text"`              // what the code printed, its value and its error, for a reader
	Result  *string          `json:"result"`            // text of the last expression of Block; null if there is none
	Error   *state.ExecError `json:"error"`             // the error of Block; null if it did not fail
	Denied  []state.Denial   `json:"denied,omitempty"`  // what the bounds forbade to the code
	Sandbox string           `json:"sandbox,omitempty"` // the level of the bounds
	// Open are blocks that failed before this call and fail still: it did not execute them.
	Open    []state.BlockID `json:"open,omitempty"`
	Others  []ExecBlock     `json:"others"`            // other blocks that this call executed, or that changed
	Files   []ExecFile      `json:"files"`             // pictures, also of Others, and texts that were clipped
	Clipped bool            `json:"clipped"`           // a text in this document is not the whole text
	Stopped string          `json:"stopped,omitempty"` // why the run ended early
	File    string          `json:"file,omitempty"`    // the session's file, if it was written
	// TakenBack: the code was interrupted, or it ended the program. It is not in the program, as after undo.
	TakenBack bool `json:"taken_back,omitempty"`
	// Repeated: a call of the same call_id submitted the same code before. This is its result; nothing was executed.
	Repeated bool `json:"repeated,omitempty"`

	Ran        int `json:"ran"` // number of blocks of the program, like the next four
	Reused     int `json:"reused"`
	Failed     int `json:"failed"`
	Blocked    int `json:"blocked"`
	NotReached int `json:"not_reached"`

	// Waiting are the calls that must be decided before the program can continue, and Suspended counts their blocks.
	Waiting   []state.WaitingCall `json:"waiting,omitempty"`
	Suspended int                 `json:"suspended,omitempty"`

	Seconds       float64  `json:"seconds"`        // spent executing
	Engine        float64  `json:"engine_seconds"` // seconds of the call, beyond executing
	Saved         float64  `json:"saved_seconds"`  // recorded cost of what was reused, less that; may be negative
	ResultSeconds float64  `json:"result_seconds"` // from the call to its last output
	SettleSeconds float64  `json:"settle_seconds"` // from the last output to the recorded step
	ExitCode      *int     `json:"exit_code,omitempty"`
	Notices       []string `json:"notices,omitempty"` // what the user should know of the store

	Loops []query.Loop  `json:"loops,omitempty"` // as of run
	Calls *CallsSummary `json:"calls,omitempty"` // as of run
}

// ExecBlock is a block that a call of exec affected, though the code is not that block.
type ExecBlock struct {
	Block   state.BlockID    `json:"block"`
	Status  string           `json:"status"` // blocked and not-reached: its results are gone
	Reason  state.Reason     `json:"reason"`
	Text    string           `json:"text"`  // what it put out, clipped
	Error   *state.ExecError `json:"error"` // null if it did not fail
	Seconds float64          `json:"seconds"`
}

// ExecFile is a picture, or the whole of a text that was clipped.
type ExecFile struct {
	Block state.BlockID `json:"block"`
	Media string        `json:"media"` // such as image/png or text/plain
	File  string        `json:"file"`  // an absolute path
	// URI is xstate://session/SESSION/step/STEP/block/BLOCK/output/INDEX of a picture, and …/block/BLOCK/text of a
	// text.
	URI   string `json:"uri"`
	Bytes int    `json:"bytes"`
}

// Event is a line of exec --json-lines and run --json-lines. The last one is done or error.
type Event struct {
	Version int    `json:"version"`
	Event   string `json:"event"`         // started, begin, output, end, progress, call, done or error
	Run     string `json:"run,omitempty"` // id of the run, for interrupt; in started
	// Blocks are the blocks by their ids in the contents, in started, of a run that was given contents. A block that is
	// known by another id keeps that.
	Blocks  map[string]state.BlockID `json:"blocks,omitempty"`
	Block   state.BlockID            `json:"block,omitempty"`   // in begin, output and end
	Other   bool                     `json:"other,omitempty"`   // by exec: the block is none that the code became
	Output  *output.Output           `json:"output,omitempty"`  // in output: as it comes, never clipped
	Seconds float64                  `json:"seconds,omitempty"` // in end
	// Expected is how long the node took when it last ran, in begin; absent if it is not known.
	Expected float64 `json:"expected_seconds,omitempty"`
	Error    *Error  `json:"error,omitempty"`  // in error
	Exec     *Exec   `json:"exec,omitempty"`   // in done, by exec
	Result   *Run    `json:"result,omitempty"` // in done, by run

	// For the event progress of a replay: how many runs are replayed, of how many
	Done int `json:"done,omitempty"`
	Of   int `json:"of,omitempty"`

	// For the event call: the program calls a tool of the client, which answers with AnswerCall. Calls of equal keys
	// are one.
	Call           state.CallID    `json:"call,omitempty"`
	Tool           string          `json:"tool,omitempty"`
	Args           json.RawMessage `json:"args,omitempty"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
}

// LastEvent returns the document of a verb as the last event of its stream. A document of other verbs stays as it is.
func LastEvent(doc any) any {
	e := Event{Version: Version, Event: "done"}
	switch doc := doc.(type) {
	case *Exec:
		e.Exec = doc
	case *Run:
		e.Result = doc
	case Failure:
		e.Event, e.Error = "error", &doc.Error
	default:
		return doc
	}
	return e
}
