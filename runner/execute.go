package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/basestate"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

// execute runs node i from its prior state and records the trace. A name that the node asks for and that was not
// bound, though it has a value here, is bound and the node run again from its prior state, once for each such name.
func (w *walk) execute(ctx context.Context, i int) (*state.StoredTrace, error) {
	return w.executeAt(ctx, i, w.pos, true)
}

func (w *walk) executeAt(ctx context.Context, i int, p *programState, live bool) (*state.StoredTrace, error) {
	n := w.nodes[i]
	if err := w.e.need(ctx, w); err != nil {
		return nil, err
	}
	if ok, err := w.compiled(ctx); err != nil || !ok {
		return nil, cmp.Or(err, errRestart) // a block counts as refused from now on
	}
	if err := w.sources(ctx); err != nil {
		return nil, err
	}
	namesToBind, fresh, reported, calls := w.namesToBind(p, n), false, false, live
	for range 8 {
		if err := w.before(ctx, p, i, namesToBind); err != nil {
			if ctx.Err() != nil { // the kernel state may be ahead of the kernel
				w.e.dropKernel()
			}
			if errors.Is(err, kernel.ErrDied) && ctx.Err() == nil {
				w.e.dropKernel()
				return w.died(n, "while its prior state was restored")
			}
			return nil, w.unserved(i, err)
		}
		if err := w.sources(ctx); err != nil { // again, for a kernel that was started meanwhile
			return nil, err
		}
		x := &execution{walk: w, node: n, pos: p, live: live, fresh: fresh, mayCall: calls}
		if !live {
			x.recorded = w.outcomes[i].t
		}
		if reported {
			w.reportBegin(w.begun)
		}
		t, again, err := x.run(ctx)
		reported = x.reported
		if errors.Is(err, errStale) {
			w.e.dropKernel()
			fresh = true
			continue
		}
		if errors.Is(err, errUncalled) && !w.speculative {
			w.e.dropKernel()
			fresh, calls = true, true
			continue
		}
		if errors.Is(err, errLacking) {
			continue
		}
		if errors.Is(err, errLists) {
			if w.lists == nil {
				w.lists = map[int]bool{}
			}
			w.lists[i] = true
			continue
		}
		if err != nil || len(again) == 0 {
			return t, err
		}
		namesToBind = append(namesToBind, again...)
	}
	return nil, fmt.Errorf("block %s asks for ever more names", n.unit.ID)
}

// execution is one run of one node.
type execution struct {
	walk    *walk
	node    *node
	pos     *programState
	live    bool // its outputs are shown
	mayCall bool // what reads may be called; with live, all may
	fresh   bool // the kernel was started for it
	outputs output.Screen
	seen    kernel.Observation
	calls   *calls

	reported bool // followers of the run saw it

	recorded *state.Trace // what an earlier execution at this state left; nil when this is the first
	limit    float64      // the time-out that stopped it, in seconds; 0 when none did

	began  time.Time
	edited bool // a file that it read was written to meanwhile

	dynamic bool     // it counts as reading every name
	missing []string // names that have a value here and are not bound
}

