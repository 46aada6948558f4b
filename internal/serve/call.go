package serve

import (
	"context"
	"io"

	"github.com/xstate-engine/xstate/internal/verb"
)

// Call is one call of the command line. Its arguments mean something to the command line alone, in the process of the
// caller and in that of the server.
type Call struct {
	Args    []string // without the name of the program
	Folder  string   // the caller's working directory; absolute
	Environ []string // the caller's environment, NAME=value
	PID     int      // the caller's process; 0 if it is not known
	Stdin   io.Reader
	Stdout  io.Writer // results: text, one JSON document, or one JSON event a line
	Stderr  io.Writer // remarks for people
}

// Doer carries out calls: those of the command line, and operations of the other doors. The calls of several goroutines
// do not disturb each other.
type Doer interface {
	// Do carries out a call of the command line and returns its exit code. Cancelling ctx interrupts what the call
	// runs.
	Do(ctx context.Context, c Call) (exit int)
	verb.Operations
}
