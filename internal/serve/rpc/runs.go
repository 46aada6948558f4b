package rpc

import "time"

// Runs are the calls of exec and run that a server carries out now.
type Runs interface {
	// Active returns them, the oldest first.
	Active() []ActiveRun
	// Interrupt stops a run as Ctrl-C does; false: there is none with this id.
	Interrupt(run string) bool
}

// ActiveRun is a run that goes on.
type ActiveRun struct {
	Run     string // its id, as the event started has it
	Verb    string
	Session string
	Started time.Time
}