// run executes the node and records its trace. again are names whose values must be bound first.
func (x *execution) run(ctx context.Context) (t *state.StoredTrace, again []string, err error) {
	w := x.walk
	e := w.e
	nodeCtx := ctx
	if w.o.Timeout > 0 {
		var cancel context.CancelFunc
		nodeCtx, cancel = context.WithTimeoutCause(ctx, w.o.Timeout, errTimeout)
		defer cancel()
	}
	w.observed = e.kernel.Level()
	by := w.o.Caller
	by.Block, by.Node = x.node.unit.ID, x.node.at
	x.calls = newCalls(e.cfg.Journal, x.pos, by, x.serves)
	request := x.request()
	who := caller{w, x.node, x.pos, x.dynamic, x.live && !w.speculative && !x.onlyLooks()}
	if x.calls.same, request.Draws, err = who.sameCalls(ctx); err != nil {
		return nil, nil, err
	}
	x.began = time.Now()
	x.seen, err = e.kernel.Execute(nodeCtx, request, x.sink())
	if x.calls.uncalled && (w.speculative || !x.mayCall && !x.onlyLooks()) {
		return nil, nil, errUncalled
	}
	if ctx.Err() != nil {
		x.abandon()
		return nil, nil, ctx.Err()
	}
	timedOut := nodeCtx.Err() != nil
	if state.IsDiskFull(err) { // under files of the engine's
		x.abandon()
		return nil, nil, err
	}
	if err != nil {
		if timedOut {
			t, err := x.lost(TypeTimeout, fmt.Sprintf("stopped after %s", w.o.Timeout))
			return t, nil, err
		}
		if errors.Is(err, kernel.ErrDied) {
			t, err := x.lost(TypeDied, "the interpreter died while the block ran: "+e.kernel.Exit())
			return t, nil, err
		}
		t, err := x.lost("KernelError", "the interpreter could not tell what the block did: "+err.Error())
		return t, nil, err
	}
	if x.seen.Stale {
		return nil, nil, errStale
	}
	if x.seen.Lists {
		return nil, nil, errLists
	}
	if timedOut && x.seen.Interrupted {
		if x.seen.Failure == nil { // it caught the interrupt and continued: its state is not a result of the program
			t, err := x.lost(TypeTimeout, fmt.Sprintf("stopped after %s", w.o.Timeout))
			return t, nil, err
		}
		x.timeOut()
	}
	if x.calls.stopped != nil {
		x.stopCalls()
	}
	for _, gone := range x.seen.Unparked {
		delete(e.kernelState.parked, gone)
	}
	for _, gone := range x.seen.Classes {
		delete(e.kernelState.classes, gone)
	}
	e.ledger.executed += x.seen.Seconds
	if again := x.unbound(); len(again) > 0 {
		return nil, again, x.undo()
	}
	if lacking := x.lacking(); len(lacking) > 0 {
		if w.lacked == nil {
			w.lacked = map[int][]depgraph.Key{}
		}
		w.lacked[x.node.index] = append(w.lacked[x.node.index], lacking...)
		return nil, nil, cmp.Or(x.undo(), errLacking)
	}
	x.dynamic = x.dynamic || x.seen.Everything
	t, err = x.recordTrace(ctx)
	return t, nil, err
}

func (x *execution) request() kernel.Node {
	n := x.node
	uses := slices.Clone(n.facts.Uses)
	if n.facts.Kind == depgraph.KindStatement {
		uses = append(uses, n.facts.Later...)
	}
	uses = append(uses, x.pos.lifetimeSensitiveNames(n)...)
	req := kernel.Node{
		Text: n.source(), ID: n.id(), Filename: n.text.filename(), Line: n.facts.Line, Future: n.future,
		Expr: n.facts.Expr && n.last, Quiet: n.unit.facts.Quiet, Dialect: string(n.unit.Dialect),
		Last: n.last && !x.walk.e.cfg.Script, First: n.index == 0,
		Def:    n.facts.Kind == depgraph.KindDef || n.facts.Kind == depgraph.KindClass,
		Import: n.facts.Kind == depgraph.KindImport,
		Uses:   append([]string{}, uses...), Certain: n.facts.Certain, Keeps: n.facts.Keeps,
	}
	if x.dynamic = x.walk.dynamic(x.pos, n); x.dynamic {
		req.Uses = append(req.Uses, x.pos.names()...)
	}
	x.missing = x.walk.e.kernelState.missing(x.pos)
	req.Unbound, req.Fresh = x.missing, x.fresh
	req.OpenElsewhere = x.openElsewhere()
	for _, k := range x.pos.loads() {
		req.Imported = append(req.Imported, k.Name())
	}
	req.Reach = x.pos.namesReachingClass(n)
	req.Submodules = x.walk.submodules(n.index)
	req.Lined = n.unit.ID == x.walk.o.Lined
	req.Lists = x.walk.listsSubclasses(x.pos, n)
	req.Part = partOf(x.walk.units, n)
	req.End, req.Failed = n.isEnd(), n.isEnd() && x.pos.get(failedKey).digest != state.Absent
	if x.walk.hasDynamic || req.Lists {
		req.Order = x.pos.ordered()
	}
	for _, im := range n.facts.Imports {
		if im.Level == 0 && im.Module != "" && !im.Later {
			req.Imports = append(req.Imports, im.Module)
		}
	}
	return req
}

