package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/state"
)

// A speculator executes nodes before the walk reaches them, in separate interpreters (RunOptions.Jobs of two or more)
// or on other machines (RunOptions.RemoteJobs, see remote_jobs.go). It picks nodes that must execute, by what it
// predicts, and that read nothing that an earlier unfinished node may write. It makes their state from what the
// finished nodes before them left in the store. When the walk reaches such a node, it takes the trace if the trace is
// valid there. Any other trace has to pass the same test, so a wrong prediction costs time and no more.
//
// Inputs that a trace does not show must be equal by other means:
//
//   - Files. A speculative node may not write any (it is guarded). One that was executed here is executed again where
//     the program has written a file, for it may have read that while it was written. A worker has copies.
//   - Effects that cannot be undone fail before they happen, and the node is executed in its turn.
//   - Values. All that the node left must have been stored, or it is executed again.
//   - Output is kept, and reported in the node's turn.
type speculator struct {
	w      *walk
	blocks []state.ProgramBlock
	freed  chan struct{} // receives when something has become free
	jobs   map[int]*job  // by node: each is tried once
	stop   context.CancelFunc
	ctx    context.Context
	under  sync.WaitGroup

	mu      sync.Mutex
	idle    []*Engine
	workers int   // how many are free
	remote  bool  // there are workers
	all     bool  // what the ledger of the walk's engine had before
	failure error // why one did not do its work, the last time
	idling  error // set by the walk when no worker begins: no more are used
	vain    int   // how many jobs of workers in a row did not pay; only the walk uses it
}

// job is one speculative execution.
type job struct {
	done chan struct{}
	t    *state.StoredTrace // nil: it left nothing that can be used
	used bool

	// A worker executes it. Then t is nil, and the result is in the cache, unless the worker failed.
	remote bool
	began  <-chan struct{} // closed when a worker has begun
	cancel context.CancelFunc
	failed bool
}

// errNotSpeculative reports that a node cannot be executed before its turn, or that its results cannot be taken over.
var errNotSpeculative = errors.New("not before its turn")

// newSpeculator returns nil where a run does not speculate.
func (w *walk) newSpeculator(ctx context.Context, blocks []state.ProgramBlock) *speculator {
	e, o := w.e, w.o
	elsewhere := o.RemoteJobs > 0
	if elsewhere {
		w.noWorkers = e.canExecuteElsewhere()
		elsewhere = w.noWorkers == nil
	}
	if o.Jobs < 2 && !elsewhere || o.chosen() || e.cfg.Guard != nil {
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
	a := &speculator{w: w, blocks: blocks, jobs: map[int]*job{}, freed: make(chan struct{}, 1)}
	a.idle = slices.Clone(e.others[:max(o.Jobs, 1)-1])
	if elsewhere {
		a.workers, a.remote = o.RemoteJobs, true
		a.all, e.ledger.all = e.ledger.all, true // workers need the values
	}
	a.ctx, a.stop = context.WithCancel(ctx)
	for _, other := range a.idle {
		other.cfg.Volatile, other.stale = e.cfg.Volatile, true
	}
	return a
}

// lastFailure is that of a worker; nil if there was none.
func (w *walk) lastFailure() error {
	a := w.speculator
	if a == nil || w.noWorkers != nil {
		if len(w.sent) > 0 && w.elsewhere == 0 && w.noWorkers == nil {
			w.e.cfg.Cache.LookForSigners(context.Background())
			return errNothingValid
		}
		return w.noWorkers
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return cmp.Or(a.idling, a.failure)
}

// finish stops the executions under way, and waits for them.
func (a *speculator) finish() {
	if a != nil {
		a.stop()
		a.under.Wait()
		if a.remote {
			a.w.e.ledger.all = a.all
		}
	}
}

// dispatch gives idle interpreters the next nodes after i that can be speculated on. d is the decision about node i,
// which is about to execute. dispatch leaves out nodes whose state an unfinished earlier node is predicted to change.
func (a *speculator) dispatch(i int, d *decision) {
	if a == nil || !a.isFree() || !a.remote && a.w.writesFiles() {
		return
	}
	w, p := a.w, a.w.pos.clone()
	stopped := maps.Clone(w.stopped)
	before := a.results(i)
	w.markPending(p, i, d.Last)
	if p.end.by != "" {
		return // the node may end the program
	}
	writes := writesFile(w.nodes[i], d.Last)
	for k := i + 1; k < len(w.nodes) && a.isFree(); k++ {
		d, err := w.decide(p, k, stopped)
		if err != nil {
			return // the walk meets the same error
		}
		may := a.jobs[k] == nil && w.ran[k] == nil && a.canSpeculate(p, k, &d)
		if may && !(writes && usesFile(w.nodes[k], d.Last)) {
			a.start(p, k, &d, before)
		}
		writes = writes || d.trace == nil && writesFile(w.nodes[k], d.Last)
		if before != nil && d.trace != nil && d.failed == "" {
			before[k] = &d.trace.Trace
		}
		w.predict(p, k, &d, stopped)
		if p.end.by != "" {
			return
		}
	}
}

// noteFree says that something has become free.
func (a *speculator) noteFree() {
	select {
	case a.freed <- struct{}{}:
	default:
	}
}

func (a *speculator) isFree() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.idle) > 0 || a.workers > 0 && a.idling == nil
}

