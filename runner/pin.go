package runner

import (
	"regexp"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/state"
)

// Pin says whether a block executes, whatever its results: a comment of its own in the block, "# xstate: always" or
// "# xstate: never", or RunOptions.Pins. The last comment counts.
type Pin string

const (
	PinAlways Pin = "always" // in each run. The program stays equal to a fresh run
	PinNever  Pin = "never"  // not again, once its code has a result, even if what it reads is another: the node is marked
)

// Marks of nodes that no observation gives.
const (
	MarkVolatile = "volatile" // executed several times from the same state, its code came to something else, see Config.Volatile
	MarkPinned   = "pinned"   // it kept a result that does not hold
)

var pinComment = regexp.MustCompile(`^#\s*xstate:\s*(always|never)$`)

// pin returns the pin of a block.
func (w *walk) pin(u *unit) Pin {
	if p, ok := w.o.Pins[u.ID]; ok {
		return p
	}
	return u.pin()
}

// pin returns what the comments of a block say.
func (u *unit) pin() Pin {
	found := Pin("")
	if u.facts != nil && strings.Contains(u.Source, "xstate:") {
		for _, c := range u.language.Comments(u.facts) {
			if m := pinComment.FindStringSubmatch(c); m != nil {
				found = Pin(m[1])
			}
		}
	}
	return found
}

// pinned is the result that a node pinned to never keeps: the last one of its code, if that did not fail. Why it does not hold goes with it.
func (e *Engine) pinned(n *node, c choice) (choice, bool) {
	before, _ := previous(n)
	if before == nil || before.Code != n.code || before.Trace == "" {
		return c, false
	}
	t, ok, err := e.cfg.Store.Trace(before.Trace)
	if err != nil || !ok || t.Err != nil || !e.usable(&t) {
		return c, false
	}
	t.Marks = appendNew(slices.Clone(t.Marks), MarkPinned)
	c.reason.Code = ReasonPinned
	return choice{trace: &state.StoredTrace{Digest: before.Trace, Trace: t}, reason: c.reason, last: &t}, true
}

// remembered adds the mark of code that is known to be volatile to a result that was recorded before that was known.
func (e *Engine) remembered(t *state.StoredTrace, discard bool) (*state.StoredTrace, error) {
	if !e.cfg.Volatile[t.Code] || slices.Contains(t.Marks, MarkVolatile) {
		return t, nil
	}
	marked := t.Trace
	marked.Marks = slices.Sorted(slices.Values(append(slices.Clone(t.Marks), MarkVolatile)))
	if discard || slices.Contains(t.Marks, MarkPinned) {
		return &state.StoredTrace{Digest: t.Digest, Trace: marked}, nil
	}
	d, err := e.cfg.Store.PutTrace(marked)
	return &state.StoredTrace{Digest: d, Trace: marked}, err
}

// SetVolatile tells the engine which code is known to be volatile.
func (e *Engine) SetVolatile(codes map[state.Digest]bool) { e.cfg.Volatile = codes }
