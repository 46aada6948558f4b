package serve

import (
	"context"
	"io"

	"github.com/xstate-engine/xstate/internal/wording"
	"github.com/xstate-engine/xstate/runner/journal"
)

// Call is one call of a verb.
type Call struct {
	Args    []string // without the name of the program
	Folder  string   // the caller's working directory; absolute
	Environ []string // the caller's environment, NAME=value
	PID     int      // the caller's process; 0 if it is not known
	Stdin   io.Reader
	Stdout  io.Writer // results: text, one JSON document, or one JSON event a line
	Stderr  io.Writer // remarks for people

	Tools []journal.Source // that the caller offers the program
	Door  wording.Door     // by which the caller came; hints have its words
}

// Doer carries out calls. The calls of several goroutines do not disturb each other.
type Doer interface {
	// Do carries out a call and returns its exit code. Cancelling ctx interrupts what the call runs.
	Do(ctx context.Context, c Call) (exit int)
}
