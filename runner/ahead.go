package runner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/state"
)

// ahead executes nodes before their turn, in interpreters of their own: see the package's documentation.
type ahead struct {
	w      *walk
	blocks []Block
	jobs   map[int]*job // by node: each is tried once
	stop   context.CancelFunc
	ctx    context.Context
	under  sync.WaitGroup

	mu   sync.Mutex
	idle []*Engine
}

// job is one node executed ahead.
type job struct {
	done chan struct{}
	t    *state.StoredTrace // nil: it came to nothing that can be used
	used bool
}

// errAhead says that a node cannot be executed before its turn, or that what it did cannot be taken over.
var errAhead = errors.New("not ahead of its turn")

// newAhead returns nil when nothing is to be executed ahead.
func (w *walk) newAhead(ctx context.Context, blocks []Block) *ahead {
	e, o := w.e, w.o
	if o.Jobs < 2 || o.Fresh || o.Discard || o.Force != nil || o.Serve != nil || e.cfg.Guard != nil {
		return nil
	}
	for len(e.others) < o.Jobs-1 {
		cfg := e.cfg
		cfg.Session += " ahead" // what a killed run leaves of its own files, the run's own engine takes over
		cfg.Files, cfg.OnFiles, cfg.Relatives, cfg.Guard = nil, nil, nil, &Guard{Allow: []string{}, Deny: []string{}}
		other, err := New(cfg)
		if err != nil {
			return nil // the workspace is gone: the run itself will say so
		}
		other.ledger.all = true
		e.others = append(e.others, other)
	}
	a := &ahead{w: w, blocks: blocks, jobs: map[int]*job{}, idle: slices.Clone(e.others[:o.Jobs-1])}
	a.ctx, a.stop = context.WithCancel(ctx)
	for _, other := range a.idle {
		other.cfg.Volatile, other.stale = e.cfg.Volatile, true
	}
	return a
}

// finish ends what is under way.
func (a *ahead) finish() {
	if a != nil {
		a.stop()
		a.under.Wait()
	}
}

// look gives idle interpreters the next nodes after i that must execute and that no node before them, which is not done, will
// give another state, as far as can be foreseen.
func (a *ahead) look(i int) {
	if a == nil || a.w.writesFiles() || !a.free() {
		return
	}
	w, p := a.w, a.w.pos.clone()
	stopped := map[*unit]bool{}
	w.foresee(p, i, stopped)
	for k := i + 1; k < len(w.nodes) && a.free(); k++ {
		if a.jobs[k] == nil && a.worth(p, k, stopped) {
			a.jobs[k] = &job{done: make(chan struct{})}
			a.start(a.jobs[k], k)
		}
		w.foresee(p, k, stopped)
	}
}

func (a *ahead) free() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.idle) > 0
}

// worth reports whether node k must execute at p, can, and leaves nothing but what can be taken over, as far as can be foreseen.
func (a *ahead) worth(p *position, k int, stopped map[*unit]bool) bool {
	w, n := a.w, a.w.nodes[k]
	if n.facts.Kind != depgraph.KindStatement || w.ran[k] != nil || w.dynamic(p, n) || w.pin(n.unit) != "" || slices.ContainsFunc(n.facts.Effects, inTurn) {
		return false
	}
	if _, blocked := blockedBy(p, n, stopped[n.unit]); blocked {
		return false
	}
	c, err := w.e.choose(here{p, w.units, w.nodes}, n)
	if err != nil || c.trace != nil || c.last != nil && !repeatable(c.last) {
		return false
	}
	pending := func(name string) bool { _, bad := p.keys[depgraph.Var(name)].poisoned(); return bad }
	wanted := w.wanted(p, n)
	if slices.ContainsFunc(wanted, pending) {
		return false
	}
	for _, name := range w.closure(p, wanted) {
		e := p.keys[depgraph.Var(name)]
		if e.info == nil || e.info.Opaque != "" || slices.ContainsFunc(e.info.Deps, pending) {
			return false
		}
		if e.writer >= 0 && slices.ContainsFunc(w.nodes[e.writer].facts.Effects, func(f depgraph.Effect) bool { return f.Later && inTurn(f) }) {
			return false
		}
	}
	return true
}

// inTurn reports whether an effect that the text shows has to wait for its turn: what reads files may not.
func inTurn(f depgraph.Effect) bool {
	what := f.What[strings.LastIndex(f.What, ".")+1:]
	return f.Kind != depgraph.EffectFile || !strings.HasPrefix(what, "read") && !strings.HasPrefix(what, "load")
}

