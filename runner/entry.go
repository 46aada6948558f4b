package runner

import "github.com/xstate-engine/xstate/state"

// entry is what a key has in a program state.
type entry struct {
	digest state.Digest
	writer int              // index of the node that wrote it; -1: the base
	age    int              // a file's place among those that its writer wrote, in the order of their times
	info   *state.ValueInfo // set for a var key that has a value; nil otherwise
	took   float64          // seconds that its writer executed
	failed state.BlockID    // the block that failed, of a poisoned key
	marks  []string         // why it may differ from run to run: those of its writer and of all that it depends on
}

// poison is the digest of a key that a failed node would have written.
const poison state.Digest = "!failed"

// unknown is, in a plan, the digest of a key whose writer must run first.
const unknown state.Digest = "!unknown"

func (e entry) poisoned() (block state.BlockID, ok bool) { return e.failed, e.digest == poison }

// hasValue reports whether the entry of a name is a value, known or not.
func (e entry) hasValue() bool { return e.digest != state.Absent && e.digest != poison }
