package replay

import (
	"encoding/json"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// Options configures Run. The zero value replays every run of the session.
type Options struct {
	From, To        state.StepNumber // the runs from one step through another; 0: the first, the last
	Step            state.StepNumber // only the run that this step is
	Block           state.BlockID    // only this block with all that it needs, in the last of the runs
	Cached          bool             // execute nothing: verify what is recorded
	UntilDivergence bool             // stop after the first run that diverged
	Jobs            int              // runs at once; 0: one
	Timeout         time.Duration    // for one node; 0 means none
	CallAgain       bool             // make calls of tools without effects again, and compare their answers

	OnRun func(done *RunReport, of int) // called when a run is done, one at a time; may be nil
}

// Report is the outcome of executing runs again and comparing them with their record.
type Report struct {
	Session     string      `json:"session"`
	Cached      bool        `json:"cached"`
	Interpreter string      `json:"interpreter,omitempty"` // that it was replayed with
	Result      string      `json:"result"`                // the worst of the runs: equal, partial or diverged
	Runs        []RunReport `json:"runs"`                  // in order
	First       *Divergence `json:"first"`
	Missing     []Missing   `json:"missing"` // what was recorded and is gone
	Calls       *CallsAgain `json:"calls,omitempty"`
	Seconds     float64     `json:"seconds"`
}

// CallsAgain is what Options.CallAgain did, each call counted once.
type CallsAgain struct {
	Made   int         `json:"made"`
	Served int         `json:"served"` // with effects, of models and people, steps, and those that could not be made
	Spent  state.Usage `json:"spent"`
}

// The results of a replay. A partial replay found no divergence but could not test everything.
const (
	Equal    = "equal"
	Partial  = "partial"
	Diverged = "diverged"
)

// RunReport is one run of the session, executed again.
type RunReport struct {
	Step        state.StepNumber `json:"step"`
	Time        time.Time        `json:"time,omitzero"`
	Interpreter string           `json:"interpreter"` // that it was recorded with
	Result      string           `json:"result"`
	Nodes       int              `json:"nodes"`    // that have a recorded outcome
	Executed    int              `json:"executed"` // nodes
	// Proved counts nodes that an earlier run of this replay executed, from the same inputs.
	Proved      int          `json:"proved"`
	Served      []ServedNode `json:"served"` // nodes that took their recorded result and did not execute
	Divergences []Divergence `json:"divergences"`
	Seconds     float64      `json:"seconds"` // spent executing
}

// ServedNode is a node that took its recorded result and did not execute.
type ServedNode struct {
	Node string   `json:"node"`
	Why  string   `json:"why"` // effect, needs, pinned, folder, unrecorded or diverged
	What []string `json:"what,omitempty"`
}

// Why a node was served its recorded result.
const (
	ServedEffect = "effect" // executing it would fire an effect that cannot be undone
	ServedNeeds  = "needs"  // it needs what another served node made, which was not kept
	ServedPinned = "pinned" // it had kept a result that was not valid
	// it was stopped at the time-out
	ServedTimeout = "time-out"
	// it depends on the name of the workspace, which the copy does not have, and cannot be compared
	ServedFolder     = "folder"
	ServedUnrecorded = "unrecorded" // no record to compare with: it was freed, or the failure may not happen again
	ServedDiverged   = "diverged"   // after it diverged, so that the rest is replayed from what was recorded
)

// Missing is something that a replay needs and that is gone.
type Missing struct {
	Step state.StepNumber `json:"step,omitempty"`
	What string           `json:"what"` // a key such as file:data.csv, or interpreter
	Why  string           `json:"why"`
}

// Cause is why a node produced something different from its record.
type Cause string

const (
	CauseCode        Cause = "code"        // other code was recorded, or a workspace module changed
	CauseInput       Cause = "input"       // a value that it reads changed
	CauseFile        Cause = "file"        // a file or a directory changed, or is gone
	CauseInterpreter Cause = "interpreter" // the interpreter or the version of xstate differs
	CausePackage     Cause = "package"     // a package has another version, or is gone
	CauseEnvironment Cause = "environment" // an environment variable or a process setting changed
	CauseRandomness  Cause = "randomness"
	CauseClock       Cause = "clock"
	CauseNetwork     Cause = "network"    // it requests what the recording did not, or what was not kept
	CauseSubprocess  Cause = "subprocess" // likewise
	CauseProcess     Cause = "process"    // its id, addresses and the like differ between processes
	CauseRace        Cause = "race"       // the same code and inputs produce different results
	CauseRecord      Cause = "record"     // the record is damaged, or its code produces something else
	CauseCall        Cause = "call"       // a tool answers a call otherwise, which was made again
)

// Divergence is a node that by itself produced something different from its record; or a call that has another answer,
// at the first node that reads it.
type Divergence struct {
	Step  state.StepNumber `json:"step"`
	Node  string           `json:"node"`
	Block state.BlockID    `json:"block"`
	Line  int              `json:"line,omitempty"` // the node's in its block
	// One of status, output, error, "value NAME", "file NAME", "read KEY", "call NUMBER" or record.
	What     string       `json:"what"`
	Recorded string       `json:"recorded"`
	Replayed string       `json:"replayed"`
	Cause    Cause        `json:"cause"`
	Key      depgraph.Key `json:"key,omitempty"` // what the cause is about: file:data.csv, module:numpy
	Detail   string       `json:"detail"`        // one sentence
	Marks    []string     `json:"marks,omitempty"`
	Call     *OtherAnswer `json:"call,omitempty"` // for the cause call
}

// OtherAnswer is a call that a tool answers otherwise than was recorded.
type OtherAnswer struct {
	Call      state.CallID    `json:"call"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Was       state.Digest    `json:"was"` // the digest of the result
	Now       state.Digest    `json:"now"`
	Nodes     []string        `json:"nodes"` // that read it
}
