package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/xstate-engine/xstate/state"
)

// Choices that decide whether a call is made.
const (
	ChoiceYes = "yes"
	ChoiceNo  = "no"
)

// uncertain is the question about a call that may have happened.
func uncertain(tool string) state.Approval {
	return state.Approval{
		Question: fmt.Sprintf("did the call of %s happen?", tool),
		Choices:  []string{ChoiceAgain, ChoiceHappened, ChoiceFailed},
		Why:      "no answer came, and it must not happen twice",
	}
}

// Choices about a call that may have happened.
const (
	ChoiceAgain    = "again"    // it did not, or may happen again
	ChoiceHappened = "happened" // it did; the result comes with the decision
	ChoiceFailed   = "failed"   // it did not, and shall not
)

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
	CodeNotWaiting state.Code = "not-waiting" // the call does not wait, or somebody has decided
	CodeNoChoice   state.Code = "no-choice"   // the question has no such choice
)

// Decide records a decision, and returns the call as it is then. The next run of the program goes on from there.
func Decide(ctx context.Context, store *state.Store, d Decision) (*state.Call, error) {
	rec, err := store.Call(ctx, d.Call)
	if err != nil {
		return nil, err
	}
	if rec.State != state.CallWaiting || rec.Approval.Decided() {
		return nil, &state.Error{Code: CodeNotWaiting, Hint: "xstate calls --waiting",
			Message: fmt.Sprintf("call %d does not wait for a decision", d.Call)}
	}
	a := rec.Approval
	if len(a.Choices) > 0 && !slices.Contains(a.Choices, d.Choice) {
		return nil, &state.Error{Code: CodeNoChoice,
			Message: fmt.Sprintf("%q is none of the choices %q", d.Choice, a.Choices),
			Hint:    fmt.Sprintf("xstate approve %d --choice %s", d.Call, a.Choices[0])}
	}
	a.Choice, a.By, a.Reason, a.At = d.Choice, d.By, d.Reason, d.At
	var outcome []byte
	switch {
	case Kind(rec.Kind) == KindAsk:
		rec.State = state.CallAnswered
		if outcome, err = json.Marshal(d.Choice); err != nil {
			return nil, err
		}
	case d.Choice == ChoiceHappened:
		rec.State = state.CallAnswered
		if outcome, err = Canonical([]byte(cmp.Or(string(d.Result), "null"))); err != nil {
			return nil, &state.Error{Code: CodeResult, Message: "the result: " + err.Error(), Hint: "pass JSON"}
		}
	case d.Choice == ChoiceFailed:
		rec.State = state.CallRefused
		if outcome, err = json.Marshal(cmp.Or(d.Reason, "a person says that it failed")); err != nil {
			return nil, err
		}
	}
	if outcome != nil {
		if rec.Result, err = store.ContentOf(outcome); err != nil {
			return nil, err
		}
	}
	return rec, store.PutCall(ctx, rec)
}
