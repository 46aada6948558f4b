package rpc

import (
	"context"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/verb"
)

// Service answers requests about one store.
type Service struct {
	Operations verb.Operations
	Store      string          // its folder; absolute
	Folder     string          // where calls are made from if a request does not say; absolute
	Environ    []string        // the environment of calls
	E2B        bool            // it answers as the E2B code interpreter, too
	Runs       Runs            // nil: they cannot be listed or interrupted
	Life       context.Context // ends commands that run without their client; nil: none does

	pending pending // calls of programs that clients have to answer
}

// Runs are the calls that run a program now.
type Runs interface {
	// Runs returns them, the oldest first.
	Runs() []api.ServedRun
	// Interrupt stops a run as Ctrl-C does; false: there is none with this id.
	Interrupt(run string) bool
}
