package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// maxRoots bounds the diverging nodes of a run: each costs an execution of all that follows it.
const maxRoots = 50

// replay executes the program of the run, compares, serves the diverging node its recorded result, and executes from
// there again. So each divergence has its own cause, and the nodes after it are tested, too.
func (x *replaying) replay(ctx context.Context) (*RunReport, error) {
	x.found = &RunReport{
		Step:        x.step.Number,
		Time:        x.step.Time,
		Result:      Equal,
		Served:      []ServedNode{},
		Divergences: []Divergence{},
	}
	if x.step.Run != nil {
		x.found.Interpreter = x.step.Run.Interpreter
	}
	if err := x.read(ctx); err != nil {
		return nil, err
	}
	x.folder = filepath.Join(x.root, "copy", filepath.Base(x.config.Workspace))
	removeAll(x.folder) // left by the run before
	if err := x.layOut(); err != nil {
		return nil, fmt.Errorf("make a copy of the workspace: %w", err)
	}
	cfg := x.config
	cfg.Store, cfg.Workspace, cfg.Guard, cfg.Anew = x.store, x.folder, x.guard(), true
	if rel := parents.Below(x.config.Workspace, cfg.File); rel != "" {
		cfg.File = filepath.Join(x.folder, rel)
		if rel := parents.Below(x.config.Workspace, cfg.Imports.Folder); rel != "" {
			cfg.Imports.Folder = filepath.Join(x.folder, rel)
		}
	}
	if run := x.step.Run; run != nil {
		cfg.Invocation = runner.Invocation{Arguments: run.Arguments, Stdin: run.Stdin}
	}
	if cfg.Journal != nil {
		cfg.Journal = cfg.Journal.Past(x.calls())
	}
	var err error
	if x.engine, err = runner.New(cfg); err != nil {
		return nil, err
	}
	defer x.engine.Close()
	x.serveEffects()
	x.executed, x.ours = map[nodeRef]bool{}, map[state.Digest]bool{}
	for {
		out, err := x.run(ctx, x.program, nil)
		if need := (*runner.NotServedError)(nil); errors.As(err, &need) {
			x.serve(nodeRef{need.Block, need.Node}, ServedNeeds, nil)
			continue
		}
		if err != nil {
			return nil, err
		}
		again, err := x.compare(ctx, out)
		if err != nil {
			return nil, err
		}
		if !again || len(x.found.Divergences) >= maxRoots {
			if err := x.callAgain(ctx); err != nil {
				return nil, err
			}
			x.count(out)
			return x.found, nil
		}
	}
}

// guard is what the program may do: change files of its copy of the workspace, and those that are meant to be
// temporary, among which the workspace itself may lie.
func (x *replaying) guard() *runner.Guard {
	return &runner.Guard{
		Allow: []string{x.root, os.TempDir()},
		Deny:  []string{x.config.Workspace, x.subject.Store().Dir()},
	}
}

// serveEffects serves the nodes that must not execute, those whose recorded result did not follow from their inputs,
// and those that a time-out stopped: how far they come depends on the machine.
func (x *replaying) serveEffects() {
	for _, ref := range x.order {
		rec := x.recorded[ref]
		if rec.trace == nil {
			continue
		}
		if query.IsPinned(&rec.NodeResult) {
			x.serve(ref, ServedPinned, nil)
		}
		if rec.trace.Once {
			x.serve(ref, ServedUnrecorded, nil)
		}
		if rec.trace.Limit > 0 {
			x.serve(ref, ServedTimeout, nil)
		}
		if effects := x.irreversible(rec.trace); len(effects) > 0 {
			x.serve(ref, ServedEffect, effects)
		}
	}
}

// irreversible are the effects of an execution that cannot be undone.
func (x *replaying) irreversible(t *state.Trace) []string {
	var found []string
	for _, effect := range query.OutsideEffects(t.Marks, t.Writes) {
		path, isFile := strings.CutPrefix(effect, "file:")
		switch {
		case effect == "network", effect == "subprocess":
			found = append(found, effect)
		case isFile && filepath.IsAbs(path) && parents.Below(os.TempDir(), path) == "":
			found = append(found, effect)
		}
	}
	if startedProcesses(t) && !slices.Contains(found, "subprocess") {
		found = append(found, "subprocess") // a replay lets no block start one
	}
	return found
}

// startedProcesses reports whether an execution started processes: these read the environment that the program left,
// or are programs that have a key.
func startedProcesses(t *state.Trace) bool {
	return slices.ContainsFunc(t.Reads, func(a state.Access) bool {
		return a.Key == "env:+" || a.Key.Space() == "program"
	})
}

// count fills in what was done.
func (x *replaying) count(out *runner.Outcome) {
	f := x.found
	for _, ref := range x.order {
		served := x.served[ref]
		if served != nil {
			f.Served = append(f.Served, *served)
		}
		switch {
		case x.executed[ref]:
			f.Executed++
		case served == nil && !x.recorded[ref].Status.Skipped():
			f.Proved++
		}
		if served != nil && served.Why != ServedDiverged && served.Why != ServedEffect {
			f.Result = Partial
		}
	}
	if len(f.Divergences) > 0 {
		f.Result = Diverged
	}
}
