package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
)

// walk is one pass over the nodes in program order.
type walk struct {
	e            *Engine
	o            RunOptions
	units        []*unit
	nodes        []*node
	pos          *programState
	outcomes     []NodeOutcome
	ran          map[int]*state.StoredTrace // nodes executed in this run, for a walk that restarts
	reasons      map[int]state.Reason
	spent        map[int]float64 // seconds, by node
	rebuilt      map[int]float64 // the same for nodes executed only for the values that they leave
	startSeconds float64         // spent on starting interpreters
	definers     []*node         // the nodes that are the definition of a function
	stopped      map[*unit]bool
	endMarks     []string             // why the program may end elsewhere
	contexts     []state.Digest       // by node: of the state before it, see modules.go
	firsts       map[state.Digest]int // code → the first node that has it; nil until it is read
	dotted       []dottedImport       // those of the nodes before dottedAt
	dottedAt     int
	restored     int
	differs      map[int]int        // how often nodes, by index, differed when they executed again for what they leave
	rebuilding   map[int]bool       // nodes, by index, that execute again now for what they leave
	scratch      bool               // every node executes, see maxDiffering
	wanted       int                // the nodes before this one are brought up to date, and so are the
	wantedUnits  int                // units before this one, see RunOptions.Until
	dialects     []depgraph.Dialect // the dialects of the blocks
	compileAsked bool               // the language has given its verdict on the blocks
	cited        bool               // the kernel has the sources
	renewed      bool               // a new interpreter was tried, when a state could not be restored
	readOnly     bool               // only imports and definitions may run, and nothing is written, see Value
	asks         bool               // it answers a question, see Value
	speculative  bool               // one node executes before its turn, see speculator
	speculator   *speculator
	elsewhere    int                               // nodes that workers executed
	noWorkers    error                             // why workers are not used
	sent         elsewhere                         // nodes that the worker of the run was to execute
	given        resultsBefore                     // what another machine has given; may be nil
	drawn        map[state.DrawingNode]state.Drawn // before the walk; nil until it is read
	begun        Event                             // the begin event of the node that executes
	reportedEnd  bool                              // whether that node's end was reported
	meter        meter
	resultAt     time.Time // when the last end was reported

	observed sandbox.Level // the level of the interpreter that executed nodes; "": none did
	newest   *time.Time    // time of the newest file that the program does not write, see newestInput

	written    []string               // files that reused results wrote and that have no record yet
	hasDynamic bool                   // some node of the program may read names unobserved
	lacked     map[int][]depgraph.Key // open files that nodes, by index, turned out to use, see open_files.go
	lists      map[int]bool           // nodes, by index, that list subclasses by code of the workspace's
}

// analyse reads the blocks that the walk is over.
func (w *walk) analyse(blocks []state.ProgramBlock) {
	w.units, w.nodes = w.e.analyse(blocks)
	w.definers = nil
	for _, n := range w.nodes {
		if n.facts.Kind == depgraph.KindDef {
			w.definers = append(w.definers, n)
		}
	}
}

// elsewhere are the nodes that a run has sent to a worker, with why they must execute. The zero value is none.
type elsewhere map[int]state.Reason

// resultsBefore gives a walk the results of the nodes before one that is executed ahead.
type resultsBefore interface {
	// begin is called before the walk, and next at the place of each node.
	begin(ctx context.Context, w *walk) error
	next(ctx context.Context, w *walk, i int) error
}

// start puts the walk before the first node.
func (w *walk) start(blocks []state.ProgramBlock) {
	w.dialects = dialectsOf(blocks)
	w.analyse(blocks)
	w.want()
	w.pos = newProgramStateFor(w.e.baseState.Get, len(w.nodes))
	w.outcomes = make([]NodeOutcome, len(w.nodes))
	w.stopped = map[*unit]bool{}
	w.contexts, w.firsts = make([]state.Digest, len(w.nodes)), nil
	w.dotted, w.dottedAt = nil, 0
	w.compileAsked, w.cited = false, false
	w.hasDynamic = slices.ContainsFunc(w.nodes, func(n *node) bool { return len(n.facts.Dynamic) > 0 })
}

// want finds the nodes and blocks that the walk is to bring up to date.
func (w *walk) want() {
	w.wanted, w.wantedUnits = len(w.nodes), len(w.units)
	i := slices.IndexFunc(w.units, func(u *unit) bool { return u.ID == w.o.Until })
	if w.o.Until == "" || i < 0 {
		return
	}
	w.wanted, w.wantedUnits = 0, i+1
	for _, u := range w.units[:i+1] {
		for _, n := range u.all(func(*node) bool { return true }) {
			w.wanted = n.index + 1
		}
	}
}

// errRestart reports that a trace in use is not valid after all. The walk begins again, with what is known by then.
var errRestart = errors.New("walk again")

// errStuck says that rebuilding did not lead to the state wanted; a new interpreter may.
var errStuck = errors.New("cannot be restored")

// Why an execution does not count.
var (
	errTimeout = errors.New("time-out")
	errStale   = errors.New("the interpreter holds what a new one would not")
	errLacking = errors.New("it uses a file that is open and not so here")
	errLists   = errors.New("it lists subclasses")
)
