package verb

import (
	"context"

	"github.com/xstate-engine/xstate/internal/api"
	"github.com/xstate-engine/xstate/internal/wording"
	"github.com/xstate-engine/xstate/runner/journal"
)

// Request is what an operation is asked: a pointer to one of the types of this package.
type Request interface {
	// Verb is the name of the operation.
	Verb() string
	// About is the session that is meant; "" if none is named.
	About() string
}

// Call is a request, and where it comes from.
type Call struct {
	Request Request
	Store   string   // its folder; "": the one at or above the file of the session, or the folder
	Folder  string   // where the caller is; absolute
	Environ []string // the caller's, NAME=value
	PID     int      // the caller's process; 0 if it is not known
	Door    wording.Door
	Tools   []journal.Source // that the caller offers the program
	// Event gets what happens, in order and one at a time; nil: none is wanted.
	Event func(api.Event)
}

// Operations carry out calls. Those of several goroutines do not disturb each other.
type Operations interface {
	// Operate carries out a call and returns the document of the operation, a struct of internal/api or a pointer to
	// one. Cancelling ctx interrupts what the call runs.
	Operate(ctx context.Context, c Call) (answer any, failed *api.Error)
}

// As returns an answer as a document of one type; nil if it is another one.
func As[D any](answer any) *D {
	switch d := answer.(type) {
	case *D:
		return d
	case D:
		return &d
	}
	return nil
}
