package rpc

import "github.com/xstate-engine/xstate/internal/api"

// Runs are the calls that run a program now.
type Runs interface {
	// Runs returns them, the oldest first.
	Runs() []api.ServedRun
	// Interrupt stops a run as Ctrl-C does; false: there is none with this id.
	Interrupt(run string) bool
}
