package runner

import (
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/depgraph/languages"
	"github.com/xstate-engine/xstate/state"
)

// Pin says whether a block executes, whatever its results. It is a separate comment in the block, "# xstate: always" or
// "# xstate: never", with // where the language has it, or it is in RunOptions.Pins. The last comment counts.
//
// A block pinned to always executes, and is otherwise like any other. A block pinned to never keeps its last result
// where that is not valid. The promise is given up there, by the program's own word, and every node that depends on the
// block is marked.
type Pin string

const (
	PinAlways Pin = "always" // it executes in each run; the program stays equal to a fresh run
	PinNever  Pin = "never"  // once its code has a result it keeps that, even if its inputs changed: the node is marked
)

var pinComment = regexp.MustCompile(`^(?:#|//)\s*xstate:\s*(always|never)$`)

// pin returns what the comments of a block say.
func (u *unit) pin() Pin {
	found := Pin("")
	if u.facts != nil && strings.Contains(u.Source, "xstate:") {
		for _, c := range languages.Comments(u.facts, u.Dialect) {
			if m := pinComment.FindStringSubmatch(c); m != nil {
				found = Pin(m[1])
			}
		}
	}
	return found
}

// withVaryMark adds MarkVaried to a trace that was recorded before its code was known to vary.
func (e *Engine) withVaryMark(t *state.StoredTrace, discard bool) (*state.StoredTrace, error) {
	if !e.cfg.Volatile[t.Code] || slices.Contains(t.Marks, state.MarkVaried) {
		return t, nil
	}
	marked := t.Trace
	marked.Marks = slices.Sorted(slices.Values(append(slices.Clone(t.Marks), state.MarkVaried)))
	if discard || slices.Contains(t.Marks, state.MarkPinned) {
		return &state.StoredTrace{Digest: t.Digest, Trace: marked}, nil
	}
	d, err := e.cfg.Store.PutTrace(marked)
	return &state.StoredTrace{Digest: d, Trace: marked}, err
}

// SetVolatile sets the code that is known to give different results from one state.
func (e *Engine) SetVolatile(codes map[state.Digest]bool) { e.cfg.Volatile = codes }