// sink records what the node puts out, and lets followers of the run see it as it happens, as far as it is recorded.
func (x *execution) sink() kernel.Sink {
	sink := kernel.Sink{Record: x.outputs.Add, Calls: x.calls}
	if x.live && x.walk.o.OnEvent != nil {
		sink.Show = func(o output.Output) {
			if !x.outputs.Full() {
				x.reported = true
				x.walk.event(Event{Block: x.node.unit.ID, Node: x.node.at, Kind: "output", Output: o})
			}
		}
	}
	if x.live {
		sink.End = x.ended
	}
	return x.walk.e.scrubbed(sink)
}

// printed is what the node put out. Words of an interpreter about a failure belong to the failure, as a traceback does.
func (x *execution) printed() []output.Output {
	list, f := x.outputs.Outputs(), x.seen.Failure
	if f == nil || !f.Printed {
		return list
	}
	for i := range slices.Backward(list) {
		if list[i].Kind != "stderr" {
			continue
		}
		said := strings.Join(f.Traceback, "\n") + "\n"
		if list[i].Text = strings.TrimSuffix(list[i].Text, said); list[i].Text == "" && list[i].Dropped == 0 {
			list = slices.Delete(list, i, i+1)
		}
		break
	}
	return list
}

// ended reports the end of the node as soon as the kernel does, unless it is known that the node will execute again, or
// counts as stopped at the time-out.
func (x *execution) ended(r kernel.Result) {
	f := r.Failure
	if r.Unbound || f == nil && r.Interrupted || f != nil && slices.Contains(x.missing, f.Name) {
		return
	}
	x.reported = true
	x.walk.reportEnd(r.Seconds, f != nil || r.Ending != nil && r.Ending.Code != 0)
}

// unbound returns names that were absent from the namespace though they have a value here: the name whose absence made
// the node fail, and names that it rebound although their values are lifetime-sensitive.
func (x *execution) unbound() []string {
	again := x.seen.Again
	if e := x.seen.Failure; e != nil && slices.Contains(x.missing, e.Name) {
		again = append(again, e.Name)
	}
	for _, v := range x.seen.Writes {
		if slices.Contains(x.missing, v.Name) && x.pos.isLifetimeSensitive(v.Name) {
			again = append(again, v.Name)
		}
	}
	return again
}

// undo makes the kernel state reflect what a failed node left. Values that the node changed in place are gone; files
// stay as the node left them.
func (x *execution) undo() error {
	m := &x.walk.e.kernelState
	for _, name := range x.seen.Dropped {
		m.unbind(name)
	}
	for k, d := range x.seen.Hidden {
		m.hidden[depgraph.Key(k)] = entry{digest: "!" + d} // no program state has this digest
	}
	for name, value := range x.seen.Environ {
		m.environ[depgraph.Key("env:"+name)] = value
	}
	if x.seen.Figures || x.seen.HadFigures {
		m.figures = "!open"
	}
	if len(x.seen.Modules) > 0 {
		m.modules = "!changed"
	}
	m.unload(kernel.Unloaded{Modules: x.seen.Unloaded})
	x.spoilOpen()
	x.spoilRunning()
	_, err := x.fileWrites()
	return err
}