func (a *ahead) start(j *job, k int) {
	a.mu.Lock()
	other := a.idle[len(a.idle)-1]
	a.idle = a.idle[:len(a.idle)-1]
	a.mu.Unlock()
	a.under.Add(1)
	o := RunOptions{Timeout: a.w.o.Timeout, Memory: a.w.o.Memory}
	go func() {
		defer a.under.Done()
		t, err := other.early(a.ctx, a.blocks, k, o)
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

// take returns what node i came to ahead of its turn, if that holds here; nil when it has to be executed.
func (a *ahead) take(ctx context.Context, i int) (*state.StoredTrace, error) {
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
	if _, _, ok := w.pos.mismatch(&t.Trace); !ok || t.CitedSource != layoutOf(w.units, w.nodes[i], t.CitedBlocks) {
		return nil, nil
	}
	outputs, ok, err := Outputs(w.e.cfg.Store, &t.Trace)
	if err != nil || !ok {
		return nil, err
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

// writesFiles reports whether the program wrote files, now or before: what they hold while a node runs is that of its own place.
func (w *walk) writesFiles() bool {
	if len(w.e.cfg.Files) > 0 {
		return true
	}
	for k := range w.pos.keys {
		switch k.Space() {
		case "file", "link", "mode":
			return true
		}
	}
	return false
}

// repeatable reports whether all that an execution left can be stored.
func repeatable(t *state.Trace) bool {
	if t.Err != nil {
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

// foresee moves p past node i: a result that holds for it is returned and taken as done, otherwise it is pending.
func (w *walk) foresee(p *position, i int, stopped map[*unit]bool) *state.Trace {
	n, t := w.nodes[i], w.ran[i]
	if by, blocked := blockedBy(p, n, stopped[n.unit]); blocked {
		p.fail(i, state.BlockID(by), n.facts.Defines)
		return nil
	}
	if t == nil {
		c, err := w.e.choose(here{p, w.units, w.nodes}, n)
		if err != nil || c.trace == nil {
			w.pend(p, i, c.last)
			return nil
		}
		t = c.trace
	}
	if t.Err != nil {
		stopped[n.unit] = true
		p.fail(i, n.unit.ID, n.facts.Defines)
		return nil
	}
	p.apply(i, &t.Trace)
	return &t.Trace
}

// pend makes p the position after node i, which is not done: who reads what it may write waits for it.
func (w *walk) pend(p *position, i int, last *state.Trace) {
	n := w.nodes[i]
	names := slices.Concat(n.facts.Defines, n.facts.Deletes)
	if last != nil {
		for _, a := range last.Writes {
			if a.Key.Space() == "var" {
				names = append(names, a.Key.Name())
			}
		}
	} else {
		for _, name := range n.facts.Mutates {
			if info := p.keys[depgraph.Var(name)].info; info != nil && info.Type != "module" {
				names = append(names, name)
			}
		}
	}
	p.fail(i, n.unit.ID, names)
}

// early executes node at before its turn, from the state that the results of the nodes before it make, as far as they have some.
// Nothing is recorded but what it printed and the values that it leaves.
func (e *Engine) early(ctx context.Context, blocks []Block, at int, o RunOptions) (*state.StoredTrace, error) {
	if e.stale {
		e.stale = false
		if err := e.refresh(ctx); err != nil {
			return nil, err
		}
	}
	w := &walk{e: e, o: o, early: true, looks: true, ran: map[int]*state.StoredTrace{}}
	e.world.begin()
	w.start(blocks)
	stopped := map[*unit]bool{}
	for i := range w.nodes[:at] {
		w.contexts[i] = w.pos.context
		w.outcomes[i].t = w.foresee(w.pos, i, stopped)
	}
	w.contexts[at] = w.pos.context
	t, err := w.executeAt(ctx, at, w.pos, false)
	if err != nil {
		return nil, err
	}
	if !repeatable(&t.Trace) || slices.Contains(t.Marks, "refused") {
		return nil, errAhead
	}
	w.pos.apply(at, &t.Trace)
	for _, a := range t.Writes {
		d := a.Digest
		switch {
		case d == state.Absent || d == w.pos.pristine(a.Key) || a.Key.Space() == "env":
			continue
		case a.Key.Space() == "var":
			j, _ := w.pos.joint(a.Key.Name())
			d = state.Digest(j)
			if err := e.backlog.wait(); err != nil {
				return nil, err
			}
		}
		if v, ok, err := e.cfg.Store.Value(d); err != nil || !ok || v.Blob == "" {
			return nil, errors.Join(errAhead, err)
		}
	}
	return t, nil
}
