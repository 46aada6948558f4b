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
	Memory  int64                 // bytes of earlier values that may be kept alive for the blocks that need them; 0: a gigabyte, below: none
	Pins    map[state.BlockID]Pin // instead of those in comments; "" takes one away
	Jobs    int                   // interpreters: with two or more, nodes that do not depend on one another execute at the same time
	OnEvent func(Event)           // called in order, from the goroutine of Run
	Lined   state.BlockID         // the block of which it is observed what lines of other blocks' functions it executes, see LinesOf

	Force func(state.BlockID, int) bool               // nodes that execute even where a result holds; may be nil
	Serve func(state.BlockID, int) *state.StoredTrace // results that nodes are given, whatever they read: these never execute; may be nil
}

// Usual reports whether a run may reuse what holds, and only that.
func (o *RunOptions) Usual() bool {
	return !o.Fresh && !o.Discard && len(o.Pins) == 0 && o.Force == nil && o.Serve == nil
}

const defaultMemory = 1 << 30

// Event tells of progress while a run is under way.
type Event struct {
	Block    state.BlockID
	Node     int     // index in the block
	Kind     string  // "begin", "output" or "end"
	Output   Output  // for "output"
	Expected float64 // seconds that the node took last time, 0 when unknown; for "begin"
	Seconds  float64 // for "end"
}

// NodeOutcome is what became of a node.
type NodeOutcome struct {
	state.NodeResult
	Line  int      // 1-based in the block
	Saved float64  // recorded cost, when reused
	Taint []string // marks of the node and of all that its inputs rest on
	t     *state.Trace
}

// Result is the execution that the node's outcome rests on; nil when it was blocked or not reached.
func (n *NodeOutcome) Result() *state.Trace { return n.t }

// BlockOutcome is what became of a block.
type BlockOutcome struct {
	Block
	Status  state.Status
	Reason  state.Reason // of the first node that ran, else of the first
	Outputs []Output
	Err     *state.ExecError
	Seconds float64
	Saved   float64
	Marks   []string // why its nodes may come out otherwise each time: "clock", "network", …
	Taint   []string // its marks and those of all that its inputs rest on
	Nodes   []NodeOutcome
}

// Outcome is what became of a run.
type Outcome struct {
	Blocks   []BlockOutcome
	Seconds  float64                 // spent executing nodes
	Saved    float64                 // recorded cost of the nodes reused
	Restored int                     // nodes executed again only for values that were not worth storing, or cannot be
	Stopped  error                   // why the run ended early: interrupted; nil when it did not
	Values   map[string]state.Digest // name → digest after the last node
	Files    map[string]state.Digest // file written → digest after the last node
	Tainted  map[string][]string     // of "value NAME" and "file NAME": why they may differ from run to run
}

// errRestart says that a trace in use turned out not to hold; the walk begins again with what is known now.
var errRestart = errors.New("walk again")

// maxRestarts bounds how often: each restart follows a node whose result was replaced, or a block that was refused.
const maxRestarts = 200

// maxDeaths is how often an interpreter may die while no node runs, of a signal or for want of memory.
const maxDeaths = 3

// walk is one pass over the nodes in program order.
type walk struct {
	e        *Engine
	o        RunOptions
	units    []*unit
	nodes    []*node
	pos      *position
	outcomes []NodeOutcome
	ran      map[int]*state.StoredTrace // nodes executed in this run, for the walk begun again
	reasons  map[int]state.Reason
	spent    map[int]float64
	stopped  map[*unit]bool
	contexts []state.Digest       // of the positions before nodes, see modules.go
	firsts   map[state.Digest]int // code → the first node that has it; nil until it is asked for
	dotted   []dottedImport       // of the nodes before dottedAt
	dottedAt int
	restored int
	dialects []depgraph.Dialect // of the blocks
	asked    bool               // the language was asked which blocks it accepts
	cited    bool               // the kernel has the sources
	renewed  bool               // a new interpreter was tried, when a state could not be restored
	looks    bool               // nothing but imports and definitions may run, and nothing be written: see Value
	early    bool               // one node executes before its turn: see ahead
	ahead    *ahead

	written    []string     // files that reused results wrote, and no record is kept of yet
	hasDynamic bool         // some node of the program may read names unobserved
	lists      map[int]bool // nodes, by index, that list subclasses by code of the workspace's
}

