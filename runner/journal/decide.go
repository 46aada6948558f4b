package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/state"
)

// Choices that decide whether a call is made.
const (
	ChoiceYes = "yes"
	ChoiceNo  = "no"
)

// uncertain is the question about a call that may have happened.
func (c *Call) uncertain() state.Approval {
	return state.Approval{
		Question: fmt.Sprintf("did the call of %s happen?", c.title()),
		Choices:  []string{ChoiceAgain, ChoiceHappened, ChoiceFailed},
		Why:      "no answer came, and it must not happen twice",
	}
}

// Choices about a call that may have happened.
const (
	ChoiceAgain    = "again"              // it did not, or may happen again
	ChoiceHappened = state.ChoiceHappened // it did; the result comes with the decision
	ChoiceFailed   = "failed"             // it did not, and shall not
)

func sameChoice(id state.CallID) string { return fmt.Sprintf("call %d", id) }

// sameAs returns the call that a choice names; 0: it names none.
func sameAs(choice string) state.CallID {
	text, is := strings.CutPrefix(choice, "call ")
	n, err := strconv.ParseUint(text, 10, 64)
	if !is || err != nil {
		return 0
	}
	return state.CallID(n)
}

// Decision is what a person decided about a call that waits.
type Decision struct {
	Call   state.CallID
	Choice string
	Result json.RawMessage // with ChoiceHappened: what the tool returned
	By     string          // who decided
	Reason string
	At     time.Time
}

// Codes of errors about decisions.
const (
	CodeNotWaiting state.Code = "not-waiting" // the call does not wait, or is already decided
	CodeNoChoice   state.Code = "no-choice"   // the question has no such choice
)

// Decide records a decision, and returns the call as it is then. The next run of the program continues from there. Who
// decided what, and on what evidence, is also a step of the session that made the call.
func Decide(ctx context.Context, store *state.Store, d Decision) (*state.Call, *state.Step, error) {
	rec, err := store.Call(ctx, d.Call)
	if err != nil {
		return nil, nil, err
	}
	to, outcome, err := d.outcome(rec)
	if err != nil {
		return nil, nil, err
	}
	var content state.Content
	if outcome != nil {
		if content, err = store.ContentOf(outcome); err != nil {
			return nil, nil, err
		}
	}
	rec, err = store.UpdateCall(ctx, d.Call, func(c *state.Call) error {
		if err := d.check(c); err != nil { // another caller may have been faster
			return err
		}
		a := c.Approval
		a.Choice, a.By, a.Reason, a.At = d.Choice, d.By, d.Reason, d.At
		c.State, c.Result, c.Same = to, content, sameAs(d.Choice)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	step, err := recordDecision(ctx, store, rec)
	return rec, step, err
}

// check refuses a decision that a call does not wait for.
func (d Decision) check(c *state.Call) error {
	w := c.Waits()
	if w == nil {
		return &state.Error{Code: CodeNotWaiting, Hint: "`xstate calls --waiting`",
			Message: fmt.Sprintf("call %d does not wait for a decision", d.Call)}
	}
	if len(w.Choices) > 0 && !slices.Contains(w.Choices, d.Choice) {
		return &state.Error{Code: CodeNoChoice,
			Message: fmt.Sprintf("%q is none of the choices %q", d.Choice, w.Choices),
			Hint:    fmt.Sprintf("`xstate approve %d --choice %s`", d.Call, w.Choices[0])}
	}
	return nil
}

// outcome returns the state that a decision brings a call to, and the outcome that the decision itself is; nil: the
// call is yet to be made, or it was declined.
func (d Decision) outcome(c *state.Call) (to state.CallState, outcome []byte, err error) {
	if err := d.check(c); err != nil {
		return "", nil, err
	}
	switch {
	case Kind(c.Kind) == KindAsk:
		outcome, err = json.Marshal(d.Choice)
		return state.CallAnswered, outcome, err
	case d.Choice == ChoiceHappened:
		if outcome, err = Canonical([]byte(cmp.Or(string(d.Result), "null"))); err != nil {
			err = &state.Error{Code: CodeResult, Message: "the result: " + err.Error(), Hint: "pass JSON"}
		}
		return state.CallAnswered, outcome, err
	case d.Choice == ChoiceFailed:
		outcome, err = json.Marshal(cmp.Or(d.Reason, "a person says that it failed"))
		return state.CallRefused, outcome, err
	}
	return c.State, nil, nil
}

// recordTries bounds how often recordDecision tries again after another caller's step.
const recordTries = 64

// recordDecision makes a decision a step of the session whose program called. A session that is gone has none.
func recordDecision(ctx context.Context, store *state.Store, c *state.Call) (*state.Step, error) {
	a := c.Approval
	draft := state.Draft{Kind: state.KindApprove, Origin: state.Origin{Agent: a.By, Reason: a.Reason},
		Decided: &state.CallDecision{Call: c.ID, Key: c.Key, Number: c.Number, Tool: c.Tool, Args: c.Args.Digest,
			Question: a.Question, Why: a.Why, Choice: a.Choice, By: a.By, Reason: a.Reason, Result: c.Result.Digest}}
	for range recordTries {
		head, _, err := store.Head(ctx, c.Caller.Session)
		if state.CodeOf(err) == state.CodeNoSession {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		steps, err := store.Commit(ctx, c.Caller.Session, head, []state.Draft{draft})
		if state.CodeOf(err) == state.CodeConflict {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &steps[0], nil
	}
	return nil, &state.Error{Code: state.CodeConflict,
		Hint:    "`xstate calls " + fmt.Sprint(c.ID) + "` shows the decision",
		Message: "the decision counts, but the history changes faster than it can be recorded there"}
}
