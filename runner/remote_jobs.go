package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/beneath"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/state"
)

// A node can be executed ahead of its turn on another machine, too (RunOptions.RemoteJobs). Its worker puts the result
// into the cache, as any other machine does. When the walk reaches the node, it looks there. So a result of a worker is
// taken over where a result of a colleague would be, and nothing else that a worker says counts.

// worthRemote is how long a node must have taken to be executed elsewhere: a worker has to start an interpreter.
const worthRemote = 0.5 // seconds

// beginWait is how long the walk waits for a worker to begin with a node that is next. Then it executes the node here.
const beginWait = 30 * time.Second

// CodeNoExecutor is the code of errors about a run that is to have workers, and has none.
const CodeNoExecutor state.Code = "remote-no-executor"

// errNoExecutor reports a run that is to have workers, and has none.
var errNoExecutor = &state.Error{Code: CodeNoExecutor,
	Message: "the settings name no workers, or no cache that they share with this machine",
	Hint: "set `cache`, and `executor` or `launcher`, in the table `[remote]` of ~/.config/xstate/xstate.toml, or " +
		"run without workers"}

// canExecuteElsewhere returns why workers cannot execute nodes of the program; nil if they can.
func (e *Engine) canExecuteElsewhere() error {
	switch in := e.cfg.Invocation; {
	case e.cfg.Cache == nil:
		return errors.New("there is no cache")
	case e.cfg.Bounds != nil:
		return errors.New("it would not keep the bounds of the program")
	case e.cfg.Recording != nil:
		return errors.New("it would not record the requests of the program")
	case in.Stdin != "" || in.StdinFile != "":
		return errors.New("it would not have the standard input of the program")
	case e.cfg.Store.Foreign():
		return errors.New("the session is not one of this store")
	}
	return nil
}

// actionOf returns what a worker needs to execute node k. ok is false where a worker could not execute it: it reads
// what is on this machine alone, or the results that it needs are not shared. before are the results of the nodes
// before it.
func (w *walk) actionOf(
	blocks []state.ProgramBlock, p *programState, k int, d *decision, before map[int]*state.Trace,
) (action *remote.Action, ok bool) {
	e, n := w.e, w.nodes[k]
	if !w.mayGo(n, d.Last) {
		return nil, false
	}
	given := map[int]*remote.TaskGiven{}
	files := map[string]bool{}
	for i, t := range before {
		u, ok := e.portable(w.nodes[i], t)
		if !ok {
			continue
		}
		given[i] = &remote.TaskGiven{Weak: u.Weak, Strong: u.Strong, Keys: u.Keys}
		noteReads(files, t, false)
	}
	noteLiterals(files, n.source())
	for _, name := range w.closure(p, w.namesToBind(p, n)) {
		writer := p.keys.of(depgraph.Var(name)).writer
		if writer < 0 {
			continue
		}
		if given[writer] == nil {
			return nil, false
		}
		if w.nodes[writer].facts.Kind == depgraph.KindDef {
			noteLiterals(files, w.nodes[writer].source())
		}
	}
	noteReads(files, d.Last, true)
	weak, _ := e.weakOf(n)
	return w.actionWith(p, blocks, files, &remote.Task{At: k, Weak: weak, Given: given})
}

// actionWith returns an Action with a task, with what each of this program has, and with those of some files that are
// plain ones of the workspace at p. ok is false where the program is not of the workspace.
func (w *walk) actionWith(
	p *programState, blocks []state.ProgramBlock, files map[string]bool, task *remote.Task,
) (action *remote.Action, ok bool) {
	e := w.e
	task.Session, task.Seed, task.Observe = e.cfg.Session, e.cfg.Seed, e.cfg.Observe
	task.Arguments, task.Environ = e.cfg.Invocation.Arguments, remote.InterpreterEnviron(e.cfg.Environ)
	task.Seconds = w.o.Timeout.Seconds()
	if name := e.baseState.Short(e.cfg.File); e.cfg.File != "" {
		if !filepath.IsLocal(name) {
			return nil, false
		}
		task.File, files[name] = name, true
	}
	for _, b := range blocks {
		task.Program = append(task.Program, remote.TaskBlock{ID: b.ID, Dialect: b.Dialect, Source: b.Source})
	}
	action = &remote.Action{Task: task, Inputs: w.inputsOf(p, files), Platform: e.cfg.Platform}
	if e.cfg.Secrets != nil {
		action.Withheld = e.cfg.Secrets.HasFrom
	}
	return action, true
}

// noteReads adds files that a trace read: all, or only sources. t may be nil.
func noteReads(files map[string]bool, t *state.Trace, all bool) {
	if t == nil {
		return
	}
	for _, r := range t.Reads {
		if r.Key.Space() == "file" && r.Digest != state.Absent && (all || isSource(r.Key.Name())) {
			files[r.Key.Name()] = true
		}
	}
}

