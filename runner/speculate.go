package runner

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// A speculator executes nodes before the walk reaches them, in separate interpreters (RunOptions.Jobs of two or more).
// It picks nodes that must execute, by what it predicts, and that read nothing that an earlier unfinished node may
// write. It makes their state from what the finished nodes before them left in the store. When the walk reaches such a
// node, it takes the trace if the trace is valid there. Any other trace has to pass the same test, so a wrong
// prediction costs time and no more.
//
// Inputs that a trace does not show must be equal by other means:
//
//   - Files. A speculative node may not write any (it is guarded). It is executed again where the program has written
//     one, for it may have read that file while it was written.
//   - Effects that cannot be undone fail before they happen, and the node is executed in its turn.
//   - Values. All that the node left must have been stored, or it is executed again.
//   - Output is kept, and reported in the node's turn.
type speculator struct {
	w      *walk
	blocks []state.ProgramBlock
	jobs   map[int]*job // by node: each is tried once
	stop   context.CancelFunc
	ctx    context.Context
	under  sync.WaitGroup

	mu   sync.Mutex
	idle []*Engine
}

// job is one speculative execution.
type job struct {
	done chan struct{}
	t    *state.StoredTrace // nil: it left nothing that can be used
	used bool
}

// errNotSpeculative reports that a node cannot be executed before its turn, or that its results cannot be taken over.
var errNotSpeculative = errors.New("not before its turn")

// newSpeculator returns nil where a run does not speculate.
func (w *walk) newSpeculator(ctx context.Context, blocks []state.ProgramBlock) *speculator {
	e, o := w.e, w.o
	chosen := o.Fresh || o.Discard || o.Force != nil || o.Submitted != nil || o.Retry != nil || o.Serve != nil
	if o.Jobs < 2 || chosen || e.cfg.Guard != nil {
		return nil
	}
	for len(e.others) < o.Jobs-1 {
		cfg := e.cfg
		cfg.Session += " ahead" // so that the run's own engine takes over what a killed run leaves of its files
		cfg.Files, cfg.OnFiles, cfg.Relatives, cfg.Guard = nil, nil, nil, &Guard{Allow: []string{}, Deny: []string{}}
		other, err := New(cfg)
		if err != nil {
			return nil // the workspace is gone: the run itself reports that
		}
		other.ledger.all = true
		e.others = append(e.others, other)
	}
	a := &speculator{w: w, blocks: blocks, jobs: map[int]*job{}, idle: slices.Clone(e.others[:o.Jobs-1])}
	a.ctx, a.stop = context.WithCancel(ctx)
	for _, other := range a.idle {
		other.cfg.Volatile, other.stale = e.cfg.Volatile, true
	}
	return a
}

// finish stops the executions under way, and waits for them.
func (a *speculator) finish() {
	if a != nil {
		a.stop()
		a.under.Wait()
	}
}

// dispatch gives idle interpreters the next nodes after i that can be speculated on. d is the decision about node i,
// which is about to execute. dispatch leaves out nodes whose state an unfinished earlier node is predicted to change.
func (a *speculator) dispatch(i int, d *decision) {
	if a == nil || a.w.writesFiles() || !a.free() {
		return
	}
	w, p := a.w, a.w.pos.clone()
	stopped := maps.Clone(w.stopped)
	w.markPending(p, i, d.Last)
	if p.end.by != "" {
		return // the node may end the program
	}
	for k := i + 1; k < len(w.nodes) && a.free(); k++ {
		d, err := w.decide(p, k, stopped)
		if err != nil {
			return // the walk meets the same error
		}
		if a.jobs[k] == nil && w.ran[k] == nil && a.canSpeculate(p, k, &d) {
			a.jobs[k] = &job{done: make(chan struct{})}
			a.start(a.jobs[k], k)
		}
		w.predict(p, k, &d, stopped)
		if p.end.by != "" {
			return
		}
	}
}

func (a *speculator) free() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.idle) > 0
}

// canSpeculate reports whether node k, of which d is decided, must execute at p, can do so now, and will leave only
// what can be taken over, by prediction.
func (a *speculator) canSpeculate(p *programState, k int, d *decision) bool {
	w, n := a.w, a.w.nodes[k]
	if n.facts.Kind != depgraph.KindStatement || d.Action == ActBlock || d.trace != nil || w.pin(n) != "" {
		return false
	}
	if w.dynamic(p, n) || slices.ContainsFunc(n.facts.Effects, inTurn) || d.Last != nil && !repeatable(d.Last) {
		return false
	}
	pending := func(name string) bool { _, bad := p.keys.of(depgraph.Var(name)).poisoned(); return bad }
	namesToBind := w.namesToBind(p, n)
	if slices.ContainsFunc(namesToBind, pending) {
		return false
	}
	for _, name := range w.closure(p, namesToBind) {
		e := p.keys.of(depgraph.Var(name))
		if e.info == nil || e.info.Opaque != "" || slices.ContainsFunc(e.info.Deps, pending) {
			return false
		}
		later := func(f depgraph.Effect) bool { return f.Later && inTurn(f) }
		if e.writer >= 0 && slices.ContainsFunc(w.nodes[e.writer].facts.Effects, later) {
			return false
		}
	}
	return true
}

// inTurn reports whether an effect that the text shows has to wait for its turn. Reads of files need not.
func inTurn(f depgraph.Effect) bool {
	what := f.What[strings.LastIndex(f.What, ".")+1:]
	return f.Kind != depgraph.EffectFile || !strings.HasPrefix(what, "read") && !strings.HasPrefix(what, "load")
}

