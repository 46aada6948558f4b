package xstate_test

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/internal/xstatetest"
	"github.com/xstate-engine/xstate/internal/xstatetest/turns"
	"github.com/xstate-engine/xstate/runner/replay"
)

// oracle holds what a run from scratch produces after each step of a session. It runs a step at the first comparison
// with it, and a state of the workspace that recurs only once.
//
// An oracle may have results of another interpreter. Where an incremental run equals them, in all values and outputs,
// another run from scratch would only confirm them: a stale result would have to equal what the other interpreter
// computes from scratch and this one does not. Where they differ, as tracebacks and the code of functions do, the
// oracle runs the step.
type oracle struct {
	steps   []xstatetest.ProgramStep
	options xstate.SessionOptions
	own     []*xstate.Outcome // by step; nil: not run yet
	lent    []*xstate.Outcome // of another interpreter
}

// ownRuns and sharedRuns count the steps that were compared with a run of their own, and with one of another step or
// interpreter.
var ownRuns, sharedRuns atomic.Int64

func newOracle(steps []xstatetest.ProgramStep, o xstate.SessionOptions) *oracle {
	return &oracle{
		steps:   steps,
		options: o,
		own:     make([]*xstate.Outcome, len(steps)),
		lent:    make([]*xstate.Outcome, len(steps)),
	}
}

// compare returns how the state after step i differs from that of a run from scratch.
func (o *oracle) compare(t *testing.T, ctx context.Context, i int, have *xstate.Outcome) []replay.Difference {
	t.Helper()
	if o.own[i] == nil && o.lent[i] != nil {
		if found := replay.Compare(have, o.lent[i]); len(found) == 0 {
			sharedRuns.Add(1)
			return nil
		}
	}
	return replay.Compare(have, o.want(t, ctx, i))
}

// want returns what a run from scratch produces after step i.
func (o *oracle) want(t *testing.T, ctx context.Context, i int) *xstate.Outcome {
	t.Helper()
	if o.own[i] != nil {
		return o.own[i]
	}
	files := o.files(i)
	for j, out := range o.own {
		if out != nil && !turns.Everything() && maps.EqualFunc(files, o.files(j), bytes.Equal) {
			sharedRuns.Add(1)
			o.own[i] = out
			return out
		}
	}
	ownRuns.Add(1)
	o.own[i] = xstatetest.FromScratch(t, ctx, files, o.options, o.steps[0].Timeout)
	return o.own[i]
}

// files returns the workspace after step i.
func (o *oracle) files(i int) map[string][]byte {
	files := map[string][]byte{}
	for _, s := range o.steps[:i+1] {
		s.AddTo(files)
	}
	return files
}

// learn takes the first step of an incremental session for a run from scratch, which it is: its folder, store and
// interpreter are new.
func (o *oracle) learn(have *xstate.Outcome) {
	if o.own[0] == nil && xstatetest.Jobs() == 0 && !turns.Everything() {
		ownRuns.Add(1)
		o.own[0] = have
	}
}

// lend gives the results of this oracle to one of the same session with another interpreter.
func (o *oracle) lend(to *oracle) {
	if !turns.Everything() {
		to.lent = slices.Clone(o.own)
	}
}