// recordTrace makes a trace of the observation and stores it with the values that the node wrote. The model of the
// kernel follows.
func (x *execution) recordTrace(ctx context.Context) (*state.StoredTrace, error) {
	t := state.Trace{Code: x.node.code, Seconds: x.seen.Seconds, At: time.Now().UTC(), Bounds: x.walk.e.boundary.digest}
	writes, err := x.fileWrites()
	if err != nil {
		return nil, err
	}
	if err := x.reads(&t, writes); err != nil {
		return nil, err
	}
	if x.walk.e.cfg.Volatile[x.node.code] {
		x.seen.Marks = appendNew(x.seen.Marks, state.MarkVaried)
	}
	t.Marks = slices.Sorted(slices.Values(x.seen.Marks))
	t.CitedBlocks = x.seen.Cites
	if slices.Contains(t.Marks, markSubprocess) { // such as one that installs a package
		x.walk.e.baseState.ForgetElsewhere()
	}
	t.CitedSource = layoutOf(x.walk.units, x.node, t.CitedBlocks)
	if t.Outputs, err = x.walk.e.putOutputs(x.printed()); err != nil {
		return nil, err
	}
	if end := x.seen.Ending; end != nil && (end.Code != 0 || !x.node.isEnd()) {
		t.Ending = x.ending(end)
	}
	if x.seen.Failure != nil {
		t.Err, t.Limit = x.execError(), x.limit
		t.Err.Denied = t.Denied
		x.followLoads(x.pos)
		if err := x.undo(); err != nil {
			return nil, err
		}
		return x.putTrace(t, x.edited || x.transient())
	}
	if err := x.writes(&t, writes); err != nil {
		return nil, err
	}
	after := x.pos.over()
	after.apply(x.node.index, &t)
	x.follow(after, &t)
	if err := x.storeWrites(ctx, after, &t); err != nil {
		return nil, err
	}
	if err := x.calls.settled(ctx, t.Failure() != nil); err != nil {
		return nil, err
	}
	return x.putTrace(t, x.edited || t.Failure() != nil && x.transient())
}

// putTrace stores a trace. once: another execution may have another result.
func (x *execution) putTrace(t state.Trace, once bool) (*state.StoredTrace, error) {
	if err := x.walk.e.baseState.Failure(); err != nil {
		return nil, err
	}
	clean := x.walk.e.scrubTrace(&t)
	o := &x.walk.o
	t.Trust = x.walk.e.trust()
	if t.Once = once; !clean || o.Discard && !o.Traces || x.walk.speculative {
		return &state.StoredTrace{Digest: "", Trace: t}, nil
	}
	d, err := x.walk.e.cfg.Store.PutTrace(t)
	if err == nil && x.seen.Lined != nil {
		err = x.keepLines(d)
	}
	return &state.StoredTrace{Digest: d, Trace: t}, err
}

