package suite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/output"
)

// maxCrashes bounds how many tests may end their interpreter.
const maxCrashes = 100

// Run collects the tests, and runs those that have no valid trace.
func (s *Suite) Run(ctx context.Context, o Options) (*Outcome, error) {
	out := &Outcome{}
	again, err := s.changed(o, out)
	if err != nil {
		return nil, err
	}
	for crashes := 0; again; crashes++ {
		s.baseState.Begin()
		clear(s.sources) // each process reads the files again
		clear(s.reads)
		p := newSuiteProcess(s, o, out)
		died, err := p.run(ctx)
		switch {
		case ctx.Err() != nil:
			out.Stopped = ctx.Err()
			again = false
		case err != nil:
			return nil, err
		default:
			again = died && crashes < maxCrashes || !died && p.follow()
		}
	}
	for _, id := range s.order {
		if t := s.done[id]; t != nil {
			out.Tests = append(out.Tests, t)
			if t.Status == TestReused {
				out.Saved += t.Seconds
			} else if t.Status == TestRan {
				out.Seconds += t.Seconds
			}
		}
	}
	return out, nil
}

// run starts the process and serves it until it ends. It reports whether a test ended the process.
func (p *suiteProcess) run(ctx context.Context) (died bool, err error) {
	s := p.s
	store, err := filepath.Abs(s.cfg.Store.Dir())
	if err != nil {
		return false, err
	}
	spool, err := os.MkdirTemp(store, "spool-tests-")
	if err == nil {
		spool, err = filepath.EvalSymlinks(spool)
	}
	if err != nil {
		return false, fmt.Errorf("make a folder for what the tests print: %w", err)
	}
	defer os.RemoveAll(spool)
	p.ended = map[int]*report{}
	options := map[string]any{
		"folder": s.cfg.Workspace, "store": store, "spool": spool, "paths": p.o.Paths,
		"args": slices.Concat(p.o.Args, p.o.Choose, p.o.Paths), "timed": p.o.Timeout > 0, "lines": p.o.Lines,
	}
	launch := kernel.TestLaunch{
		Driver: s.cfg.Store.Dir(), Environ: kernel.EnvironLines(s.environ), Folder: s.cfg.Workspace, Spool: spool,
		Options: options,
	}
	if s.cfg.Bounds != nil {
		launch.Sandbox = &sandbox.Spec{Folder: s.cfg.Workspace, Store: store, Spool: spool, Bounds: s.cfg.Bounds}
	}
	options["caches"] = kernel.CacheFolders(launch.Sandbox, launch.Environ)
	p.k, err = s.cfg.Language.StartTests(ctx, launch)
	if err != nil {
		return false, err
	}
	defer p.k.Close()
	stop := context.AfterFunc(ctx, p.k.Kill)
	defer stop()
	stopped := make(chan struct{})
	defer close(stopped)
	go p.k.Watch(200*time.Millisecond, stopped)
	err = p.serve()
	if p.timer != nil {
		p.timer.Stop()
	}
	if !p.started || err != nil && !errors.Is(err, kernel.ErrDied) {
		if err == nil || errors.Is(err, kernel.ErrDied) {
			err = p.notCollected()
		}
		return false, err
	}
	if err != nil {
		if died, err = p.lost(filepath.Join(spool, "now")); err != nil {
			return false, err
		}
	}
	return died, p.record()
}

// serve answers the process until it is done or has died.
func (p *suiteProcess) serve() error {
	for !p.done {
		text, err := p.k.Receive()
		if err != nil {
			return err
		}
		if err := p.event(json.RawMessage(p.s.cfg.Secrets.Scrub(string(text)))); err != nil {
			return err
		}
	}
	return nil
}

