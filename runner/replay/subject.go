package replay

import (
	"context"

	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state/query"
)

// Subject is the session that is put to the test, with what its program takes to execute.
type Subject struct {
	*query.History

	// Config returns what an engine of the session works with. With any it looks for an interpreter as if none was
	// named or remembered.
	Config func(ctx context.Context, any bool) (runner.Config, error)
	// Named says that the caller named an interpreter: the session's is then no substitute for it.
	Named bool
	// Chosen says that an interpreter was named in the options of the session, and not in the environment.
	Chosen bool
	// Engine gives the caller the session alone and an engine of its own, until it calls release.
	Engine func(ctx context.Context) (own *runner.Engine, release func(), err error)
}
