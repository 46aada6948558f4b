package verb

import (
	"time"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/inspect"
)

// InSession is what most requests begin with.
type InSession struct {
	Session string // a program's file, or a name; "": the only one of the store
}

// In names a session.
func In(session string) InSession { return InSession{session} }

// About implements Request.
func (s *InSession) About() string { return s.Session }

// Moment is a place in the history of a session; the zero value is its last step.
type Moment struct {
	AtStep *state.StepNumber
	At     string // a time, such as 2026-11-20T10:00
}

// Status asks for the sessions of a store.
type Status struct{}

// Verb implements Request.
func (*Status) Verb() string { return "status" }

// About implements Request.
func (*Status) About() string { return "" }

// Exec executes code as a block of a session, and runs what it affects.
type Exec struct {
	InSession
	Code     string
	File     string // the code's; its ending names the language if Language does not
	Language string
	Replace  string // the block whose place the code takes
	Append   bool   // it is a new block, whatever it resembles
	Text     int64  // bytes of text that the answer has at most; 0: the usual number, -1: none
	Timeout  time.Duration
	Python   string
	Origin   state.Origin
}

// Verb implements Request.
func (*Exec) Verb() string { return "exec" }

// Run runs what is new, edited or affected in a program.
type Run struct {
	InSession
	File      string   // the program's; "": the recorded program of the session
	Contents  *string  // what File would hold, as of an editor that has not saved it; nil: File is read
	Arguments []string // the program's own

	Until         string // the last block to bring up to date; its result is not reused if it may vary. "": all blocks
	Verify, Fresh bool
	Write, Merge  bool
	RestoreFiles  bool
	Private       bool
	Refresh       bool
	Tool          string            // to refresh
	Always, Never []string          // blocks that are pinned
	Expect        *state.StepNumber // fail if the session is at another step
	Jobs          int               // interpreters at once; 0: one
	RemoteJobs    int               // nodes that workers execute at the same time beside these
	Elsewhere     bool              // one worker executes the run
	Timeout       time.Duration
	Memory        int64 // bytes of earlier values in memory; 0: the usual number, -1: none
	MaxBytes      int64 // bytes of results that the store keeps; 0: all, -1: none
	Python        string
	Workdir       string
	Origin        state.Origin
}

// Verb implements Request.
func (*Run) Verb() string { return "run" }

// Patch applies a patch to a program.
type Patch struct {
	InSession
	Text    string // the patch
	Format  string // "": it is detected
	Block   string // the one to patch where the patch names none
	Expect  string // a step, or the version of the block
	Merge   bool
	DryRun  bool
	Run     bool
	Timeout time.Duration
	Python  string
	Origin  state.Origin
}

// Verb implements Request.
func (*Patch) Verb() string { return "patch" }

// Plan reports what a run would do.
type Plan struct {
	InSession
	File      string
	Contents  *string // as of Run
	Arguments []string
	Python    string
}

// Verb implements Request.
func (*Plan) Verb() string { return "plan" }

// Why explains what the last run did with a block.
type Why struct {
	InSession
	Block  string
	Python string
}

// Verb implements Request.
func (*Why) Verb() string { return "why" }

// Query asks the record one thing: the field that is set says which. With none it asks for the program.
type Query struct {
	InSession
	Moment
	Limit *int   // blocks or findings; 0: all, nil: the usual number
	After string // the end of the page before, of Where

	Block, Symbol, Value, Version, Patch string
	AffectedBy, DependsOn, Tool, Where   string
	From, To                             string // the ends of a path
	Failed, Volatile, Unverified, Denied bool
	Python                               string         // the interpreter that loads a Value
	Place                                *inspect.Place // describe what is there in a Value; nil: its text is enough
}

// Verb implements Request.
func (*Query) Verb() string { return "query" }

// Graph asks what depends on what.
type Graph struct {
	InSession
	Moment
}

// Verb implements Request.
func (*Graph) Verb() string { return "graph" }

// Show asks for the program as it is, a block, or an edit and what it did.
type Show struct {
	InSession
	Of string // a block or the step of an edit; "": the program
}

// Verb implements Request.
func (*Show) Verb() string { return "show" }

// Log asks for the steps of a session. Graph, Tree and Failures exclude each other.
type Log struct {
	InSession
	Limit *int             // 0: all, nil: ListedSteps
	After state.StepNumber // the list continues with the steps before this one; 0: it begins
	Agent string           // only steps of this agent
	Kind  state.Kind       // only steps of this kind

	Graph    bool              // the steps of all sessions that share a past
	Tree     bool              // the calls of the runs among the steps
	Step     *state.StepNumber // with Tree: of this run alone
	Failures bool              // the blocks that failed, with the edits that caused and fixed it
}

