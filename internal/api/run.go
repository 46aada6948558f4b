package api

import (
	"slices"
	"strings"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/checkers"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/runner/journal/rule"
	"github.com/xstate-engine/xstate/runner/preflight"
	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
	"github.com/xstate-engine/xstate/state/query"
)

// Run is the document of run.
type Run struct {
	Version  int              `json:"version"`
	Session  string           `json:"session"`
	Step     state.StepNumber `json:"step"` // the step that records the run
	Ran      int              `json:"ran"`  // number of blocks, like the next three
	Reused   int              `json:"reused"`
	Failed   int              `json:"failed"`
	Blocked  int              `json:"blocked"`
	Seconds  float64          `json:"seconds"`          // spent executing
	Engine   float64          `json:"engine_seconds"`   // seconds of the call, beyond executing
	Saved    float64          `json:"saved_seconds"`    // recorded cost of what was reused, less that; may be negative
	Restored int              `json:"restored"`         // nodes re-run only to rebuild a value
	Shared   int              `json:"shared,omitempty"` // results taken over from the cache
	// Elsewhere is how many nodes workers executed.
	Elsewhere int       `json:"elsewhere,omitempty"`
	Stopped   string    `json:"stopped,omitempty"` // why the run ended early
	Edits     []Edit    `json:"edits"`             // how the file differed from the session; each is a step
	Blocks    []Block   `json:"blocks"`            // in program order
	Verified  *Verified `json:"verified,omitempty"`
	File      string    `json:"file,omitempty"`    // the notebook that --write changed
	Notices   []string  `json:"notices,omitempty"` // what the user should know of the store
	// Overwritten are files that were edited since the last run and that the program then wrote to.
	Overwritten []string `json:"overwritten_files,omitempty"`

	// Sandbox is the level of the bounds, and Policy their digest; absent: none. Unenforced are the parts of them that
	// the system did not enforce.
	Sandbox    string       `json:"sandbox,omitempty"`
	Policy     state.Digest `json:"policy,omitempty"`
	Unenforced []string     `json:"unenforced,omitempty"`

	// Waiting are the calls that must be decided before the program can continue, and Suspended counts their blocks.
	Waiting   []state.WaitingCall `json:"waiting,omitempty"`
	Suspended int                 `json:"suspended,omitempty"`

	NotReached int           `json:"not_reached"`         // number of blocks
	EndedBy    state.BlockID `json:"ended_by,omitempty"`  // the block that ended the program
	ExitCode   *int          `json:"exit_code,omitempty"` // the program's own, where a block ended it

	Private *PrivateRun `json:"private,omitempty"` // with --private: the run that was first

	// Loops are signs that work on the program goes round in circles.
	Loops []query.Loop `json:"loops,omitempty"`

	Calls *CallsSummary `json:"calls,omitempty"` // calls of tools and models; absent if the program makes none
}

// CallsSummary sums up the calls of a run.
type CallsSummary struct {
	Made      int               `json:"made"`
	Served    int               `json:"served"` // by the journal, also with results that were reused
	Spent     state.Usage       `json:"spent"`
	Saved     state.Usage       `json:"saved"`               // recorded cost of the calls served
	Refreshed []RefreshedCall   `json:"refreshed,omitempty"` // with --refresh
	Stale     []query.StaleCall `json:"stale,omitempty"`     // results that are older than their tools say is good
}

// RefreshedCall is a call that --refresh made again.
type RefreshedCall struct {
	Call    state.CallID `json:"call"`
	Text    string       `json:"text"` // search(query="x")
	Tool    string       `json:"tool"`
	Age     float64      `json:"age_seconds"`     // the age of the former result
	Changed bool         `json:"changed"`         // the blocks that read it run
	Error   string       `json:"error,omitempty"` // why the former result stays
}

// PrivateRun is the run in a private folder that came before a run, or instead of it if it failed.
type PrivateRun struct {
	Session string           `json:"session"`
	Folder  string           `json:"folder"`
	Step    state.StepNumber `json:"step"`
}

// Edit is an edit of one block.
type Edit struct {
	Step  state.StepNumber `json:"step,omitempty"` // the step that records it
	Kind  string           `json:"kind"`           // append, patch, move or delete
	Block state.BlockID    `json:"block"`
}

// Block is a block of a run.
type Block struct {
	ID    state.BlockID `json:"id"`
	Index int           `json:"index"` // from 0
	Title string        `json:"title,omitempty"`
	// ran, reused, failed, waiting, blocked or not-reached; new when interrupted
	Status  string           `json:"status"`
	Reason  state.Reason     `json:"reason"`
	Stdout  string           `json:"stdout"`
	Stderr  string           `json:"stderr"`
	Result  *string          `json:"result"` // text of the last expression; null when there is none
	Error   *state.ExecError `json:"error"`
	Seconds float64          `json:"seconds"`
	Saved   float64          `json:"saved_seconds"`
	Nodes   NodeCounts       `json:"nodes"`
	Marks   []string         `json:"marks,omitempty"`  // why the result may vary
	Denied  []state.Denial   `json:"denied,omitempty"` // what its bounds forbade
	Outputs []output.Output  `json:"outputs"`          // all of it in order, rich media included
	Record  state.Digest     `json:"record,omitempty"` // see RecordOf
}

// RecordOf names a result by the traces of the nodes of a block: run and plan name one result alike. It is "" if a node
// has no trace.
func RecordOf(traces []state.Digest) state.Digest {
	if len(traces) == 0 || slices.Contains(traces, "") {
		return ""
	}
	var all strings.Builder
	for _, t := range traces {
		all.WriteString(string(t) + "\n")
	}
	return state.DigestOf([]byte(all.String()))
}

