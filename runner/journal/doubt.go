package journal

import (
	"fmt"
	"strings"

	"github.com/xstate-engine/xstate/state"
)

// ChoiceAnother is the decision that a call is none of those that it may be. Others are the names of these, and
// ChoiceNo.
const ChoiceAnother = "another"

// mostDoubts bounds the calls among which a person chooses: the last ones.
const mostDoubts = 8

// doubted is the question about a call that may repeat others.
func (c *Call) doubted() state.Approval {
	a := state.Approval{Choices: []string{ChoiceAnother}}
	var names []string
	for _, id := range c.Doubt[max(0, len(c.Doubt)-mostDoubts):] {
		names = append(names, sameChoice(id))
	}
	a.Choices = append(append(a.Choices, names...), ChoiceNo)
	a.Question = fmt.Sprintf("is this call of %s another one, or %s again?", c.title(), strings.Join(names, " or "))
	a.Why = "its block called the tool before, and the arguments may differ because they vary from run to run"
	return a
}

// MayHaveHappened reports whether a call of a tool had, or may have had, its effect.
func MayHaveHappened(c *state.Call) bool {
	if Kind(c.Kind) != KindTool || c.Same != 0 {
		return false
	}
	switch c.State {
	case state.CallAnswered, state.CallSent:
		return true
	case state.CallWaiting:
		return c.Uncertain()
	case state.CallLost: // one that must not be repeated waits instead, unless it surely did not happen
		return Class(c.Class) == Idempotent
	}
	return false
}

// Unmade reports whether a call surely had no effect so far, and may have it yet.
func Unmade(c *state.Call) bool { return !c.State.Ended() && c.Same == 0 && !MayHaveHappened(c) }