func (a *speculator) start(j *job, k int) {
	a.mu.Lock()
	other := a.idle[len(a.idle)-1]
	a.idle = a.idle[:len(a.idle)-1]
	a.mu.Unlock()
	a.under.Add(1)
	o := RunOptions{Timeout: a.w.o.Timeout, Memory: a.w.o.Memory, Pins: a.w.o.Pins}
	go func() {
		defer a.under.Done()
		t, err := other.speculate(a.ctx, a.blocks, k, o)
		if err != nil {
			debugf("kernel", "ahead: node %d: %v", k, err)
			t = nil
		}
		j.t = t
		a.mu.Lock()
		a.idle = append(a.idle, other)
		a.mu.Unlock()
		close(j.done)
	}()
}

// take returns the trace of a speculative execution of node i, if it is valid here, and nil otherwise.
func (a *speculator) take(ctx context.Context, i int) (*state.StoredTrace, error) {
	if a == nil || a.jobs[i] == nil || a.jobs[i].used {
		return nil, nil
	}
	j, w := a.jobs[i], a.w
	j.used = true
	select {
	case <-j.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if j.t == nil || j.t.Code != w.nodes[i].code || w.writesFiles() {
		return nil, nil
	}
	t := j.t
	_, _, ok := w.pos.firstChangedRead(&t.Trace)
	if !ok || t.CitedSource != layoutOf(w.units, w.nodes[i], t.CitedBlocks) {
		return nil, nil
	}
	outputs, ok, err := w.e.cfg.Store.Outputs(&t.Trace)
	if err != nil || !ok {
		return nil, err
	}
	if !w.e.scrubTrace(&t.Trace) {
		return nil, nil // it is executed, and not recorded
	}
	if t.Digest, err = w.e.cfg.Store.PutTrace(t.Trace); err != nil {
		return nil, err
	}
	for _, o := range outputs {
		w.event(Event{Block: w.nodes[i].unit.ID, Node: w.nodes[i].at, Kind: "output", Output: o})
	}
	w.e.ledger.executed += t.Seconds
	return t, nil
}

// writesFiles reports whether the program wrote files, in this run or before. While a node runs, they hold what they
// have at that node's place, so no other node may run meanwhile.
func (w *walk) writesFiles() bool {
	if len(w.e.cfg.Files) > 0 {
		return true
	}
	for _, space := range []string{"file", "link", "mode"} {
		for range w.pos.keys.in(space) {
			return true
		}
	}
	return false
}

// repeatable reports whether everything that an execution left can be stored.
func repeatable(t *state.Trace) bool {
	if t.Err != nil || t.Ending != nil {
		return false
	}
	for _, a := range t.Writes {
		switch a.Key.Space() {
		case "var":
			if info := t.Info[a.Key]; a.Digest != state.Absent && info.Opaque != "" {
				return false
			}
		case "rng", "conf", "cwd", "env":
			if a.Key == modulesKey {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// predict moves p past node i, of which d is decided. A node that has to run first is pending.
func (w *walk) predict(p *programState, i int, d *decision, stopped map[*unit]bool) {
	if !p.advance(i, w.nodes[i], d, stopped) {
		w.markPending(p, i, d.Last)
	}
}

// markPending makes p the state after node i, which has not run. Like a failed node, it poisons what it may write, so
// that no speculative node reads it.
func (w *walk) markPending(p *programState, i int, last *state.Trace) {
	n := w.nodes[i]
	if last != nil && last.Ending != nil {
		p.end.by = n.unit.ID
	}
	names := slices.Concat(n.facts.Defines, n.facts.Deletes)
	if last != nil {
		for _, a := range last.Writes {
			if a.Key.Space() == "var" {
				names = append(names, a.Key.Name())
			}
		}
	} else {
		for _, name := range n.facts.Mutates {
			if info := p.keys.of(depgraph.Var(name)).info; info != nil && info.Type != "module" {
				names = append(names, name)
			}
		}
	}
	p.fail(i, n.unit.ID, names)
}

// speculate executes node at before its turn. Its state is made of the results of the nodes before it, as far as they
// have some. Only its output and the values that it leaves are recorded.
func (e *Engine) speculate(
	ctx context.Context,
	blocks []state.ProgramBlock,
	at int,
	o RunOptions,
) (*state.StoredTrace, error) {
	if e.stale {
		e.stale = false
		if err := e.refresh(ctx); err != nil {
			return nil, err
		}
	}
	w := &walk{e: e, o: o, speculative: true, readOnly: true, ran: map[int]*state.StoredTrace{}}
	e.baseState.Begin()
	w.start(blocks)
	for i := range w.nodes[:at] {
		w.contexts[i] = w.pos.context
		d, err := w.decide(w.pos, i, w.stopped)
		if err != nil {
			return nil, err
		}
		if d.trace != nil && d.failed == "" {
			w.outcomes[i].t = &d.trace.Trace
		}
		w.predict(w.pos, i, &d, w.stopped)
	}
	w.contexts[at] = w.pos.context
	t, err := w.executeAt(ctx, at, w.pos, false)
	if err != nil {
		return nil, err
	}
	if !repeatable(&t.Trace) || slices.Contains(t.Marks, "refused") {
		return nil, errNotSpeculative
	}
	w.pos.apply(at, &t.Trace)
	for _, a := range t.Writes {
		d := a.Digest
		switch {
		case d == state.Absent || d == w.pos.pristine(a.Key) || a.Key.Space() == "env":
			continue
		case a.Key.Space() == "var":
			j, _ := w.pos.groupDigest(a.Key.Name())
			d = state.Digest(j)
			if err := e.backlog.wait(); err != nil {
				return nil, err
			}
		}
		if v, ok, err := e.cfg.Store.Value(d); err != nil || !ok || v.Blob == "" {
			return nil, errors.Join(errNotSpeculative, err)
		}
	}
	return t, nil
}
