package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/xstate-engine/xstate/runner/kernel/python"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// CodeNoRun is the code of errors about steps among which nothing was run.
const CodeNoRun state.Code = "no-run"

// Run executes recorded runs again, each in a clean interpreter and a clean copy of the workspace. It compares every
// node with its record and names the divergences with their causes. A node with the same code and inputs as in an
// earlier run of the replay does not execute again: equal inputs, observed again, name the same execution. Run records
// nothing, writes no file of the workspace, and causes no effect that cannot be undone.
func Run(ctx context.Context, s *Subject, o Options) (*Report, error) {
	steps, err := runsOf(ctx, s, &o)
	if err != nil {
		return nil, err
	}
	r := &replayer{
		subject: s,
		options: o,
		found: &Report{
			Session: s.Name(),
			Cached:  o.Cached,
			Runs:    make([]RunReport, len(steps)),
			Missing: []Missing{},
		},
	}
	if o.CallAgain {
		r.found.Calls = &CallsAgain{}
		if err := s.BeginCalls(ctx); err != nil {
			return nil, err
		}
	}
	if !o.Cached {
		err = r.execute(ctx, steps)
	}
	if none := state.CodeOf(err) == python.CodeNotFound && !s.Named; none || o.Cached {
		if none {
			r.miss(Missing{What: "interpreter", Why: message(err) + "; nothing was executed, the record was verified"})
			r.found.Cached = true
		}
		err = r.walk(ctx, steps)
	}
	if err != nil {
		return nil, err
	}
	r.sum()
	if r.found.Cached && !o.Cached && r.found.Result == Equal {
		r.found.Result = Partial // a record that is whole proves nothing
	}
	return r.found, nil
}

// runsOf returns the runs to replay.
func runsOf(ctx context.Context, s *Subject, o *Options) ([]state.Step, error) {
	head, _, err := s.Store().Head(ctx, s.Name())
	if err != nil {
		return nil, err
	}
	if o.Step != 0 {
		o.From, o.To = o.Step, o.Step
	}
	if o.To == 0 {
		o.To = head
	}
	if o.From > head || o.To > head {
		return nil, &state.Error{
			Code:    state.CodeNoStep,
			Message: fmt.Sprintf("session %q has no step %d", s.Name(), max(o.From, o.To)),
			Hint:    fmt.Sprintf("its last step is %d; `xstate log` lists them", head),
		}
	}
	var runs []state.Step
	for step, err := range s.Store().Steps(ctx, s.Name(), o.From, o.To) {
		if err != nil {
			return nil, err
		}
		if step.Kind == state.KindRun {
			runs = append(runs, step)
		}
	}
	if len(runs) == 0 {
		e := &state.Error{
			Code:    CodeNoRun,
			Message: fmt.Sprintf("nothing was run in steps %d to %d", max(o.From, 1), o.To),
			Hint:    "`xstate log` lists the steps; those of kind run can be replayed",
		}
		if o.Step != 0 {
			e.Message = fmt.Sprintf("step %d is no run", o.Step)
			if snap := (&query.Snapshot{}); s.DescribeStep(ctx, o.Step, snap) == nil && snap.NextRun != 0 {
				e.Hint = fmt.Sprintf("the run that followed it: `xstate replay --step %d`", snap.NextRun)
			}
		}
		return nil, e
	}
	if o.Block != "" {
		runs = runs[len(runs)-1:]
	}
	return runs, nil
}

// execute replays runs in parallel. Each goroutine takes consecutive runs, because neighbours share most nodes.
func (r *replayer) execute(ctx context.Context, steps []state.Step) (err error) {
	if err := r.interpreter(ctx); err != nil {
		return err
	}
	if r.files, err = r.subject.Files(ctx); err != nil {
		return err
	}
	if r.folder, err = os.MkdirTemp("", "xstate-replay-"); err != nil {
		return fmt.Errorf("make a copy of the workspace: %w", err)
	}
	defer func() { removeAll(r.folder) }()
	if r.folder, err = filepath.EvalSymlinks(r.folder); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	jobs := min(max(r.options.Jobs, 1), len(steps))
	var wait sync.WaitGroup
	for j := range jobs {
		wait.Go(func() {
			if err := r.stretch(ctx, steps, j, jobs); err != nil {
				cancel(err)
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// stretch replays consecutive runs with a separate store. All copies of the workspace behind one store have the same
// path: results may contain it.
func (r *replayer) stretch(ctx context.Context, steps []state.Step, j, of int) (err error) {
	folder := filepath.Join(r.folder, fmt.Sprint(j))
	store, err := state.Open(ctx, filepath.Join(folder, "store"), state.Options{Fallback: r.subject.Store()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	subject := *r.subject
	subject.History = r.subject.Clone() // a history is for one goroutine
	for i := j * len(steps) / of; i < (j+1)*len(steps)/of && !r.stopped.Load(); i++ {
		x := &replaying{
			replayer: r,
			subject:  &subject,
			step:     steps[i],
			store:    store,
			root:     folder,
			served:   map[nodeRef]*ServedNode{},
			known:    map[nodeRef]bool{},
		}
		run, err := x.replay(ctx)
		if err != nil {
			return fmt.Errorf("replay step %d: %w", steps[i].Number, err)
		}
		r.found.Runs[i] = *run
		if r.options.OnRun != nil {
			r.mu.Lock()
			r.options.OnRun(run, len(steps))
			r.mu.Unlock()
		}
		if r.options.UntilDivergence && run.Result == Diverged {
			r.stopped.Store(true)
		}
	}
	return nil
}

// interpreter finds one to replay with: the session's, else another.
func (r *replayer) interpreter(ctx context.Context) (err error) {
	s := r.subject
	r.config, err = s.Config(ctx, false)
	if state.CodeOf(err) == python.CodeNotFound && !s.Chosen {
		gone := err
		if r.config, err = s.Config(ctx, true); err == nil {
			r.miss(Missing{What: "interpreter", Why: message(gone) + "; replayed with " + r.config.Languages.String()})
		}
	}
	if e := (*state.Error)(nil); errors.As(err, &e) && state.CodeOf(err) == python.CodeNotFound {
		return &state.Error{
			Code:    e.Code,
			Message: e.Message,
			Hint:    e.Hint + "; `xstate replay --cached` verifies the record without one",
			Err:     err,
		}
	}
	if err != nil {
		return err
	}
	r.found.Interpreter = r.config.Languages.String()
	if real, err := filepath.EvalSymlinks(r.config.Workspace); err == nil {
		r.config.Workspace = real // as a run has it; else it is gone
	}
	return nil
}

// sum combines the results of the runs.
func (r *replayer) sum() {
	f := r.found
	f.Runs = slices.DeleteFunc(f.Runs, func(run RunReport) bool { return run.Step == 0 })
	f.Result = Equal
	for i := range f.Runs {
		run := &f.Runs[i]
		f.Seconds += run.Seconds
		if len(run.Divergences) > 0 && f.First == nil {
			f.First = &run.Divergences[0]
		}
		switch {
		case run.Result == Diverged:
			f.Result = Diverged
		case run.Result == Partial && f.Result == Equal:
			f.Result = Partial
		}
	}
	slices.SortStableFunc(f.Missing, func(a, b Missing) int { return int(a.Step) - int(b.Step) })
	if r.options.UntilDivergence {
		if n := slices.IndexFunc(f.Runs, func(run RunReport) bool { return run.Result == Diverged }); n >= 0 {
			f.Runs = f.Runs[:n+1] // others that ran concurrently
		}
	}
}
