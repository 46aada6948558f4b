package runner

import (
	"errors"
	"fmt"

	"github.com/xstate-engine/xstate/state"
)

// NotServedError reports that a node cannot execute: it needs a value of a node that was served its result, and that
// value was not kept.
//
// A replay serves results to nodes (RunOptions.Serve), and these nodes never execute. The program state takes the
// results as they are, and values come from a store that the engine's own falls back to (state.Options.Fallback). A
// value that was not kept is not computed. The node that needs it is named in the error.
//
// Nodes that execute may be guarded (Config.Guard). Effects that cannot be undone fail at their audit event, before
// they happen, and mark the node. So that a replay finds inputs as they were, the engine stores as blobs what nodes
// read of the workspace: files up to a megabyte, the names in directories, and times of files.
type NotServedError struct {
	Block state.BlockID // the block of the node that cannot execute
	Node  int           // index in the block
}

func (e *NotServedError) Error() string {
	return fmt.Sprintf("block %s needs a value of a served result, which was not kept", e.Block)
}

// Is makes errors.Is report a NotServedError as errServed, too.
func (e *NotServedError) Is(target error) bool { return target == errServed }

// errServed reports that a node that must not execute would have to.
var errServed = errors.New("a node that is served its result would have to run")

// served returns the result that node i is served, or nil.
func (w *walk) served(i int) *state.StoredTrace {
	if w.o.Serve == nil {
		return nil
	}
	return w.o.Serve(w.nodes[i].unit.ID, w.nodes[i].at)
}

// unserved adds to errServed the node that it keeps from executing. The last caller decides.
func (w *walk) unserved(at int, err error) error {
	if errors.Is(err, errServed) {
		return &NotServedError{Block: w.nodes[at].unit.ID, Node: w.nodes[at].at}
	}
	return err
}
