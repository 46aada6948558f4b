package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/xstate-engine/xstate"
	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// pins returns what the flags --always and --never say of the blocks of a session.
func (f *runFlags) pins(ctx context.Context, s *xstate.Session) (map[xstate.BlockID]runner.Pin, error) {
	if len(f.always)+len(f.never) == 0 {
		return nil, nil
	}
	blocks, _, err := s.History().Program(ctx)
	if err != nil {
		return nil, err
	}
	pins := map[xstate.BlockID]runner.Pin{}
	for _, id := range slices.Concat(f.always, f.never) {
		if !slices.ContainsFunc(blocks, func(b state.ProgramBlock) bool { return string(b.ID) == id }) {
			return nil, &state.Error{
				Code:    query.CodeNoBlock,
				Message: fmt.Sprintf("there is no block %q to pin", id),
				Hint:    "xstate show lists the blocks",
			}
		}
	}
	for _, id := range f.always {
		pins[xstate.BlockID(id)] = runner.PinAlways
	}
	for _, id := range f.never {
		if pins[xstate.BlockID(id)] != "" {
			return nil, &usageError{
				err:  fmt.Errorf("block %q is pinned to always and to never", id),
				hint: "name it with --always or with --never",
			}
		}
		pins[xstate.BlockID(id)] = runner.PinNever
	}
	return pins, nil
}

// runFlags are the flags of run.
type runFlags struct {
	verify, fresh, all bool
	merge, write       bool
	restoreFiles       bool
	always, never      []string
	timeout            time.Duration
	jobs               int
	memory, budget     byteSize
	python             string
	expect             optionalStep
	origin             xstate.Origin
}