// reads fills in what the node read, with the digests that held before it.
func (x *execution) reads(t *state.Trace, writes map[string]fileWrite) error {
	p, w := x.pos, x.walk
	found := map[depgraph.Key]state.Digest{}
	for _, list := range [][]string{x.seen.Names, x.seen.Absent, x.seen.Comembers} {
		for _, name := range list {
			if !strings.HasPrefix(name, "__xstate") {
				found[depgraph.Var(name)] = p.get(depgraph.Var(name)).digest
			}
		}
	}
	for _, v := range x.seen.Writes { // see firstChangedRead
		if p.isLifetimeSensitive(v.Name) {
			found[depgraph.Var(v.Name)] = p.get(depgraph.Var(v.Name)).digest
		}
	}
	if x.dynamic {
		for _, name := range p.allNames(x.node) {
			found[depgraph.Var(name)] = p.get(depgraph.Var(name)).digest
		}
		names := namesKey.In(x.node.unit.space())
		found[names] = p.get(names).digest
	}
	if !x.node.inert() {
		found[modulesKey] = p.get(modulesKey).digest
		for _, k := range x.seen.HiddenReads {
			found[depgraph.Key(k)] = p.get(depgraph.Key(k)).digest
		}
	}
	for _, name := range x.seen.EnvironReads {
		k := depgraph.Key("env:" + name)
		if asked, ok := strings.CutPrefix(name, "="); ok {
			k = depgraph.Key("isset:" + asked)
		}
		found[k] = p.get(k).digest
	}
	if in := x.seen.Stdin; in != nil {
		k := depgraph.Key("stdin:" + basestate.InputName(in.From, in.Upto, in.Ended))
		found[k] = p.get(k).digest
	}
	for _, k := range x.node.readsAtEnd() {
		found[k] = p.get(k).digest
	}
	x.heldReads(found)
	x.calls.reads(found, w.e.baseState.Renew)
	if x.calls.lost {
		x.seen.Marks = appendNew(x.seen.Marks, markCallLost)
	}
	x.runningReads(found)
	x.openReads(found, writes)
	if x.seen.HadFigures {
		found[figuresKey] = p.get(figuresKey).digest
	}
	for _, name := range x.seen.Altered {
		k := depgraph.Key("reach:" + name)
		found[k] = p.get(k).digest
	}
	for path, how := range x.seen.Files.Reads {
		k := w.e.baseState.FileKey(path)
		d := w.fileBefore(p, k, path, writes)
		if how != nil && *how == "presence" {
			k = depgraph.Key("stat:" + k.Name())
			d = p.get(k).digest
		} else {
			w.e.keepInput(path, d)
		}
		found[k] = d
	}
	for _, path := range x.seen.Files.Modes {
		k := depgraph.Key("mode:" + w.e.baseState.Short(path))
		found[k] = p.get(k).digest
	}
	for _, path := range x.seen.Files.Times {
		k := depgraph.Key("time:" + w.e.baseState.Short(path))
		found[k] = p.get(k).digest
		if _, written := writes[k.Name()]; written || found[k] == digestWritten ||
			w.e.baseState.OnDisk(k.Name()) == basestate.Directory {
			x.seen.Marks = appendNew(x.seen.Marks, "clock")
			delete(found, k)
		}
		w.e.keepText(found[k])
	}
	if slices.Contains(x.seen.Marks, markSubprocess) { // it may have read whatever the program wrote, and nothing else
		found[filesWritten] = p.get(filesWritten).digest
		for k, e := range p.keys.in("file") {
			found[k] = e.digest
		}
	}
	for _, path := range x.seen.Imports.Files {
		k := w.e.baseState.FileKey(path)
		found[k] = w.fileBefore(p, k, path, writes)
		w.e.keepInput(path, found[k])
	}
	for _, path := range x.seen.Files.Listings {
		k := depgraph.Key("dir:" + w.e.baseState.Short(path))
		found[k] = p.get(k).digest
		w.e.keepText(found[k])
	}
	for top, files := range x.seen.Imports.Libraries {
		k := depgraph.Key("module:" + top)
		x.learn(t, k, strings.Join(files, "\n"))
		found[k] = p.get(k).digest
	}
	x.readsOfChildren(t, found)
	if x.seen.Failure == nil {
		// The kernel cannot see whether the node deleted the name, so this does not prove where the name is bound.
		for _, name := range x.seen.Deleted {
			found[depgraph.Var(name)] = p.get(depgraph.Var(name)).digest
		}
	}
	t.Denied = denialsOf(x.seen.Denied, w.e.cfg.Secrets)
	for _, d := range t.Denied {
		k := basestate.PolicyKey(d)
		found[k] = cmp.Or(p.get(k).digest, "denied") // if the present bounds allow it after all, it is tried again
	}
	if len(t.Denied) > 0 && x.seen.Failure == nil {
		x.seen.Marks = appendNew(x.seen.Marks, markDenied)
	}
	for _, k := range w.e.boundary.hidden(x.node.unit.Dialect, found, w.e.baseState.Path) {
		found[k] = cmp.Or(p.get(k).digest, "denied")
	}
	dropHidden(found, x.seen.Files.Hidden, w.e.baseState.Path)
	unseen := !x.seen.Files.Observed && slices.Contains(x.seen.Marks, markSubprocess) // its children may be the editors
	own := func(name string) bool {
		_, wrote := writes[name]
		return wrote || unseen || changedBy(&x.seen.Files, name, w.e.baseState)
	}
	if x.edited = noteEdits(found, p, w.e.baseState, x.began, own); x.edited {
		x.seen.Marks = appendNew(x.seen.Marks, state.MarkEdited)
	}
	for k, d := range found {
		t.Reads = append(t.Reads, state.Access{Key: k, Digest: d})
	}
	slices.SortFunc(t.Reads, byKey)
	t.ReadAliases = p.aliasesWithin(t.Reads)
	t.AliasSensitive = x.seen.AliasSensitive
	t.AliasesBefore = p.aliasesAround(t.AliasSensitive)
	return nil
}

