package runner

import (
	"encoding/json"

	"github.com/xstate-engine/xstate/state"
)

// BlockLines are lines of the functions of a block. The first line of the block is 1.
type BlockLines struct {
	Begin    []int `json:"begin"`    // on which code begins
	Executed []int `json:"executed"` // those of Begin that the node executed
}

// keepLines stores the lines that a node executed, by block version, separately from its trace.
func (x *execution) keepLines(trace state.Digest) error {
	found := map[state.Digest]BlockLines{}
	for _, u := range x.walk.units {
		if lines, ok := x.seen.Lined[u.filename()]; ok {
			found[u.Version] = BlockLines{lines[0], lines[1]}
		}
	}
	data, err := json.Marshal(found)
	if err != nil {
		return err
	}
	return x.walk.e.cfg.Store.PutMemo(state.MemoLines, string(trace), data)
}

// LinesOf returns the lines of functions that the node with a trace executed, by the version of the block. ok is false
// when they were not observed.
func (e *Engine) LinesOf(trace state.Digest) (lines map[state.Digest]BlockLines, ok bool) {
	data, ok := e.cfg.Store.Memo(state.MemoLines, string(trace))
	return lines, ok && json.Unmarshal(data, &lines) == nil
}