// noteLiterals adds the texts in quotes of a source.
func noteLiterals(files map[string]bool, source []byte) {
	for _, literal := range literals.FindAllSubmatch(source, mostLiterals) {
		files[string(literal[1])] = true
	}
}

// literals finds texts in quotes, which may be names of files.
var literals = regexp.MustCompile(`["'` + "`" + `]([^"'` + "`" + `\n]{1,255})["'` + "`" + `]`)

// mostLiterals is how many literals of a text are looked at.
const mostLiterals = 1000

// anyOfMachine reports whether one of some reads cannot be the same on another machine, but by chance.
func (e *Engine) anyOfMachine(reads []state.Access) bool {
	return slices.ContainsFunc(reads, e.isOfMachine)
}

// isOfMachine reports whether a read cannot be the same on another machine, but by chance.
func (e *Engine) isOfMachine(a state.Access) bool {
	_, plain := a.Key.Cut()
	switch plain.Space() {
	case "env", "stat", "dir", "list", "inode", "link", "mode", "program", "stdin":
		return true
	}
	return e.isElsewhere(plain)
}

// mostInputBytes bounds the size of a file that is sent to a worker.
const mostInputBytes = 1 << 30

// inputsOf returns those of some names that are plain files of the workspace at p.
func (w *walk) inputsOf(p *programState, names map[string]bool) (inputs []remote.Input) {
	files := map[string]func() (io.ReadCloser, error){}
	for name := range names {
		if name = filepath.Clean(name); filepath.IsLocal(name) {
			if open := w.inputOf(p, name); open != nil {
				files[filepath.ToSlash(name)] = open
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		inputs = append(inputs, remote.Input{Path: name, Open: files[name]})
	}
	return inputs
}

// inputOf returns how a file of the workspace is opened as it is at p; nil if it cannot be. The store has what the
// program writes, now or at another place.
func (w *walk) inputOf(p *programState, name string) func() (io.ReadCloser, error) {
	key, store := depgraph.Key("file:"+name), w.e.cfg.Store
	_, written := p.keys.find(key)
	if _, recorded := w.e.cfg.Files[name]; written || recorded {
		d := p.get(key).digest
		if !d.IsContent() || !store.HasBlob(d) {
			return nil
		}
		return func() (io.ReadCloser, error) {
			r, ok, err := store.OpenBlob(d)
			if err == nil && !ok {
				err = fs.ErrNotExist
			}
			return r, err
		}
	}
	path := filepath.Join(w.e.cfg.Workspace, name)
	info, err := beneath.Look(path)
	if err != nil || !info.Regular() || info.Size > mostInputBytes {
		return nil
	}
	return func() (io.ReadCloser, error) { return beneath.Read(path) }
}

// executeElsewhere has a worker execute an action.
func (e *Engine) executeElsewhere(ctx context.Context, action *remote.Action, began func()) error {
	e.cfg.Cache.Wait(ctx) // the worker needs what the nodes before have left
	ref, err := e.cfg.Cache.PutAction(ctx, action)
	if err != nil {
		return err
	}
	return e.cfg.Executor.Execute(ctx, ref, began)
}

// adoptRemote returns the result of node i that a worker has put into the cache, if it is valid here.
func (w *walk) adoptRemote(i int) (*state.StoredTrace, error) {
	e, n, p := w.e, w.nodes[i], walkPlace{w.pos, w.units, w.nodes}
	weak, ok := e.weakOf(n)
	if !ok {
		return nil, nil
	}
	e.cfg.Cache.RenewFor(weak)
	if !e.takeShared(p, n) {
		return nil, nil
	}
	c, err := e.chooseStored(p, n, decideOptions{})
	if err != nil || c.trace == nil {
		return nil, err
	}
	delete(e.shared.taken, c.trace.Digest)
	return c.trace, nil
}

// A whole run can be executed by one worker (RunOptions.Elsewhere), such as that of one fork of many. The caller sends
// the program with the results that are valid here. The worker runs it as its own, and shares what it executed. Then
// the caller runs the program, and finds the results in the cache. Those that are not valid here count for nothing.

// errNothingValid reports a worker whose results cannot be used.
var errNothingValid = errors.New("none of its results is valid here, or they are signed by a key that is not trusted")

// sendRun has a worker execute the nodes of the program that have no valid result here.
func (w *walk) sendRun(ctx context.Context, blocks []state.ProgramBlock) error {
	if w.noWorkers = w.e.canExecuteElsewhere(); w.noWorkers == nil && w.o.BeforeNode != nil {
		w.noWorkers = errors.New("its budgets count what executes here")
	}
	if w.noWorkers != nil {
		return nil
	}
	action, sent, err := w.actionOfRun(ctx, blocks)
	if err != nil || action == nil {
		return err
	}
	if err := w.e.backlog.wait(); err != nil {
		return err
	}
	w.share()
	run := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(beginWait, func() { cancel(errors.New("none has begun with the run")) })
	err = w.e.executeElsewhere(ctx, action, func() { late.Stop() })
	late.Stop()
	if err != nil && run.Err() == nil {
		debugf("kernel", "worker: %v", err)
		w.noWorkers = err
		if cause := context.Cause(ctx); cause != nil {
			w.noWorkers = cause
		}
	}
	w.e.cfg.Cache.Renew() // also for what a failed worker has finished
	w.e.shared.ahead = false
	w.sent = sent
	return nil
}

// actionOfRun predicts the run, and returns what a worker needs to execute it; nil if it would not pay.
func (w *walk) actionOfRun(
	ctx context.Context, blocks []state.ProgramBlock,
) (action *remote.Action, sent elsewhere, err error) {
	w.start(blocks)
	base := newProgramStateFor(w.e.baseState.Get, len(w.nodes))
	given, files, sent := map[int]*remote.TaskGiven{}, map[string]bool{}, elsewhere{}
	seconds, may := 0.0, false
	for i, n := range w.nodes {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		d, err := w.decide(w.pos, i, w.stopped)
		if err != nil {
			return nil, nil, err
		}
		done := w.pos.advance(i, n, &d, w.stopped)
		if !done {
			w.pos.markUnknown(i, n, d.Last)
		}
		if n.facts.Kind == depgraph.KindDef {
			noteLiterals(files, n.source())
		}
		switch {
		case (d.Action == ActRun || d.Action == ActMaybe) && !isGuarded(n):
			w.noWorkers = fmt.Errorf("a worker does not keep block %s from effects, for it is not Python", n.unit.ID)
			return nil, nil, nil
		case d.Action == ActRun || d.Action == ActMaybe:
			sent[i] = d.Reason
			noteLiterals(files, n.source())
			noteImports(files, n)
			may = may || w.mayGo(n, d.Last)
			if d.Last != nil && d.Last.Code == n.code {
				seconds += d.Last.Seconds
			} else if bytes.Contains(n.source(), []byte("(")) { // it may take any time
				seconds += worthRemote
			}
			noteReads(files, d.Last, true)
		case d.trace != nil && d.failed == "":
			t := &d.trace.Trace
			w.outcomes[i].t, w.outcomes[i].Trace = t, d.trace.Digest
			noteReads(files, t, !w.hasStored(t))
			if u, ok := w.e.portable(n, t); ok {
				given[i] = &remote.TaskGiven{Weak: u.Weak, Strong: u.Strong, Keys: u.Keys}
			} else if t.Seconds >= worthRemote || mayNotRepeat(t) || !isGuarded(n) {
				w.noWorkers = fmt.Errorf("the result of block %s is not shared, and a worker may not execute it again",
					n.unit.ID)
				return nil, nil, nil
			}
		}
	}
	if !may || seconds < worthRemote {
		return nil, nil, nil
	}
	action, ok := w.actionWith(base, blocks, files, &remote.Task{Whole: true, Given: given})
	if !ok {
		return nil, nil, nil
	}
	return action, sent, nil
}

// mayNotRepeat reports whether an execution did what another one may do otherwise, or must not do again.
func mayNotRepeat(t *state.Trace) bool {
	return len(t.Marks) > 0 || len(t.Denied) > 0 || !t.StaysInside() ||
		slices.ContainsFunc(t.Reads, func(a state.Access) bool { return isOfCall(a.Key) })
}

// noteImports adds the files of the workspace that the imports of a node may mean.
func noteImports(files map[string]bool, n *node) {
	for _, im := range n.facts.Imports {
		parts := strings.Split(im.Module, ".")
		for i := range parts {
			name := strings.Join(parts[:i+1], "/")
			files[name+".py"], files[name+"/__init__.py"] = true, true
		}
	}
}

// mayGo reports whether a result of n by a worker can be valid here. last is its last execution, or nil.
func (w *walk) mayGo(n *node, last *state.Trace) bool {
	var reads []state.Access
	if last != nil {
		reads = last.Reads
	}
	_, ok := w.e.weakOf(n)
	return ok && w.e.factsOf(n, reads) == 0 && !w.e.anyOfMachine(reads)
}

// hasStored reports whether the store has all values that a trace left at the walk's place.
func (w *walk) hasStored(t *state.Trace) bool {
	for _, d := range groupsWritten(w.pos, t) {
		if d == state.Absent {
			continue
		}
		if v, ok, err := w.e.cfg.Store.Value(d); err != nil || !ok || v.Blob == "" {
			return false
		}
	}
	return true
}