// results are the traces of the nodes before node i, by index; nil without workers.
func (a *speculator) results(i int) map[int]*state.Trace {
	if !a.remote {
		return nil
	}
	results := map[int]*state.Trace{}
	for k := range i {
		if t := a.w.outcomes[k].t; t != nil && t.Failure() == nil {
			results[k] = t
		}
	}
	return results
}

// canSpeculate reports whether node k, of which d is decided, must execute at p, can do so now, and will leave only
// what can be taken over, by prediction.
func (a *speculator) canSpeculate(p *programState, k int, d *decision) bool {
	w, n := a.w, a.w.nodes[k]
	if n.facts.Kind != depgraph.KindStatement || d.Action == ActBlock || d.trace != nil || w.pin(n) != "" {
		return false
	}
	if !isGuarded(n) || w.dynamic(p, n) || inTurn(n, false) || d.Last != nil && !repeatable(d.Last) {
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
		if e.writer >= 0 && inTurn(w.nodes[e.writer], true) {
			return false
		}
	}
	return true
}

// inTurn reports whether a node has to wait for its turn, for an effect that its text shows: now, or, with later, when
// its functions are called. Reads of files need not.
func inTurn(n *node, later bool) bool {
	return slices.ContainsFunc(n.facts.Effects, func(f depgraph.Effect) bool {
		switch {
		case later && !f.Later:
			return false
		case f.Kind != depgraph.EffectFile:
			return true
		case f.What == "open":
			return opensToWrite.Match(n.source()) // one that the text does not show is refused when it happens
		}
		return f.Mode != depgraph.Reads
	})
}

// usesFile reports whether a node uses files, by its text or its last execution.
func usesFile(n *node, last *state.Trace) bool {
	isFile := func(f depgraph.Effect) bool { return f.Kind == depgraph.EffectFile }
	return slices.ContainsFunc(n.facts.Effects, isFile) || last != nil && slices.ContainsFunc(last.Reads, ofFile)
}

// writesFile reports whether a node writes files, by its text or its last execution.
func writesFile(n *node, last *state.Trace) bool {
	return slices.ContainsFunc(n.facts.Effects, func(f depgraph.Effect) bool {
		return f.Kind == depgraph.EffectFile && f.Mode != depgraph.Reads &&
			(f.What != "open" || opensToWrite.Match(n.source()))
	}) || last != nil && slices.ContainsFunc(last.Writes, ofFile)
}

func ofFile(a state.Access) bool { return a.Key.Space() == "file" }

// opensToWrite finds a call of open with a mode by which files can be written.
var opensToWrite = regexp.MustCompile(`open\([^()]*,[^()]*["'][^"']*[wax+]`)

// start executes node k, of which d is decided, ahead of its turn, if something is free that can.
func (a *speculator) start(p *programState, k int, d *decision, before map[int]*state.Trace) {
	a.mu.Lock()
	local, workers := len(a.idle) > 0, a.workers > 0 && a.idling == nil
	a.mu.Unlock()
	if workers && a.pays(a.w.nodes[k], d.Last) {
		if x, ok := a.w.actionOf(a.blocks, p, k, d, before); ok {
			a.startRemote(x, k)
			return
		}
	}
	if local && !a.w.writesFiles() {
		a.startHere(k)
	}
}

func (a *speculator) startHere(k int) {
	j := &job{done: make(chan struct{})}
	a.jobs[k] = j
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
		a.noteFree()
	}()
}

// startRemote has a worker execute node k.
func (a *speculator) startRemote(action *remote.Action, k int) {
	began := make(chan struct{})
	j := &job{done: make(chan struct{}), remote: true, began: began}
	a.jobs[k] = j
	if err := a.w.e.backlog.wait(); err != nil {
		debugf("kernel", "values for workers: %v", err) // the worker finds out what is missing
	}
	a.w.share()
	a.mu.Lock()
	a.workers--
	a.mu.Unlock()
	var ctx context.Context
	ctx, j.cancel = context.WithCancel(a.ctx)
	a.under.Go(func() {
		defer a.noteFree()
		defer close(j.done)
		defer j.cancel()
		err := a.w.e.executeElsewhere(ctx, action, sync.OnceFunc(func() { close(began) }))
		a.mu.Lock()
		defer a.mu.Unlock()
		a.workers++
		if j.failed = err != nil; err != nil {
			debugf("kernel", "worker: node %d: %v", k, err)
			a.failure = err
		}
	})
}

