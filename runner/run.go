package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
)

// RunOptions are the choices of a run. The zero value is the usual run.
type RunOptions struct {
	Fresh   bool                  // use no recorded result: every node executes
	Discard bool                  // record no result
	Timeout time.Duration         // for one node; 0 means none
	Pins    map[state.BlockID]Pin // replace those in comments; "" removes one
	Jobs    int                   // interpreters; with two or more, independent nodes execute at the same time
	OnEvent func(Event)           // called in order, from the goroutine of Run
	Lined   state.BlockID         // the block whose executed lines in other blocks' functions are observed, see LinesOf

	// Memory bounds the bytes of earlier values that stay alive for the blocks that need them. 0 means a gigabyte, and
	// a negative number none.
	Memory int64

	Force func(state.BlockID, int) bool               // the nodes to execute even where a trace is valid; may be nil
	Serve func(state.BlockID, int) *state.StoredTrace // results of nodes that never execute; may be nil
}

// Usual reports whether a run reuses valid traces, all of them, and no others.
func (o *RunOptions) Usual() bool {
	return !o.Fresh && !o.Discard && len(o.Pins) == 0 && o.Force == nil && o.Serve == nil
}

const defaultMemory = 1 << 30

// Event reports progress of a run.
type Event struct {
	Block    state.BlockID
	Node     int          // index in the block
	Kind     string       // "begin", "output" or "end"
	Output   state.Output // for "output"
	Expected float64      // seconds that the node took last time, 0 when unknown; for "begin"
	Seconds  float64      // for "end"
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
	Reason   state.Reason // of the first node that ran, else of the first
	Outputs  []state.Output
	Err      *state.ExecError
	Seconds  float64
	Saved    float64
	Marks    []string // why another run may give its nodes other results: "clock", "network", …
	AllMarks []string // its own marks and those of all that its inputs depend on
	Nodes    []NodeOutcome
}

// Outcome is the outcome of a run.
type Outcome struct {
	Blocks      []BlockOutcome
	Seconds     float64                 // spent executing nodes
	Saved       float64                 // recorded cost of the nodes reused
	Recomputed  int                     // nodes executed again only to rebuild values that were not stored
	Stopped     error                   // why the run ended early: interrupted; nil when it did not
	Values      map[string]state.Digest // name → digest after the last node
	Files       map[string]state.Digest // file written → digest after the last node
	VaryingKeys map[string][]string     // of "value NAME" and "file NAME": why they may differ from run to run
}

// errRestart reports that a trace in use is not valid after all. The walk begins again, with what is known by then.
var errRestart = errors.New("walk again")

// maxRestarts bounds the restarts of a walk. Each follows a node whose result was replaced, or a block that was
// refused.
const maxRestarts = 200

// maxDeaths bounds how often an interpreter may die while no node runs, of a signal or for want of memory.
const maxDeaths = 3

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
	spent        map[int]float64
	stopped      map[*unit]bool
	contexts     []state.Digest       // of the states before nodes, see modules.go
	firsts       map[state.Digest]int // code → the first node that has it; nil until it is read
	dotted       []dottedImport       // of the nodes before dottedAt
	dottedAt     int
	restored     int
	dialects     []depgraph.Dialect // of the blocks
	compileAsked bool               // the language has given its verdict on the blocks
	cited        bool               // the kernel has the sources
	renewed      bool               // a new interpreter was tried, when a state could not be restored
	readOnly     bool               // only imports and definitions may run, and nothing is written, see Value
	speculative  bool               // one node executes before its turn, see speculator
	speculator   *speculator

	written    []string     // files that reused results wrote, and of which there is no record yet
	hasDynamic bool         // some node of the program may read names unobserved
	lists      map[int]bool // nodes, by index, that list subclasses by code of the workspace's
}