// writes fills in what the node wrote.
func (x *execution) writes(t *state.Trace, files map[string]fileWrite) error {
	t.Info = map[depgraph.Key]state.ValueInfo{}
	for _, v := range x.seen.Writes {
		k := depgraph.Var(v.Name)
		d := v.Digest
		if v.Deleted {
			d = state.Absent
		} else if v.Opaque != "" {
			d = lineage(t, x.recorded, k)
		}
		if !v.Deleted {
			v.Info.Bytes, v.Info.Deps, v.Info.Opaque, v.Info.Code, v.Info.LifetimeSensitive = v.Size, v.Deps, v.Opaque,
				v.Code, v.LifetimeSensitive
			v.Info.ReachesModules, v.Info.ModuleReferences = v.ReachesModules, v.ModuleParts
			for _, path := range v.Handles {
				v.Info.Handles = append(v.Info.Handles, x.walk.e.baseState.Short(path))
			}
			t.Info[k] = v.Info
		}
		t.Writes = append(t.Writes, state.Access{Key: k, Digest: d})
	}
	for name, d := range x.seen.Hidden {
		k := depgraph.Key(name)
		if d == state.Absent {
			d = x.pos.pristine(k)
		}
		t.Writes = append(t.Writes, state.Access{Key: k, Digest: d})
	}
	for name, value := range x.seen.Environ {
		if value != nil && !x.walk.e.withholds([]byte(*value)) {
			if _, err := x.walk.e.cfg.Store.PutBlob([]byte("env " + *value)); err != nil {
				return err
			}
		}
		k := depgraph.Key("env:" + name)
		t.Writes = append(t.Writes, state.Access{Key: k, Digest: x.walk.e.environDigest(value)})
		if slices.Contains(x.seen.LibraryEnviron, name) {
			t.Info[k] = state.ValueInfo{Type: setByImport}
		}
	}
	for name, fw := range files {
		t.Writes = append(t.Writes, state.Access{Key: depgraph.Key("file:" + name), Digest: fw.after})
	}
	x.noteOrder(t, files)
	t.Writes = append(t.Writes, x.fileAttributes(files)...)
	t.Writes = append(t.Writes, x.heldWrites(t)...)
	t.Writes = append(t.Writes, x.openWrites(t)...)
	t.Writes = append(t.Writes, x.runningWrites(t)...)
	t.Writes = append(t.Writes, x.calls.writes()...)
	if x.seen.Pristine {
		t.Writes = append(t.Writes, state.Access{Key: modulesKey})
	} else if len(x.seen.Modules) > 0 {
		t.Writes = append(t.Writes, state.Access{Key: modulesKey, Digest: lineage(t, x.recorded, modulesKey)})
		t.Info[modulesKey] = state.ValueInfo{Deps: x.seen.Registered}
	}
	if x.seen.Figures {
		t.Writes = append(t.Writes, state.Access{Key: figuresKey, Digest: lineage(t, x.recorded, figuresKey)})
	} else if x.seen.HadFigures {
		t.Writes = append(t.Writes, state.Access{Key: figuresKey})
	}
	slices.SortFunc(t.Writes, byKey)
	t.BindOrder = x.seen.BindOrder
	for _, s := range x.seen.AliasesAfter {
		t.AliasesAfter = append(t.AliasesAfter, state.Alias{s[0], s[1], s[2]})
	}
	return nil
}
