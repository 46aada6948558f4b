package query

import (
	"context"

	"github.com/xstate-engine/xstate/state"
)

// Files returns the recorded facts about the files that the program writes.
func (h *History) Files(ctx context.Context) (map[string]state.FileRecord, error) {
	files := map[string]state.FileRecord{}
	_, err := h.store.SessionRecord(ctx, h.name, RecordFiles, &files)
	return files, err
}

// RecordFiles is the session record that holds state.FileRecord by name.
const RecordFiles = "files"

// RecordPython is the session record that holds the interpreter path given to the last run, or "" if that run chose the
// interpreter itself.
const RecordPython = "python"

// RecordSandbox is the session record that holds the level of the bounds of the last run; "": off.
const RecordSandbox = "sandbox"

// RecordNetwork is the session record that says whether the last run recorded the requests of the program: a bool.
const RecordNetwork = "network"

// RecordInvocation is the session record that holds the runner.Invocation of the last run.
const RecordInvocation = "invocation"

// RecordVarying is the session record of code that produced different results from the same state: the digest of the
// code, and what differed.
const RecordVarying = "volatile"

// VaryingCode returns, by code digest, what differed between executions of code from the same state.
func (h *History) VaryingCode(ctx context.Context) (map[state.Digest][]string, error) {
	found := map[state.Digest][]string{}
	_, err := h.store.SessionRecord(ctx, h.name, RecordVarying, &found)
	return found, err
}

// IsReadableRecord reports whether a record that came with an archive is one that a run can read. Of a foreign archive,
// others than those of this package do not count: they are notes of a run that is not finished.
func IsReadableRecord(name string, data []byte, foreign bool) bool {
	var to any
	switch name {
	case RecordFiles:
		to = new(map[string]state.FileRecord)
	case RecordPython, RecordSandbox:
		to = new(string)
	case RecordNetwork:
		to = new(bool)
	case RecordInvocation: // see runner.Invocation
		to = new(struct {
			Arguments []string     `cbor:"args"`
			Stdin     state.Digest `cbor:"stdin"`
		})
	case RecordVarying:
		to = new(map[state.Digest][]string)
	case RecordTested:
		to = new(state.StepNumber)
	default:
		return !foreign
	}
	return state.DecodeSessionRecord(data, to) == nil
}

// IsPinned reports whether a node kept a result that did not hold.
func IsPinned(n *state.NodeResult) bool {
	return n.Reason.Code == state.ReasonPinned && n.Status == state.StatusReused
}

// CodeNotExecuted is the code of errors about a block that cannot be executed, because an earlier block fails or
// because it does not parse.
const CodeNotExecuted state.Code = "not-executed"