// Run makes the outcome of every block what a fresh run of the whole program would give. It executes only what must be.
// An interrupted run returns an Outcome with Stopped set, and keeps what was finished.
func (e *Engine) Run(ctx context.Context, blocks []state.ProgramBlock, o RunOptions) (out *Outcome, err error) {
	defer func() {
		if failed := e.backlog.wait(); failed != nil && err == nil {
			out, err = nil, failed
		}
	}()
	w := &walk{e: e, o: o, ran: map[int]*state.StoredTrace{}, reasons: map[int]state.Reason{}, spent: map[int]float64{}}
	e.baseState.Begin()
	if err := e.recoverFiles(); err != nil {
		return nil, err
	}
	if err := e.adoptRelatives(); err != nil {
		return nil, err
	}
	if err := e.adoptEdits(); err != nil {
		return nil, err
	}
	if err := e.refresh(ctx); err != nil {
		return nil, err
	}
	w.speculator = w.newSpeculator(ctx, blocks)
	defer w.speculator.finish()
	var stop error
	deaths := 0
	for attempt := 0; ; attempt++ {
		stop = w.pass(ctx, blocks)
		if errors.Is(stop, kernel.ErrDied) && ctx.Err() == nil &&
			deaths < maxDeaths { // between two nodes, so no node failed
			deaths++
			e.dropKernel()
			continue
		}
		if errors.Is(stop, errStuck) && !w.renewed {
			w.renewed = true
			e.dropKernel()
			continue
		}
		if !errors.Is(stop, errRestart) {
			break
		}
		if attempt == maxRestarts {
			return nil, fmt.Errorf("the program has no stable outcome: its results differ each time it is run")
		}
	}
	if stop != nil && ctx.Err() == nil {
		return nil, stop
	}
	if err := w.finalizeFiles(stop == nil); err != nil {
		return nil, err
	}
	out = w.outcome()
	out.Stopped = ctx.Err()
	return out, nil
}

// refresh makes a living kernel forget what may be outdated: modules whose files were edited, and parked values.
func (e *Engine) refresh(ctx context.Context) error {
	if e.kernel == nil {
		return nil
	}
	gone, err := e.kernel.Refresh(ctx)
	if err != nil && ctx.Err() == nil && !errors.Is(err, kernel.ErrDied) {
		return err
	}
	if err != nil || gone.Stale {
		e.dropKernel()
	}
	e.kernelState.unload(gone)
	e.kernelState.parked = map[groupDigest]parked{}
	return nil
}

