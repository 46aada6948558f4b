package runner

import (
	"time"

	"github.com/xstate-engine/xstate/runner/journal"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

// RunOptions are the choices of a run. The zero value is the usual run.
type RunOptions struct {
	Fresh   bool                  // use no recorded result: every node executes
	Discard bool                  // record no result
	Traces  bool                  // with Discard: record traces all the same, and no values
	Asks    bool                  // with Discard: make calls without effects all the same
	Timeout time.Duration         // for one node; 0 means none
	Pins    map[state.BlockID]Pin // replace those in comments; "" removes one
	Jobs    int                   // interpreters; with two or more, independent nodes execute at the same time
	// RemoteJobs is how many nodes workers execute at the same time beside these (Config.Executor).
	RemoteJobs int
	// Elsewhere: one worker executes what has no valid result, before the run takes its results over.
	Elsewhere bool
	OnEvent   func(Event)   // called in order, from the goroutine of Run
	Lined     state.BlockID // the block whose executed lines in other blocks' functions are observed, see LinesOf

	Caller state.Caller // what the records of calls say of this run, beside block, node and line

	RestoreFiles bool // overwrite edited results; otherwise such a run is refused, see CodeFileEdited

	// BeforeNode is called before each node that executes, with the time and the processor time of the run so far. An
	// error ends the run there; it becomes Outcome.Stopped. It may be nil.
	BeforeNode func(wall, cpu time.Duration) error

	// Refresh makes calls of the program's results again before the walk, see journal.Refresh, which is given the
	// calls; nil: none
	Refresh *journal.Refreshing

	// Memory bounds the bytes of earlier values that stay alive for the blocks that need them. 0 means a gigabyte, and
	// a negative number none.
	Memory int64

	Force func(state.BlockID, int) bool // the nodes to execute even where a trace is valid; may be nil
	// Submitted selects the blocks that the caller has just submitted for execution; nil means that it only wants a
	// run. A result of these blocks that may vary is not reused.
	Submitted func(state.BlockID) bool
	// Retry selects the blocks that are tried again if they failed in a way that may not happen again: by a time-out on
	// the same reads, or by ending their interpreter. nil means those of Submitted, or else all.
	Retry func(state.BlockID) bool
	Serve func(state.BlockID, int) *state.StoredTrace // results of nodes that never execute; may be nil
	// Part: the blocks are a part of the program, whose end is not reached.
	Part bool
	// Until is the last block that the run brings up to date; "": that of the program. Later blocks are StatusNew,
	// and files stay as the last node left them.
	Until state.BlockID
}

// chosen reports whether the caller says which nodes execute.
func (o *RunOptions) chosen() bool {
	return o.Fresh || o.Discard || o.Force != nil || o.Submitted != nil || o.Retry != nil || o.Serve != nil
}

// Usual reports whether a run reuses valid traces, all of them, and no others.
func (o *RunOptions) Usual() bool {
	return !o.Fresh && !o.Discard && o.Refresh == nil &&
		len(o.Pins) == 0 && o.Force == nil && o.Serve == nil && o.Submitted == nil && o.Retry == nil && !o.Part &&
		o.Until == ""
}

// retries reports whether a block is tried again, see Retry.
func (o *RunOptions) retries(id state.BlockID) bool {
	switch {
	case o.Retry != nil:
		return o.Retry(id)
	case o.Submitted != nil:
		return o.Submitted(id)
	}
	return true
}

const defaultMemory = 1 << 30

// Event reports progress of a run. The kinds are "begin", "output", "end" and "failed".
//
// "end" comes when the last output of a node is known, before the engine has found out and recorded what the node did.
// If the node turns out to need another execution, a second "begin" takes back its outputs and its end. The outcome of
// the run replaces all events. "failed" comes after "end", when the engine knows why a node has failed.
type Event struct {
	Block    state.BlockID
	Node     int // index in the block
	Kind     string
	Output   output.Output    // for "output"
	Expected float64          // seconds that the node took last time, 0 when unknown; for "begin"
	Seconds  float64          // for "end"
	Status   state.Status     // for "end": StatusRan or StatusFailed
	Failure  *state.ExecError // for "failed"
}

// NodeOutcome is the outcome of a node.
type NodeOutcome struct {
	state.NodeResult
	Line     int      // 1-based in the block
	Saved    float64  // recorded cost, when reused
	AllMarks []string // the node's own marks and those of all that its inputs depend on
	t        *state.Trace
}

// Result returns the execution that gave the outcome, or nil where the node was blocked or not reached.
func (n *NodeOutcome) Result() *state.Trace { return n.t }

// BlockOutcome is the outcome of a block.
type BlockOutcome struct {
	state.ProgramBlock
	Status   state.Status
	Reason   state.Reason // the reason of the first node that ran, else of the first
	Outputs  []output.Output
	Err      *state.ExecError
	Denied   []state.Denial // what its bounds forbade
	Ending   *state.Ending  // it ended the program; nil if the program continues
	Seconds  float64        // spent on its nodes, also on executing them only to rebuild values
	Saved    float64        // recorded cost of its nodes reused, less what was spent on rebuilding values
	Marks    []string       // why another run may give its nodes other results: "clock", "network", …
	AllMarks []string       // its own marks and those of all that its inputs depend on
	Nodes    []NodeOutcome
}

// Outcome is the outcome of a run.
type Outcome struct {
	Blocks      []BlockOutcome
	Seconds     float64                 // spent executing nodes, also those that were executed only to rebuild values
	Engine      float64                 // seconds of the call beyond executing, until recorded: starts, loads, digests
	Saved       float64                 // recorded cost of the nodes reused, less Engine and what was rebuilt; 0: none
	Recomputed  int                     // nodes executed again only to rebuild values that were not stored
	Shared      int                     // results that were taken over from the cache, see Config.Cache
	Elsewhere   int                     // nodes that workers executed, see RunOptions.RemoteJobs
	Failure     error                   // why a worker did not execute a node, the last time; nil: each did
	Stopped     error                   // why the run ended early: interrupted, or BeforeNode; nil when it did not
	Warnings    []string                // about soft budgets and a manifest; the runner sets none
	Overwritten []string                // files edited since the last run to which the program wrote, sorted
	Values      map[string]state.Digest // name → digest after the last node
	Files       map[string]state.Digest // file written → digest after the last node
	VaryingKeys map[string][]string     // by "value NAME" and "file NAME": why they may differ from run to run

	Refreshed []journal.Refreshed // the calls that were made again

	Observed sandbox.Level // how far the interpreter was observed; "": no node was executed

	StartSeconds  float64 // spent on starting interpreters
	ResultSeconds float64 // from the call until the last node had ended and its output was known
	TotalSeconds  float64 // from the call until all was recorded
}

// Spend adds to the seconds of the engine, which what was reused has to outweigh.
func (o *Outcome) Spend(seconds float64) {
	o.Engine += seconds
	if o.Saved != 0 {
		o.Saved -= seconds
	}
}