func (p *suiteProcess) event(text json.RawMessage) error {
	var e suiteEvent
	if err := json.Unmarshal(text, &e); err != nil {
		return fmt.Errorf("read a report of the tests: %w", err)
	}
	switch e.Ev {
	case "bunch":
		for _, text := range e.Events {
			if err := p.event(text); err != nil {
				return err
			}
		}
	case "cut":
		return p.cut(&e)
	case "group":
		r, err := p.report(text)
		p.groups[e.N] = r
		return p.looked(&e, err)
	case "collected":
		p.items, p.errors, p.started = e.Items, e.Errors, true
		p.s.conf, p.out.Runner = e.Configuration, e.Runner
		if err := p.keepCollection(&e); err != nil {
			return err
		}
		run, err := p.choose()
		if err != nil {
			return err
		}
		return p.k.Send(map[string]any{"run": run})
	case "begin":
		p.timer = time.AfterFunc(p.o.Timeout, func() { p.slow = true; p.k.Kill() })
	case "end":
		if p.timer != nil && !p.timer.Stop() {
			return nil // the time-out stops it
		}
		r, err := p.report(text)
		p.ended[e.N] = r
		if err == nil {
			p.tell(e.N)
		}
		return p.looked(&e, err)
	case "talk":
		if p.o.OnTalk != nil {
			p.o.OnTalk(e.Text)
		}
	case "done":
		p.done = true
	}
	return nil
}

// looked answers the process, if it waits until the engine looked at files.
func (p *suiteProcess) looked(e *suiteEvent, err error) error {
	if err == nil && e.Sync {
		return p.k.Send(struct{}{})
	}
	return err
}

// tell reports a test as it ends.
func (p *suiteProcess) tell(n int) {
	t, r := p.s.done[p.items[n].ID], p.ended[n]
	t.Status, t.Outcome, t.Message, t.Text = TestRan, r.Outcome, r.Message, r.Text
	t.Seconds, t.Marks, t.At = r.Seconds, r.Marks, time.Now().UTC()
	if p.o.OnTest != nil {
		p.o.OnTest(t)
	}
}

// lost finds the test that ended the process, and reports whether there is one. note is the file where the process left
// the number of the test that it began last.
func (p *suiteProcess) lost(note string) (bool, error) {
	text, err := kernel.ReadSpooled(note)
	n, bad := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || bad != nil || n >= len(p.items) {
		return false, nil
	}
	if p.ended[n] != nil {
		return false, nil
	}
	t := p.s.done[p.items[n].ID]
	t.Status, t.Outcome, t.At = TestRan, "crashed", time.Now().UTC()
	t.Message = "the interpreter died: " + p.k.Exit()
	if p.slow {
		t.Outcome, t.Seconds = "time-out", p.o.Timeout.Seconds()
		t.Message = fmt.Sprintf("stopped after %s", p.o.Timeout)
	}
	t.Text = p.printed()
	if t.held != nil { // an older success must not count any more
		bad := t.held.Trace
		bad.At, bad.Writes = t.At, []state.Access{{Key: keyOutcome, Digest: state.DigestOf([]byte(t.Outcome))}}
		if _, err := p.s.cfg.Store.PutTrace(bad); err != nil {
			return false, err
		}
	}
	if p.o.OnTest != nil {
		p.o.OnTest(t)
	}
	return true, nil
}

// printed returns the end of what the process printed.
func (p *suiteProcess) printed() string {
	var b strings.Builder
	p.k.Unsent(kernel.Sink{Record: func(o output.Output) {
		b.WriteString(o.Text[max(0, len(o.Text)-4000):])
	}})
	return b.String()
}

func (p *suiteProcess) notCollected() error {
	said, last := "", ""
	for line := range strings.SplitSeq(p.printed(), "\n") {
		if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(text, "===") {
			last = text
		}
		if _, told, ok := strings.Cut(line, "rror: "); ok { // "pytest: error: unrecognized arguments"
			said = told
		} else if told, ok := strings.CutPrefix(line, "ERROR: "); ok && !strings.HasPrefix(told, "usage: ") {
			said = told
		}
	}
	said = cmp.Or(said, last)
	return &state.Error{
		Code:    CodeNoTests,
		Message: "the tests could not be collected: " + said,
		Hint:    "try it by hand: python -m pytest --collect-only",
	}
}