// take returns the trace of a speculative execution of node i, if it is valid here, and nil otherwise.
func (a *speculator) take(ctx context.Context, i int, d *decision) (*state.StoredTrace, error) {
	if a == nil || a.jobs[i] == nil || a.jobs[i].used {
		return nil, nil
	}
	j, w := a.jobs[i], a.w
	j.used = true
	if err := a.await(ctx, j, i, d); err != nil {
		return nil, err
	}
	if j.remote {
		return a.takeRemote(j, i)
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
	w.report(i, outputs)
	w.e.ledger.executed += t.Seconds
	return t, nil
}

// await waits until a job is done. It gives what becomes free meanwhile the next nodes. Where no worker begins, it
// gives up all that have not begun.
func (a *speculator) await(ctx context.Context, j *job, i int, d *decision) error {
	wait := beginWait
	if a.idling != nil {
		wait = 0
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	for {
		select {
		case <-j.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-a.freed:
			a.dispatch(i, d)
		case <-j.began:
			late.Stop()
			j.began = nil
		case <-late.C:
			if j.remote {
				a.mu.Lock()
				a.idling = cmp.Or(a.idling, fmt.Errorf("none has begun with block %s", a.w.nodes[i].unit.ID))
				a.mu.Unlock()
				j.cancel()
			}
		}
	}
}

// takeRemote is take for a node that a worker was to execute.
func (a *speculator) takeRemote(j *job, i int) (*state.StoredTrace, error) {
	a.vain++
	if j.failed {
		return nil, nil
	}
	w := a.w
	t, err := w.adoptRemote(i)
	if err == nil && t == nil {
		a.mu.Lock()
		a.failure = fmt.Errorf("its result for block %s is not valid here, or signed by a key that is not trusted",
			w.nodes[i].unit.ID)
		a.mu.Unlock()
		w.e.cfg.Cache.LookForSigners(a.ctx)
	}
	if err != nil || t == nil {
		return nil, err
	}
	outputs, ok, err := w.e.cfg.Store.Outputs(&t.Trace)
	if err != nil || !ok {
		return nil, err
	}
	w.report(i, outputs)
	w.elsewhere++
	return t, nil
}

// learn notes how long a node took, here or elsewhere. Nodes of which nothing is known are sent until as many as there
// are workers did not pay, and again when one has taken long. If four times as many did not, nothing is sent.
func (a *speculator) learn(seconds float64) {
	if a != nil && seconds >= worthRemote {
		a.vain = 0
	}
}

// pays reports whether a node may pay that is executed elsewhere.
func (a *speculator) pays(n *node, last *state.Trace) bool {
	if last != nil && last.Code == n.code {
		return last.Seconds >= worthRemote && a.vain < 4*a.w.o.RemoteJobs
	}
	return bytes.Contains(n.source(), []byte("(")) && a.vain < a.w.o.RemoteJobs // else it calls nothing
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
	_, t, err := e.executeAhead(ctx, blocks, at, o, nil)
	return t, err
}

// executeAhead is speculate after the kernel was refreshed. given, if it is not nil, has results of nodes before.
func (e *Engine) executeAhead(
	ctx context.Context, blocks []state.ProgramBlock, at int, o RunOptions, given resultsBefore,
) (*walk, *state.StoredTrace, error) {
	w := &walk{e: e, o: o, speculative: true, readOnly: true, ran: map[int]*state.StoredTrace{}}
	e.baseState.Begin()
	w.start(blocks)
	if given != nil {
		if err := given.begin(ctx, w); err != nil {
			return nil, nil, err
		}
	}
	for i := range w.nodes[:at] {
		w.contexts[i] = w.pos.context
		if given != nil {
			if err := given.next(ctx, w, i); err != nil {
				return nil, nil, err
			}
		}
		d, err := w.decide(w.pos, i, w.stopped)
		if err != nil {
			return nil, nil, err
		}
		if d.trace != nil && d.failed == "" {
			w.outcomes[i].t, w.outcomes[i].Trace = &d.trace.Trace, d.trace.Digest
		}
		w.predict(w.pos, i, &d, w.stopped)
	}
	w.contexts[at] = w.pos.context
	t, err := w.executeAt(ctx, at, w.pos, false)
	if err != nil {
		return nil, nil, err
	}
	if !repeatable(&t.Trace) || slices.Contains(t.Marks, "refused") {
		return nil, nil, errNotSpeculative
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
				return nil, nil, err
			}
		}
		if v, ok, err := e.cfg.Store.Value(d); err != nil || !ok || v.Blob == "" {
			return nil, nil, errors.Join(errNotSpeculative, err)
		}
	}
	return w, t, nil
}
