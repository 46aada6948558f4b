package replay

import (
	"context"
	"slices"

	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/query"
)

// Subject is the session to replay, with what its program needs to execute.
type Subject struct {
	*query.History

	// Config returns the configuration of an engine of the session. With any it looks for an interpreter as if none was
	// named or remembered.
	Config func(ctx context.Context, any bool) (runner.Config, error)
	// Named says that the caller named an interpreter: the session's is then no substitute for it.
	Named bool
	// Chosen says that an interpreter was named in the options of the session, and not in the environment.
	Chosen bool
	// Engine locks the session for the caller and returns its own engine, until the caller calls release.
	Engine func(ctx context.Context) (own *runner.Engine, release func(), err error)
	// BeginCalls begins calls that no program makes: rules and budgets of the session decide about them.
	BeginCalls func(ctx context.Context) error
}

// programWith returns the program, its last step and the place of a block in it.
func (s *Subject) programWith(
	ctx context.Context, id state.BlockID,
) (program []state.ProgramBlock, head state.StepNumber, at int, err error) {
	if program, head, err = s.Program(ctx); err != nil {
		return nil, 0, 0, err
	}
	at = slices.IndexFunc(program, func(b state.ProgramBlock) bool { return b.ID == id })
	if at < 0 {
		return nil, 0, 0, s.NoBlock(id, query.PatchBlocks(program))
	}
	return program, head, at, nil
}
