package journal

import (
	"cmp"
	"context"
	"fmt"

	"github.com/xstate-engine/xstate/state"
)

// Gate decides whether a call may happen. Serving a record needs no decision.
type Gate interface {
	Decide(ctx context.Context, c *Call) (Verdict, error)
	// Rules names all that decides by itself: what it denied stays denied under the same.
	Rules() state.Digest
}

// Action is what a gate decides.
type Action int

// Actions of gates, the strictest last.
const (
	Allow Action = iota
	Ask          // a person decides
	Deny
)

// Verdict is a decision of a gate.
type Verdict struct {
	Action Action
	Reason string     // why, for people
	Rule   string     // the rule that decided
	Code   state.Code // the error's code; "" is call-denied
	Hint   string
}

func denied(tool, why string) error {
	return &state.Error{Code: CodeDenied, Message: fmt.Sprintf("the call of %s is denied: %s", tool, why)}
}

func deniedBy(tool string, v Verdict) error {
	return &state.Error{Code: cmp.Or(v.Code, CodeDenied), Hint: v.Hint,
		Message: fmt.Sprintf("the call of %s is denied: %s", tool, v.Reason)}
}
