package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/remote"
	"github.com/xstate-engine/xstate/state"
)

// A whole run can be executed by one worker (RunOptions.Elsewhere), such as that of one fork of many. The caller sends
// the program with the results that are valid here. The worker runs it as its own, and shares what it executed. Then
// the caller runs the program, and finds the results in the cache. Those that are not valid here count for nothing.

// elsewhere are the nodes that a run has sent to a worker, with why they must execute. The zero value is none.
type elsewhere map[int]state.Reason

// errNothingValid reports a worker whose results cannot be used.
var errNothingValid = errors.New("none of its results is valid here, or they are signed by a key that is not trusted")

// sendRun has a worker execute the nodes of the program that have no valid result here.
func (w *walk) sendRun(ctx context.Context, blocks []state.ProgramBlock) error {
	if w.noWorkers = w.e.canExecuteElsewhere(); w.noWorkers != nil {
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
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(beginWait, func() { cancel(errors.New("none has begun with the run")) })
	err = w.e.executeElsewhere(ctx, action, func() { late.Stop() })
	late.Stop()
	if err != nil {
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

// actionOfRun predicts the run, and returns what a worker needs to execute it; nil where it would not pay.
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
		case d.Action == ActRun || d.Action == ActMaybe:
			sent[i] = d.Reason
			noteLiterals(files, n.source())
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
			} else if t.Seconds >= worthRemote {
				w.noWorkers = fmt.Errorf("the result of block %s takes long and cannot be shared", n.unit.ID)
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

// executeRun runs the program of a task as a worker.
func (e *Engine) executeRun(ctx context.Context, blocks []state.ProgramBlock, x *taskWalk, o RunOptions) error {
	e.cfg.Guard = &Guard{Allow: []string{e.cfg.Workspace}, Deny: []string{}}
	e.cfg.Journal = nil // calls are made by the caller
	out, err := e.run(ctx, blocks, o, x)
	if err != nil {
		return err
	}
	e.cfg.Cache.Wait(ctx)
	return out.Stopped
}
