package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/xstate-engine/xstate/depgraph"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
)

// need starts the kernel if it does not run.
func (e *Engine) need(ctx context.Context, w *walk) error { return e.needAt(ctx, w, w.pos, false) }

// needAt starts the kernel if it does not run. It may have imported what the program has at p. wait: see kernel.Ahead.
func (e *Engine) needAt(ctx context.Context, w *walk, p *programState, wait bool) error {
	if e.kernel != nil {
		return nil
	}
	if err := e.recoverFiles(); err != nil {
		return err
	}
	if e.spool == nil {
		if err := e.makeSpool(); err != nil {
			return fmt.Errorf("make a folder for values in transit: %w", err)
		}
	}
	e.kernelState = newKernelState()
	w.cited = false
	store, err := filepath.Abs(e.cfg.Store.Dir())
	if err != nil {
		return err
	}
	stdin, err := e.cfg.Invocation.spool(e.cfg.Store, e.spool.Path())
	if err != nil {
		return err
	}
	began := time.Now()
	k, err := e.cfg.Languages.Start(ctx, kernel.Launch{
		Driver: e.cfg.Store.Dir(), Environ: e.environ, Folder: e.cfg.Workspace, File: e.cfg.File, Spool: e.spool.Path(),
		Arguments: e.cfg.Invocation.Arguments, Stdin: stdin,
		Imports: e.cfg.Imports, Script: e.cfg.Script,
		Store: store, Seed: e.cfg.Seed, Observe: e.cfg.Observe, Dialects: w.dialects, Guard: e.cfg.Guard,
		Sandbox: &sandbox.Spec{
			Observe: debugLevel(e.cfg.Level), Folder: e.cfg.Workspace, Store: store, Spool: e.spool.Path(),
			Journal: filepath.Join(e.spool.Path(), journalName), Bounds: e.cfg.Bounds, Record: e.cfg.Recording.Trusts(),
		},
		Recording: e.cfg.Recording, Ahead: w.ahead(p, wait),
	})
	if err != nil {
		return err
	}
	e.kernel, e.foreign = k, false
	seconds := time.Since(began).Seconds()
	w.startSeconds += seconds
	e.noteStart(w.dialects, seconds)
	return nil
}

// startSpace holds how long the last start of interpreters took, in seconds, by interpreter.
const startSpace = "start"

// startKey names the interpreter of programs in one language; "": they have several, which start when they are needed.
func (e *Engine) startKey(dialects []depgraph.Dialect) string {
	key := ""
	for _, d := range dialects {
		l, err := e.cfg.Languages.Of(d)
		if err != nil || key != "" && key != e.options.interpreter(l) {
			return ""
		}
		key = e.options.interpreter(l)
	}
	return key
}

// noteStart keeps how long a start of the interpreter took.
func (e *Engine) noteStart(dialects []depgraph.Dialect, seconds float64) {
	if data, err := json.Marshal(seconds); err == nil {
		_ = e.cfg.Store.PutMemo(startSpace, e.startKey(dialects), data) // plans only lack it
	}
}

// startSeconds returns how long the last start of the interpreter took; 0 when that is not known.
func (e *Engine) startSeconds(dialects []depgraph.Dialect) (seconds float64) {
	if data, ok := e.cfg.Store.Memo(startSpace, e.startKey(dialects)); ok {
		_ = json.Unmarshal(data, &seconds) // a damaged memo is like none
	}
	return seconds
}

// ahead returns what a new interpreter for p may have imported; nil: it has no template. wait: see kernel.Ahead.
func (w *walk) ahead(p *programState, wait bool) *kernel.Ahead {
	if w.e.cfg.Templates == nil || p == nil || w.e.startKey(w.dialects) == "" {
		return nil
	}
	modules, by := w.librariesAt(p)
	m, last := newKernelState(), slices.Max(append(by, -1))
	set, first, lost, err := w.variables(p, &m)
	if err != nil || lost >= 0 {
		return nil
	}
	for _, k := range p.loads() {
		if writer := p.keys.of(k).writer; writer <= last {
			by = append(by, writer)
		} else {
			delete(first, k.Name()) // these imports do not load it
		}
	}
	var traces []state.Digest
	for _, i := range by {
		out := w.outcomes[i]
		if out.t == nil || len(out.t.Marks) > 0 { // another import may come out otherwise
			return nil
		}
		traces = append(traces, out.Trace)
	}
	key, err := json.Marshal([]any{modules, traces, set, first})
	if err != nil || slices.Contains(traces, "") {
		return nil
	}
	return &kernel.Ahead{Templates: w.e.cfg.Templates, Key: string(key), Modules: modules, Set: set, First: first,
		Spool: w.e.templateSpool, Wait: wait || kernel.Debugged("templates")}
}

// templateSpool makes a spool for a template, which may stay longer than the engine.
func (e *Engine) templateSpool() (path string, drop func(), err error) {
	path, lock, err := e.newSpool()
	if err != nil {
		return "", nil, err
	}
	return path, func() {
		removeSpool(path)
		_ = lock.Release() // as in dropSpool
	}, nil
}
