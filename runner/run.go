package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

// maxRestarts bounds the restarts of a walk. Each follows a node whose result was replaced, or a block that was
// refused.
const maxRestarts = 200

// maxDiffering bounds how often a node is executed again for the values that it leaves, and differs each time, as one
// does that shows the number of a process. More often leads nowhere: each new interpreter needs it anew. Then the walk
// executes every node, in order, in one interpreter, which needs none of them twice.
const maxDiffering = 2

// maxDeaths bounds how often an interpreter may die while no node runs, of a signal or for want of memory.
const maxDeaths = 3

// Run makes the outcome of every block what a fresh run of the whole program would give. It executes only what must be.
// An interrupted run returns an Outcome with Stopped set, and keeps what was finished.
func (e *Engine) Run(ctx context.Context, blocks []state.ProgramBlock, o RunOptions) (*Outcome, error) {
	return e.run(ctx, blocks, o, nil)
}

// run is Run with results that another machine has given, which may be nil.
func (e *Engine) run(
	ctx context.Context, blocks []state.ProgramBlock, o RunOptions, given resultsBefore,
) (out *Outcome, err error) {
	began := time.Now()
	w := &walk{e: e, o: o, given: given, meter: newMeter(began, e.ownGroups()), ran: map[int]*state.StoredTrace{},
		reasons: map[int]state.Reason{},
		spent:   map[int]float64{}, rebuilt: map[int]float64{}, differs: map[int]int{}}
	defer func() {
		if failed := e.backlog.wait(); failed != nil && err == nil {
			out, err = nil, failed
		}
		if err == nil {
			w.share()
		}
	}()
	if (o.RemoteJobs > 0 || o.Elsewhere) && e.cfg.Executor == nil {
		return nil, errNoExecutor
	}
	e.baseState.Begin()
	e.end = nil
	if e.shared.modules = nil; e.cfg.Cache != nil {
		e.cfg.Cache.Renew()
	}
	if err := e.recoverFiles(); err != nil {
		return nil, err
	}
	if err := e.adoptRelatives(); err != nil {
		return nil, err
	}
	if err := e.protectEdited(ctx, blocks, o.RestoreFiles || e.isolated); err != nil {
		return nil, err
	}
	edited := e.editedFiles()
	if err := cmp.Or(e.adoptEdits(), e.baseState.Failure()); err != nil {
		return nil, e.abort(err)
	}
	e.dropUpgraded()
	if err := e.refresh(ctx); err != nil {
		return nil, err
	}
	refreshed, err := e.refreshCalls(ctx, blocks, o.Caller, o.Refresh)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	if o.Elsewhere && !o.chosen() {
		if err := w.sendRun(ctx, blocks); err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	w.speculator = w.newSpeculator(ctx, blocks)
	defer w.speculator.finish()
	var stop error
	deaths := 0
	for attempt := 0; ; attempt++ {
		if stop = w.pass(ctx, blocks); stop == nil {
			stop = w.finalizeFiles(w.settles()) // which may find that the store has lost what a file held
		}
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
		if !w.scratch && slices.Contains(slices.Collect(maps.Values(w.differs)), maxDiffering) {
			w.scratch = true
			clear(w.ran)
			e.dropKernel()
		}
		if attempt == maxRestarts {
			return nil, fmt.Errorf("the program has no stable outcome: its results differ each time it is run")
		}
	}
	var spent *spentError
	if stop != nil && ctx.Err() == nil && !errors.As(stop, &spent) {
		return nil, e.abort(stop)
	}
	if stop != nil {
		if err := w.finalizeFiles(false); err != nil {
			return nil, e.abort(err)
		}
	}
	e.noteVersions()
	out = w.outcome()
	out.Observed, out.Refreshed = w.observed, refreshed
	if out.Stopped, out.Overwritten = ctx.Err(), e.overwritten(edited); spent != nil {
		out.Stopped = spent.error
	}
	out.StartSeconds = w.startSeconds
	out.TotalSeconds = time.Since(began).Seconds()
	out.Spend(out.TotalSeconds - out.Seconds)
	if out.ResultSeconds = out.TotalSeconds; !w.resultAt.IsZero() {
		out.ResultSeconds = w.resultAt.Sub(began).Seconds()
	}
	return out, nil
}

// mayExecute fails if the run may not execute one more node.
func (w *walk) mayExecute() error {
	if w.o.BeforeNode == nil || w.speculative {
		return nil
	}
	if err := w.o.BeforeNode(time.Since(w.meter.began), w.meter.look(w.e.ownGroups())); err != nil {
		return &spentError{err}
	}
	return nil
}

// protectEdited refuses a run that would overwrite edited results. With restore, edits become part of the base. But a
// folder in the place of a file does not: the program could not write the file.
func (e *Engine) protectEdited(ctx context.Context, blocks []state.ProgramBlock, restore bool) error {
	if len(e.editedFiles()) == 0 {
		return nil
	}
	plan, err := e.Plan(ctx, blocks)
	if err == nil && len(plan.Edited) > 0 && !restore {
		err = editedError(plan.Edited)
	}
	if err != nil {
		return err
	}
	e.baseState.Begin()
	for _, f := range plan.Edited {
		if now := e.baseState.OnDisk(f.Name); !basestate.IsFile(now) {
			r := e.cfg.Files[f.Name]
			r.Left = now
			e.cfg.Files[f.Name] = r
		}
	}
	return nil
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

// dropUpgraded ends the interpreters if packages have other versions than at the end of the last run: they may have
// loaded any of these, and would load none anew.
func (e *Engine) dropUpgraded() {
	for k, had := range e.versions {
		if e.baseState.Get(k) == had {
			continue
		}
		for _, x := range append([]*Engine{e}, e.others...) {
			x.dropKernel()
		}
		return
	}
}

// noteVersions notes the versions of the packages that the interpreters may have loaded.
func (e *Engine) noteVersions() {
	e.versions = map[depgraph.Key]state.Digest{}
	for k := range e.baseState.VersionFiles() {
		e.versions[k] = e.baseState.Get(k)
	}
}

// pass walks all nodes once.
func (w *walk) pass(ctx context.Context, blocks []state.ProgramBlock) error {
	w.start(blocks)
	if err := w.worded(ctx); err != nil {
		return err
	}
	if w.given != nil {
		if err := w.given.begin(ctx, w); err != nil {
			return err
		}
	}
	for i := range w.wanted {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.given != nil {
			if err := w.given.next(ctx, w, i); err != nil {
				return err
			}
		}
		if err := w.node(ctx, i); err != nil {
			return err
		}
	}
	return w.reachEnd(ctx)
}

// settles reports whether files are left as at the end of a program: one that ends where the walk does. Where it
// continues, they stay as they are, unless some are open: their interpreter does not outlive the run.
func (w *walk) settles() bool { return w.wanted == len(w.nodes) || len(w.pos.openKeys()) > 0 }

// node brings the walk past node i.
func (w *walk) node(ctx context.Context, i int) error {
	n, out := w.nodes[i], &w.outcomes[i]
	out.Code, out.Line, out.Part = n.code, n.facts.Line, n.facts.Label()
	w.contexts[i] = w.pos.context
	d, err := w.decide(w.pos, i, w.stopped)
	if err != nil {
		return err
	}
	switch {
	case n.isEnd() && d.Action == ActNone:
		*out = NodeOutcome{}
	case d.Action == ActBlock:
		w.skip(i, &d, state.StatusBlocked)
	case d.Action == ActSkip:
		out.AllMarks = w.endMarks
		w.skip(i, &d, state.StatusNotReached)
	case d.trace == nil:
		return w.perform(ctx, i, &d)
	case d.trace == w.ran[i]:
		w.take(i, &d, state.StatusRan, w.reasons[i])
		out.Seconds = w.spent[i]
	case w.sent[i].Code != "" && w.e.shared.taken[d.trace.Digest]:
		return w.takeElsewhere(i, &d)
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
	if n.isEnd() && (w.o.Part || w.o.Submitted != nil) {
		return decision{}, nil // the interpreter lives on, for what is submitted next
	}
	forced := w.o.Fresh || w.scratch || w.o.Force != nil && w.o.Force(n.unit.ID, n.at)
	g := decideOptions{stopped: stopped[n.unit] && !n.isEnd(), pin: w.pin(n), forced: forced, served: w.served(i),
		ran: w.ran[i], timeout: w.o.Timeout, kept: !w.o.retries(n.unit.ID)}
	d, err := w.e.decide(walkPlace{p, w.units, w.nodes}, n, g)
	if w.scratch && d.Reason.Code == state.ReasonForced {
		d.Reason.Code = state.ReasonLost
	}
	if err == nil && d.trace != nil && d.trace != g.ran && len(d.trace.Marks) > 0 &&
		w.o.Submitted != nil && w.o.Submitted(n.unit.ID) {
		g.forced = true
		return w.e.decide(walkPlace{p, w.units, w.nodes}, n, g)
	}
	return d, err
}

// perform executes node i, which has no valid trace, or takes over a speculative execution.
func (w *walk) perform(ctx context.Context, i int, d *decision) error {
	n, out := w.nodes[i], &w.outcomes[i]
	if err := w.mayExecute(); err != nil {
		return err
	}
	w.reportBegin(Event{Block: n.unit.ID, Node: n.at, Kind: "begin", Expected: d.Seconds})
	w.speculator.dispatch(i, d)
	t, err := w.speculator.take(ctx, i, d)
	if t == nil && err == nil {
		t, err = w.execute(ctx, i)
	}
	if err != nil {
		return err
	}
	w.reportEnd(t.Seconds, t.Failure() != nil)
	w.speculator.learn(t.Seconds)
	if by := undefinedBy(w.pos, n, &t.Trace); by != "" {
		blocked := d.block(by)
		w.skip(i, &blocked, state.StatusBlocked)
		return nil
	}
	w.replace(i, t, d.Reason)
	done := *d
	if done.trace = t; t.Err != nil {
		done.failed = n.unit.ID
		w.event(Event{Block: n.unit.ID, Node: n.at, Kind: "failed", Failure: t.Err})
	}
	w.take(i, &done, state.StatusRan, d.Reason)
	out.Seconds = w.spent[i]
	return nil
}

// replace makes an execution in this run the result of node i.
func (w *walk) replace(i int, t *state.StoredTrace, why state.Reason) {
	w.ran[i], w.reasons[i] = t, why
	w.spent[i] += t.Seconds
}

// pin returns the pin of the block of a node. The end of the program has none.
func (w *walk) pin(n *node) Pin {
	u := n.unit
	if n.isEnd() {
		return ""
	}
	if p, ok := w.o.Pins[u.ID]; ok {
		return p
	}
	return u.pin()
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
	if t.Ending == nil {
		return
	}
	w.endMarks = out.AllMarks
	if t.Ending.Err != nil {
		out.Status = state.StatusFailed
	}
}

// takeElsewhere moves the walk past node i, of which d is decided: the result is that of the worker of this run.
func (w *walk) takeElsewhere(i int, d *decision) error {
	n, t := w.nodes[i], d.trace
	outputs, ok, err := w.e.cfg.Store.Outputs(&t.Trace)
	if err != nil || !ok {
		return errors.Join(err, errRestart) // the store has lost them
	}
	w.reportBegin(Event{Block: n.unit.ID, Node: n.at, Kind: "begin", Expected: t.Seconds})
	w.report(i, outputs)
	w.reportEnd(t.Seconds, false)
	delete(w.e.shared.taken, t.Digest)
	w.elsewhere++
	w.replace(i, t, w.sent[i])
	w.take(i, d, state.StatusRan, w.sent[i])
	w.outcomes[i].Seconds = w.spent[i]
	return nil
}

// skip advances the program state past node i, which a failure or the end of the program keeps from running.
func (w *walk) skip(i int, d *decision, status state.Status) {
	w.outcomes[i].Status, w.outcomes[i].Reason = status, d.Reason
	w.pos.advance(i, w.nodes[i], d, w.stopped)
}

func (w *walk) outcome() *Outcome {
	o := &Outcome{
		Recomputed:  w.restored,
		Shared:      w.countTaken(),
		Elsewhere:   w.elsewhere,
		Failure:     w.lastFailure(),
		Values:      map[string]state.Digest{},
		Files:       map[string]state.Digest{},
		VaryingKeys: map[string][]string{},
	}
	for k, e := range w.pos.keys.all() {
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
	for i, u := range w.units {
		if i >= w.wantedUnits {
			o.Blocks = append(o.Blocks, BlockOutcome{ProgramBlock: u.ProgramBlock, Status: state.StatusNew})
			continue
		}
		b := w.blockOutcome(u)
		o.Seconds += b.Seconds
		for _, n := range b.Nodes {
			o.Saved += n.Saved
		}
		o.Blocks = append(o.Blocks, b)
	}
	if o.Saved > 0 {
		for _, seconds := range w.rebuilt {
			o.Saved -= seconds
		}
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
	for _, n := range u.all(func(end *node) bool { return w.outcomes[end.index].Code != "" }) {
		out := w.outcomes[n.index]
		b.Nodes = append(b.Nodes, out)
		b.Seconds += out.Seconds + w.rebuilt[n.index]
		b.Saved += max(out.Saved-w.rebuilt[n.index], 0)
		if b.Nodes[0].Status == state.StatusNotReached || out.Status != state.StatusNotReached {
			b.Status = max(b.Status, out.Status)
		}
		if out.Status == state.StatusNew {
			b.Status = state.StatusNew
			return b
		}
		after := out.Reason.Code == state.ReasonBlocked && out.Reason.By == string(u.ID) // its own failure
		if out.Reason.Code != state.ReasonReused && !after && !explained {
			b.Reason, explained = out.Reason, true
		}
		for _, m := range out.AllMarks {
			b.AllMarks = appendNew(b.AllMarks, m)
		}
		if out.t == nil {
			continue
		}
		if outputs, ok, err := w.e.cfg.Store.Outputs(out.t); err == nil && ok {
			b.Outputs = append(b.Outputs, outputs...)
		}
		if b.Err == nil {
			b.Err = out.t.Failure()
		}
		if out.t.Ending != nil {
			b.Ending = out.t.Ending
		}
		b.Denied = append(b.Denied, out.t.Denied...)
		for _, m := range out.t.Marks {
			b.Marks = appendNew(b.Marks, m)
		}
	}
	b.Outputs = output.Join(b.Outputs)
	return b
}

// finalizeFiles leaves the workspace as a fresh run would. Of a run that was stopped, or that was served results, files
// stay as the last node left them.
func (w *walk) finalizeFiles(complete bool) error {
	if err := w.e.recoverFiles(); err != nil { // left by an interpreter that died
		return err
	}
	if !complete || w.o.Serve != nil {
		return w.saveFiles()
	}
	if w.e.kernel != nil {
		if _, err := w.detachOthers(context.Background(), w.pos); err != nil {
			return err
		}
	}
	ended, err := w.ended()
	if err == nil {
		err = w.filesAt(ended, nil)
	}
	w.e.end = w.pos
	if err != nil {
		return err // the journal is still needed
	}
	return w.e.saveFiles()
}

// ImportLibraries starts the interpreter of a program that has none, and imports what the program has imported of
// libraries, so that its next run need not wait for that. No node executes: the kernel imports these libraries as it
// does for a value that needs them. A library that prints when it is imported, or would look at something else by now,
// is left out. blocks have their recorded outcomes.
func (e *Engine) ImportLibraries(ctx context.Context, blocks []state.ProgramBlock) error {
	if e.kernel != nil {
		return nil
	}
	w := e.walkOfRecord(blocks)
	if err := w.loadOutcomes(); err != nil {
		return err
	}
	p := w.stateAt(len(w.nodes))
	modules, _ := w.librariesAt(p)
	if len(modules) == 0 {
		return nil
	}
	err := e.needAt(ctx, w, p, true)
	if err == nil {
		_, err = w.environment(ctx, p)
	}
	if err == nil {
		err = e.kernel.Import(ctx, modules)
	}
	if err != nil {
		e.dropKernel()
	}
	return err
}