// pass walks all nodes once.
func (w *walk) pass(ctx context.Context, blocks []state.ProgramBlock) error {
	w.start(blocks)
	for i := range w.nodes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.node(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// start puts the walk before the first node.
func (w *walk) start(blocks []state.ProgramBlock) {
	w.dialects = dialectsOf(blocks)
	w.units, w.nodes = w.e.analyse(blocks)
	w.pos = newProgramState(w.e.baseState.Get)
	w.outcomes = make([]NodeOutcome, len(w.nodes))
	w.stopped = map[*unit]bool{}
	w.contexts, w.firsts = make([]state.Digest, len(w.nodes)), nil
	w.dotted, w.dottedAt = nil, 0
	w.compileAsked, w.cited = false, false
	w.hasDynamic = slices.ContainsFunc(w.nodes, func(n *node) bool { return len(n.facts.Dynamic) > 0 })
}

// node brings the walk past node i.
func (w *walk) node(ctx context.Context, i int) error {
	n, out := w.nodes[i], &w.outcomes[i]
	out.Code, out.Line = n.code, n.facts.Line
	w.contexts[i] = w.pos.context
	d, err := w.decide(w.pos, i, w.stopped)
	if err != nil {
		return err
	}
	switch {
	case d.Action == ActBlock:
		w.block(i, &d)
	case d.trace == nil:
		return w.perform(ctx, i, &d)
	case d.trace == w.ran[i]:
		w.take(i, &d, state.StatusRan, w.reasons[i])
		out.Seconds = w.spent[i]
	default:
		if d.Reason.Code != state.ReasonServed {
			if d.trace, err = w.e.withVaryMark(d.trace, w.o.Discard); err != nil {
				return err
			}
			out.Saved = d.trace.Seconds
		}
		w.take(i, &d, state.StatusReused, d.Reason)
	}
	return nil
}

// decide returns what happens to node i at p, in this run.
func (w *walk) decide(p *programState, i int, stopped map[*unit]bool) (decision, error) {
	n := w.nodes[i]
	forced := w.o.Fresh || w.o.Force != nil && w.o.Force(n.unit.ID, n.at)
	return w.e.decide(walkPlace{p, w.units, w.nodes}, n,
		given{stopped: stopped[n.unit], pin: w.pin(n.unit), forced: forced, served: w.served(i), ran: w.ran[i]})
}

// perform executes node i, which has no valid trace, or takes over a speculative execution.
func (w *walk) perform(ctx context.Context, i int, d *decision) error {
	n, out := w.nodes[i], &w.outcomes[i]
	w.event(Event{Block: n.unit.ID, Node: n.at, Kind: "begin", Expected: d.Seconds})
	w.speculator.dispatch(i, d)
	t, err := w.speculator.take(ctx, i)
	if t == nil && err == nil {
		t, err = w.execute(ctx, i)
	}
	if err != nil {
		return err
	}
	w.event(Event{Block: n.unit.ID, Node: n.at, Kind: "end", Seconds: t.Seconds})
	if by := undefinedBy(w.pos, n, &t.Trace); by != "" {
		blocked := d.block(by)
		w.block(i, &blocked)
		return nil
	}
	w.ran[i], w.reasons[i], w.spent[i] = t, d.Reason, t.Seconds
	done := *d
	if done.trace = t; t.Err != nil {
		done.failed = n.unit.ID
	}
	w.take(i, &done, state.StatusRan, d.Reason)
	out.Seconds = t.Seconds
	return nil
}

// pin returns the pin of a block.
func (w *walk) pin(u *unit) Pin {
	if p, ok := w.o.Pins[u.ID]; ok {
		return p
	}
	return u.pin()
}

func (w *walk) event(ev Event) {
	if w.o.OnEvent != nil {
		w.o.OnEvent(ev)
	}
}

// take advances the program state past node i, which has a result.
func (w *walk) take(i int, d *decision, status state.Status, reason state.Reason) {
	t, out := d.trace, &w.outcomes[i]
	out.Trace, out.Reason, out.Status, out.t = t.Digest, reason, status, &t.Trace
	out.AllMarks = w.pos.allMarks(&t.Trace)
	w.pos.advance(i, w.nodes[i], d, w.stopped)
	if t.Err != nil {
		if status == state.StatusReused {
			out.Saved = t.Seconds
		}
		out.Status = state.StatusFailed
		return
	}
	for _, x := range t.Writes {
		if _, known := w.e.cfg.Files[x.Key.Name()]; !known && x.Key.Space() == "file" {
			w.written = append(w.written, x.Key.Name())
		}
	}
	w.pos.mark(&t.Trace, out.AllMarks)
}

// block advances the program state past node i, which a failure keeps from running.
func (w *walk) block(i int, d *decision) {
	w.outcomes[i].Status, w.outcomes[i].Reason = state.StatusBlocked, d.Reason
	w.pos.advance(i, w.nodes[i], d, w.stopped)
}

func (w *walk) outcome() *Outcome {
	o := &Outcome{
		Recomputed:  w.restored,
		Values:      map[string]state.Digest{},
		Files:       map[string]state.Digest{},
		VaryingKeys: map[string][]string{},
	}
	for k, e := range w.pos.keys {
		if _, bad := e.poisoned(); bad || e.digest == state.Absent && k.Space() == "var" {
			continue
		}
		switch k.Space() {
		case "var":
			o.Values[k.Name()] = e.digest
			o.VaryingKeys["value "+k.Name()] = e.marks
		case "file":
			o.Files[k.Name()] = e.digest
			o.VaryingKeys["file "+k.Name()] = e.marks
		}
	}
	for _, u := range w.units {
		b := w.blockOutcome(u)
		o.Seconds += b.Seconds
		o.Saved += b.Saved
		o.Blocks = append(o.Blocks, b)
	}
	return o
}

func (w *walk) blockOutcome(u *unit) BlockOutcome {
	b := BlockOutcome{
		ProgramBlock: u.ProgramBlock,
		Status:       state.StatusReused,
		Reason:       state.Reason{Code: state.ReasonReused},
		Err:          u.err,
	}
	if u.err != nil {
		b.Status, b.Reason = state.StatusFailed, state.Reason{Code: state.ReasonSyntax}
		return b
	}
	explained := false
	for _, n := range u.nodes {
		out := w.outcomes[n.index]
		b.Nodes = append(b.Nodes, out)
		b.Seconds += out.Seconds
		b.Saved += out.Saved
		b.Status = max(b.Status, out.Status)
		if out.Status == state.StatusNew {
			b.Status = state.StatusNew
			return b
		}
		if out.Reason.Code != state.ReasonReused && !explained {
			b.Reason, explained = out.Reason, true
		}
		if out.t == nil {
			continue
		}
		if outputs, ok, err := w.e.cfg.Store.Outputs(out.t); err == nil && ok {
			b.Outputs = append(b.Outputs, outputs...)
		}
		if out.t.Err != nil {
			b.Err = out.t.Err
		}
		for _, m := range out.t.Marks {
			b.Marks = appendNew(b.Marks, m)
		}
		for _, m := range out.AllMarks {
			b.AllMarks = appendNew(b.AllMarks, m)
		}
	}
	b.Outputs = kernel.Merge(b.Outputs)
	return b
}

func appendNew[T comparable](list []T, x T) []T {
	for _, y := range list {
		if y == x {
			return list
		}
	}
	return append(list, x)
}