// NodeCounts are numbers of a block's nodes.
type NodeCounts struct {
	Ran    int `json:"ran"`
	Reused int `json:"reused"`
}

// Verified is what a comparison with a run from scratch found.
type Verified struct {
	Step        state.StepNumber    `json:"step"`        // the step that records it
	Equal       bool                `json:"equal"`       // nothing differs but what is explained
	Blocks      int                 `json:"blocks"`      // number of blocks compared
	Differences []replay.Difference `json:"differences"` // not explained
	Explained   []replay.Difference `json:"explained"`   // in blocks that may vary
	// Alone says whether what was printed was compared with what the interpreter alone prints, too.
	Alone replay.Alone `json:"alone"`
}

// Plan is the document of plan.
type Plan struct {
	Version int    `json:"version"`
	Session string `json:"session"`
	Run     int    `json:"run"`   // number of blocks that would run
	Maybe   int    `json:"maybe"` // … that run if an input changes
	Reuse   int    `json:"reuse"` // … that would be reused
	Block   int    `json:"block"` // … that are blocked
	Skip    int    `json:"skip"`  // … that come after the end of the program
	Fail    int    `json:"fail"`  // … whose failure would be reused: nothing of it changed
	// Recorded seconds of what runs or may run, with those to prepare; blocks that never ran count as 0.
	Seconds float64       `json:"seconds"`
	Prepare float64       `json:"prepare_seconds"` // for a new interpreter: its start and the imports that it repeats
	Saved   float64       `json:"saved_seconds"`   // recorded, of what is reused, without these imports
	Edits   []PlannedEdit `json:"edits"`           // how the file differs from the session
	Blocks  []PlanBlock   `json:"blocks"`
	// Edited are results that were edited: the run is refused without --restore-files.
	Edited []runner.EditedFile `json:"edited_files,omitempty"`
	// Stale are results of calls that are older than their tools say is good.
	Stale []query.StaleCall `json:"stale,omitempty"`
	Loops []query.Loop      `json:"loops,omitempty"` // as of run, after the last step
	// Manifest is how the text of the program differs from its manifest, without packages.
	Manifest []rule.Deviation `json:"manifest,omitempty"`
	*query.Impact
}

// PlannedEdit is an edit that is not recorded yet, and what it does to the source.
type PlannedEdit struct {
	Edit
	query.EditSummary
}

// PlanBlock is a block of a plan.
type PlanBlock struct {
	ID      state.BlockID    `json:"id"`
	Index   int              `json:"index"` // from 0
	Title   string           `json:"title,omitempty"`
	Action  runner.Action    `json:"action"` // run, maybe, reuse, fail, block or skip
	Reason  state.Reason     `json:"reason"`
	Seconds float64          `json:"seconds"`
	Saved   float64          `json:"saved_seconds"`
	Error   *state.ExecError `json:"error"`
	Nodes   []PlanNode       `json:"nodes"`
	Whole   string           `json:"whole,omitempty"`  // why a function that it calls is one node
	Record  state.Digest     `json:"record,omitempty"` // of the result that is reused, see RecordOf
}

// PlanNode is a node of a plan.
type PlanNode struct {
	Line    int           `json:"line"`           // line of the block, from 1; with a part, of the block "of"
	Part    string        `json:"part,omitempty"` // its place in a function: "main[3]"
	Of      state.BlockID `json:"of,omitempty"`   // the block that defines the function
	Action  runner.Action `json:"action"`
	Reason  state.Reason  `json:"reason"`
	Seconds float64       `json:"seconds"`
}

// Preflight is the document of preflight.
type Preflight struct {
	Version int    `json:"version"`
	Session string `json:"session"`
	*preflight.Report
}

// Why is the document of why.
type Why struct {
	Version int    `json:"version"`
	Session string `json:"session"`
	*xstate.Explanation
}

// Test is the document of test.
type Test struct {
	Version int    `json:"version"`
	Session string `json:"session"`
	Plan    bool   `json:"plan"` // nothing ran
	*xstate.TestReport
}

// CheckCode is the document of check-code.
type CheckCode struct {
	Version int              `json:"version"`
	Session string           `json:"session"` // of the checks
	Step    state.StepNumber `json:"step"`
	Ran     int              `json:"ran"`
	Reused  int              `json:"reused"`
	Failed  int              `json:"failed"` // checks without a result
	New     int              `json:"new"`    // findings that the check before had not; 0 if there was none
	Seconds float64          `json:"seconds"`
	Saved   float64          `json:"saved_seconds"`
	Checks  []CodeCheck      `json:"checks"`
	// Files that no checker reads that is installed or asked for
	Unchecked []string `json:"unchecked,omitempty"`

	Findings []CodeFinding `json:"findings"`
}

// CodeCheck is one call of a checker.
type CodeCheck struct {
	Checker  string       `json:"checker"`
	Files    []string     `json:"files"`
	Status   string       `json:"status"`
	Reason   state.Reason `json:"reason"`
	Findings int          `json:"findings"`
	Error    string       `json:"error,omitempty"` // why it has no result
	Seconds  float64      `json:"seconds"`
}

// CodeFinding is a finding and the block that it is in.
type CodeFinding struct {
	checkers.Finding
	Block     string `json:"block,omitempty"`
	BlockLine int    `json:"block_line,omitempty"` // from 1
	New       bool   `json:"new"`                  // the check before had none like it in this file
}

// Verify is the document of verify.
type Verify struct {
	Version int    `json:"version"`
	Session string `json:"session"`
	*replay.Stability
}

// Replay is the document of replay.
type Replay struct {
	Version int `json:"version"`
	*replay.Report
}

// Bisection is the document of bisect.
type Bisection struct {
	Version int    `json:"version"`
	Session string `json:"session"`
	*replay.Bisection
}
