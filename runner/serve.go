package runner

import (
	"errors"
	"fmt"

	"github.com/xstate-engine/xstate/state"
)

// NotServedError says that a node cannot execute: it needs what a node that was served its result made, and that was not kept.
type NotServedError struct {
	Block state.BlockID // of the node that cannot execute
	Node  int           // index in the block
}

func (e *NotServedError) Error() string {
	return fmt.Sprintf("what block %s needs of a result that was served was not kept", e.Block)
}

// Is makes a NotServedError one of errServed, too.
func (e *NotServedError) Is(target error) bool { return target == errServed }

// errServed says that a node that must not execute would have to.
var errServed = errors.New("a node that is served its result would have to run")

// served returns the result that node i is given, or nil.
func (w *walk) served(i int) *state.StoredTrace {
	if w.o.Serve == nil {
		return nil
	}
	return w.o.Serve(w.nodes[i].unit.ID, w.nodes[i].at)
}

// unserved makes errServed tell which node it keeps from executing: the last one that is told.
func (w *walk) unserved(at int, err error) error {
	if errors.Is(err, errServed) {
		return &NotServedError{Block: w.nodes[at].unit.ID, Node: w.nodes[at].at}
	}
	return err
}