// Run makes the outcome of every block what a fresh run of the whole program would give, executing only what must be.
// An interrupted run returns an Outcome with Stopped set: what was finished is kept.
func (e *Engine) Run(ctx context.Context, blocks []Block, o RunOptions) (out *Outcome, err error) {
	defer func() {
		if failed := e.backlog.wait(); failed != nil && err == nil {
			out, err = nil, failed
		}
	}()
	w := &walk{e: e, o: o, ran: map[int]*state.StoredTrace{}, reasons: map[int]state.Reason{}, spent: map[int]float64{}}
	e.world.begin()
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
	w.ahead = w.newAhead(ctx, blocks)
	defer w.ahead.finish()
	var stop error
	deaths := 0
	for attempt := 0; ; attempt++ {
		stop = w.pass(ctx, blocks)
		if errors.Is(stop, kernel.ErrDied) && ctx.Err() == nil && deaths < maxDeaths { // between two nodes: none is to blame
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
			return nil, fmt.Errorf("the program does not settle: its results differ each time it is run")
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

// refresh has a kernel that lives forget what may be others now: modules whose files were edited, and values put aside.
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
	e.mirror.unload(gone)
	e.mirror.parked = map[joint]parked{}
	return nil
}

// pass walks all nodes once.
func (w *walk) pass(ctx context.Context, blocks []Block) error {
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
func (w *walk) start(blocks []Block) {
	w.dialects = dialectsOf(blocks)
	w.units, w.nodes = w.e.analyse(blocks)
	w.pos = newPosition(w.e.world.get)
	w.outcomes = make([]NodeOutcome, len(w.nodes))
	w.stopped = map[*unit]bool{}
	w.contexts, w.firsts = make([]state.Digest, len(w.nodes)), nil
	w.dotted, w.dottedAt = nil, 0
	w.asked, w.cited = false, false
	w.hasDynamic = slices.ContainsFunc(w.nodes, func(n *node) bool { return len(n.facts.Dynamic) > 0 })
}

// node brings the walk past node i.
func (w *walk) node(ctx context.Context, i int) error {
	n := w.nodes[i]
	out := &w.outcomes[i]
	out.Code, out.Line = n.code, n.facts.Line
	w.contexts[i] = w.pos.context
	if by, blocked := blockedBy(w.pos, n, w.stopped[n.unit]); blocked {
		w.block(i, by)
		return nil
	}
	if t := w.served(i); t != nil {
		w.take(i, t, state.StatusReused, state.Reason{Code: ReasonServed})
		return nil
	}
	if t := w.ran[i]; t != nil { // executed before the walk began again
		if _, _, ok := w.pos.mismatch(&t.Trace); ok && t.Code == n.code {
			w.take(i, t, state.StatusRan, w.reasons[i])
			out.Seconds = w.spent[i]
			return nil
		}
	}
	var c choice
	pin := w.pin(n.unit)
	if w.o.Fresh || w.o.Force != nil && w.o.Force(n.unit.ID, n.at) {
		c.reason.Code = ReasonForced
	} else if pin == PinAlways {
		c.reason.Code = ReasonPinned
	} else {
		var err error
		if c, err = w.e.choose(here{w.pos, w.units, w.nodes}, n); err != nil {
			return err
		}
		if c.trace == nil && pin == PinNever {
			c, _ = w.e.pinned(n, c)
		}
	}
	if c.trace != nil {
		if by := w.blockedByName(c.trace); by != "" {
			w.block(i, by)
			return nil
		}
		var err error
		if c.trace, err = w.e.remembered(c.trace, w.o.Discard); err != nil {
			return err
		}
		w.take(i, c.trace, state.StatusReused, c.reason)
		out.Saved = c.trace.Seconds
		return nil
	}
	expected := 0.0
	if c.last != nil {
		expected = c.last.Seconds
	}
	w.event(Event{Block: n.unit.ID, Node: n.at, Kind: "begin", Expected: expected})
	w.ahead.look(i)
	t, err := w.ahead.take(ctx, i)
	if t == nil && err == nil {
		t, err = w.execute(ctx, i)
	}
	if err != nil {
		return err
	}
	w.event(Event{Block: n.unit.ID, Node: n.at, Kind: "end", Seconds: t.Seconds})
	if by := w.blockedByName(t); by != "" {
		w.block(i, by)
		return nil
	}
	w.ran[i], w.reasons[i], w.spent[i] = t, c.reason, t.Seconds
	w.take(i, t, state.StatusRan, c.reason)
	out.Seconds = t.Seconds
	return nil
}

func (w *walk) event(ev Event) {
	if w.o.OnEvent != nil {
		w.o.OnEvent(ev)
	}
}

// take moves the position past node i with trace t.
func (w *walk) take(i int, t *state.StoredTrace, status state.Status, reason state.Reason) {
	n, out := w.nodes[i], &w.outcomes[i]
	out.Trace, out.Reason, out.Status, out.t = t.Digest, reason, status, &t.Trace
	out.Taint = w.pos.taint(&t.Trace)
	if t.Err != nil {
		if status == state.StatusReused {
			out.Saved = t.Seconds
		}
		out.Status = state.StatusFailed
		w.stopped[n.unit] = true
		w.pos.fail(i, n.unit.ID, n.facts.Defines)
		return
	}
	for _, x := range t.Writes {
		if _, known := w.e.cfg.Files[x.Key.Name()]; !known && x.Key.Space() == "file" {
			w.written = append(w.written, x.Key.Name())
		}
	}
	w.pos.apply(i, &t.Trace)
	w.pos.mark(&t.Trace, out.Taint)
}

// block marks node i as blocked by a failed block.
func (w *walk) block(i int, by string) {
	n, out := w.nodes[i], &w.outcomes[i]
	out.Status, out.Reason = state.StatusBlocked, state.Reason{Code: ReasonBlocked, By: by}
	w.stopped[n.unit] = true
	w.pos.fail(i, state.BlockID(by), n.facts.Defines)
}

// blockedByName tells which failed block would have defined the name whose absence made an execution fail.
func (w *walk) blockedByName(t *state.StoredTrace) string {
	if t.Err == nil {
		return ""
	}
	name := w.e.cfg.Language.Missing(t.Err)
	if by, bad := w.pos.keys[depgraph.Var(name)].poisoned(); bad && name != "" {
		return by
	}
	return ""
}

func (w *walk) outcome() *Outcome {
	o := &Outcome{Restored: w.restored, Values: map[string]state.Digest{}, Files: map[string]state.Digest{}, Tainted: map[string][]string{}}
	for k, e := range w.pos.keys {
		if _, bad := e.poisoned(); bad || e.digest == state.Absent && k.Space() == "var" {
			continue
		}
		switch k.Space() {
		case "var":
			o.Values[k.Name()] = e.digest
			o.Tainted["value "+k.Name()] = e.marks
		case "file":
			o.Files[k.Name()] = e.digest
			o.Tainted["file "+k.Name()] = e.marks
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
	b := BlockOutcome{Block: u.Block, Status: state.StatusReused, Reason: state.Reason{Code: ReasonReused}, Err: u.err}
	if u.err != nil {
		b.Status, b.Reason = state.StatusFailed, state.Reason{Code: ReasonSyntax}
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
		if out.Reason.Code != ReasonReused && !explained {
			b.Reason, explained = out.Reason, true
		}
		if out.t == nil {
			continue
		}
		if outputs, ok, err := Outputs(w.e.cfg.Store, out.t); err == nil && ok {
			b.Outputs = append(b.Outputs, outputs...)
		}
		if out.t.Err != nil {
			b.Err = out.t.Err
		}
		for _, m := range out.t.Marks {
			b.Marks = appendNew(b.Marks, m)
		}
		for _, m := range out.Taint {
			b.Taint = appendNew(b.Taint, m)
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