// ListedSteps is how many steps a Log lists if it does not say.
const ListedSteps = 20

// Verb implements Request.
func (*Log) Verb() string { return "log" }

// Diff asks how two programs differ. A side is STEP, SESSION or SESSION@STEP.
type Diff struct {
	InSession
	From, To string // "": the last change, and the last step
}

// Verb implements Request.
func (*Diff) Verb() string { return "diff" }

// Undo takes edits back and keeps later ones.
type Undo struct {
	InSession
	Steps    string // STEP or STEP..STEP; "": the last edit, or with By all
	By       string // the agent whose edits are meant
	DryRun   bool
	KeepFile bool
	File     string // the program's; "": the one that the session is named after
	Origin   state.Origin
}

// Verb implements Request.
func (*Undo) Verb() string { return "undo" }

// Rollback makes the program what it was after an earlier step.
type Rollback struct {
	InSession
	To       *state.StepNumber
	KeepFile bool
	Revert   bool // takes back the effects of later calls
	File     string
	Origin   state.Origin
}

// Verb implements Request.
func (*Rollback) Verb() string { return "rollback" }

// Fork makes a session that shares the past of another.
type Fork struct {
	InSession
	Moment
	New     string
	Private bool
	Origin  state.Origin
}

// Verb implements Request.
func (*Fork) Verb() string { return "fork" }

// Calls asks for the calls of tools and models of a session.
type Calls struct {
	InSession
	Waiting bool
	Tool    string
	Block   string
	Since   state.StepNumber
	Cost    bool
	Budgets bool // the limits on what calls spend, instead of the calls
}

// Verb implements Request.
func (*Calls) Verb() string { return "calls" }

// WholeCall asks for all that is recorded of one call.
type WholeCall struct{ Call state.CallID }

// Verb implements Request.
func (*WholeCall) Verb() string { return "calls" }

// About implements Request.
func (*WholeCall) About() string { return "" }

// Approve decides about calls that wait.
type Approve struct {
	Calls  []state.CallID
	Choice string
	Deny   bool
	Reason string
	Result string // JSON
	By     string // "": the user of the environment
}

// Verb implements Request.
func (*Approve) Verb() string { return "approve" }

// About implements Request.
func (*Approve) About() string { return "" }

// Replay executes recorded runs again and compares.
type Replay struct {
	InSession
	From, To, Step  *state.StepNumber
	Block           string
	Cached          bool
	UntilDivergence bool
	CallAgain       bool // calls of tools without effects are made again
	Jobs            int  // 0: one
	Timeout         time.Duration
	Python          string
}

// Verb implements Request.
func (*Replay) Verb() string { return "replay" }

// Verify executes a block several times from the same state.
type Verify struct {
	InSession
	Block   string
	Times   int // 0: VerifyTimes
	Timeout time.Duration
	Python  string
	Origin  state.Origin
}

// VerifyTimes is how often a Verify executes the block if it does not say.
const VerifyTimes = 3

// Verb implements Request.
func (*Verify) Verb() string { return "verify" }

// Evidence asks what a result depends on.
type Evidence struct {
	InSession
	Moment
	Of string // an artifact, a block, a name or a file
}

// Verb implements Request.
func (*Evidence) Verb() string { return "evidence" }

// CheckVerifier plants faults in what a block checks.
type CheckVerifier struct {
	InSession
	Block   string
	Inputs  []string // the variables to plant faults in; empty: all that it reads of earlier blocks
	Verdict string   // the variable that is its verdict; "": see replay.Challenge
	Timeout time.Duration
	Python  string
}

// Verb implements Request.
func (*CheckVerifier) Verb() string { return "check-verifier" }

// Flow asks what reached the calls of a program, and what became of their answers.
type Flow struct {
	InSession
	Moment
	Call state.CallID // this call alone; 0: all
}

// Verb implements Request.
func (*Flow) Verb() string { return "flow" }

// Blame asks which edit wrote each line of a block.
type Blame struct {
	InSession
	Moment
	Block string
}

// Verb implements Request.
func (*Blame) Verb() string { return "blame" }

// Credit asks what each agent, model or call did.
type Credit struct {
	InSession
	Moment
	By []string // agent, model or call; none: agent and model
}

// Verb implements Request.
func (*Credit) Verb() string { return "credit" }

// Bisect searches for the edit after which a block failed, or its results changed.
type Bisect struct {
	InSession
	Block     string
	Value     string // only this variable counts
	Good, Bad state.StepNumber
	Recorded  bool // nothing is executed
	Timeout   time.Duration
	Python    string
}

// Verb implements Request.
func (*Bisect) Verb() string { return "bisect" }
