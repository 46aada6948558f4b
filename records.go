package xstate

import (
	"context"

	"github.com/xstate-engine/xstate/runner"
	"github.com/xstate-engine/xstate/state"
)

// files returns what is recorded of the files that the program writes.
func (s *Session) files(ctx context.Context) (map[string]runner.FileRecord, error) {
	files := map[string]runner.FileRecord{}
	_, err := s.store.state.SessionRecord(ctx, s.name, recordFiles, &files)
	return files, err
}

// recordFiles is the session record that holds runner.FileRecord by name.
const recordFiles = "files"

// recordPython is the session record that holds the path of the interpreter that a run was asked to use; "" after one
// that was asked to choose.
const recordPython = "python"

// recordVolatile is the session record of code that came to something else from the same state: its digest, and what differed.
const recordVolatile = "volatile"

func (s *Session) volatile(ctx context.Context) (map[Digest][]string, error) {
	found := map[Digest][]string{}
	_, err := s.store.state.SessionRecord(ctx, s.name, recordVolatile, &found)
	return found, err
}

// isPinned reports whether a node kept a result that did not hold.
func isPinned(n *state.NodeResult) bool {
	return n.Reason.Code == runner.ReasonPinned && n.Status == state.StatusReused
}

// CodeNotExecuted is the code of errors about a block that cannot be executed for what is before it, or does not parse.
const CodeNotExecuted state.Code = "not-executed"
